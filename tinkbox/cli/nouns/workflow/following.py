"""`tinkbox workflow events`, `logs` and `watch`: what happens in a workflow."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tinkbox.cli.connection import ask_each, stay_connected
from tinkbox.cli.flags import Verbs, add_listing, add_verb
from tinkbox.cli.output.followed_output import follow, name_of_attempt
from tinkbox.cli.output.formats import Column, Document, show
from tinkbox.cli.output.printable import clean
from tinkbox.cli.wording.events import action_status, concerns_action, line_of, told, undecided
from tinkbox.model.breakpoint import VERDICTS, Kind

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

EVENTS: Sequence[Column] = (
    Column("Worker ID", "worker"),
    Column("Task Name", "task"),
    Column("Action Name", "action"),
    Column("Execution Time", lambda event: int(event.get("seconds", 0))),
    Column("Message", told),
    Column("Action Status", action_status),
)

ENDS = {f"workflow.{end}": end for end in ("succeeded", "failed", "timeout", "canceled")}


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    add_listing(add_verb(verbs, "events", events, "what happened to a workflow"), keys="+")
    verb = add_verb(verbs, "logs", logs, "what a workflow's actions printed")
    verb.add_argument("key", metavar="WORKFLOW")
    verb.add_argument("-f", "--follow", action="store_true", help="go on until the workflow is over")
    verb = add_verb(verbs, "watch", watch, "follow a workflow; exit status 0 only when it succeeds")
    verb.add_argument("key", metavar="WORKFLOW")


def events(chosen: argparse.Namespace) -> None:
    for happened in ask_each(chosen, lambda operator, key: operator.workflows.events(key)):
        shown = happened
        if chosen.format in ("table", "csv"):
            shown = [event for event in happened if concerns_action(event)]
        show(chosen, shown, EVENTS, key="number")


def logs(chosen: argparse.Namespace) -> None:
    """Print what a workflow's actions printed (`output.followed_output`)."""

    async def printed(operator: "Operator") -> None:
        workflow_id = (await operator.workflows.get(chosen.key))["id"]
        await follow(lambda place: operator.workflows.output(workflow_id, place, follow=chosen.follow), name_of_attempt)

    stay_connected(chosen, printed)


def watch(chosen: argparse.Namespace) -> int:
    """Print what happens to a workflow until it is over; 0 only when it succeeded."""
    import asyncio

    from tinkbox.model.errors import Unavailable

    async def watched(operator: "Operator") -> int:
        workflow_id = (await operator.workflows.get(chosen.key))["id"]
        shown = 0
        while True:
            try:
                happened = await operator.workflows.events(workflow_id, shown)
            except Unavailable as error:
                print(f"tinkbox: {clean(str(error))}; trying again", file=sys.stderr)
                await asyncio.sleep(2)
                continue
            for event in happened:
                shown = event["number"]
                print(line_of(event), flush=True)
            if sys.stdout.isatty() and (held := undecided(happened)) is not None:
                print(_way_on(chosen, held), flush=True)
            if (end := _end(happened)) is not None:
                return 0 if end == "succeeded" else 1
            await asyncio.sleep(0.5)

    return stay_connected(chosen, watched)


def _end(happened: Sequence[Document]) -> str | None:
    """How the workflow ended; None when it did not, or was taken up again since.  What becomes of its services follows."""
    newest = [event["kind"] for event in happened if event["kind"].startswith("workflow.")][-1:]
    return ENDS.get(newest[0]) if newest else None


def _way_on(chosen: argparse.Namespace, held: Document) -> str:
    """What to type when something is held."""
    program = f"tinkbox --data {shlex.quote(str(chosen.data))}" if chosen.data else "tinkbox"
    first, *others = VERDICTS[Kind(held["breakpoint"])]
    key = held["workflow_id"][:8]
    return (
        f"    look into it:  {program} breakpoint shell {key}\n"
        f"    decide:        {program} breakpoint {first} {key}   (or {', '.join(others)}, extend)"
    )
