"""`tinkbox workflow events`, `logs` and `watch`: what happens in a workflow."""

import argparse
from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from tinkbox.cli.connection import stay_connected
from tinkbox.cli.flags import Verbs, add_listing, add_shown_keys, add_times, add_verb
from tinkbox.cli.interruptions.outages import Outages, tell_put_back
from tinkbox.cli.interruptions.readers import check_reader
from tinkbox.cli.nouns.workflow.companions import Companions
from tinkbox.cli.output.changes import show_each
from tinkbox.cli.output.followed_output import Page, follow, name_of_attempt
from tinkbox.cli.output.formats import As2020, Column, Document, names_one, short, show
from tinkbox.cli.output.printable import moment
from tinkbox.cli.output.tables import Fit
from tinkbox.cli.wording.events import action_status, concerned, concerns_action, line_of, told, took, undecided
from tinkbox.model.key_kinds import KeyKind

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

EVENTS: Sequence[Column] = (
    Column("Number", "number", wide=True),
    Column("Time", "at", moment),
    Column("Event", "kind"),
    Column("Action", lambda event: event.get("action") or event.get("service", ""), fit=Fit(least=12, rank=2)),
    Column("Action", concerned, wide=True),
    Column("Took", lambda event: event.get("seconds"), took, Fit(rank=1)),
    Column("Message", told, fit=Fit(least=16)),
    Column("Worker", lambda event: event.get("worker", ""), wide=True),
)
# Before them, where they are those of several workflows.
WORKFLOW: Sequence[Column] = (
    Column("Workflow", lambda event: short(event["workflow_id"])),
    Column("Workflow", "workflow_id", wide=True),
)
AS_2020 = As2020(
    (
        Column("Worker ID", "worker"),
        Column("Task Name", "task"),
        Column("Action Name", "action"),
        Column("Execution Time", lambda event: int(event.get("seconds", 0))),
        Column("Message", told),
        Column("Action Status", action_status),
    ),
    lambda event: (event,) if concerns_action(event) else (),
)

ENDS = {f"workflow.{end}": end for end in ("succeeded", "failed", "timeout", "canceled")}


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    add_listing(add_verb(verbs, "events", events, "what happened to a workflow"), keys="+", kind=KeyKind.WORKFLOW)
    verb = add_shown_keys(
        add_verb(
            verbs,
            "logs",
            logs,
            "what the actions of workflows printed",
            "Into a pipe or file it is the bytes themselves; which action they are of goes to standard error.",
        ),
        "+",
        KeyKind.WORKFLOW,
    )
    verb.add_argument("-f", "--follow", action="store_true", help="of one workflow: go on until it is over")
    verb = add_verb(verbs, "watch", watch, "follow a workflow; exit status 0 only when it succeeds")
    add_times(verb)
    verb.add_argument("key", metavar="WORKFLOW")


def events(chosen: argparse.Namespace) -> int:
    """Of several workflows it is one list, which names the workflow of each event."""
    return show_each(
        chosen,
        lambda operator, key: operator.workflows.events(key),
        lambda found: _show_events(chosen, list(chain.from_iterable(found))),
    )


def _show_events(chosen: argparse.Namespace, happened: Sequence[Document]) -> None:
    if names_one(chosen):
        show(chosen, happened, EVENTS, key="number", as_2020=AS_2020)
    else:
        show(chosen, happened, [*WORKFLOW, *EVENTS], key=_place, as_2020=AS_2020)


def _place(event: Document) -> str:
    """An event among those of several workflows."""
    return f"{event['workflow_id']}/{event['number']}"


def logs(chosen: argparse.Namespace) -> int:
    """Print what the actions of workflows printed, one workflow after the other (`output.followed_output`)."""
    if chosen.follow and len(chosen.keys) > 1:
        chosen.usage_error(f"-f follows one workflow, and these are {len(chosen.keys)}")

    async def meant(operator: "Operator", key: str) -> tuple[str, str]:
        return chosen.names.get(key, key), (await operator.workflows.get(key))["id"]

    async def printed(operator: "Operator", workflows: Sequence[tuple[str, str]]) -> None:
        page = Page(name_of_attempt)
        for name, workflow_id in workflows:
            page.about = name if len(chosen.keys) > 1 else ""
            await follow(page, partial(operator.workflows.output, workflow_id, follow=chosen.follow))

    return show_each(chosen, meant, lambda found: stay_connected(chosen, lambda operator: printed(operator, found)))


def watch(chosen: argparse.Namespace) -> int:
    """Print what happens to a workflow until it is over; 0 only when it succeeded."""
    import asyncio

    from tinkbox.model.errors import Unavailable

    async def watched(operator: "Operator") -> int:
        workflow_id = (await operator.workflows.get(chosen.key))["id"]
        beside = Companions(chosen, operator, workflow_id)
        await beside.introduce()
        shown = 0
        outages = Outages()
        while True:
            try:
                happened = await operator.workflows.events(workflow_id, shown)
                outages.over()
                if happened and happened[0]["number"] <= shown:
                    tell_put_back(shown)
                for event in happened:
                    shown = event["number"]
                    beside.make_room()
                    print(line_of(event), flush=True)
                if (held := undecided(happened)) is not None:
                    beside.held(held)
                if (end := _end(happened)) is not None:
                    if end != "succeeded":
                        await beside.failed()
                    return 0 if end == "succeeded" else 1
                await beside.look()
                check_reader()
            except Unavailable as error:
                outages.tell(error)
                await asyncio.sleep(2)
                continue
            await asyncio.sleep(0.5)

    return stay_connected(chosen, watched)


def _end(happened: Sequence[Document]) -> str | None:
    """How the workflow ended; None when it did not, or was taken up again since.  What becomes of its services follows."""
    newest = [event["kind"] for event in happened if event["kind"].startswith("workflow.")][-1:]
    return ENDS.get(newest[0]) if newest else None
