"""`tinkbox workflow state`: where a workflow stands."""

import argparse
import shlex
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from tinkbox.cli.called_as import called_as
from tinkbox.cli.flags import Verbs, add_listing, add_verb
from tinkbox.cli.output.changes import show_each
from tinkbox.cli.output.formats import Column, Document, fields, for_people, names_one, short, show
from tinkbox.cli.wording.events import ACTION_STATES
from tinkbox.cli.wording.hints import advice_of, hint_of, may_have_printed
from tinkbox.cli.wording.holds import decided_fields, held_fields
from tinkbox.model.actions.progress import Progress, in_words
from tinkbox.model.command_lines import typable
from tinkbox.model.key_kinds import KeyKind
from tinkbox.model.reasons import NEW_TEXT, Reason, advises_retry, is_own_advice
from tinkbox.model.workflow import FINAL, State
from tinkbox.wire.messages.named_machines import machine_name

WIDTH = 100
TOLD_ABOVE = "WorkflowFailed"  # the doctor's rule that says no more than the workflow itself


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    add_listing(add_verb(verbs, "state", state, "where a workflow stands"), keys="+", kind=KeyKind.WORKFLOW)


def state(chosen: argparse.Namespace) -> int:
    return show_each(
        chosen, lambda operator, key: operator.workflows.state(key), lambda found: _show_states(chosen, found)
    )


def _show_states(chosen: argparse.Namespace, each_stands: Sequence[Document]) -> None:
    if not for_people(chosen):
        plain = dict.fromkeys(
            name
            for stands in each_stands
            for name, value in stands.items()
            if name != "held" and not isinstance(value, list | dict)
        )
        columns = [Column(name, partial(_field, name), called=name) for name in plain]
        quiet = "state" if chosen.as_2020 else "workflow_id"  # scripts for `tink` read the state
        show(chosen, each_stands, columns, key=quiet, name="workflow_id", one=names_one(chosen))
        return
    for number, stands in enumerate(each_stands):
        told = (_as_2020 if chosen.as_2020 else _told)(stands, called_as(chosen))
        between = "\n" if number and not chosen.as_2020 else ""
        print(between, fields(chosen, list(told), ("Field Name", "Values")), sep="", end="")


def _field(name: str, stands: Document) -> object:
    """Some are told of few workflows alone."""
    return stands.get(name)


def _as_2020(stands: Document, program: str) -> Iterator[tuple[str, object]]:
    """The fields that 2020's `tink` had, and behind them those that it did not."""
    yield "Workflow ID", stands["workflow_id"]
    yield "Workflow Progress", f"{stands['progress']}%"
    yield "Current Task", stands["current_task"]
    yield "Current Action", stands["current_action"]
    yield "Current Worker", stands["current_worker"]
    yield "Current Action State", ACTION_STATES[stands["current_action_state"]]
    if far := stands.get("action_progress"):
        yield "Action Progress", in_words(Progress(**far))
    yield from held_fields(stands["held"], program) if stands["held"] else ()
    hint = hint_of(stands, stands["workflow_id"])
    yield from _explained({**stands, "hint": hint}, stands["failures"], WIDTH)


def _told(stands: Document, program: str) -> Iterator[tuple[str, object]]:
    """What a person wants to know, without what contradicts itself: an action that never began has no state.

    `program` is how the lines begin that a person may type.
    """
    identity = stands["workflow_id"]
    yield "Workflow", f"{stands['name']} ({identity})"
    yield "Template", stands["template_name"]
    yield from _block("Machine", ([_called(each)] for each in stands["machines"]))
    yield "State", stands["state"]
    yield "Progress", f"{stands['actions_done']} of {stands['actions_total']} actions done"
    if action := " / ".join(each for each in (stands["current_task"], stands["current_action"]) if each):
        yield "Action", f"{action}{_action_state(stands)}"
    if far := stands.get("action_progress"):
        yield "Action Progress", in_words(Progress(**far))
    yield from (_keyed(each, identity) for each in _hold(stands, program))
    failed = stands.get("failed_attempts", stands["failures"])  # earlier releases tell only those that are over
    refused = "overtaken" in stands and advises_retry(stands["hint"])
    over = stands["state"] in FINAL and stands["state"] != State.SUCCESS
    # Below stands the same command with its key.
    twice = over and stands["hint"] == typable(Reason.NON_ZERO_EXIT.hint, program)
    told = advice_of if is_own_advice(stands["reason"], stands["hint"]) else hint_of
    if "way_to_change" in stands or "template_changed" in stands:  # that is told below with its whole command
        stands = {**stands, "hint": stands["hint"].removesuffix(typable(NEW_TEXT, program))}
    hint = "" if refused or twice or stands["state"] == State.STOPPING else told(stands, identity)
    yield from _explained({**stands, "hint": hint}, failed, sys.maxsize)
    key = short(identity)
    found = stands.get("diagnosis")
    if found and found["rule"] != TOLD_ABOVE:
        yield "Diagnosis", found["cause"]
        yield "", f"{program} doctor {key}: what that rests on, and what to do"
    if stands["state"] == State.STOPPING:
        yield "What Next", f"{program} workflow cancel --force {key}: ends it if its machine is off"
    if over:
        yield from _block("What Next", ([each] for each in _next(stands, program)))


def _next(stands: Document, program: str) -> Iterator[str]:
    """What a person may type about a workflow that ended badly."""
    key = short(stands["workflow_id"])
    if may_have_printed(stands, program):
        yield f"{program} workflow logs {key}: what it printed"
    if later := stands.get("overtaken"):
        yield f"not to be retried: {later}"
        return
    if changed := stands.get("template_changed"):
        yield changed
    if stands["actions_done"] < stands["actions_total"]:
        yield f"{program} workflow retry {key}: once more from this action on"
    else:
        again = shlex.quote(f"{stands['current_task']}/{stands['current_action']}")
        yield f"{program} workflow retry {key} --from {again}: every action is done; this runs the last one again"
    if way := stands.get("way_to_change"):
        yield way


def _hold(stands: Document, program: str) -> Iterator[tuple[str, object]]:
    if hold := stands["held"]:
        yield from decided_fields(hold) if hold["verdict"] else held_fields(hold, program)


def _called(machine: Document) -> str:
    name = machine_name(machine)
    return name if name == machine["mac"] or not machine["mac"] else f"{name} ({machine['mac']})"


def _action_state(stands: Document) -> str:
    """Where the action stands that the workflow has come to; held is only what waits for a verdict."""
    reached = stands["current_action_state"]
    if reached == State.HELD and (stands["held"] is None or stands["held"]["verdict"]):
        return f": {stands['state']}"  # it runs on, or is being stopped
    if reached != State.PENDING:
        return f": {reached}"
    return ": never began" if stands["state"] in FINAL else ": not begun yet"


def _keyed(field: tuple[str, object], identity: str) -> tuple[str, object]:
    """A field of a hold with the workflow's id where its text says WORKFLOW."""
    title, value = field
    return title, str(value).replace("WORKFLOW", short(identity)) if title == "Verdicts" else value


def _explained(stands: Document, failed: int, width: int) -> Iterator[tuple[str, object]]:
    """What keeps a workflow from its next action, and what there is to say of one that did not succeed, as further fields.

    So many attempts at it `failed`.  Text of more than `width` letters goes on below its field.
    """
    # Earlier releases tell of services alone.
    of_services = (each["message"] for each in stands["conditions"] if each["reason"] == "WaitingForServices")
    waits = stands.get("waiting") or ""
    waiting = [f"for {waits}"] if waits else [*of_services]
    yield from _block("Waiting", (textwrap.wrap(message, width) for message in waiting))
    if failed and stands["retries"]:
        yield "Failed Attempts", f"{failed} of {max(stands['retries'] + 1, failed)}"
    for title in ("Reason", "Message", "Hint"):
        yield from _block(title, (textwrap.wrap(line, width) for line in stands[title.lower()].splitlines()))
    if stands["reason"] or stands["current_action_state"] != "SUCCESS":
        yield from _block("Exit Code", [[] if stands["exit_code"] is None else [str(stands["exit_code"])]])
        yield from _block("Signal", [[stands["signal"]] if stands["signal"] else []])
        yield from _block("Last Output", ([line[: 2 * WIDTH]] for line in stands["last_output"]))
    for each in stands.get("first_boots", ()):
        failures = [f"{one['module']} {one['result']}: {one['message']}" for one in each["failures"]]
        yield from _block("Cloud-init", (textwrap.wrap(line, width) for line in failures))


def _block(title: str, parts: Iterable[Sequence[str]]) -> Iterator[tuple[str, object]]:
    """The lines of all parts, the first of them beside the title."""
    for number, line in enumerate(line for lines in parts for line in lines):
        yield "" if number else title, line
