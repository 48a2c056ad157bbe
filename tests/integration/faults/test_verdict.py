"""The verdict sees each kind of damage: good facts, damaged in one place."""

from dataclasses import replace
from typing import Any

import pytest

from tests.integration.faults.verdict import Expected, Facts, complaints

AT = {"workflow_id": "w", "at": "2026-01-01T00:00:00+00:00"}


def event(number: int, kind: str, action: str = "", state: str = "", **told: object) -> dict[str, Any]:
    which = {"action": action, "index": "ab".index(action), "state": state} if action else {}
    return {**AT, "number": number, "kind": kind, **which, **told}


EVENTS = [
    event(1, "workflow.created", actions=[{}, {}], skipped=[]),
    event(2, "workflow.started"),
    event(3, "action.started", "a", "RUNNING"),
    event(4, "action.succeeded", "a", "SUCCESS"),
    event(5, "action.started", "b", "RUNNING"),
    event(6, "action.succeeded", "b", "SUCCESS"),
    event(7, "workflow.succeeded"),
]
FAILED = event(6, "action.failed", "b", "FAILED", reason="EngineRestarted")
GOOD = Facts(
    actions=("a", "b"),
    lines=3,
    events=tuple(EVENTS),
    states=("SUCCESS", "SUCCESS", "SUCCESS"),
    attempts={"t1": "a", "t2": "b"},
    acknowledged={"t1": {"state": "SUCCESS"}, "t2": {"state": "SUCCESS"}},
    starts=("t1", "t2"),
    printed={"t1": "t1 0\nt1 1\nt1 2\n", "t2": "t2 0\nt2 1\nt2 2\n"},
    trail=("a", "b"),
    left=(),
    crashed=(),
    planned=(),
    refused=(),
)
GAVE_UP = replace(
    GOOD,
    events=(*EVENTS[:5], FAILED, event(7, "workflow.failed")),
    states=("FAILED", "SUCCESS", "FAILED"),
    acknowledged={"t1": {"state": "SUCCESS"}, "t2": {"state": "FAILED"}},
    printed={**GOOD.printed, "t2": "t2 0\nt2"},
)
GIVEN_UP = Expected(state="FAILED", reason="EngineRestarted")
DAMAGES: dict[str, dict[str, Any]] = {
    "a step that did not happen": {"planned": ("a step",)},
    "a wrong answer": {"refused": ("a report again: 500",)},
    "a crash": {"crashed": ("worker",)},
    "a container left behind": {"left": ("0123",)},
    "a workflow that did not end": {"events": tuple(EVENTS[:-1])},
    "an event that is lost": {"events": (*EVENTS[:1], *EVENTS[2:])},
    "an event told twice": {"events": (*EVENTS, EVENTS[-1])},
    "an end without a beginning": {"events": (*EVENTS[:4], {**EVENTS[5], "number": 5}, {**EVENTS[6], "number": 6})},
    "states that are not what the events tell": {"states": ("SUCCESS", "SUCCESS", "RUNNING")},
    "a second process of an attempt": {"starts": ("t1", "t2", "t2")},
    "a process of no attempt": {"starts": ("t1", "t2", "t9")},
    "a second attempt": {"attempts": {**GOOD.attempts, "t3": "b"}},
    "an action that was never tried": {"attempts": {"t1": "a"}, "acknowledged": {}},
    "an acknowledged report that is lost": {"acknowledged": {**GOOD.acknowledged, "t2": {"state": "FAILED"}}},
    "output lost": {"printed": {"t1": GOOD.printed["t1"]}},
    "a line lost at the end": {"printed": {**GOOD.printed, "t2": "t2 0\nt2 1\n"}},
    "a line lost in the middle": {"printed": {**GOOD.printed, "t2": "t2 0\nt2 2\n"}},
    "a line doubled": {"printed": {**GOOD.printed, "t2": "t2 0\nt2 1\nt2 2\nt2 2\n"}},
    "lines in another order": {"printed": {**GOOD.printed, "t2": "t2 0\nt2 2\nt2 1\n"}},
    "output of nobody": {"printed": {**GOOD.printed, "t9": "t9 0\n"}},
    "data lost": {"trail": ("a",)},
    "data doubled": {"trail": ("a", "b", "b")},
    "strange data": {"trail": ("a", "b", "c")},
}


def test_good_facts_are_not_complained_of() -> None:
    assert complaints(GOOD, Expected()) == []
    assert complaints(GAVE_UP, GIVEN_UP) == []


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_complained_of(damage: str) -> None:
    assert complaints(replace(GOOD, **DAMAGES[damage]), Expected())


def test_what_an_action_wrote_of_which_the_machine_went_away_is_not_missed() -> None:
    left = [{**each, "number": each["number"] + 1} for each in EVENTS[5:]]
    facts = replace(GOOD, events=(*EVENTS[:5], event(6, "action.leaving", "b", "LEAVING"), *left), trail=("a",))
    assert complaints(facts, Expected(leaves="b")) == []
    assert complaints(facts, Expected())


def test_another_end_is_complained_of() -> None:
    assert complaints(GAVE_UP, Expected())
    assert complaints(GOOD, GIVEN_UP)
    assert complaints(GAVE_UP, Expected(state="FAILED", reason="WorkerLost"))


def test_output_that_breaks_off_is_good_only_as_a_beginning() -> None:
    assert complaints(replace(GAVE_UP, printed={**GOOD.printed, "t2": "t2 1\nt2"}), GIVEN_UP)


def test_as_many_attempts_are_good_as_the_template_allows() -> None:
    again = [{**each, "number": each["number"] + 2} for each in EVENTS[4:]]
    events = (*EVENTS[:5], {**FAILED, "next": "PENDING"}, *again)
    tried = replace(
        GOOD,
        events=events,
        attempts={**GOOD.attempts, "t3": "b"},
        acknowledged={**GOOD.acknowledged, "t2": {"state": "FAILED"}, "t3": {"state": "SUCCESS"}},
        starts=("t1", "t2", "t3"),
        printed={"t1": GOOD.printed["t1"], "t3": "t3 0\nt3 1\nt3 2\n"},
    )
    assert complaints(tried, Expected(retries=1)) == []
    assert complaints(tried, Expected())
