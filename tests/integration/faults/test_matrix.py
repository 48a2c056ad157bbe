"""Every fault at every transition of an action: the worker's and the appliance's own processes, and a real engine.

Each run of `make test` takes some of the cells in turn (tests/rotation.py), `make campaign` all of them.
"""

from collections.abc import Iterable

import pytest

from tests import rotation
from tests.integration.faults.faults import (
    FAULTS,
    Fault,
    LateReport,
    answer_lost,
    appliance_killed,
    canceled,
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
from tests.integration.faults.matrix import BEHIND_THE_OFFER, LEAVING, POLLED, TRANSITIONS
from tests.integration.faults.rig import Rig
from tests.integration.faults.verdict import Expected, complaints
from tests.integration.faults.wire import Exchange, Moment

AFTER_THE_OFFER = [transition for transition in TRANSITIONS if transition != "offer asked"]
# The answer to the report has the offer of the next action already.
WITH_THE_NEXT_OFFER = ("report taken", "report acknowledged")
BEFORE_THE_NEXT_OFFER = [name for name in TRANSITIONS if name not in WITH_THE_NEXT_OFFER]
# What ran in a container that died with the engine cannot go on, and is not repeated.
ENDED_BY_THE_ENGINE = {(engine_killed, "started"), (engine_killed, "running")}


CELLS = [
    (fault, transition)
    for fault in FAULTS
    for transition in TRANSITIONS
    # Behind an answer there is no difference.
    if fault is not worker_killed_when_it_had_asked or TRANSITIONS[transition].moment is Moment.REQUEST
]


Cell = tuple[Fault, str]


def called(cell: Cell) -> str:
    fault, transition = cell
    return f"{name(fault)} at {transition}"


def in_turn(cells: list[Cell], number: int) -> list[object]:
    """Parameters, of which a run takes so many."""
    mixed = rotation.mixed(cells, called)
    return [pytest.param(*cell, id=called(cell), marks=rotation.mark(cell, mixed, number)) for cell in cells]


@pytest.mark.parametrize(("fault", "transition"), in_turn(CELLS, 12))
async def test_nothing_is_lost_and_nothing_runs_twice(fault: Fault, transition: str, rig: Rig) -> None:
    expected = Expected()
    if (fault, transition) in ENDED_BY_THE_ENGINE:
        expected = Expected(state="FAILED", reason="EngineRestarted")
    plan(rig, fault, transition, "subject")
    assert complaints(await rig.run(), expected) == []


def row(transitions: Iterable[str], number: int = 1) -> list[object]:
    """Transitions, of which a run takes so many."""
    mixed = rotation.mixed([*transitions])
    return [pytest.param(each, marks=rotation.mark(each, mixed, number)) for each in mixed]


POLLED_CELLS = [
    (fault, transition)
    for fault in (appliance_killed, worker_killed, worker_killed_when_it_had_asked, connection_cut, answer_lost)
    for transition in POLLED
    if fault is not worker_killed_when_it_had_asked or transition == "poll asked"
]


@pytest.mark.parametrize(("fault", "transition"), in_turn(POLLED_CELLS, 2))
async def test_a_poll_that_goes_wrong_gets_the_first_action_once(fault: Fault, transition: str, rig: Rig) -> None:
    plan(rig, fault, transition, "before")
    assert complaints(await rig.run(), Expected()) == []


@pytest.mark.parametrize("transition", row(AFTER_THE_OFFER, 2))
async def test_a_report_that_is_late_does_not_touch_the_next_attempt(transition: str, rig: Rig) -> None:
    late = LateReport()
    plan(rig, late.power_cut_behind_it, "report sent", "subject")
    plan(rig, late.arrives, transition, "subject")
    assert complaints(await rig.run(retries=1), Expected(retries=1)) == []


async def test_a_report_that_comes_before_its_machine_is_back_counts(rig: Rig) -> None:
    late = LateReport(asks=False)
    plan(rig, late.arrives_while_the_power_is_off, "report sent", "subject")
    assert complaints(await rig.run(), Expected()) == []


async def test_what_a_report_was_answered_with_is_lost_with_the_machine_that_asked_for_it(rig: Rig) -> None:
    late = LateReport()
    plan(rig, late.arrives_while_the_power_is_off, "report sent", "subject")
    assert complaints(await rig.run(), Expected(state="FAILED", reason="WorkerLost")) == []
    assert [each["state"] for each in (await rig.operator.workflows.get(rig.workflow))["actions"]] == [
        "SUCCESS", "SUCCESS", "FAILED",
    ]  # fmt: skip


@pytest.mark.parametrize("transition", row(BEHIND_THE_OFFER))
async def test_a_report_that_was_answered_before_a_retry_may_come_again(transition: str, rig: Rig) -> None:
    rig.fail_once("subject")
    plan(rig, none, "report acknowledged", "subject")
    plan(rig, reports_doubled, transition, "subject")
    assert complaints(await rig.run(retries=1), Expected(retries=1)) == []


async def test_a_report_whose_answer_offers_a_retry_may_come_again_before_that_answer(rig: Rig) -> None:
    rig.fail_once("subject")
    plan(rig, reports_doubled, "report taken", "subject")
    assert complaints(await rig.run(retries=1), Expected(retries=1)) == []


@pytest.mark.parametrize("transition", row(["started", "running"]))
async def test_an_action_that_died_with_the_engine_is_tried_again_when_it_may(transition: str, rig: Rig) -> None:
    plan(rig, engine_killed, transition, "subject")
    assert complaints(await rig.run(retries=1), Expected(retries=1)) == []


@pytest.mark.parametrize("transition", row(BEFORE_THE_NEXT_OFFER, 2))
async def test_a_canceled_workflow_ends_wherever_it_is(transition: str, rig: Rig) -> None:
    plan(rig, canceled, transition, "subject", goes_on=False)
    facts = await rig.run()
    assert complaints(facts, Expected(state="CANCELED")) == []
    assert "after" not in facts.attempts.values()


async def canceled_while_the_next_is_offered(rig: Rig, exchange: Exchange) -> None:
    """The operator cancels the workflow, whose next action would not end by itself."""
    rig.hold("after")
    await canceled(rig, exchange)


@pytest.mark.parametrize("transition", WITH_THE_NEXT_OFFER)
async def test_what_was_offered_just_before_its_cancellation_is_canceled(transition: str, rig: Rig) -> None:
    plan(rig, canceled_while_the_next_is_offered, transition, "subject")
    facts = await rig.run()
    assert complaints(facts, Expected(state="CANCELED")) == []
    assert facts.states == ("CANCELED", "SUCCESS", "SUCCESS", "CANCELED")


LEAVING_CELLS = [
    (fault, transition)
    for fault in (appliance_killed, worker_killed, engine_killed, connection_cut, answer_lost, reports_doubled)
    for transition in LEAVING
    if (fault, transition) != (engine_killed, "started")  # then nothing is left that could make the machine go
]


@pytest.mark.parametrize(("fault", "transition"), in_turn(LEAVING_CELLS, 2))
async def test_a_machine_that_goes_away_is_never_sent_away_twice(fault: Fault, transition: str, rig: Rig) -> None:
    plan(rig, fault, transition, "subject", goes_on=False)
    plan(rig, machine_goes, "running", "subject", goes_on=False)
    assert complaints(await rig.run(only="subject", reboot=True), Expected(leaves="subject")) == []


@pytest.mark.parametrize("transition", row(TRANSITIONS))
async def test_a_machine_that_shall_boot_again_begins_nothing_before(transition: str, rig: Rig) -> None:
    plan(rig, worker_killed, transition, "subject")
    facts = await rig.run(only="subject", volumes=[f"{rig.folder / 'worker'}:/worker"])
    assert complaints(facts, Expected()) == []
    assert rig.boots == [{"before", "subject"}]
