"""Every fault at every transition of an action: the worker's and the appliance's own processes, and a real engine.

A cell that is not of the core waits for `make campaign`.
"""

from collections.abc import Collection, Iterable

import pytest

from tests.integration.faults.faults import (
    FAULTS,
    Fault,
    LateReport,
    answer_lost,
    appliance_killed,
    canceled,
    clock_a_day_ahead,
    connection_cut,
    engine_killed,
    machine_goes,
    name,
    none,
    plan,
    reports_doubled,
    worker_killed,
    worker_killed_when_it_had_asked,
)
from tests.integration.faults.matrix import LEAVING, TRANSITIONS
from tests.integration.faults.rig import Rig
from tests.integration.faults.verdict import Expected, complaints
from tests.integration.faults.wire import Moment

CORE = {
    worker_killed: set(TRANSITIONS),
    worker_killed_when_it_had_asked: {"about to start", "report sent"},
    answer_lost: {
        "offer asked",
        "about to create",
        "about to start",
        "data sent",
        "report sent",
        "report acknowledged",
    },
    appliance_killed: {"offer answered", "running", "data sent", "report sent", "report taken", "report acknowledged"},
    engine_killed: {"container created", "started", "running", "ended"},
    connection_cut: {"container created", "running", "report sent"},
    reports_doubled: {"offer asked", "running", "report taken"},
    clock_a_day_ahead: {"running"},
}
AFTER_THE_OFFER = [transition for transition in TRANSITIONS if transition != "offer asked"]
# What ran in a container that died with the engine cannot go on, and is not repeated.
ENDED_BY_THE_ENGINE = {(engine_killed, "started"), (engine_killed, "running")}


CELLS = [
    (fault, transition)
    for fault in FAULTS
    for transition in TRANSITIONS
    # Behind an answer there is no difference.
    if fault is not worker_killed_when_it_had_asked or TRANSITIONS[transition].moment is Moment.REQUEST
]


def cell(fault: Fault, transition: str) -> object:
    marks = () if transition in CORE.get(fault, ()) else pytest.mark.campaign
    return pytest.param(fault, transition, id=f"{name(fault)} at {transition}", marks=marks)


@pytest.mark.parametrize(("fault", "transition"), [cell(*each) for each in CELLS])
async def test_nothing_is_lost_and_nothing_runs_twice(fault: Fault, transition: str, rig: Rig) -> None:
    expected = Expected()
    if (fault, transition) in ENDED_BY_THE_ENGINE:
        expected = Expected(state="FAILED", reason="EngineRestarted")
    plan(rig, fault, transition, "subject")
    assert complaints(await rig.run(), expected) == []


def row(transitions: Iterable[str], core: Collection[str] = ()) -> list[object]:
    return [pytest.param(each, marks=() if each in core else pytest.mark.campaign) for each in transitions]


@pytest.mark.parametrize("transition", row(AFTER_THE_OFFER, core=("offer answered", "started", "report sent")))
async def test_a_report_that_is_late_does_not_touch_the_next_attempt(transition: str, rig: Rig) -> None:
    late = LateReport(refused=True)
    plan(rig, late.power_cut_behind_it, "report sent", "subject")
    plan(rig, late.arrives, transition, "subject")
    assert complaints(await rig.run(retries=1), Expected(retries=1)) == []


async def test_a_report_that_comes_before_its_machine_is_back_counts(rig: Rig) -> None:
    late = LateReport(refused=False)
    plan(rig, late.power_cut_behind_it, "report sent", "subject")
    plan(rig, late.arrives, "offer asked", "subject")
    assert complaints(await rig.run(), Expected()) == []


@pytest.mark.parametrize("transition", row(TRANSITIONS))
async def test_a_report_that_was_answered_before_a_retry_may_come_again(transition: str, rig: Rig) -> None:
    rig.fail_once("subject")
    plan(rig, none, "report acknowledged", "subject")
    plan(rig, reports_doubled, transition, "subject")
    assert complaints(await rig.run(retries=1), Expected(retries=1)) == []


@pytest.mark.parametrize("transition", row(["started", "running"], core=["running"]))
async def test_an_action_that_died_with_the_engine_is_tried_again_when_it_may(transition: str, rig: Rig) -> None:
    plan(rig, engine_killed, transition, "subject")
    assert complaints(await rig.run(retries=1), Expected(retries=1)) == []


@pytest.mark.parametrize("transition", row(TRANSITIONS, core=("offer answered", "running", "report sent")))
async def test_a_canceled_workflow_ends_wherever_it_is(transition: str, rig: Rig) -> None:
    plan(rig, canceled, transition, "subject", goes_on=False)
    facts = await rig.run()
    assert complaints(facts, Expected(state="CANCELED")) == []
    assert "after" not in facts.attempts.values()


LEAVING_CELLS = [
    (fault, transition)
    for fault in (appliance_killed, worker_killed, engine_killed, connection_cut, answer_lost, reports_doubled)
    for transition in LEAVING
    if (fault, transition) != (engine_killed, "started")  # then nothing is left that could make the machine go
]


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("fault", "transition"), LEAVING_CELLS, ids=[f"{name(fault)} at {where}" for fault, where in LEAVING_CELLS]
)
async def test_a_machine_that_goes_away_is_never_sent_away_twice(fault: Fault, transition: str, rig: Rig) -> None:
    plan(rig, fault, transition, "subject", goes_on=False)
    plan(rig, machine_goes, "running", "subject", goes_on=False)
    assert complaints(await rig.run(only="subject", reboot=True), Expected(leaves="subject")) == []
