"""Workflows that were told to stop, and whose machine is off."""

from pathlib import Path

import pytest

from tests.integration.engine.appliance import HELLO, Appliance
from tinkbox.model.errors import Conflict
from tinkbox.model.reasons import Reason
from tinkbox.model.workflow import State
from tinkbox.wire.messages.worker import Offer


async def begun(box: Appliance, text: str = HELLO) -> tuple[str, Offer]:
    worker = await box.machine(1)
    await box.workflow(text)
    offer = await box.offer(worker)
    assert offer is not None
    return worker, offer


async def state_of(box: Appliance, offer: Offer) -> State:
    return (await box.workflows.get(offer.workflow_id)).state


async def test_one_whose_machine_is_silent_ends_by_force_and_stays_dead(box: Appliance) -> None:
    worker, offer = await begun(box)
    await box.workflows.cancel(offer.workflow_id)
    assert await state_of(box, offer) is State.STOPPING
    box.clock.forward(6)
    await box.workflows.cancel(offer.workflow_id, "anna", force=True)
    assert await state_of(box, offer) is State.CANCELED
    (attempt,) = await box.workflows.attempts(offer.workflow_id)
    assert attempt.outcome is not None
    assert attempt.outcome.reason == Reason.CANCELED
    assert "did not answer, and anna did not wait: what it began may still run there" in attempt.outcome.message
    # The machine comes back: it is told to stop, its report counts for nothing, and it begins nothing again.
    orders = await box.breakpoints.orders(worker, offer.attempt)
    assert orders.stop is not None
    with pytest.raises(Conflict):
        await box.report(worker, offer, State.SUCCESS)
    assert await state_of(box, offer) is State.CANCELED
    assert await box.offer(worker) is None


async def test_force_alone_stops_and_ends(box: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinkbox.engine.workflows.workflows.SILENCE", 0.0)
    _, offer = await begun(box)
    box.clock.forward(1)
    await box.workflows.cancel(offer.workflow_id, force=True)
    assert await state_of(box, offer) is State.CANCELED


async def test_a_machine_that_answers_is_waited_for(box: Appliance) -> None:
    worker, offer = await begun(box)
    await box.workflows.cancel(offer.workflow_id)
    box.clock.forward(6)
    box.machines.progress.heard(worker)
    with pytest.raises(Conflict, match=r"its machine answers, and stops what runs there. It ends by itself in 1m24s"):
        await box.workflows.cancel(offer.workflow_id, force=True)
    assert await state_of(box, offer) is State.STOPPING
    await box.report(worker, offer, State.CANCELED)
    assert await state_of(box, offer) is State.CANCELED


async def test_force_waits_for_a_machine_that_had_no_time_to_answer(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, offer = await begun(box)
    told = box.wakeups.wait

    async def answers(name: str, timeout: float) -> None:
        monkeypatch.setattr(box.wakeups, "wait", told)
        await box.report(worker, offer, State.CANCELED)

    monkeypatch.setattr(box.wakeups, "wait", answers)
    await box.workflows.cancel(offer.workflow_id, force=True)
    (attempt,) = await box.workflows.attempts(offer.workflow_id)
    assert attempt.outcome is not None
    assert "did not answer" not in attempt.outcome.message


async def test_what_is_over_or_never_began_needs_no_force(box: Appliance) -> None:
    await box.machine(1)
    waiting = await box.workflow(HELLO)
    await box.workflows.cancel(waiting, force=True)
    assert (await box.workflows.get(waiting)).state is State.CANCELED
    with pytest.raises(Conflict, match="over already"):
        await box.workflows.cancel(waiting, force=True)


async def test_what_stands_in_the_way_says_how_it_ends(box: Appliance) -> None:
    worker, offer = await begun(box)
    short = offer.workflow_id[:8]
    with pytest.raises(Conflict, match=f"is running, .*: `tinkbox workflow cancel {short}` ends it$"):
        await box.workflows.delete(offer.workflow_id)
    with pytest.raises(Conflict, match=f"`tinkbox workflow cancel {short}` ends it, with --force also when"):
        await box.machines.delete(worker)
    await box.workflows.cancel(offer.workflow_id)
    box.clock.forward(30)
    with pytest.raises(
        Conflict, match=f"by itself in 1m at the latest; `tinkbox workflow cancel --force {short}` ends it now"
    ):
        await box.workflows.delete(offer.workflow_id)
    await box.workflows.cancel(offer.workflow_id, force=True)
    assert await box.workflows.delete(offer.workflow_id) == offer.workflow_id
    assert await box.machines.delete(worker) == worker


async def test_a_machine_has_time_to_answer_an_appliance_that_was_started_anew(
    box: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, offer = await begun(box)
    await box.workflows.cancel(offer.workflow_id)
    box.clock.forward(30)
    again = Appliance(box.store, tmp_path, box.clock, box.numbers)
    await again.machines.load()
    told = again.wakeups.wait

    async def answers(name: str, timeout: float) -> None:
        monkeypatch.setattr(again.wakeups, "wait", told)
        again.machines.progress.heard(worker)

    monkeypatch.setattr(again.wakeups, "wait", answers)
    with pytest.raises(Conflict, match="its machine answers, and stops what runs there"):
        await again.workflows.cancel(offer.workflow_id, force=True)


async def test_when_what_was_told_to_stop_ends_is_told_right_by_an_appliance_that_was_started_anew(
    box: Appliance, tmp_path: Path
) -> None:
    _, offer = await begun(box)
    await box.workflows.cancel(offer.workflow_id)
    box.clock.forward(80)
    again = Appliance(box.store, tmp_path, box.clock, box.numbers)
    await again.machines.load()
    with pytest.raises(Conflict, match="ends by itself in 1m at the latest"):
        await again.workflows.delete(offer.workflow_id)
    box.clock.forward(59)
    await again.deadlines.look()
    assert await state_of(box, offer) is State.STOPPING
    box.clock.forward(2)
    await again.deadlines.look()
    assert await state_of(box, offer) is State.CANCELED


async def test_that_what_a_worker_began_may_run_on_is_told_where_it_is_not_in_touch(box: Appliance) -> None:
    worker, offer = await begun(box)
    await box.session(worker)
    box.machines.progress.heard(worker)
    box.clock.forward(1)
    told = await box.workflows.cancel(offer.workflow_id)
    assert (told.id, told.runs_on) == (offer.workflow_id, "")
    box.clock.forward(6)
    await box.machines.sessions.revoke([worker], "anna")
    told = await box.workflows.cancel(offer.workflow_id)
    voided = (
        "the worker of machine-1 is not in touch, for its credential was voided: what it began may run on there until the machine boots "
        "again or a new worker starts"
    )
    assert told.runs_on == voided
    told = await box.workflows.cancel(offer.workflow_id, force=True)
    assert (await state_of(box, offer), told.runs_on) == (State.CANCELED, voided)


@pytest.mark.parametrize(("seconds", "why"), [(6, "did not answer"), (75, "is silent since 20"), (0, "")])
async def test_that_what_a_silent_worker_began_may_run_on_is_told(box: Appliance, seconds: int, why: str) -> None:
    worker, offer = await begun(box)
    box.machines.progress.heard(worker)
    box.clock.forward(1)
    if not seconds:  # nothing of it runs
        await box.report(worker, offer, State.SUCCESS)
        assert (await box.workflows.cancel(await box.workflow(HELLO), force=True)).runs_on == ""
        return
    await box.workflows.cancel(offer.workflow_id)
    box.clock.forward(seconds)
    told = (await box.workflows.cancel(offer.workflow_id, force=True)).runs_on
    assert told.startswith(f"the worker of machine-1 {why}"), told
    assert told.endswith("what it began may run on there until it is in touch again or the machine boots")
