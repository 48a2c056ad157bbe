"""The time of holds: clocks that stand still, a deadline of their own, and verdicts that nobody carries out."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance, Clock, appliance
from tests.integration.engine.holding import FAILURE, FLOW, SUCCESS, AtWork, begun
from tinkbox.engine.workflows.breakpoints import Change
from tinkbox.engine.workflows.deadlines import CONFIRMING, REPORTING, STOP_GRACE, STOPPING
from tinkbox.model.breakpoint import Kind, Verb
from tinkbox.model.errors import Conflict, Invalid
from tinkbox.model.workflow import Outcome, State

HOOKED = FLOW.replace("name: disk, image: x, timeout: 60", "name: disk, image: x, timeout: 60, on-failure: [sh]")
MINUTES = 60


async def look(work: AtWork, seconds: float = 0) -> str:
    work.box.clock.forward(seconds)
    while await work.box.deadlines.look() == 0:
        pass
    return await work.states()


async def test_however_long_it_is_held_nothing_times_out_and_afterwards_what_is_left_does(box: Appliance) -> None:
    work = await begun(box, change=Change(timeout=100_000))
    box.clock.forward(50)
    await work.held()
    for seconds in (2 * 60, 2 * 1000, 10_000):
        assert await look(work, seconds) == "RUNNING HELD PENDING"
    await work.decide(Verb.RETRY)
    assert await look(work, 5) == "RUNNING HELD PENDING"
    await work.resumed()
    assert await look(work, 60 + STOP_GRACE + REPORTING - 1) == "RUNNING RUNNING PENDING"
    offer = await work.again()
    assert offer is not None
    assert offer.remaining == 0
    assert await look(work, 1) == "TIMEOUT TIMEOUT PENDING"


async def test_the_workflows_time_goes_on_after_a_hold_where_it_stood(box: Appliance) -> None:
    work = await begun(box, FLOW.replace("timeout: 60}", "timeout: 5000}"), change=Change(timeout=100_000))
    box.clock.forward(400)
    await work.held()
    await look(work, 7000)
    await work.decide(Verb.RETRY)
    await work.resumed()
    assert await look(work, 300) == "RUNNING RUNNING PENDING"
    await work.held(sequence=2)
    await look(work, 9000)
    await work.decide(Verb.CONTINUE, why="it is fine")
    await work.report(SUCCESS)
    assert await look(work, 299) == "RUNNING SUCCESS PENDING"
    assert await look(work, 1) == "TIMEOUT SUCCESS PENDING"


async def test_a_workflow_that_is_begun_anew_has_its_whole_time(box: Appliance) -> None:
    work = await begun(box, FLOW.replace("timeout: 60}", "timeout: 5000}"))
    await work.held()
    box.clock.forward(700)
    await work.decide(Verb.FAIL)
    await work.report(FAILURE)
    await box.workflows.retry(work.key)
    work.offer = await work.again() or work.offer
    assert await look(work, 999) == "RUNNING RUNNING PENDING"
    assert await look(work, 1) == "STOPPING RUNNING PENDING"


async def test_how_long_an_action_took_does_not_count_how_long_it_was_held(box: Appliance) -> None:
    work = await begun(box)
    box.clock.forward(10)
    await work.held()
    box.clock.forward(500)
    await work.decide(Verb.RETRY)
    await work.resumed()
    box.clock.forward(20)
    await work.held(sequence=2)
    box.clock.forward(70)
    await work.decide(Verb.FAIL)
    await work.report(FAILURE)
    resumed, failed = await work.told("action.resumed"), await work.told("action.failed")
    assert (resumed["held"], failed["held"], failed["seconds"]) == (500, 70, 30)
    work = await begun(box)
    await work.held()
    box.clock.forward(500)
    await work.decide(Verb.RETRY)
    await work.resumed()
    box.clock.forward(20)
    await work.report(SUCCESS)
    succeeded = await work.told("action.succeeded")
    assert (succeeded["seconds"], "held" in succeeded) == (20, False)


@pytest.mark.parametrize(
    ("on_expiry", "reported", "states"),
    [
        (Verb.FAIL, FAILURE, "FAILED FAILED PENDING"),
        (Verb.CONTINUE, SUCCESS, "RUNNING SUCCESS PENDING"),
        (Verb.ABORT, Outcome(state=State.CANCELED), "CANCELED CANCELED PENDING"),
    ],
)
async def test_when_nobody_decides_the_deadline_does(
    box: Appliance, on_expiry: Verb, reported: Outcome, states: str
) -> None:
    work = await begun(box, change=Change(timeout=20 * MINUTES, on_expiry=on_expiry))
    await work.held()
    await look(work, 16 * MINUTES - 1)
    assert await work.events("breakpoint.exp") == []
    await look(work, 1)
    assert await work.events("breakpoint.exp") == ["breakpoint.expiring"]
    await look(work, 4 * MINUTES - 1)
    assert await work.events("breakpoint.exp") == ["breakpoint.expiring"]
    assert (await work.orders()).ruling is None
    await look(work, 1)
    assert await work.events("breakpoint.exp") == ["breakpoint.expiring", "breakpoint.expired"]
    told = await work.told("breakpoint.expired")
    assert (told["who"], told["verb"]) == ("deadline", on_expiry)
    ruling = (await work.orders()).ruling
    assert ruling is not None
    assert (ruling.verdict.verb, ruling.verdict.who) == (on_expiry, "deadline")
    with pytest.raises(Conflict, match=f"deadline decided already: {on_expiry}"):
        await work.decide(Verb.RETRY)
    await work.report(reported)
    assert await work.states() == states


async def test_by_default_a_hold_fails_after_half_an_hour_and_warns_five_minutes_before(box: Appliance) -> None:
    work = await begun(box)
    await work.held()
    await look(work, 25 * MINUTES - 1)
    assert await work.events("breakpoint") == []
    await look(work, 1)
    assert await work.events("breakpoint") == ["breakpoint.expiring"]
    await look(work, 5 * MINUTES)
    told = await work.told("breakpoint.expired")
    assert told["verb"] == "fail"


async def test_a_verdict_in_time_leaves_nothing_to_the_deadline(box: Appliance) -> None:
    work = await begun(box)
    await work.held()
    box.clock.forward(30 * MINUTES - 1)
    await work.decide(Verb.RETRY)
    await look(work, 5)
    await work.resumed()
    await look(work, 60)
    assert await work.events("breakpoint") == ["breakpoint.verdict"]
    assert await work.states() == "RUNNING RUNNING PENDING"


async def test_who_needs_longer_extends_the_hold_and_is_warned_anew(box: Appliance) -> None:
    work = await begun(box, change=Change(timeout=10 * MINUTES))
    await work.held()
    await look(work, 9 * MINUTES)
    hold = await box.breakpoints.extend(work.key, 3600, "anna", "the disk is on its way")
    assert hold.deadline == box.clock() + timedelta(minutes=61)
    assert await work.hold() == hold
    told = await work.told("breakpoint.extended")
    assert (told["who"], told["why"], told["deadline"]) == (
        "anna", "the disk is on its way", hold.deadline.isoformat(),
    )  # fmt: skip
    await look(work, 58 * MINUTES)
    assert (await work.events("breakpoint")).count("breakpoint.expiring") == 1
    await look(work, 1 * MINUTES)
    assert (await work.events("breakpoint")).count("breakpoint.expiring") == 2
    assert (await look(work, 2 * MINUTES - 1), (await work.orders()).ruling) == ("RUNNING HELD PENDING", None)
    await look(work, 1)
    assert (await work.events("breakpoint"))[-1] == "breakpoint.expired"
    with pytest.raises(Conflict, match="deadline decided already"):
        await box.breakpoints.extend(work.key, 60, "anna", "")


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "by 1 to 604800"), (-5, "by 1 to"), (604_801, "not by 604801"), (604_800, "from now")]
)
async def test_no_hold_waits_for_ever(box: Appliance, seconds: int, words: str) -> None:
    work = await begun(box)
    await work.held()
    with pytest.raises(Invalid, match=words):
        await box.breakpoints.extend(work.key, seconds, "anna", "")
    assert await work.events("breakpoint") == []


async def test_what_is_not_held_cannot_be_extended(box: Appliance) -> None:
    work = await begun(box)
    with pytest.raises(Conflict, match="is not held"):
        await box.breakpoints.extend(work.key, 60, "anna", "")


async def test_as_long_as_somebody_works_there_the_hold_does_not_end(box: Appliance) -> None:
    work = await begun(box, change=Change(timeout=10 * MINUTES))
    await work.held()
    for _ in range(12):
        assert await look(work, 5 * MINUTES) == "RUNNING HELD PENDING"
        await box.breakpoints.touch(work.offer.attempt)
    assert (await work.hold()).deadline == box.clock() + timedelta(minutes=10)
    assert await work.events("breakpoint") == ["breakpoint.armed"]
    await look(work, 9 * MINUTES)
    await box.breakpoints.touch(work.offer.attempt)
    await look(work, 9 * MINUTES)
    assert (await work.events("breakpoint")).count("breakpoint.expiring") == 2
    await look(work, 1 * MINUTES)
    assert (await work.events("breakpoint"))[-1] == "breakpoint.expired"
    before = await work.hold()
    box.clock.forward(11)
    await box.breakpoints.touch(work.offer.attempt)
    assert await work.hold() == before, "what is decided does not wait any longer"


async def test_activity_is_written_down_now_and_then_and_never_shortens_a_hold(box: Appliance) -> None:
    work = await begun(box)
    await work.held()
    begun_at = box.clock()
    await box.breakpoints.touch(work.offer.attempt)
    box.clock.forward(9)
    await box.breakpoints.touch(work.offer.attempt)
    assert (await work.hold()).deadline == begun_at + timedelta(minutes=30)
    box.clock.forward(1)
    await box.breakpoints.touch(work.offer.attempt)
    assert (await work.hold()).deadline == begun_at + timedelta(minutes=30, seconds=10)
    extended = (await box.breakpoints.extend(work.key, 3600, "anna", "")).deadline
    box.clock.forward(60)
    await box.breakpoints.touch(work.offer.attempt)
    await box.breakpoints.touch("no attempt")
    assert (await work.hold()).deadline == extended


@pytest.mark.parametrize(
    ("kind", "verb", "reason"),
    [
        (Kind.FAILURE, Verb.FAIL, "NonZeroExit"),
        (Kind.AFTER, Verb.FAIL, "FailedAtBreakpoint"),
        (Kind.BEFORE, Verb.FAIL, "FailedAtBreakpoint"),
        (Kind.FAILURE, Verb.RETRY, "BreakpointLost"),
        (Kind.FAILURE, Verb.CONTINUE, "BreakpointLost"),
        (Kind.BEFORE, Verb.SKIP, "BreakpointLost"),
    ],
)
async def test_a_verdict_that_nobody_carries_out_ends_the_attempt(
    box: Appliance, kind: Kind, verb: Verb, reason: str
) -> None:
    work = await begun(box)
    await work.held(kind)
    await work.decide(verb, why="because", fresh=verb is Verb.RETRY)
    assert await look(work, CONFIRMING + STOP_GRACE - 1) == "RUNNING HELD PENDING"
    assert await look(work, 1) == "FAILED FAILED PENDING"
    ended = await work.outcome()
    assert (ended.reason, bool(ended.hint)) == (reason, True)
    assert (await work.hold()).ended_at == box.clock()
    with pytest.raises(Conflict, match="too late"):
        await work.resumed()


async def test_a_hook_has_its_time_to_run_before_the_verdict_counts_as_lost(box: Appliance) -> None:
    work = await begun(box, HOOKED)
    await work.held()
    await work.decide(Verb.FAIL)
    assert await look(work, CONFIRMING + STOP_GRACE + 59) == "RUNNING HELD PENDING"
    assert await look(work, 1) == "FAILED FAILED PENDING"


async def test_an_expired_hold_whose_worker_is_gone_says_that_it_expired(box: Appliance) -> None:
    work = await begun(box)
    await work.held(Kind.BEFORE)
    await look(work, 30 * MINUTES)
    assert await look(work, CONFIRMING + STOP_GRACE) == "FAILED FAILED PENDING"
    assert (await work.outcome()).reason == "BreakpointExpired"


async def test_a_cancellation_that_nobody_confirms_ends_what_is_held(box: Appliance) -> None:
    work = await begun(box)
    await work.held()
    await work.decide(Verb.ABORT)
    assert await look(work, STOPPING - 1) == "STOPPING HELD PENDING"
    assert await look(work, 1) == "CANCELED CANCELED PENDING"


async def test_a_hold_outlasts_the_appliance_and_is_warned_of_before_it_ends(tmp_path: Path) -> None:
    clock = Clock()
    async with appliance(tmp_path / "db", clock) as box:
        work = await begun(box)
        await work.held()
    clock.forward(24 * 3600)
    async with appliance(tmp_path / "db", clock) as box:
        work.box = box
        await look(work)
        assert await work.events("breakpoint") == ["breakpoint.expiring"]
        assert await look(work, REPORTING - 1) == "RUNNING HELD PENDING"
        await box.breakpoints.extend(work.key, 2 * 24 * 3600, "anna", "we were away")
        await look(work, 24 * 3600)
        assert (await work.hold()).verdict is None
        await work.decide(Verb.RETRY)
    clock.forward(3600)
    async with appliance(tmp_path / "db", clock) as box:
        work.box = box
        await look(work)
        await work.resumed()
        assert await work.states() == "RUNNING RUNNING PENDING"
