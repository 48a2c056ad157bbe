"""`tinkbox workflow list` and `get`."""

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import Verbs, add_filters, add_listing, add_verb, add_watch
from tinkbox.cli.output.changes import show_each
from tinkbox.cli.output.formats import As2020, Column, Document, id_columns, names_one, show_texts
from tinkbox.cli.output.lists import List
from tinkbox.cli.output.printable import age, moment
from tinkbox.cli.output.tables import Fit
from tinkbox.cli.terminal.watched_list import show_found
from tinkbox.model.devices import Devices
from tinkbox.model.key_kinds import KeyKind
from tinkbox.model.labels import show_labels
from tinkbox.model.text import briefly
from tinkbox.wire.messages.named_machines import machine_name, machines_of

if TYPE_CHECKING:
    from tinkbox.model.workflow import State

PARAMETER = 40  # letters of each
NEWEST = 100  # lines of a table where nothing else is asked
SORTS = ("created_at", "updated_at", "name", "state", "machine")


def _parameters(devices: Devices) -> str:
    """What a workflow was created with, as far as it fits into a table."""
    shown = {name: briefly(value, PARAMETER) if isinstance(value, str) else value for name, value in devices.items()}
    return json.dumps(shown, ensure_ascii=False)


def _machines(workflow: Document) -> str:
    return ",".join(map(machine_name, workflow["machines"]))


COLUMNS: Sequence[Column] = (
    *id_columns(),
    Column("Name", "name", fit=Fit(least=8, rank=1)),
    Column("Machine", machines_of, fit=Fit(least=8)),
    Column("Machine", _machines, wide=True),
    Column("Template", "template_name", fit=Fit(least=8, rank=3)),
    Column("State", "state"),
    Column(
        "Progress",
        lambda workflow: f"{workflow['actions_done']}/{workflow['actions_total']}",
        fit=Fit(rank=4),
        in_csv=(Column("Done", "actions_done", called="done"), Column("Total", "actions_total", called="total")),
    ),
    Column("Reason", "reason", fit=Fit(least=8)),
    Column("Age", "created_at", age),
    Column("Labels", "labels", show_labels, wide=True),
    Column("Message", "message", wide=True),
    Column("Action", "current_action", wide=True),
)
AS_2020 = As2020(
    (
        Column("Workflow ID", "id"),
        Column("Template ID", "template_id"),
        Column("Hardware Device", "devices", _parameters),
        Column("Created At", "created_at", moment),
        Column("Updated At", "updated_at", moment),
    ),
    as_data=True,
)
# Of `get`, for programs: the documents of single workflows have everything but what lists make of it.
ONE: Sequence[Column] = (
    Column("ID", "id"),
    Column("Name", "name"),
    Column("State", "state"),
    Column("Template ID", "template_id"),
    Column("Devices", "devices", _parameters),
    Column("Created At", "created_at"),
    Column("Updated At", "updated_at"),
)
LISTED = List(columns=COLUMNS, as_2020=AS_2020, sort="-created_at", limit=NEWEST)


def _states() -> "Sequence[State]":
    """Those of a workflow, and of what is held, which is RUNNING as well; the others are an action's."""
    from tinkbox.model.workflow import State

    return [each for each in State if each not in (State.LEAVING, State.SKIPPED)]


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_listing(
        add_verb(
            verbs, "list", show_list, "workflows", f"Newest first; a table has {NEWEST} at most, other formats all."
        )
    )
    add_filters(verb, "machine", "template", "label", "since", sorts=SORTS, age="created_at", states=_states)
    add_watch(verb)
    add_listing(
        add_verb(verbs, "get", get, "a workflow's rendered template, or the list"), keys="*", kind=KeyKind.WORKFLOW
    )


def show_list(chosen: argparse.Namespace) -> int:
    return show_found(chosen, lambda operator: operator.workflows, LISTED)


def get(chosen: argparse.Namespace) -> int:
    if not chosen.keys:
        LISTED.show(chosen, *ask(chosen, lambda operator: operator.workflows.found(LISTED.filters(chosen))))
        return 0
    return show_each(
        chosen,
        lambda operator, key: operator.workflows.get(key),
        lambda found: show_texts(chosen, found, ONE, "text", AS_2020, one=names_one(chosen)),
    )
