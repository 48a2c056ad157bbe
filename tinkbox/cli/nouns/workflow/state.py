"""`tinkbox workflow state`: where a workflow stands."""

import argparse
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import Verbs, add_listing, add_verb
from tinkbox.cli.output.formats import Column, Document, show
from tinkbox.cli.output.tables import fields
from tinkbox.cli.wording.events import ACTION_STATES
from tinkbox.cli.wording.holds import held_fields
from tinkbox.model.action_progress import Progress, in_words

WIDTH = 100


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_listing(add_verb(verbs, "state", state, "where a workflow stands"))
    verb.add_argument("key", metavar="WORKFLOW")


def state(chosen: argparse.Namespace) -> None:
    stands = ask(chosen, lambda operator: operator.workflows.state(chosen.key))
    if chosen.format != "table" or chosen.quiet:
        plain = [name for name, value in stands.items() if name != "held" and not isinstance(value, list | dict)]
        show(chosen, [stands], [Column(name, name) for name in plain], key="state")
        return
    pairs: list[tuple[str, object]] = [
        ("Workflow ID", stands["workflow_id"]),
        ("Workflow Progress", f"{stands['progress']}%"),
        ("Current Task", stands["current_task"]),
        ("Current Action", stands["current_action"]),
        ("Current Worker", stands["current_worker"]),
        ("Current Action State", ACTION_STATES[stands["current_action_state"]]),
        *([("Action Progress", in_words(Progress(**far)))] if (far := stands.get("action_progress")) else ()),
        *(held_fields(stands["held"]) if stands["held"] else ()),
        *_explained(stands),
    ]
    print(fields(pairs, ("Field Name", "Values")), end="")


def _explained(stands: Document) -> Iterator[tuple[str, object]]:
    """What keeps a workflow from beginning, and what there is to say of an action that did not succeed, as further fields.

    Long text goes on below its field.
    """
    waiting = [each["message"] for each in stands["conditions"] if each["reason"] == "WaitingForServices"]
    yield from _block("Waiting", (textwrap.wrap(message, WIDTH) for message in waiting))
    if stands["failures"] and stands["retries"]:
        yield "Failed Attempts", f"{stands['failures']} of {stands['retries'] + 1}"
    for title in ("Reason", "Message", "Hint"):
        yield from _block(title, (textwrap.wrap(line, WIDTH) for line in stands[title.lower()].splitlines()))
    if stands["reason"] or stands["current_action_state"] != "SUCCESS":
        yield from _block("Exit Code", [[] if stands["exit_code"] is None else [str(stands["exit_code"])]])
        yield from _block("Signal", [[stands["signal"]] if stands["signal"] else []])
        yield from _block("Last Output", ([line[: 2 * WIDTH]] for line in stands["last_output"]))
    for each in stands.get("first_boots", ()):
        failures = [f"{one['module']} {one['result']}: {one['message']}" for one in each["failures"]]
        yield from _block("Cloud-init", (textwrap.wrap(line, WIDTH) for line in failures))


def _block(title: str, parts: Iterable[Sequence[str]]) -> Iterator[tuple[str, object]]:
    """The lines of all parts, the first of them beside the title."""
    for number, line in enumerate(line for lines in parts for line in lines):
        yield "" if number else title, line
