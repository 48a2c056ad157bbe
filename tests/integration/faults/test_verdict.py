"""The verdict sees each kind of damage: good facts, damaged in one place."""

from dataclasses import replace
from typing import Any

import pytest

from tests.integration.faults.verdict import Expected, Facts, complaints

EVENTS: list[dict[str, Any]] = [
    {"number": 1, "kind": "workflow.created"},
    {"number": 2, "kind": "workflow.started"},
    {"number": 3, "kind": "action.started", "action": "a"},
    {"number": 4, "kind": "action.succeeded", "action": "a"},
    {"number": 5, "kind": "action.started", "action": "b"},
    {"number": 6, "kind": "action.succeeded", "action": "b"},
    {"number": 7, "kind": "workflow.succeeded"},
]
GOOD = Facts(
    actions=("a", "b"),
    lines=3,
    events=tuple(EVENTS),
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
FAILED = {"number": 6, "kind": "action.failed", "action": "b", "reason": "EngineRestarted"}
GAVE_UP = replace(
    GOOD,
    events=(*EVENTS[:5], FAILED, {"number": 7, "kind": "workflow.failed"}),
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
    "an end without a beginning": {"events": (*EVENTS[:4], EVENTS[5], EVENTS[4], EVENTS[6])},
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


def test_another_end_is_complained_of() -> None:
    assert complaints(GAVE_UP, Expected())
    assert complaints(GOOD, GIVEN_UP)
    assert complaints(GAVE_UP, Expected(state="FAILED", reason="WorkerLost"))


def test_output_that_breaks_off_is_good_only_as_a_beginning() -> None:
    assert complaints(replace(GAVE_UP, printed={**GOOD.printed, "t2": "t2 1\nt2"}), GIVEN_UP)


def test_as_many_attempts_are_good_as_the_template_allows() -> None:
    events = (*EVENTS[:5], FAILED, {**EVENTS[4], "number": 7}, {**EVENTS[5], "number": 8}, {**EVENTS[6], "number": 9})
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
