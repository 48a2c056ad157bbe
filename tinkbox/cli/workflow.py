"""`tinkbox workflow`."""

import argparse
import json
import shlex
import sys
import textwrap
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from operator import itemgetter

from tinkbox.cli.appliance import ask, ask_each, read_text
from tinkbox.cli.breakpoint import breakpoints_of, held_fields
from tinkbox.cli.happenings import ACTION_STATES, action_status, concerns_action, line_of, told, undecided
from tinkbox.cli.intake import read_devices, say_notes
from tinkbox.cli.output import Column, Document, clean, fields, moment, show, show_texts
from tinkbox.client.operator import Operator
from tinkbox.model.breakpoint import VERDICTS, Kind

COLUMNS: Sequence[Column] = (
    ("Workflow ID", lambda workflow: workflow["id"]),
    ("Template ID", lambda workflow: workflow["template_id"]),
    ("Hardware Device", lambda workflow: json.dumps(workflow["devices"])),
    ("Created At", lambda workflow: moment(workflow["created_at"])),
    ("Updated At", lambda workflow: moment(workflow["updated_at"])),
)
EVENTS: Sequence[Column] = (
    ("Worker ID", lambda event: event["worker"]),
    ("Task Name", lambda event: event["task"]),
    ("Action Name", lambda event: event["action"]),
    ("Execution Time", lambda event: int(event.get("seconds", 0))),
    ("Message", told),
    ("Action Status", action_status),
)
ENDS = {f"workflow.{end}": end for end in ("succeeded", "failed", "timeout", "canceled")}
WIDTH = 100


def create(chosen: argparse.Namespace) -> None:
    armed, confirmed = breakpoints_of(chosen.breakpoints), chosen.confirm_wipe
    if chosen.template is None:
        text = read_text(chosen.file, "kind: Workflow")
        answer = ask(chosen, lambda operator: operator.workflows.create_from(text, armed, confirm_wipe=confirmed))
        say_notes(answer)
    else:
        devices = read_devices(chosen.hardware)
        answer = ask(
            chosen,
            lambda operator: operator.workflows.create(chosen.template, devices, armed, confirm_wipe=confirmed),
        )
    for created in answer.get("created", [answer]):
        print("Created Workflow: ", created["id"])


def show_list(chosen: argparse.Namespace) -> None:
    show(chosen, ask(chosen, lambda operator: operator.workflows.all()), COLUMNS)


def get(chosen: argparse.Namespace) -> None:
    if not chosen.keys:
        show_list(chosen)
        return
    show_texts(chosen, ask_each(chosen, lambda operator, key: operator.workflows.get(key)), COLUMNS, "text")


def state(chosen: argparse.Namespace) -> None:
    stands = ask(chosen, lambda operator: operator.workflows.state(chosen.key))
    if chosen.format != "table" or chosen.quiet:
        plain = [name for name, value in stands.items() if name != "held" and not isinstance(value, list)]
        show(chosen, [stands], [(name, itemgetter(name)) for name in plain], key="state")
        return
    pairs: list[tuple[str, object]] = [
        ("Workflow ID", stands["workflow_id"]),
        ("Workflow Progress", f"{stands['progress']}%"),
        ("Current Task", stands["current_task"]),
        ("Current Action", stands["current_action"]),
        ("Current Worker", stands["current_worker"]),
        ("Current Action State", ACTION_STATES[stands["current_action_state"]]),
        *(held_fields(stands["held"]) if stands["held"] else ()),
        *_explained(stands),
    ]
    print(fields(pairs, ("Field Name", "Values")), end="")


def events(chosen: argparse.Namespace) -> None:
    for happened in ask_each(chosen, lambda operator, key: operator.workflows.events(key)):
        shown = happened
        if chosen.format in ("table", "csv"):
            shown = [event for event in happened if concerns_action(event)]
        show(chosen, shown, EVENTS, key="number")


def cancel(chosen: argparse.Namespace) -> None:
    for canceled in ask_each(chosen, lambda operator, key: operator.workflows.cancel(key)):
        # What runs is told to stop first.
        print("Canceled Workflow: " if canceled["state"] == "CANCELED" else "Canceling Workflow: ", canceled["id"])


def retry(chosen: argparse.Namespace) -> None:
    def once_more(operator: Operator, key: str) -> Awaitable[Document]:
        return operator.workflows.retry(key, chosen.first, confirm_wipe=chosen.confirm_wipe)

    for retried in ask_each(chosen, once_more):
        print("Retried Workflow: ", retried["id"])


def watch(chosen: argparse.Namespace) -> int:
    """Print what happens to a workflow until it is over; 0 only when it succeeded."""
    import asyncio

    from tinkbox.model.errors import Unavailable

    async def watched(operator: Operator) -> int:
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

    return ask(chosen, watched)


def delete(chosen: argparse.Namespace) -> None:
    ask_each(chosen, lambda operator, key: operator.workflows.delete(key))


def _end(happened: Sequence[Document]) -> str | None:
    """How the workflow ended; None when it did not, or was taken up again since.  What becomes of its services follows."""
    newest = [event["kind"] for event in happened if event["kind"].startswith("workflow.")][-1:]
    return ENDS.get(newest[0]) if newest else None


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


def _block(title: str, parts: Iterable[Sequence[str]]) -> Iterator[tuple[str, object]]:
    """The lines of all parts, the first of them beside the title."""
    for number, line in enumerate(line for lines in parts for line in lines):
        yield "" if number else title, line


def _way_on(chosen: argparse.Namespace, held: Document) -> str:
    """What to type when something is held."""
    program = f"tinkbox --data {shlex.quote(str(chosen.data))}" if chosen.data else "tinkbox"
    first, *others = VERDICTS[Kind(held["breakpoint"])]
    key = held["workflow_id"][:8]
    return (
        f"    look into it:  {program} breakpoint shell {key}\n"
        f"    decide:        {program} breakpoint {first} {key}   (or {', '.join(others)}, extend)"
    )
