"""Actions of which the machine goes away by intention, and machines that come back."""

import asyncio
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance, appliance, mac
from tests.integration.engine.flows import PARTING, REBOOT, THROUGH
from tinkbox.engine.machines.absences import SILENCE
from tinkbox.model.boot import Boot, Stage
from tinkbox.model.errors import Conflict, Denied, Forbidden, NotFound, Unavailable
from tinkbox.model.session import TicketRefusal
from tinkbox.model.workflow import State
from tinkbox.wire.messages.worker import Offer


async def left(box: Appliance, text: str, **devices: int) -> tuple[str, Offer]:
    """A machine whose action has sent it away: the worker's id and the offer."""
    worker = await box.machine(1)
    await box.workflow(text, **devices)
    while (offer := await box.offer(worker)) is not None and not offer.action.spec.reboot:
        await box.report(worker, offer)
    assert offer is not None
    await box.leave(worker, offer)
    return worker, offer


async def sent_away(box: Appliance, worker: str) -> Offer:
    """The same of a machine that is known; it has something left to do afterwards."""
    await box.workflow(THROUGH)
    offer = await box.offer(worker)
    assert offer is not None
    await box.leave(worker, offer)
    return offer


def netboot(box: Appliance) -> Boot | None:
    plan = box.dhcp_plan(1)
    return plan.boot if plan else None


async def states(box: Appliance, key: str) -> list[str]:
    workflow = await box.workflows.get(key)
    return [workflow.state, *(each.state for each in workflow.actions)]


async def test_leaving_is_told_once_however_often_it_is_said(box: Appliance) -> None:
    worker, offer = await left(box, REBOOT)
    for _ in range(2):
        await box.leave(worker, offer)
    assert await states(box, offer.workflow_id) == ["RUNNING", "SUCCESS", "LEAVING"]
    kinds = [event.kind for event in await box.workflows.events(offer.workflow_id)]
    assert kinds.count("action.leaving") == 1
    (line,) = (await box.overview.snapshot("1")).workflows
    assert line.running is not None
    assert line.running.leaving


async def test_the_worker_that_is_still_there_learns_that_it_left(box: Appliance) -> None:
    worker, offer = await left(box, REBOOT)
    box.clock.forward(100)
    again = await box.offer(worker)
    assert again is not None
    assert (again.attempt, again.left, again.remaining) == (offer.attempt, True, 200)
    assert not offer.left


async def test_only_actions_that_say_so_may_go_away_and_only_their_own_worker_says_it(box: Appliance) -> None:
    worker = await box.machine(1)
    stranger = await box.machine(2)
    await box.workflow(REBOOT)
    offer = await box.offer(worker)
    assert offer is not None
    with pytest.raises(Conflict, match="reboot: true"):
        await box.leave(worker, offer)
    with pytest.raises(NotFound):
        await box.leave(stranger, offer)
    with pytest.raises(Conflict, match="another boot"):
        await box.leave(worker, offer, boot_id="boot-0")


async def test_a_stopped_action_must_not_go_away_any_more(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.workflow(THROUGH)
    offer = await box.offer(worker)
    assert offer is not None
    await box.workflows.cancel(offer.workflow_id)
    with pytest.raises(Conflict, match="told to stop"):
        await box.leave(worker, offer)
    assert await states(box, offer.workflow_id) == ["STOPPING", "RUNNING", "PENDING"]


async def test_the_workers_first_word_after_another_boot_completes_it(box: Appliance) -> None:
    worker, offer = await left(box, THROUGH)
    following = await box.offer(worker, "boot-2")
    assert following is not None
    assert (following.action.spec.name, following.workflow_id) == ("check", offer.workflow_id)
    assert await states(box, offer.workflow_id) == ["RUNNING", "SUCCESS", "RUNNING"]


async def test_a_boot_that_is_seen_completes_it_and_the_machine_boots_its_disk(box: Appliance) -> None:
    _, offer = await left(box, REBOOT)
    assert netboot(box) is Boot.LOCAL_DISK, "even before anything is stored"
    box.machines.progress.booted(mac(1))
    await box.is_back(1)
    assert await states(box, offer.workflow_id) == ["SUCCESS", "SUCCESS", "SUCCESS"]
    assert netboot(box) is Boot.LOCAL_DISK
    assert not box.returns.returned()


async def test_a_boot_that_is_seen_while_the_worker_is_there_completes_nothing_and_is_told(box: Appliance) -> None:
    worker = await box.machine(1)
    secret = await box.session(worker)
    offer = await sent_away(box, worker)
    box.machines.progress.booted(mac(1))
    assert box.attempts.must_show(worker)
    box.machines.authenticate(secret, "", "127.0.0.1")
    assert not box.attempts.must_show(worker)
    box.clock.forward(SILENCE)
    await box.returns.look()
    assert await states(box, offer.workflow_id) == ["RUNNING", "LEAVING", "PENDING"]
    assert [each.stage for each in await box.machines.timeline.of(mac(1))][-1] is Stage.STILL_THERE
    await box.is_back(1)
    assert await states(box, offer.workflow_id) == ["RUNNING", "SUCCESS", "PENDING"]


async def test_a_worker_of_the_boot_that_ended_is_offered_nothing_more(box: Appliance) -> None:
    worker = await box.machine(1)
    ticket = (await box.machines.credential(worker, "s", "r", "ann")).token
    secret = await box.exchange(ticket)
    await sent_away(box, worker)
    await box.is_back(1)
    with pytest.raises(Denied):
        box.machines.authenticate(secret, "", "127.0.0.1")
    for each in (ticket, (await box.machines.credential(worker, "s", "r", "ann")).token):
        with pytest.raises(Forbidden, match=TicketRefusal.BOOT_OVER):
            await box.exchange(each)
    following = await box.offer(worker, "boot-2")
    assert following is not None
    assert following.action.spec.name == "check"


async def test_every_machine_that_went_away_is_seen_back_not_the_first_alone(box: Appliance) -> None:
    flows = []
    for number in (1, 2, 3):
        worker = await box.machine(number)
        await box.session(worker)
        flows.append(await box.workflow(THROUGH, device_1=number))
        offer = await box.offer(worker)
        assert offer is not None
        await box.leave(worker, offer)
    for number in (1, 2, 3):
        await box.is_back(number)
    assert [await states(box, each) for each in flows] == [["RUNNING", "SUCCESS", "PENDING"]] * 3


async def test_a_worker_of_the_next_boot_does_not_speak_for_the_one_before_and_keeps_its_session(
    box: Appliance,
) -> None:
    worker = await box.machine(1)
    await box.session(worker)
    offer = await sent_away(box, worker)
    box.machines.progress.booted(mac(1))
    secret = await box.session(worker, "boot-2")
    box.machines.authenticate(secret, "", "127.0.0.1")
    box.clock.forward(SILENCE)
    await box.returns.look()
    assert await states(box, offer.workflow_id) == ["RUNNING", "SUCCESS", "PENDING"]
    assert Stage.STILL_THERE not in [each.stage for each in await box.machines.timeline.of(mac(1))]
    assert box.machines.authenticate(secret, "", "127.0.0.1") == worker


async def test_a_person_lets_the_worker_of_the_boot_that_ended_work_on_by_a_rotation(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.session(worker)
    await sent_away(box, worker)
    await box.is_back(1)
    secret = await box.exchange((await box.machines.rotate(worker, "s", "r", "ann")).token)
    assert box.machines.authenticate(secret, "", "127.0.0.1") == worker


async def test_a_boot_that_is_seen_after_the_workers_first_word_changes_nothing(box: Appliance) -> None:
    worker, offer = await left(box, THROUGH)
    box.machines.progress.booted(mac(1))
    assert await box.offer(worker, "boot-2") is not None
    box.clock.forward(SILENCE)
    await box.returns.look()
    assert await states(box, offer.workflow_id) == ["RUNNING", "SUCCESS", "RUNNING"]
    assert not box.returns.returned()


async def test_a_machine_with_more_to_do_boots_the_osie(box: Appliance) -> None:
    _, offer = await left(box, THROUGH)
    for _ in range(2):
        assert netboot(box) is Boot.OSIE
        plan = box.dhcp_plan(1)
        assert plan is not None
        assert plan.boot is Boot.OSIE
        await box.is_back(1)
    assert await states(box, offer.workflow_id) == ["RUNNING", "SUCCESS", "PENDING"]


async def test_another_workflow_of_the_machine_is_something_to_do(box: Appliance) -> None:
    await left(box, REBOOT)
    await box.workflow(REBOOT)
    assert netboot(box) is Boot.OSIE
    await box.is_back(1)
    assert netboot(box) is Boot.OSIE


async def test_a_machine_that_is_done_stays_on_its_disk_while_others_go_on(box: Appliance) -> None:
    second = await box.machine(2)
    _, offer = await left(box, PARTING, a=1, b=2)
    assert netboot(box) is Boot.LOCAL_DISK
    await box.is_back(1)
    assert netboot(box) is Boot.LOCAL_DISK
    rest = await box.offer(second)
    assert rest is not None
    await box.report(second, rest, State.FAILED)
    await box.workflows.retry(offer.workflow_id, "reboot")
    assert netboot(box) is Boot.OSIE


async def test_a_boot_of_a_machine_that_did_not_leave_means_nothing(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.workflow(REBOOT)
    assert await box.offer(worker) is not None
    box.machines.progress.booted(mac(1))
    box.machines.progress.booted(mac(9))
    box.clock.forward(SILENCE)
    assert not box.returns.returned()


async def test_success_is_not_taken_before_the_machine_is_back_but_a_failure_is(box: Appliance) -> None:
    worker, offer = await left(box, REBOOT)
    with pytest.raises(Conflict, match="when its machine is back"):
        await box.report(worker, offer, State.SUCCESS)
    await box.report(worker, offer, State.FAILED, reason="NonZeroExit", exit_code=1)
    assert await states(box, offer.workflow_id) == ["FAILED", "SUCCESS", "FAILED"]
    await box.is_back(1)
    assert await states(box, offer.workflow_id) == ["FAILED", "SUCCESS", "FAILED"]


async def test_who_leaves_is_known_after_a_restart_of_the_appliance(tmp_path: Path) -> None:
    async with appliance(tmp_path / "db") as box:
        _, offer = await left(box, REBOOT)
    async with appliance(tmp_path / "db") as box:
        assert netboot(box) is Boot.LOCAL_DISK
        await box.is_back(1)
        assert await states(box, offer.workflow_id) == ["SUCCESS", "SUCCESS", "SUCCESS"]


async def test_the_part_completes_what_comes_back_while_it_runs(box: Appliance) -> None:
    _, offer = await left(box, REBOOT)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        running = group.create_task(box.returns.run())
        for _ in range(3):
            await asyncio.sleep(0)
        box.machines.progress.booted(mac(1))
        box.clock.forward(SILENCE)
        while (await box.workflows.get(offer.workflow_id)).state is State.RUNNING:
            await box.workflows.changed(5)
        running.cancel()


async def test_what_a_full_disk_refuses_is_done_later(box: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    _, offer = await left(box, REBOOT)
    box.machines.progress.booted(mac(1))
    box.clock.forward(SILENCE)

    async def full(use_case: object) -> None:
        raise Unavailable("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(box.store, "write", full)
        with pytest.raises(Unavailable):
            await box.returns.look()
    await box.returns.look()
    assert (await box.workflows.get(offer.workflow_id)).state is State.SUCCESS
