"""What workers tell that the store does not know, and what people decide of it; the fold of the events is checked throughout."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.integration.engine.appliance import RELAY, Appliance, mac
from tests.integration.engine.holding import AtWork, begun
from tinkbox.engine.rules.arming import Change
from tinkbox.model.breakpoint import Kind, Verb, Verdict
from tinkbox.model.errors import Conflict
from tinkbox.model.journal import Entry, Seen, Standing
from tinkbox.model.workflow import Outcome, State
from tinkbox.wire.messages.breakpoints import Held, Resumed
from tinkbox.wire.messages.journal import Answer, History
from tinkbox.wire.messages.worker import Hello, Offer

DONE = Outcome(state=State.SUCCESS, exit_code=0)
FAILED = Outcome(state=State.FAILED, exit_code=1, reason="Why")
RETRIES = """\
version: "0.1"
name: retries
global_timeout: 100
tasks: [{name: t, worker: "{{.device_1}}", actions: [{name: one, image: x, retries: 1}, {name: two, image: x}]}]
"""
ONCE = RETRIES.replace("retries: 1", "retries: 0")


def entry(position: int, workflow_id: str, index: int, name: str, outcome: Outcome | None = None) -> Entry:
    return Entry(
        position=position, attempt=f"lost-{position}", workflow_id=workflow_id, index=index, task="t", action=name,
        outcome=outcome, over=outcome is not None,
    )  # fmt: skip


async def told(box: Appliance, worker: str, *entries: Entry, store: str = "") -> Answer | None:
    return await box.lost_histories.told(worker, await history(box, entries, store))


async def history(box: Appliance, entries: Sequence[Entry], store: str = "") -> History:
    own, last = await box.store.read(lambda tables: tables.journals.store), entries[-1]
    seen = Seen(store=store or own, position=last.position, attempt=last.attempt, over=last.over)
    return History(boot_id="boot-1", seen=seen, entries=tuple(entries))


async def asks(box: Appliance, worker: str, seen: Seen | None) -> Offer | None:
    return await box.attempts.offer(worker, Hello(boot_id="boot-1", seen=seen))


async def states(box: Appliance, workflow_id: str) -> list[State]:
    workflow = await box.workflows.get(workflow_id)
    return [workflow.state, *(each.state for each in workflow.actions)]


async def fails(box: Appliance, worker: str) -> None:
    """The machine's next attempt fails, and its workflow with it."""
    offer = await box.offer(worker)
    assert offer is not None
    await box.report(worker, offer, State.FAILED, exit_code=FAILED.exit_code, reason=FAILED.reason)


@pytest.fixture
async def worker(box: Appliance) -> str:
    return await box.machine(1)


async def test_attempts_are_taken_over_with_all_their_tries_and_the_last_goes_on(box: Appliance, worker: str) -> None:
    flow = await box.workflow(RETRIES)
    did = entry(1, flow, 0, "one", FAILED), entry(2, flow, 0, "one", DONE), entry(3, flow, 1, "two")
    assert await told(box, worker, *did) is None
    with pytest.raises(Conflict, match="a person is to decide"):
        await box.offer(worker)
    assert await box.lost_histories.take_over(flow, "ann") == flow
    assert await states(box, flow) == [State.RUNNING, State.SUCCESS, State.RUNNING]
    assert await told(box, worker, *did) == Answer(standing=Standing.KNOWN)
    offer = await asks(box, worker, Seen(store=(await history(box, did)).seen.store, position=3, attempt="lost-3"))
    assert offer is not None
    assert (offer.attempt, offer.position) == ("lost-3", 3)
    await box.report(worker, offer)
    assert (await states(box, flow))[0] is State.SUCCESS


async def test_an_attempt_that_is_taken_over_while_its_action_is_held_is_held_again(
    box: Appliance, worker: str
) -> None:
    flow = await box.workflow(RETRIES)
    await box.breakpoints.arm(flow, Change(on_failure=True), "ann")
    did = entry(1, flow, 0, "one")
    await told(box, worker, did)
    await box.lost_histories.take_over(flow, "ann")
    assert (await box.breakpoints.orders(worker, did.attempt)).hold is None
    held = Held(workflow_id=flow, boot_id="boot-1", sequence=2, kind=Kind.FAILURE, outcome=FAILED)
    box.clock.forward(30)
    for _ in range(2):
        await box.breakpoints.held(worker, did.attempt, held)
    assert await states(box, flow) == [State.RUNNING, State.HELD, State.PENDING]
    (standing,) = await box.breakpoints.all()
    assert standing.hold is not None
    assert (standing.hold.sequence, standing.hold.held_at) == (2, box.clock())
    await box.breakpoints.resolve(flow, Verdict(verb=Verb.RETRY, who="ann"))
    orders = await box.breakpoints.orders(worker, did.attempt)
    assert orders.ruling is not None
    assert (orders.hold, orders.ruling.sequence) == (2, 2)
    await box.breakpoints.resumed(
        worker, did.attempt, Resumed(workflow_id=flow, boot_id="boot-1", sequence=orders.ruling.sequence)
    )
    assert await states(box, flow) == [State.RUNNING, State.RUNNING, State.PENDING]


async def test_an_attempt_that_is_taken_over_while_its_verdict_is_carried_out_runs_on(
    box: Appliance, worker: str
) -> None:
    flow = await box.workflow(RETRIES)
    did = entry(1, flow, 0, "one")
    await told(box, worker, did)
    await box.lost_histories.take_over(flow, "ann")
    await box.breakpoints.resumed(worker, did.attempt, Resumed(workflow_id=flow, boot_id="boot-1", sequence=1))
    assert await states(box, flow) == [State.RUNNING, State.RUNNING, State.PENDING]


async def test_an_end_that_was_acknowledged_and_lost_is_taken_over(box: Appliance, worker: str) -> None:
    flow = await box.workflow(RETRIES)
    offer = await box.offer(worker)
    assert offer is not None
    did = Entry(
        position=1, attempt=offer.attempt, workflow_id=flow, index=0, task="t", action="one", outcome=DONE, over=True
    )
    assert await told(box, worker, did) is None
    await box.lost_histories.take_over(flow, "ann")
    assert await states(box, flow) == [State.RUNNING, State.SUCCESS, State.PENDING]


@pytest.mark.parametrize(
    ("index", "name"), [(1, "two"), (0, "renamed"), (-1, "one"), (7, "one")], ids=["a gap", "a name", "below", "above"]
)
async def test_what_does_not_fit_is_not_taken_over(box: Appliance, worker: str, index: int, name: str) -> None:
    flow = await box.workflow(RETRIES)
    await told(box, worker, entry(1, flow, index, name, DONE))
    with pytest.raises(Conflict, match="does not fit"):
        await box.lost_histories.take_over(flow, "ann")
    assert await states(box, flow) == [State.PENDING, State.PENDING, State.PENDING]


async def test_what_follows_on_a_machine_that_has_told_nothing_yet_is_taken_over_once_it_has(
    box: Appliance, worker: str
) -> None:
    other = await box.machine(2)
    flow = await box.workflow(RELAY, a=1, b=2)
    did = [entry(1, flow, 0, "one", DONE), entry(2, flow, 1, "two", DONE), entry(3, flow, 3, "four")]
    await told(box, worker, *(replace(each, task="first" if each.index < 2 else "third") for each in did))
    with pytest.raises(Conflict, match=f"unless it follows on what machine {other} did, which told of nothing"):
        await box.lost_histories.take_over(flow, "ann")
    assert await states(box, flow) == [State.PENDING] * 5
    await told(box, other, replace(entry(1, flow, 2, "three", DONE), attempt="lost-b", task="second"))
    await box.lost_histories.take_over(flow, "ann")
    assert await states(box, flow) == [State.RUNNING, State.SUCCESS, State.SUCCESS, State.SUCCESS, State.RUNNING]


async def test_a_store_that_moved_on_is_not_overwritten(box: Appliance, worker: str) -> None:
    flow = await box.workflow(RETRIES)
    offer = await box.offer(worker)
    assert offer is not None
    await box.report(worker, offer)
    await told(box, worker, entry(1, flow, 1, "two", DONE))
    with pytest.raises(Conflict, match="has begun something else"):
        await box.lost_histories.take_over(flow, "ann")


async def test_a_journal_of_another_store_is_lost_and_cannot_be_taken_over(box: Appliance, worker: str) -> None:
    flow = await box.workflow(RETRIES)
    assert await told(box, worker, entry(1, flow, 0, "one", DONE), store="another") is None
    with pytest.raises(Conflict, match="not all that the machine did"):
        await box.lost_histories.take_over(flow, "ann")


async def test_nothing_is_offered_before_the_containers_are_removed(box: Appliance, worker: str) -> None:
    flow = await box.workflow(RETRIES)
    did = entry(1, flow, 0, "one")
    await told(box, worker, did)
    await box.workflows.retry(flow, who="ann")
    seen = (await history(box, [did])).seen
    with pytest.raises(Conflict):
        await asks(box, worker, seen)
    answer = await told(box, worker, did)
    assert answer is not None
    assert answer.standing is Standing.DISCARDED
    offer = await asks(box, worker, answer.seen)
    assert offer is not None
    assert answer.seen is not None
    assert offer.position > answer.seen.position
    assert await box.lost_histories.all() == []


async def test_a_decision_about_one_history_is_none_about_the_next(box: Appliance, worker: str) -> None:
    """The store is put back once more, to where the decision was made and not yet heard of."""
    flow = await box.workflow(RETRIES)
    await told(box, worker, entry(1, flow, 0, "one"))
    await box.workflows.retry(flow, who="ann")
    position = (await box.store.read(lambda tables: tables.journals.newest(worker))) + 1
    since = entry(position, flow, 0, "one", DONE), entry(position + 1, flow, 1, "two")
    assert await told(box, worker, *since) is None
    with pytest.raises(Conflict, match="a person is to decide"):
        await asks(box, worker, (await history(box, since)).seen)
    (lost,) = await box.lost_histories.all()
    assert (lost.history.entries, lost.workflows) == (since, (flow,))
    assert [each.kind for each in await box.workflows.events(flow)].count("history.lost") == 2
    await box.lost_histories.take_over(flow, "ann")
    assert await states(box, flow) == [State.RUNNING, State.SUCCESS, State.RUNNING]


async def test_no_deadline_ends_what_waits(box: Appliance, worker: str) -> None:
    flow = await box.workflow(RETRIES)
    await box.offer(worker)
    await told(box, worker, entry(2, flow, 1, "two"))
    box.clock.forward(10_000)
    await box.deadlines.look()
    assert (await states(box, flow))[0] is State.RUNNING
    await box.workflows.cancel(flow, "ann")
    assert await states(box, flow) == [State.CANCELED, State.CANCELED, State.PENDING]


async def test_canceling_what_only_waits_decides_nothing_about_what_its_machine_did(
    box: Appliance, worker: str
) -> None:
    first = await box.workflow(RETRIES)
    await told(box, worker, entry(1, first, 0, "one", DONE), entry(2, first, 1, "two"))
    behind = await box.workflow(RETRIES)
    for refused in (box.workflows.retry(behind, who="ann"), box.lost_histories.take_over(behind, "ann")):
        with pytest.raises(Conflict, match=f"workflow {behind} waits .* `tinkbox workflow takeover {first}` "):
            await refused
    await box.workflows.cancel(behind, "ann")
    assert (await box.workflows.get(behind)).state is State.CANCELED
    (lost,) = await box.lost_histories.all()
    assert (lost.history.restart, lost.workflows) == (None, (first,))
    await box.lost_histories.take_over(first, "ann")
    assert await states(box, first) == [State.RUNNING, State.SUCCESS, State.RUNNING]


async def test_canceling_what_runs_ends_it_whatever_its_machine_tells_of(box: Appliance, worker: str) -> None:
    flow = await box.workflow(RETRIES)
    await box.offer(worker)
    await told(box, worker, entry(2, "invented", 0, "one"))
    await box.workflows.cancel(flow, "ann")
    assert (await box.workflows.get(flow)).state is State.CANCELED


async def test_a_workflow_that_waits_begins_on_no_other_machine(box: Appliance, worker: str) -> None:
    other = await box.machine(2)
    flow = await box.workflow(RELAY, a=1, b=2)
    await told(box, other, entry(1, "forgotten", 0, "one"))
    assert await box.offer(worker) is None
    await box.lost_histories.discard(other, "ann")
    offer = await box.offer(worker)
    assert offer is not None
    assert offer.workflow_id == flow


async def test_a_machine_that_booted_since_waits_as_well(box: Appliance, worker: str) -> None:
    await box.workflow(RETRIES)
    await told(box, worker, entry(1, "forgotten", 0, "one"))
    with pytest.raises(Conflict):
        await box.offer(worker, boot_id="boot-2")
    await box.lost_histories.discard(worker, "ann")
    assert await box.offer(worker, boot_id="boot-2") is not None


async def test_status_shows_what_no_workflow_tells_of_until_a_person_decides(box: Appliance, worker: str) -> None:
    async def shown() -> list[str]:
        return [each.lost for each in (await box.overview.snapshot("1")).machines]

    assert await shown() == [""]
    await told(box, worker, entry(1, "forgotten", 0, "one", DONE))
    assert await shown() == ["HistoryLost: its machine did what this appliance does not know: 't/one' (SUCCESS)"]
    flow = await box.workflow(RETRIES)  # it waits, and says why
    assert await shown() == [""]
    (waiting,) = (await box.overview.snapshot("1")).workflows
    assert waiting.failure is not None
    assert (waiting.id, waiting.failure.reason) == (flow, "HistoryLost")
    await box.workflows.delete(flow)
    await box.lost_histories.discard(worker, "ann")
    assert await shown() == [""]


async def test_no_time_of_an_action_runs_while_a_person_is_waited_for(box: Appliance, worker: str) -> None:
    flow = await box.workflow(RETRIES)
    assert await box.offer(worker) is not None

    async def shown() -> bool:
        (line,) = (await box.overview.snapshot("1")).workflows
        return line.running is not None

    assert await shown()
    await told(box, worker, entry(9, flow, 0, "one", DONE))
    assert not await shown()


async def test_the_hint_names_the_workflow_that_waits(box: Appliance, worker: str) -> None:
    flow = await box.workflow(RETRIES)
    await told(box, worker, entry(1, flow, 0, "one"))
    (lost,) = await box.lost_histories.all()
    assert lost.workflows == (flow,)
    for verb in ("takeover", "retry", "cancel"):
        assert f"`tinkbox workflow {verb} {flow}` " in lost.hint
    (waiting,) = (await box.overview.snapshot("1")).workflows
    assert waiting.failure is not None
    assert waiting.failure.hint == lost.hint


@pytest.mark.parametrize("another", [False, True], ids=["alone", "with another workflow that waits"])
async def test_the_hint_for_an_unknown_workflow_is_only_to_discard(box: Appliance, worker: str, another: bool) -> None:
    if another:
        await box.workflow(RETRIES)
    await told(box, worker, entry(1, "forgotten", 0, "one"))
    (lost,) = await box.lost_histories.all()
    assert lost.workflows == ()
    assert lost.hint.startswith(f"`tinkbox hardware discard-history {mac(1)}` ")
    assert "tinkbox workflow" not in lost.hint


async def test_a_discarded_workflow_that_failed_is_to_be_retried(box: Appliance, worker: str) -> None:
    flow = await box.workflow(ONCE)
    await box.offer(worker)
    await told(box, worker, entry(2, flow, 1, "two"))
    await box.lost_histories.discard(worker, "ann")
    (lost,) = await box.lost_histories.all()
    assert "tinkbox workflow" not in lost.hint  # nothing is left to decide
    workflow = await box.workflows.get(flow)
    assert workflow.state is State.FAILED
    outcome = workflow.actions[0].outcome
    assert outcome is not None
    assert "takeover" not in outcome.hint
    assert "tinkbox workflow retry" in outcome.hint


async def test_work_after_a_failure_shows_before_a_retry(box: Appliance, worker: str) -> None:
    flow = await box.workflow(ONCE)
    await fails(box, worker)
    await told(box, worker, entry(2, flow, 0, "one", DONE), entry(3, flow, 1, "two"))
    assert (await states(box, flow))[0] is State.FAILED
    (lost,) = await box.lost_histories.of_workflow(flow)
    for command in (
        f"workflow takeover {flow}` ", f"hardware discard-history {mac(1)}` ",
    ):  # fmt: skip
        assert f"tinkbox {command}" in lost.hint
    assert "cancel" not in lost.hint  # it is over
    snapshot = await box.overview.snapshot("1")
    (machine,), (workflow,) = snapshot.machines, snapshot.workflows
    assert machine.lost.startswith("HistoryLost: ")
    assert workflow.failure is not None
    assert workflow.failure.reason == "HistoryLost"
    assert lost.hint == machine.lost_hint == workflow.failure.hint


async def test_work_after_a_failure_is_taken_over_together_with_the_retry_that_began_it(
    box: Appliance, worker: str
) -> None:
    flow = await box.workflow(ONCE)
    await fails(box, worker)
    did = [entry(2, flow, 0, "one", FAILED), entry(3, flow, 0, "one", DONE), entry(4, flow, 1, "two")]
    await told(box, worker, *did)
    await box.lost_histories.take_over(flow, "ann")
    assert await states(box, flow) == [State.RUNNING, State.SUCCESS, State.RUNNING]
    assert [each.kind for each in await box.workflows.events(flow)].count("workflow.retried") == 2
    offer = await asks(box, worker, (await history(box, did)).seen)
    assert offer is not None
    assert offer.attempt == "lost-4"
    await box.report(worker, offer)
    assert (await states(box, flow))[0] is State.SUCCESS


async def test_a_retry_from_an_earlier_action_on_another_machine_is_taken_over_first(
    box: Appliance, worker: str
) -> None:
    other = await box.machine(2)
    flow = await box.workflow(RELAY, a=1, b=2)
    assert await box.finish(worker) == ["one", "two"]
    await fails(box, other)
    await told(box, other, replace(entry(2, flow, 2, "three", DONE), task="second"))
    box.clock.forward(1)
    await told(box, worker, replace(entry(3, flow, 1, "two", DONE), task="first"))
    await box.lost_histories.take_over(flow, "ann")
    assert await states(box, flow) == [State.RUNNING, *3 * [State.SUCCESS], State.PENDING]


@pytest.mark.parametrize("index", [1, 7], ids=["behind a gap", "of no action"])
async def test_work_that_no_retry_can_have_begun_is_not_taken_over(box: Appliance, worker: str, index: int) -> None:
    flow = await box.workflow(ONCE)
    await fails(box, worker)
    await told(box, worker, entry(2, flow, index, "two", DONE))
    with pytest.raises(Conflict, match="does not fit"):
        await box.lost_histories.take_over(flow, "ann")
    assert (await states(box, flow))[0] is State.FAILED


async def test_a_retry_of_what_failed_runs_nothing_again_before_a_person_knows_of_the_work_after_it(
    box: Appliance, worker: str
) -> None:
    flow = await box.workflow(ONCE)
    await fails(box, worker)
    did = entry(2, flow, 0, "one", DONE)
    await told(box, worker, did)
    with pytest.raises(Conflict, match=r"went on after it ended here: .*discard-history"):
        await box.workflows.retry(flow, who="ann")
    await box.lost_histories.discard(worker, "ann")
    await box.workflows.retry(flow, who="ann")
    answer = await told(box, worker, did)
    assert answer is not None
    assert answer.standing is Standing.DISCARDED
    offer = await asks(box, worker, answer.seen)
    assert offer is not None
    assert (offer.workflow_id, offer.action.spec.name) == (flow, "one")


async def test_a_workflow_shows_why_it_failed_again_once_the_work_after_it_is_discarded(
    box: Appliance, worker: str
) -> None:
    flow = await box.workflow(ONCE)
    await fails(box, worker)
    await told(box, worker, entry(2, flow, 0, "one", DONE))
    await box.lost_histories.discard(worker, "ann")
    assert not await box.lost_histories.of_workflow(flow)
    (workflow,) = (await box.overview.snapshot("1")).workflows
    assert workflow.failure is not None
    assert workflow.failure.reason == "Why"


THREE = ONCE.replace("{name: two, image: x}", "{name: two, image: x}, {name: three, image: x}")


async def at_hold(box: Appliance, text: str, change: Change, outcome: Outcome) -> AtWork:
    """The first action's attempt is held after its end, and the store knows that."""
    work = await begun(box, text, change=change)
    await work.held(Kind.AFTER if outcome.state is State.SUCCESS else Kind.FAILURE, outcome=outcome)
    return work


def ended(work: AtWork, outcome: Outcome) -> Entry:
    """What the worker tells of the attempt that the store has for held."""
    return replace(entry(1, work.key, 0, "one", outcome), attempt=work.offer.attempt)


AFTER = Change(after=("t/one",))


@pytest.mark.parametrize(
    "known", [True, False], ids=["of a hold that the store knows", "of a hold that it lost as well"]
)
async def test_a_lost_verdict_to_try_a_success_anew_is_taken_over(box: Appliance, known: bool) -> None:
    if known:
        work = await at_hold(box, ONCE, AFTER, DONE)
        first = ended(work, DONE)
        worker, flow = work.worker, work.key
    else:
        worker, flow = await box.machine(1), await box.workflow(ONCE)
        first = entry(1, flow, 0, "one", DONE)
    await told(box, worker, first, entry(2, flow, 0, "one", DONE), entry(3, flow, 0, "one"))
    await box.lost_histories.take_over(flow, "ann")
    assert await states(box, flow) == [State.RUNNING, State.RUNNING, State.PENDING]
    assert [each.state for each in await box.workflows.attempts(flow)] == [State.SUCCESS, State.SUCCESS, State.RUNNING]
    assert "workflow.retried" not in [each.kind for each in await box.workflows.events(flow)]


async def test_a_success_before_a_retry_from_an_earlier_action_was_not_tried_anew(box: Appliance, worker: str) -> None:
    other = await box.machine(2)
    flow = await box.workflow(RELAY, a=1, b=2)
    offer = await box.offer(worker)
    assert offer is not None
    await box.report(worker, offer)
    did = [replace(entry(each, flow, 1, "two", DONE), task="first") for each in (2, 3)]
    await told(box, worker, did[0], replace(did[1], outcome=None, over=False))
    await told(box, other, replace(entry(1, flow, 2, "three", FAILED), attempt="lost-b", task="second"))
    await box.lost_histories.take_over(flow, "ann")
    assert await states(box, flow) == [State.RUNNING, State.SUCCESS, State.RUNNING, State.PENDING, State.PENDING]
    assert "workflow.retried" in [each.kind for each in await box.workflows.events(flow)]


async def test_a_success_that_was_tried_anew_before_another_machine_went_on_is_taken_over(
    box: Appliance, worker: str
) -> None:
    other = await box.machine(2)
    flow = await box.workflow(RELAY, a=1, b=2)
    first = [
        replace(entry(each, flow, each > 1, "two" if each > 1 else "one", DONE), task="first") for each in (1, 2, 3)
    ]
    await told(box, worker, *first)
    await told(box, other, replace(entry(1, flow, 2, "three"), attempt="lost-b", task="second"))
    await box.lost_histories.take_over(flow, "ann")
    assert await states(box, flow) == [State.RUNNING, State.SUCCESS, State.SUCCESS, State.RUNNING, State.PENDING]


@pytest.mark.parametrize("verb", [Verb.RETRY, Verb.FAIL, Verb.CONTINUE])
@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("later", [False, True], ids=["and no more", "and the one after it was begun"])
async def test_a_verdict_counts_for_nothing_where_the_machine_succeeded(
    box: Appliance, verb: Verb, fresh: bool, later: bool
) -> None:
    """Given in ignorance, or carried out before the machine succeeded: nothing that succeeded runs again."""
    work = await at_hold(box, THREE, AFTER, DONE)
    await work.decide(verb, fresh=fresh and verb is Verb.RETRY)
    did = [ended(work, DONE), *[entry(2, work.key, 1, "two", DONE), entry(3, work.key, 2, "three")][: 2 * later]]
    await told(box, work.worker, *did)
    await box.lost_histories.take_over(work.key, "ann")
    expected = "RUNNING SUCCESS SUCCESS RUNNING" if later else "RUNNING SUCCESS PENDING PENDING"
    assert await work.states() == expected
    assert (await work.hold()).ended_at is not None


@pytest.mark.parametrize("verb", [Verb.RETRY, Verb.FAIL, Verb.CONTINUE, None])
@pytest.mark.parametrize("outcome", [DONE, FAILED], ids=["a success", "a failure"])
async def test_what_the_machine_tried_anew_was_tried_anew_whatever_the_verdict(
    box: Appliance, verb: Verb | None, outcome: Outcome
) -> None:
    work = await at_hold(box, ONCE, Change(on_failure=True, after=("t/one",)), outcome)
    if verb is not None:
        await work.decide(verb, why="so")
    await told(box, work.worker, ended(work, outcome), entry(2, work.key, 0, "one", DONE), entry(3, work.key, 1, "two"))
    await box.lost_histories.take_over(work.key, "ann")
    assert await work.states() == "RUNNING SUCCESS RUNNING"
    assert [each.state for each in await box.workflows.attempts(work.key)] == [outcome.state, "SUCCESS", "RUNNING"]
    assert await work.events("workflow") == ["workflow.created", "workflow.started"]


@pytest.mark.parametrize(
    ("verb", "outcome", "expected"),
    [
        (Verb.CONTINUE, replace(FAILED, state=State.SUCCESS), "RUNNING SUCCESS PENDING"),
        (Verb.FAIL, FAILED, "FAILED FAILED PENDING"),
        (Verb.RETRY, DONE, "RUNNING SUCCESS PENDING"),
        (Verb.RETRY, FAILED, "FAILED FAILED PENDING"),
    ],
)
async def test_a_verdict_that_the_store_has_and_the_machine_carried_out_since_is_taken_over(
    box: Appliance, verb: Verb, outcome: Outcome, expected: str
) -> None:
    work = await at_hold(box, ONCE, Change(on_failure=True), FAILED)
    await work.decide(verb, why="so")
    await told(box, work.worker, ended(work, outcome))
    await box.lost_histories.take_over(work.key, "ann")
    assert await work.states() == expected


async def test_a_verdict_to_fail_that_was_carried_out_leaves_no_retries(box: Appliance) -> None:
    work = await at_hold(box, RETRIES, AFTER, DONE)
    await work.decide(Verb.FAIL)
    await told(box, work.worker, ended(work, FAILED))
    await box.lost_histories.take_over(work.key, "ann")
    assert await work.states() == "FAILED FAILED PENDING"


async def test_a_failure_after_a_verdict_had_the_action_run_is_tried_again_as_the_template_has_it(
    box: Appliance,
) -> None:
    work = await at_hold(box, RETRIES, AFTER, DONE)
    await work.decide(Verb.RETRY)
    await told(box, work.worker, ended(work, FAILED))
    await box.lost_histories.take_over(work.key, "ann")
    assert await work.states() == "RUNNING PENDING PENDING"
    (failures,) = [each.failures for each in (await box.workflows.get(work.key)).actions][:1]
    assert failures == 1
