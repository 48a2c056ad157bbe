"""What is held, who decides about it, and what follows: every verb, once, whatever is lost or sent again."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance, Clock, appliance
from tests.integration.engine.flows import REBOOT, THROUGH
from tests.integration.engine.holding import FAILURE, FLOW, SUCCESS, AtWork, begun
from tinkbox.engine.rules.arming import Change
from tinkbox.engine.workflows.holds import decide
from tinkbox.model.breakpoint import Armed, Kind, Override, Verb, Verdict
from tinkbox.model.errors import Conflict, Invalid, NotFound
from tinkbox.model.workflow import Outcome, State
from tinkbox.wire.messages.breakpoints import Orders, Ruling
from tinkbox.wire.messages.worker import Order

ARMED = Change(on_failure=True)
RETRYING = FLOW.replace("name: disk, image: x, timeout: 60", "name: disk, image: x, timeout: 60, retries: 3")


async def held(box: Appliance, kind: Kind = Kind.FAILURE, text: str = FLOW) -> AtWork:
    work = await begun(box, text, change=ARMED)
    await work.held(kind)
    return work


async def test_what_is_held_stays_so_until_its_worker_says_that_the_verdict_was_carried_out(box: Appliance) -> None:
    work = await held(box)
    assert await work.states() == "RUNNING HELD PENDING"
    assert (await work.orders()).ruling is None
    verdict = Verdict(verb=Verb.FAIL, who="anna", why="hopeless")
    hold = await box.breakpoints.resolve(work.key, verdict)
    assert (hold.verdict, hold.verdict_at, hold.ended_at) == (verdict, box.clock(), None)
    assert await work.states() == "RUNNING HELD PENDING"
    for _ in range(3):
        assert (await work.orders()).ruling == Ruling(sequence=1, verdict=verdict)
    await work.report(FAILURE)
    assert await work.states() == "FAILED FAILED PENDING"
    assert (await work.hold()).ended_at == box.clock()
    assert (await work.outcome()).reason == "NonZeroExit"
    assert (await work.told("breakpoint.verdict"))["who"] == "anna"
    assert await work.events("action") == ["action.started", "action.held", "action.failed"]


async def test_a_verdict_on_an_earlier_hold_is_refused(box: Appliance) -> None:
    work = await held(box)
    meant = (await work.hold()).id
    await work.decide(Verb.RETRY)
    await work.resumed()
    await work.held(sequence=2)
    excuse = Verdict(verb=Verb.CONTINUE, who="ben", why="it is optional")
    with pytest.raises(Conflict, match=r"went on meanwhile, and is held anew: `tinkbox workflow state"):
        await box.breakpoints.resolve(work.key, excuse, meant)
    assert (await work.hold()).verdict is None
    assert (await box.breakpoints.resolve(work.key, excuse, (await work.hold()).id)).verdict == excuse


async def test_a_machine_that_holds_its_action_again_and_again_fills_no_disk(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinkbox.engine.workflows.breakpoints.MAX_HOLDS", 3)
    work = await begun(box, change=ARMED)
    for sequence in (1, 2, 3):
        await work.held(sequence=sequence)
        await work.asked(Verb.RETRY, sequence=sequence)
        await work.resumed(sequence)
    with pytest.raises(Conflict, match="held 3 times"):
        await work.held(sequence=4)
    await work.held(sequence=3)
    assert len((await box.breakpoints.standing(work.key)).holds) == 3


async def test_nobody_but_a_person_decides_about_a_hold_that_nobody_wanted(box: Appliance) -> None:
    work = await begun(box)
    await work.held()
    for verb in (Verb.RETRY, Verb.FAIL):
        with pytest.raises(Conflict, match="only a person decides"):
            await work.asked(verb)
    for say in (work.resumed, work.held):
        with pytest.raises(Conflict, match="no verdict has it run"):
            await say(sequence=2)
    assert (await work.decide(Verb.RETRY)).verdict is not None


async def test_before_an_action_go_on_lets_it_run_with_its_whole_time(box: Appliance) -> None:
    work = await begun(box)
    box.clock.forward(20)
    await work.held(Kind.BEFORE)
    box.clock.forward(500)
    offer = await work.again()
    assert offer is not None
    assert offer.remaining == 40, "its time stands still"
    await work.decide(Verb.CONTINUE)
    await work.resumed()
    assert await work.states() == "RUNNING RUNNING PENDING"
    offer = await work.again()
    assert offer is not None
    assert (offer.attempt, offer.remaining) == (work.offer.attempt, 60)
    assert (await work.orders()).ruling is None
    await work.report(SUCCESS)
    assert await work.states() == "RUNNING SUCCESS PENDING"


async def test_before_an_action_skip_counts_as_success_and_fail_as_failure(box: Appliance) -> None:
    work = await held(box, Kind.BEFORE)
    await work.decide(Verb.SKIP)
    await work.report(Outcome(state=State.SUCCESS, message="skipped"))
    assert await work.states() == "RUNNING SUCCESS PENDING"
    work.offer = await work.again() or work.offer
    await work.held(Kind.BEFORE)
    await work.decide(Verb.FAIL)
    with pytest.raises(Conflict, match="is held"):
        await work.report(SUCCESS)
    await work.report(Outcome(state=State.FAILED, reason="FailedAtBreakpoint"))
    assert await work.states() == "FAILED SUCCESS FAILED"
    assert (await work.outcome(1)).hint


@pytest.mark.parametrize("kind", [Kind.FAILURE, Kind.AFTER])
async def test_after_its_end_continue_counts_as_success_and_keeps_how_it_ended(box: Appliance, kind: Kind) -> None:
    work = await held(box, kind)
    await work.decide(Verb.CONTINUE, why="the disk is there now")
    await work.report(Outcome(state=State.SUCCESS, exit_code=7, reason="NonZeroExit", message="no disk"))
    assert await work.states() == "RUNNING SUCCESS PENDING"
    kept = await work.outcome()
    assert (kept.exit_code, kept.reason, kept.message, kept.hint) == (7, "NonZeroExit", "no disk", "")
    assert (await work.hold()).outcome == (FAILURE if kind is Kind.FAILURE else SUCCESS)


@pytest.mark.parametrize("kind", [Kind.FAILURE, Kind.AFTER])
async def test_a_retry_in_place_runs_the_same_attempt_again_with_its_whole_time(box: Appliance, kind: Kind) -> None:
    work = await held(box, kind)
    box.clock.forward(30)
    hold = await work.decide(Verb.RETRY, command=("sh", "-c", "mkfs"), environment={"FORCE": "1"})
    assert hold.verdict is not None
    assert not hold.verdict.fresh
    ruling = (await work.orders()).ruling
    assert ruling is not None
    assert (ruling.verdict.command, ruling.verdict.environment) == (("sh", "-c", "mkfs"), {"FORCE": "1"})
    box.clock.forward(5)
    await work.resumed()
    assert await work.states() == "RUNNING RUNNING PENDING"
    box.clock.forward(20)
    offer = await work.again()
    assert offer is not None
    assert (offer.attempt, offer.remaining, offer.override) == (work.offer.attempt, 40, None)
    await work.held(Kind.FAILURE, 2)
    await work.decide(Verb.RETRY, who="ben")
    await work.resumed(2)
    await work.report(SUCCESS)
    assert await work.states() == "RUNNING SUCCESS PENDING"
    assert [each.verdict.who for each in (await box.breakpoints.standing(work.key)).holds if each.verdict] == [
        "anna",
        "ben",
    ]
    assert len(await box.workflows.attempts(work.key)) == 1


@pytest.mark.parametrize(("kind", "original"), [(Kind.FAILURE, FAILURE), (Kind.AFTER, SUCCESS)])
async def test_a_fresh_retry_is_another_attempt_changed_as_the_verdict_says(
    box: Appliance, kind: Kind, original: Outcome
) -> None:
    work = await held(box, kind)
    await work.decide(Verb.RETRY, fresh=True, command=("true",), environment={"DISK": "/dev/vda"})
    await work.report(original)
    assert await work.states() == "RUNNING PENDING PENDING"
    override = Override(command=("true",), environment={"DISK": "/dev/vda"})
    for _ in range(2):
        offer = await work.again()
        assert offer is not None
        assert offer.attempt != work.offer.attempt
        assert (offer.override, offer.action) == (override, work.offer.action)
    work.offer = offer
    await work.held(Kind.FAILURE)
    await work.decide(Verb.RETRY, fresh=True)
    await work.report(FAILURE)
    offer = await work.again()
    assert offer is not None
    assert offer.override is None
    assert [each.state for each in await box.workflows.attempts(work.key)] == [original.state, "FAILED", "RUNNING"]


async def test_what_a_fresh_retry_changed_is_forgotten_when_a_person_begins_anew(box: Appliance) -> None:
    work = await held(box)
    await work.decide(Verb.RETRY, fresh=True, environment={"A": "b"})
    await work.report(FAILURE)
    work.offer = await work.again() or work.offer
    await work.report(FAILURE)
    assert await work.states() == "FAILED FAILED PENDING"
    await box.workflows.retry(work.key)
    offer = await work.again()
    assert offer is not None
    assert offer.override is None


async def test_where_nothing_can_run_in_the_container_a_retry_is_a_fresh_one(box: Appliance) -> None:
    work = await begun(box)
    await work.held(in_place=False)
    hold = await work.decide(Verb.RETRY)
    assert hold.verdict is not None
    assert hold.verdict.fresh
    await work.report(FAILURE)
    assert await work.states() == "RUNNING PENDING PENDING"


@pytest.mark.parametrize("kind", list(Kind))
async def test_abort_ends_the_whole_workflow(box: Appliance, kind: Kind) -> None:
    work = await held(box, kind)
    await work.decide(Verb.ABORT, why="wrong machine")
    assert await work.states() == "STOPPING HELD PENDING"
    orders = await work.orders()
    assert orders.stop == Order(state=State.CANCELED, message="the workflow was canceled")
    assert orders.ruling is not None
    assert orders.ruling.verdict.verb is Verb.ABORT
    await work.report(Outcome(state=State.CANCELED, reason="Canceled"))
    assert await work.states() == "CANCELED CANCELED PENDING"
    assert (await work.told("breakpoint.verdict"))["why"] == "wrong machine"


async def test_a_workflow_whose_machine_does_not_carry_out_the_verdict_can_be_canceled(box: Appliance) -> None:
    work = await held(box, Kind.FAILURE)
    await work.decide(Verb.RETRY)
    (workflow,) = await box.workflows.all()
    await box.workflows.cancel(workflow.id, "ann")
    assert await work.states() == "STOPPING HELD PENDING"


@pytest.mark.parametrize(
    ("kind", "verb"), [(Kind.BEFORE, Verb.RETRY), (Kind.FAILURE, Verb.SKIP), (Kind.AFTER, Verb.SKIP)]
)
async def test_a_verb_of_another_kind_is_refused_with_those_that_there_are(
    box: Appliance, kind: Kind, verb: Verb
) -> None:
    work = await held(box, kind)
    with pytest.raises(Conflict, match=r"there is continue, (skip, )?fail, (retry, )?abort"):
        await work.decide(verb)
    with pytest.raises(Conflict, match="there is continue"):
        await work.asked(verb)
    assert (await work.hold()).verdict is None


async def test_whoever_makes_a_success_of_a_failure_says_why(box: Appliance) -> None:
    work = await held(box)
    for why in ("", "  \n"):
        with pytest.raises(Invalid, match="say why"):
            await work.decide(Verb.CONTINUE, why=why)
    await work.asked(Verb.CONTINUE)
    verdict = (await work.hold()).verdict
    assert verdict is not None
    assert (verdict.who, verdict.why) == ("the container", "asked for inside the container")


async def test_the_first_verdict_counts_and_the_others_are_told_whose_it_was(box: Appliance) -> None:
    work = await held(box)

    async def outcome_of(verb: Verb, who: str) -> str:
        try:
            await work.decide(verb, who, why="because")
        except Conflict as error:
            return str(error)
        return who

    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(outcome_of(verb, who))
            for verb, who in ((Verb.FAIL, "anna"), (Verb.CONTINUE, "ben"), (Verb.RETRY, "cleo"))
        ]
    answers = [task.result() for task in tasks]
    (winner,) = {"anna", "ben", "cleo"} & set(answers)
    verdict = (await work.hold()).verdict
    assert verdict is not None
    assert verdict.who == winner
    assert answers.count(f"{winner} decided already: {verdict.verb}") == 2
    assert await work.events("breakpoint") == ["breakpoint.armed", "breakpoint.verdict"]
    with pytest.raises(Conflict, match=f"{winner} decided already"):
        await work.asked(Verb.ABORT)


async def test_who_looked_before_another_decided_does_not_decide_any_more(box: Appliance) -> None:
    work = await held(box)
    seen = await work.hold()
    await work.decide(Verb.FAIL)
    late = Verdict(verb=Verb.RETRY, who="ben")
    with pytest.raises(Conflict, match="anna decided already: fail"):
        await box.store.write(lambda tables: decide(tables, seen, late, box.clock()))
    assert await work.events("breakpoint") == ["breakpoint.armed", "breakpoint.verdict"]


async def test_whoever_comes_after_the_hold_is_over_is_told_as_well(box: Appliance) -> None:
    work = await begun(box, change=ARMED)
    with pytest.raises(Conflict, match="is not held: tinkbox breakpoint list"):
        await work.decide(Verb.FAIL)
    await work.held()
    await work.decide(Verb.RETRY)
    await work.resumed()
    with pytest.raises(Conflict, match="not held any more: anna decided already: retry"):
        await work.decide(Verb.FAIL, "ben")
    with pytest.raises(Conflict, match="anna decided already: retry"):
        await work.asked(Verb.FAIL)


async def test_what_is_said_twice_happens_once(box: Appliance) -> None:
    work = await begun(box, change=ARMED)
    for _ in range(3):
        await work.held()
    before = await work.hold()
    box.clock.forward(5)
    await work.held()
    assert await work.hold() == before
    for _ in range(3):
        await work.asked(Verb.RETRY, why="once more")
    for _ in range(3):
        await work.resumed()
    await work.held()
    assert await work.states() == "RUNNING RUNNING PENDING", "the first hold is over, whatever arrives late of it"
    await work.asked(Verb.RETRY, why="once more")
    for _ in range(3):
        await work.report(SUCCESS)
    assert await work.events("action") == ["action.started", "action.held", "action.resumed", "action.succeeded"]
    assert await work.events("breakpoint") == ["breakpoint.armed", "breakpoint.verdict"]


async def test_a_worker_may_say_later_that_the_container_is_gone(box: Appliance) -> None:
    work = await held(box)
    await work.held(container=False, in_place=False)
    hold = await work.hold()
    assert (hold.container, hold.in_place, hold.verdict) == (False, False, None)
    with pytest.raises(Conflict, match="one failure, not after"):
        await work.held(Kind.AFTER)


async def test_the_next_hold_says_that_the_one_before_was_let_go(box: Appliance) -> None:
    work = await held(box)
    await work.decide(Verb.RETRY)
    box.clock.forward(7)
    await work.held(sequence=2)
    assert await work.states() == "RUNNING HELD PENDING"
    first, second = (await box.breakpoints.standing(work.key)).holds
    assert (first.ended_at, second.ended_at) == (box.clock(), None)
    assert await work.events("action") == ["action.started", "action.held", "action.resumed", "action.held"]
    await work.resumed(1)
    assert await work.states() == "RUNNING HELD PENDING"


async def test_who_was_told_to_abort_lets_nothing_run(box: Appliance) -> None:
    work = await held(box)
    await work.decide(Verb.ABORT)
    for say in (work.held, work.resumed):
        with pytest.raises(Conflict, match="no verdict has it run"):
            await say(sequence=2)
    assert await work.states() == "STOPPING HELD PENDING"


@pytest.mark.parametrize(
    ("kind", "verb"), [(Kind.FAILURE, Verb.CONTINUE), (Kind.FAILURE, Verb.FAIL), (Kind.BEFORE, Verb.SKIP)]
)
async def test_what_is_decided_of_an_action_that_runs_already_counts_for_nothing(
    box: Appliance, kind: Kind, verb: Verb
) -> None:
    """The store was put back to its hold, and a person decided before the machine told that it runs."""
    work = await held(box, kind)
    await work.decide(verb, why="unknowing")
    for _ in range(2):
        await work.resumed()
    assert await work.states() == "RUNNING RUNNING PENDING"
    assert (await work.orders()).ruling is None
    await work.report(SUCCESS)
    assert await work.states() == "RUNNING SUCCESS PENDING"


@pytest.mark.parametrize("kind", list(Kind))
async def test_what_runs_by_a_verdict_that_a_store_lost_when_it_was_put_back_is_not_held(
    box: Appliance, kind: Kind
) -> None:
    work = await held(box, kind)
    assert await work.orders() == Orders(armed=Armed(on_failure=True), hold=1)
    box.clock.forward(30)
    for _ in range(2):
        await work.resumed()
    assert await work.states() == "RUNNING RUNNING PENDING"
    hold = await work.hold()
    assert (hold.verdict, hold.ended_at) == (None, box.clock())
    offer = await work.again()
    assert offer is not None
    assert (offer.attempt, offer.remaining) == (work.offer.attempt, 60)
    assert await work.events("action") == ["action.started", "action.held", "action.resumed"]
    with pytest.raises(Conflict, match="is not held any more: it ended undecided"):
        await work.decide(Verb.RETRY)
    await work.report(SUCCESS)
    assert await work.states() == "RUNNING SUCCESS PENDING"


async def test_what_runs_since_a_hold_that_a_store_lost_when_it_was_put_back_goes_on(box: Appliance) -> None:
    work = await begun(box, change=ARMED)
    await work.resumed(4)
    assert await work.states() == "RUNNING RUNNING PENDING"
    assert await work.events("action") == ["action.started"]
    await work.held(sequence=5)
    with pytest.raises(NotFound, match="no hold 4"):
        await work.resumed(4)
    assert await work.states() == "RUNNING HELD PENDING"
    await work.resumed(6)
    assert await work.states() == "RUNNING RUNNING PENDING"


async def test_the_next_hold_of_what_ran_by_a_verdict_that_a_store_lost_holds_it(box: Appliance) -> None:
    work = await held(box)
    await work.held(sequence=3)
    assert await work.states() == "RUNNING HELD PENDING"
    assert (await work.orders()).hold == 3
    assert await work.events("action") == ["action.started", "action.held", "action.resumed", "action.held"]
    await work.decide(Verb.FAIL)
    await work.report(FAILURE)
    assert await work.states() == "FAILED FAILED PENDING"


async def test_what_comes_from_elsewhere_is_refused(box: Appliance) -> None:
    work = await held(box)
    for wrong in ({"boot_id": "boot-0"}, {"workflow_id": "another"}):
        with pytest.raises(Conflict, match="another"):
            await work.held(sequence=2, **wrong)
        with pytest.raises(Conflict, match="another"):
            await work.asked(Verb.FAIL, **wrong)
        with pytest.raises(Conflict, match="another"):
            await work.resumed(**wrong)
    stranger = AtWork(box, await box.machine(2), work.offer)
    for say in (stranger.held, stranger.resumed, stranger.orders, lambda: stranger.asked(Verb.FAIL)):
        with pytest.raises(NotFound):
            await say()
    assert await work.states() == "RUNNING HELD PENDING"
    assert (await work.hold()).verdict is None


async def test_once_it_is_over_nothing_holds_an_attempt(box: Appliance) -> None:
    work = await begun(box)
    await work.report(FAILURE)
    for say in (work.held, work.resumed, lambda: work.asked(Verb.FAIL)):
        with pytest.raises(Conflict, match="too late"):
            await say()
    stop = (await work.orders()).stop
    assert stop is not None
    assert "does not wait" in stop.message


async def test_what_is_held_after_its_end_says_how_it_ended(box: Appliance) -> None:
    work = await begun(box)
    for kind in (Kind.FAILURE, Kind.AFTER):
        with pytest.raises(Invalid, match="how its process ended"):
            await work.held(kind, outcome=None)


async def test_without_a_verdict_a_held_action_may_fail_but_not_succeed(box: Appliance) -> None:
    work = await held(box)
    with pytest.raises(Conflict, match="is held"):
        await work.report(SUCCESS)
    await work.report(Outcome(state=State.FAILED, reason="ContainerLost"))
    assert await work.states() == "FAILED FAILED PENDING"


@pytest.mark.parametrize("decided", [False, True])
async def test_a_held_workflow_can_be_canceled(box: Appliance, decided: bool) -> None:
    work = await held(box)
    if decided:
        await work.decide(Verb.RETRY, fresh=True)
    await box.workflows.cancel(work.key)
    assert await work.states() == "STOPPING HELD PENDING"
    assert (await work.orders()).stop == Order(state=State.CANCELED, message="the workflow was canceled")
    if not decided:
        with pytest.raises(Conflict, match="told to stop"):
            await work.decide(Verb.FAIL)
    await work.report(FAILURE if decided else Outcome(state=State.CANCELED, reason="Canceled"))
    assert (await work.states()).startswith("CANCELED")
    assert await work.again() is None


async def test_a_hold_that_comes_while_the_workflow_is_stopped_holds_nothing_up(box: Appliance) -> None:
    work = await begun(box)
    await box.workflows.cancel(work.key)
    await work.held()
    assert await work.states() == "STOPPING HELD PENDING"
    assert (await work.orders()).stop is not None
    await work.report(Outcome(state=State.CANCELED, reason="Canceled"))
    assert await work.states() == "CANCELED CANCELED PENDING"


async def test_a_machine_that_boots_again_has_lost_what_it_held(box: Appliance) -> None:
    work = await held(box, text=RETRYING)
    assert await box.offer(work.worker, "boot-1") is not None, "the worker alone was started again"
    await work.decide(Verb.RETRY, fresh=True)
    assert await box.offer(work.worker, "boot-2") is None, "nobody knows what a verdict has come to: not even a retry"
    assert await work.states() == "FAILED FAILED PENDING"
    outcome = await work.outcome()
    assert (outcome.reason, bool(outcome.hint)) == ("BreakpointLost", True)
    assert (await work.hold()).outcome == FAILURE
    with pytest.raises(Conflict, match="not held any more"):
        await work.decide(Verb.FAIL)


async def test_retries_come_before_a_verdict_but_not_after_one(box: Appliance) -> None:
    work = await held(box, Kind.BEFORE, RETRYING)
    await work.decide(Verb.FAIL)
    await work.report(Outcome(state=State.FAILED, reason="FailedAtBreakpoint"))
    assert await work.states() == "FAILED FAILED PENDING"
    work = await held(box, Kind.BEFORE, RETRYING)
    await work.decide(Verb.CONTINUE)
    await work.resumed()
    await work.report(FAILURE)
    assert await work.states() == "RUNNING PENDING PENDING"


async def test_the_appliance_may_be_started_anew_at_any_moment_of_a_hold(tmp_path: Path) -> None:
    clock = Clock()
    async with appliance(tmp_path / "db", clock) as box:
        work = await begun(box)
        await work.held()
        hold = await work.hold()
    async with appliance(tmp_path / "db", clock) as box:
        work.box = box
        await work.held()
        assert await work.hold() == hold
        await work.decide(Verb.RETRY, environment={"A": "b"})
    async with appliance(tmp_path / "db", clock) as box:
        work.box = box
        with pytest.raises(Conflict, match="anna decided already: retry"):
            await work.decide(Verb.FAIL, "ben")
        ruling = (await work.orders()).ruling
        assert ruling == Ruling(sequence=1, verdict=Verdict(verb=Verb.RETRY, who="anna", environment={"A": "b"}))
        await work.resumed()
    async with appliance(tmp_path / "db", clock) as box:
        work.box = box
        await work.resumed()
        assert await work.orders() == Orders()
        await work.report(SUCCESS)
        assert await work.states() == "RUNNING SUCCESS PENDING"


async def test_an_action_that_sends_its_machine_away_may_be_held_and_let_go(box: Appliance) -> None:
    work = await begun(box, THROUGH)
    await box.leave(work.worker, work.offer)
    await work.held(Kind.BEFORE)
    assert await work.states() == "RUNNING HELD PENDING"
    with pytest.raises(Conflict, match="is held"):
        await box.leave(work.worker, work.offer)
    box.clock.forward(1_000)
    await work.decide(Verb.CONTINUE)
    await work.resumed()
    assert await work.states() == "RUNNING LEAVING PENDING"
    offer = await work.again()
    assert offer is not None
    assert (offer.left, offer.remaining) == (True, 300)
    await box.offer(work.worker, "boot-2")
    assert await work.states() == "RUNNING SUCCESS RUNNING"


@pytest.mark.parametrize(("let_go", "states"), [(True, "SUCCESS SUCCESS SUCCESS"), (False, "FAILED SUCCESS FAILED")])
async def test_a_machine_that_was_let_go_and_is_gone_at_once_has_done_what_it_should(
    box: Appliance, let_go: bool, states: str
) -> None:
    work = await begun(box, REBOOT)
    await work.report(SUCCESS)
    work.offer = await work.again() or work.offer
    await box.leave(work.worker, work.offer)
    await work.held(Kind.BEFORE)
    if let_go:
        await work.decide(Verb.CONTINUE)
    await box.offer(work.worker, "boot-2")
    assert await work.states() == states


async def test_a_workflow_with_a_hold_can_be_deleted_once_it_is_over(box: Appliance) -> None:
    work = await held(box)
    await work.decide(Verb.FAIL)
    await work.report(FAILURE)
    await box.workflows.delete(work.key)
    assert await box.breakpoints.all() == []


async def test_a_held_action_has_its_own_hint(box: Appliance) -> None:
    work = await begun(box, change=ARMED)
    told = replace(FAILURE, hint="use a larger disk")
    await work.held(outcome=told)
    assert (await work.hold()).outcome == told
