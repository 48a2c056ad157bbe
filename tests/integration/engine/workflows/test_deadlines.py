"""Deadlines: what the appliance ends when nobody else does."""

import asyncio
from pathlib import Path

import pytest

from tests.integration.engine.appliance import HELLO, Appliance, Clock, appliance
from tests.integration.engine.flows import LIMITED, REBOOT, RETRIES
from tinkbox.engine.workflows.deadlines import LOOK_EVERY, REPORTING, STOP_GRACE, STOPPING
from tinkbox.model.errors import Conflict, Unavailable
from tinkbox.model.workflow import Outcome, State
from tinkbox.wire.messages.worker import Offer
from tinkbox.wire.polling import SILENT_SECONDS


async def begun(box: Appliance, text: str = HELLO) -> tuple[str, Offer]:
    worker = await box.machine(1)
    await box.workflow(text)
    offer = await box.offer(worker)
    assert offer is not None
    return worker, offer


async def states(box: Appliance, key: str) -> list[str]:
    workflow = await box.workflows.get(key)
    return [workflow.state, *(each.state for each in workflow.actions)]


async def outcome(box: Appliance, key: str, index: int = 0) -> Outcome:
    found = (await box.workflows.get(key)).actions[index].outcome
    assert found is not None
    return found


async def test_an_action_nobody_reports_on_is_ended_after_its_timeout_and_the_time_to_report(box: Appliance) -> None:
    worker, offer = await begun(box)
    box.clock.forward(60 + STOP_GRACE + REPORTING - 1)
    assert await box.deadlines.look() == 1.0
    assert await states(box, offer.workflow_id) == ["RUNNING", "RUNNING", "PENDING"]
    box.clock.forward(1)
    box.machines.progress.heard(worker)
    await box.deadlines.look()
    assert await states(box, offer.workflow_id) == ["TIMEOUT", "TIMEOUT", "PENDING"]
    ended = await outcome(box, offer.workflow_id)
    assert ended.reason == "Timeout"
    assert "60 seconds" in ended.message
    assert "did not report" in ended.message
    order = await box.stop_order(worker, offer)
    assert order is not None
    assert order.state is State.TIMEOUT
    with pytest.raises(Conflict, match="too late"):
        await box.report(worker, offer)


async def test_a_timeout_of_a_silent_worker_is_the_machines_not_the_actions(box: Appliance) -> None:
    worker, offer = await begun(box)
    box.clock.forward(20)
    box.machines.progress.heard(worker)
    heard = box.clock()
    box.clock.forward(110)
    await box.deadlines.look()
    assert await states(box, offer.workflow_id) == ["TIMEOUT", "TIMEOUT", "PENDING"]
    ended = await outcome(box, offer.workflow_id)
    assert ended.reason == "WorkerSilent"
    assert ended.message.startswith(
        f"the worker is silent since {heard:%Y-%m-%d %H:%M:%S} UTC, for 1m50s: its machine is off"
    )
    assert "raise the timeout" not in ended.hint
    assert "power, cable and console" in ended.hint


async def test_an_action_whose_credential_is_voided_ends_at_the_next_worker_or_when_its_time_is_up(
    box: Appliance,
) -> None:
    worker = await box.machine(1)
    await box.workflow(HELLO)
    await box.session(worker)
    offer = await box.offer(worker)
    assert offer is not None
    await box.machines.sessions.revoke([worker], "anna")
    box.clock.forward(60 + STOP_GRACE + REPORTING - 1)
    await box.deadlines.look()
    assert await states(box, offer.workflow_id) == ["RUNNING", "RUNNING", "PENDING"]
    box.clock.forward(1)
    await box.deadlines.look()
    ended = await outcome(box, offer.workflow_id)
    assert (ended.state, ended.reason) == (State.TIMEOUT, "WorkerSilent")

    await box.workflows.retry(offer.workflow_id)
    await box.session(worker)
    again = await box.offer(worker)
    assert again is not None
    await box.machines.sessions.revoke([worker], "anna")
    await box.exchange(await box.machines.sessions.give(worker, "anna"))
    assert await box.offer(worker) is None
    ended = await outcome(box, again.workflow_id)
    assert (ended.state, ended.reason) == (State.FAILED, "WorkerLost")
    assert ended.message.startswith("another worker took this machine over")


async def test_a_worker_that_is_heard_within_a_poll_is_not_silent(box: Appliance) -> None:
    worker, offer = await begun(box)
    box.clock.forward(130 - SILENT_SECONDS)
    box.machines.progress.heard(worker)
    box.clock.forward(SILENT_SECONDS)
    await box.deadlines.look()
    assert (await outcome(box, offer.workflow_id)).reason == "Timeout"


async def test_a_silent_worker_that_does_not_confirm_a_stop_is_told_to_be_silent(box: Appliance) -> None:
    _, offer = await begun(box, LIMITED)
    await box.workflows.cancel(offer.workflow_id)
    box.clock.forward(STOPPING)
    await box.deadlines.look()
    ended = await outcome(box, offer.workflow_id)
    assert (ended.state, ended.reason) == (State.CANCELED, "Canceled")
    assert ended.message.endswith("action was stopped: it is silent since 2026-11-21 03:00:00 UTC, for 1m30s")


async def test_a_report_in_time_leaves_nothing_to_do(box: Appliance) -> None:
    worker, offer = await begun(box, REBOOT)
    await box.report(worker, offer)
    box.clock.forward(100_000)
    assert await box.deadlines.look() == LOOK_EVERY
    assert await states(box, offer.workflow_id) == ["RUNNING", "SUCCESS", "PENDING"]


async def test_what_nobody_reported_is_tried_again_when_the_template_allows_it(box: Appliance) -> None:
    worker, offer = await begun(box, RETRIES)
    box.clock.forward(1000)
    await box.deadlines.look()
    assert await states(box, offer.workflow_id) == ["RUNNING", "PENDING", "PENDING"]
    again = await box.offer(worker)
    assert again is not None
    assert again.attempt != offer.attempt


async def test_a_machine_that_does_not_come_back_in_time_has_failed(box: Appliance) -> None:
    worker, offer = await begun(box, REBOOT)
    await box.report(worker, offer)
    offer = await box.offer(worker)
    assert offer is not None
    box.clock.forward(100)
    await box.leave(worker, offer)
    box.clock.forward(299)
    await box.deadlines.look()
    assert await states(box, offer.workflow_id) == ["RUNNING", "SUCCESS", "LEAVING"]
    box.clock.forward(1)
    await box.deadlines.look()
    assert await states(box, offer.workflow_id) == ["FAILED", "SUCCESS", "FAILED"]
    ended = await outcome(box, offer.workflow_id, 1)
    assert (ended.reason, bool(ended.hint)) == ("NeverReturned", True)


async def test_a_workflow_beyond_its_time_has_its_action_stopped(box: Appliance) -> None:
    worker, offer = await begun(box, LIMITED)
    box.clock.forward(100)
    await box.deadlines.look()
    assert await states(box, offer.workflow_id) == ["STOPPING", "RUNNING", "PENDING"]
    order = await box.stop_order(worker, offer)
    assert order is not None
    assert (order.state, "global_timeout of 100 seconds" in order.message) == (State.TIMEOUT, True)
    await box.report(worker, offer, State.TIMEOUT, reason="Timeout")
    assert await states(box, offer.workflow_id) == ["TIMEOUT", "TIMEOUT", "PENDING"]
    last = (await box.workflows.events(offer.workflow_id))[-1]
    assert (last.kind, last.data["reason"]) == ("workflow.timeout", "Timeout")
    assert "global_timeout" in last.data["message"]


async def test_between_two_actions_a_workflow_beyond_its_time_ends_at_once(box: Appliance) -> None:
    worker, offer = await begun(box, LIMITED)
    await box.report(worker, offer)
    box.clock.forward(100)
    await box.deadlines.look()
    assert await states(box, offer.workflow_id) == ["TIMEOUT", "SUCCESS", "PENDING"]
    (line,) = (await box.overview.snapshot("1")).workflows
    assert line.failure is not None
    assert "global_timeout" in line.failure.message
    assert await box.offer(worker) is None


async def test_a_machine_that_is_away_when_the_workflows_time_is_over_is_not_waited_for(box: Appliance) -> None:
    worker, offer = await begun(box, LIMITED)
    await box.report(worker, offer)
    offer = await box.offer(worker)
    assert offer is not None
    await box.leave(worker, offer)
    box.clock.forward(100)
    await box.deadlines.look()
    assert await states(box, offer.workflow_id) == ["TIMEOUT", "SUCCESS", "TIMEOUT"], "its retries do not count here"


async def test_the_workflows_time_counts_from_its_first_action_not_from_its_creation(box: Appliance) -> None:
    await box.machine(1)
    key = await box.workflow(LIMITED)
    box.clock.forward(100_000)
    await box.deadlines.look()
    assert await states(box, key) == ["PENDING", "PENDING", "PENDING"]


async def test_a_worker_that_does_not_confirm_a_stop_is_not_waited_for(box: Appliance) -> None:
    worker, offer = await begun(box, LIMITED)
    following = await box.workflow()
    await box.workflows.cancel(offer.workflow_id)
    box.clock.forward(STOPPING - 1)
    await box.deadlines.look()
    assert await states(box, offer.workflow_id) == ["STOPPING", "RUNNING", "PENDING"]
    box.clock.forward(1)
    await box.deadlines.look()
    assert await states(box, offer.workflow_id) == ["CANCELED", "CANCELED", "PENDING"]
    assert "did not confirm" in (await outcome(box, offer.workflow_id)).message
    following_offer = await box.offer(worker)
    assert following_offer is not None
    assert following_offer.workflow_id == following


async def test_after_a_restart_workers_get_time_to_report_what_they_could_not(tmp_path: Path) -> None:
    clock = Clock()
    async with appliance(tmp_path / "db", clock) as box:
        worker, offer = await begun(box, RETRIES)
    clock.forward(100_000)
    async with appliance(tmp_path / "db", clock) as box:
        await box.deadlines.look()
        await box.report(worker, offer)
        assert await states(box, offer.workflow_id) == ["RUNNING", "SUCCESS", "PENDING"]
        assert await box.offer(worker) is not None
    clock.forward(100_000)
    async with appliance(tmp_path / "db", clock) as box:
        clock.forward(REPORTING)
        await box.deadlines.look()
        assert await states(box, offer.workflow_id) == ["TIMEOUT", "SUCCESS", "TIMEOUT"]


async def test_the_part_looks_by_itself_and_outlives_a_full_disk(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, offer = await begun(box)
    box.clock.forward(1000)
    monkeypatch.setattr("tinkbox.engine.workflows.deadlines.LOOK_EVERY", 0.01)
    refused = asyncio.Event()
    write = box.store.write

    async def full(use_case: object) -> None:
        refused.set()
        raise Unavailable("the disk is full")

    monkeypatch.setattr(box.store, "write", full)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        running = group.create_task(box.deadlines.run())
        await refused.wait()
        monkeypatch.setattr(box.store, "write", write)
        while (await box.workflows.get(offer.workflow_id)).state is State.RUNNING:
            await box.workflows.changed(5)
        running.cancel()
