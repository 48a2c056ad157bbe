"""`tinkbox workflow`; its ephemeral data is in `workflow_data`."""

import argparse
import json
import shlex
import sys
import textwrap
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tinkbox.cli.connection import ask, ask_each, stay_connected
from tinkbox.cli.flags import add_confirmation, add_keys, add_listing, add_verb, add_verbs
from tinkbox.cli.input_documents import read_devices, read_text
from tinkbox.cli.nouns import workflow_data
from tinkbox.cli.output.followed_output import follow, name_of_attempt
from tinkbox.cli.output.formats import Column, Document, show, show_notes, show_texts
from tinkbox.cli.output.printable import clean, moment
from tinkbox.cli.output.tables import fields
from tinkbox.cli.wording.events import ACTION_STATES, action_status, concerns_action, line_of, told, undecided
from tinkbox.cli.wording.holds import held_fields

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator
from tinkbox.model.action_progress import Progress, in_words
from tinkbox.model.breakpoint import VERDICTS, Kind
from tinkbox.model.text import briefly

PARAMETER = 40  # letters of each


def _parameters(devices: Mapping[str, str]) -> str:
    """What a workflow was created with, as far as it fits into a table."""
    return json.dumps({name: briefly(value, PARAMETER) for name, value in devices.items()}, ensure_ascii=False)


COLUMNS: Sequence[Column] = (
    Column("Workflow ID", "id"),
    Column("Template ID", "template_id"),
    Column("Hardware Device", "devices", _parameters),
    Column("Created At", "created_at", moment),
    Column("Updated At", "updated_at", moment),
)
EVENTS: Sequence[Column] = (
    Column("Worker ID", "worker"),
    Column("Task Name", "task"),
    Column("Action Name", "action"),
    Column("Execution Time", lambda event: int(event.get("seconds", 0))),
    Column("Message", told),
    Column("Action Status", action_status),
)
ENDS = {f"workflow.{end}": end for end in ("succeeded", "failed", "timeout", "canceled")}
WIDTH = 100


def declare(noun: argparse.ArgumentParser) -> None:
    verbs = add_verbs(noun)
    verb = add_verb(verbs, "create", create, "bind a template to machines")
    verb.add_argument("-t", "--template", metavar="TEMPLATE")
    verb.add_argument("-r", "--hardware", metavar="JSON", help='{"device_1": "08:00:27:00:00:01"}')
    verb.add_argument("--file", type=Path, metavar="F", help="instead of -t and -r, documents of kind: Workflow")
    verb.add_argument(
        "--breakpoint",
        dest="breakpoints",
        action="append",
        type=_place,
        metavar="WHERE",
        default=[],
        help="on-failure, before=ACTION or after=ACTION; may be repeated (see `tinkbox breakpoint`)",
    )
    add_confirmation(verb)
    add_listing(add_verb(verbs, "list", show_list, "every workflow"))
    add_listing(add_verb(verbs, "get", get, "a workflow's rendered template, or the list"), keys="*")
    verb = add_listing(add_verb(verbs, "state", state, "where a workflow stands"))
    verb.add_argument("key", metavar="WORKFLOW")
    add_listing(add_verb(verbs, "events", events, "what happened to a workflow"), keys="+")
    workflow_data.declare(verbs)
    verb = add_verb(verbs, "logs", logs, "what a workflow's actions printed")
    verb.add_argument("key", metavar="WORKFLOW")
    verb.add_argument("-f", "--follow", action="store_true", help="go on until the workflow is over")
    verb = add_verb(verbs, "watch", watch, "follow a workflow; exit status 0 only when it succeeds")
    verb.add_argument("key", metavar="WORKFLOW")
    add_keys(add_verb(verbs, "cancel", cancel, "stop workflows that are not over"))
    verb = add_keys(add_verb(verbs, "retry", retry, "resume failed workflows at the failed action"))
    verb.add_argument(
        "--from", dest="first", metavar="ACTION", help="ACTION or TASK/ACTION, the failed one or an earlier one"
    )
    add_confirmation(verb)
    add_keys(add_verb(verbs, "takeover", takeover, "go on from what machines did that the store has lost"))
    add_keys(add_verb(verbs, "delete", delete, "forget workflows that do not run"))


def _place(text: str) -> tuple[str, str]:
    """An argument that says where to hold: (on-failure, before or after; the action's name)."""
    where, _, action = text.partition("=")
    if text == "on-failure" or (where in ("before", "after") and action):
        return where, action
    raise argparse.ArgumentTypeError(f"{text!r} is not on-failure, before=ACTION or after=ACTION")


def _armed(wanted: Sequence[tuple[str, str]]) -> dict[str, object]:
    """What the `--breakpoint` flags name, empty when there are none."""
    change: dict[str, object] = {"on_failure": True} if ("on-failure", "") in wanted else {}
    named = {word: [name for where, name in wanted if where == word] for word in ("before", "after")}
    return change | {word: names for word, names in named.items() if names}


def create(chosen: argparse.Namespace) -> None:
    if (chosen.template is None) is not (chosen.hardware is None):
        chosen.usage_error("-t and -r go together, or neither of them with a file of Kubernetes documents")
    armed, confirmed = _armed(chosen.breakpoints), chosen.confirm_wipe
    if chosen.template is None:
        text = read_text(chosen.file, "kind: Workflow")
        answer = ask(chosen, lambda operator: operator.workflows.create_from(text, armed, confirm_wipe=confirmed))
        show_notes(answer)
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


def cancel(chosen: argparse.Namespace) -> None:
    for canceled in ask_each(chosen, lambda operator, key: operator.workflows.cancel(key)):
        # What runs is told to stop first.
        print("Canceled Workflow: " if canceled["state"] == "CANCELED" else "Canceling Workflow: ", canceled["id"])


def retry(chosen: argparse.Namespace) -> None:
    def once_more(operator: "Operator", key: str) -> Awaitable[Document]:
        return operator.workflows.retry(key, chosen.first, confirm_wipe=chosen.confirm_wipe)

    for retried in ask_each(chosen, once_more):
        print("Retried Workflow: ", retried["id"])


def takeover(chosen: argparse.Namespace) -> None:
    for taken in ask_each(chosen, lambda operator, key: operator.workflows.take_over(key)):
        print("Took Over Workflow: ", taken["id"])


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
    for each in stands.get("first_boots", ()):
        failures = [f"{one['module']} {one['result']}: {one['message']}" for one in each["failures"]]
        yield from _block("Cloud-init", (textwrap.wrap(line, WIDTH) for line in failures))


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
