"""What must be true when everything is over, whatever went wrong on the way.  Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tinkbox.model.history import fold
from tinkbox.model.workflow import Event

ENDS = {
    "action.succeeded": "SUCCESS",
    "action.failed": "FAILED",
    "action.timeout": "TIMEOUT",
    "action.canceled": "CANCELED",
}
WORKFLOW_ENDS = {
    "workflow.succeeded": "SUCCESS",
    "workflow.failed": "FAILED",
    "workflow.timeout": "TIMEOUT",
    "workflow.canceled": "CANCELED",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What was seen from outside.

    `states` are those of the workflow and of each action.  `attempts` maps the tokens that were offered to their actions, `acknowledged` those whose report was
    answered to its outcome; `starts` are the tokens with which a process began, `printed` what each of them
    printed, which is `lines` lines "token number" if it got so far; `trail` are the actions whose data
    arrived, `left` the containers that are still there.
    """

    actions: tuple[str, ...]
    lines: int
    events: tuple[Mapping[str, Any], ...]
    states: tuple[str, ...]
    attempts: Mapping[str, str]
    acknowledged: Mapping[str, Mapping[str, object]]
    starts: tuple[str, ...]
    printed: Mapping[str, str]
    trail: tuple[str, ...]
    left: tuple[str, ...]
    crashed: tuple[str, ...]
    planned: tuple[str, ...]
    refused: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """How it must end; `reason` is the failed action's, and an action may run once and `retries` times more.

    The machine goes away with the action `leaves`, and with what that wrote.
    """

    state: str = "SUCCESS"
    reason: str = ""
    retries: int = 0
    leaves: str = ""


def complaints(facts: Facts, expected: Expected) -> list[str]:
    """Everything that is wrong, for people; nothing when all is right."""
    return [
        *_plan(facts),
        *_end(facts, expected),
        *_events(facts),
        *_starts(facts, expected),
        *_reports(facts),
        *_output(facts),
        *(_data(facts, expected) if expected.state == "SUCCESS" else ()),
    ]


def _plan(facts: Facts) -> Iterator[str]:
    yield from (f"not reached: {step}" for step in facts.planned)
    yield from (f"answered otherwise than it should be: {what}" for what in facts.refused)
    yield from (f"the {who} crashed" for who in facts.crashed)
    if facts.left:
        yield f"containers are left behind: {', '.join(facts.left)}"


def _end(facts: Facts, expected: Expected) -> Iterator[str]:
    ends = [WORKFLOW_ENDS[event["kind"]] for event in facts.events if event["kind"] in WORKFLOW_ENDS]
    if ends != [expected.state]:
        yield f"the workflow should have ended once, with {expected.state}: {ends}"
    reasons = [event["reason"] for event in facts.events if event["kind"] in ENDS and event.get("reason")]
    if expected.reason and reasons[-1:] != [expected.reason]:
        yield f"the last reason should be {expected.reason}: {reasons}"


def _events(facts: Facts) -> Iterator[str]:
    numbers = [event["number"] for event in facts.events]
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"events are lost or doubled: {numbers}"
    else:
        folded = fold(_event(event) for event in facts.events)
        if facts.states != (folded.state, *folded.actions):
            yield f"the events add up to {folded}, and the states are {facts.states}"
    for action in facts.actions:
        happened = [event["kind"] for event in facts.events if event.get("action") == action]
        if happened[1:2] == ["action.leaving"]:
            del happened[1]
        if any((kind == "action.started") == (number % 2 == 1) for number, kind in enumerate(happened)):
            yield f"{action} did not begin and end in turn: {happened}"


def _event(document: Mapping[str, Any]) -> Event:
    data = {name: value for name, value in document.items() if name not in ("workflow_id", "number", "at", "kind")}
    at = datetime.fromisoformat(document["at"])
    return Event(
        workflow_id=document["workflow_id"], number=document["number"], at=at, kind=document["kind"], data=data
    )


def _starts(facts: Facts, expected: Expected) -> Iterator[str]:
    for token, times in Counter(facts.starts).items():
        if times > 1 or token not in facts.attempts:
            yield f"attempt {token} at {facts.attempts.get(token, 'something never offered')} began {times} times"
    for action in facts.actions:
        tries = sum(facts.attempts[token] == action for token in facts.attempts)
        if tries > 1 + expected.retries or (tries == 0 and expected.state == "SUCCESS"):
            yield f"there were {tries} attempts at {action}"


def _reports(facts: Facts) -> Iterator[str]:
    told = Counter((facts.attempts[token], outcome["state"]) for token, outcome in facts.acknowledged.items())
    kept = Counter((event["action"], ENDS[event["kind"]]) for event in facts.events if event["kind"] in ENDS)
    for (action, state), times in told.items():
        if kept[action, state] < times:
            yield f"the report that {action} ended with {state} was acknowledged and is lost"
    for action in facts.actions:
        if kept[action, "SUCCESS"] > 1:
            yield f"{action} succeeded {kept[action, 'SUCCESS']} times"


def _output(facts: Facts) -> Iterator[str]:
    whole = {token for token, outcome in facts.acknowledged.items() if outcome["state"] == "SUCCESS"}
    for token, action in facts.attempts.items():
        printed = facts.printed.get(token, "")
        wanted = "".join(f"{token} {number}\n" for number in range(facts.lines))
        # What an attempt printed that was ended may break off anywhere.
        if printed != wanted and (token in whole or not wanted.startswith(printed)):
            pairs = enumerate(zip(printed, wanted, strict=False))
            good = next((place for place, (have, want) in pairs if have != want), min(len(printed), len(wanted)))
            yield f"the output of {action} is wrong after {good} of {len(wanted)} bytes: {printed[good:][:50]!r}"
    if strange := facts.printed.keys() - facts.attempts.keys():
        yield f"there is output of attempts that were never offered: {sorted(strange)}"


def _data(facts: Facts, expected: Expected) -> Iterator[str]:
    wanted = tuple(action for action in facts.actions if action != expected.leaves)
    if set(facts.trail) - set(wanted):
        yield f"there is strange data: {facts.trail}"
    elif tuple(dict.fromkeys(facts.trail)) != wanted:
        yield f"data is lost: {facts.trail}"
    elif len(facts.trail) > len(facts.starts):
        yield f"data is doubled: {facts.trail}"
