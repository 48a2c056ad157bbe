"""Services that are not ready in time, and appliances that were not there to see it."""

import asyncio
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance, Clock, appliance
from tests.integration.engine.serving import OWN, SERVED, Host, hosts, phases, served
from tinkbox.engine.wakeups import CHANGES
from tinkbox.engine.workflows.deadlines import LOOK_EVERY, REPORTING
from tinkbox.model.services import Phase
from tinkbox.model.workflow import State


async def test_a_service_that_is_not_ready_in_time_ends_the_workflow_before_it_begins(box: Appliance) -> None:
    workflow_id, worker = await served(box), await box.machine(1)
    ours, machine = await hosts(box)
    box.clock.forward(1000)
    assert await box.deadlines.look() == LOOK_EVERY
    await ours.ask()
    box.clock.forward(30)
    await machine.ask()
    await ours.say("boot files", Phase.STARTING, message="fetching files:v1", tail=("a", "b"))
    box.clock.forward(29)
    assert await box.deadlines.look() == 1.0
    assert (await box.workflows.get(workflow_id)).state is State.PENDING
    box.clock.forward(1)
    await box.deadlines.look()
    over = await box.workflows.get(workflow_id)
    assert (over.state, over.reason, over.service) == (State.FAILED, "ServiceNotReady", "boot files")
    assert over.message == (
        "service boot files was not ready within 60 seconds, but starting: fetching files:v1; its last lines: a | b"
    )
    assert await phases(box, workflow_id) == ["STOPPING", "STOPPING"]
    assert [await ours.ask(), await machine.ask()] == [[], []]
    assert await box.offer(worker) is None
    assert await box.deadlines.look() == LOOK_EVERY


async def test_each_service_has_its_own_time(box: Appliance) -> None:
    workflow_id = await served(box)
    ours, machine = await hosts(box)
    await ours.ask()
    await machine.ask()
    await ours.say("boot files", Phase.READY)
    box.clock.forward(89)
    await box.deadlines.look()
    assert (await box.workflows.get(workflow_id)).state is State.PENDING
    box.clock.forward(1)
    await box.deadlines.look()
    assert (await box.workflows.get(workflow_id)).service == "receiver"


async def test_several_that_are_overdue_end_their_workflow_once(box: Appliance) -> None:
    workflow_id, other = await served(box), await served(box, OWN, machine=2)
    for host in await hosts(box):
        await host.ask()
    box.clock.forward(100)
    await box.deadlines.look()
    for each in (workflow_id, other):
        kinds = [event.kind for event in await box.workflows.events(each)]
        assert kinds.count("workflow.failed") == 1
        assert (await box.workflows.get(each)).service == "boot files"


async def test_a_service_that_was_ready_once_has_all_the_time_to_come_back(box: Appliance) -> None:
    workflow_id, worker = await served(box, OWN), await box.machine(1)
    ours = Host(box)
    await ours.ask()
    await ours.say("", Phase.READY)
    await ours.say("", Phase.RESTARTING)
    box.clock.forward(1000)
    await box.deadlines.look()
    assert (await box.workflows.get(workflow_id)).state is State.PENDING
    assert await box.offer(worker) is not None


async def test_waiting_for_services_is_no_time_of_the_workflow(box: Appliance) -> None:
    text = OWN.replace("name: own", "name: own\nglobal_timeout: 100").replace(
        "timeout: 60}\ntasks", "timeout: 500}\ntasks"
    )
    workflow_id, worker = await served(box, text), await box.machine(1)
    ours = Host(box)
    await ours.ask()
    box.clock.forward(400)
    await box.deadlines.look()
    await ours.say("", Phase.READY)
    offer = await box.offer(worker)
    assert offer is not None
    box.clock.forward(50)
    await box.deadlines.look()
    assert (await box.workflows.get(workflow_id)).state is State.RUNNING
    box.clock.forward(51)
    await box.deadlines.look()
    await box.report(worker, offer, State.TIMEOUT)
    assert (await box.workflows.get(workflow_id)).state is State.TIMEOUT
    assert await ours.ask() == []


async def test_an_appliance_that_was_away_gives_hosts_time_to_report(tmp_path: Path) -> None:
    clock = Clock()
    async with appliance(tmp_path / "db", clock) as box:
        workflow_id = await served(box, OWN)
        ours = Host(box)
        await ours.ask()
        name = box.services.host_id
    clock.forward(1000)
    async with appliance(tmp_path / "db", clock) as box:
        assert box.services.host_id == name
        clock.forward(REPORTING - 1)
        assert await box.deadlines.look() == 1.0
        assert (await box.workflows.get(workflow_id)).state is State.PENDING
        again = Host(box)
        assert await again.ask() == ["boot files"]
        assert again.told() == ours.told()
        await again.say("", Phase.READY)
        clock.forward(1000)
        await box.deadlines.look()
        assert (await box.workflows.get(workflow_id)).state is State.PENDING
    async with appliance(tmp_path / "db", clock) as box:
        assert await box.finish(await box.machine(1)) == ["one"]


async def test_while_hosts_have_time_to_report_only_what_is_overdue_itself_is_to_blame(tmp_path: Path) -> None:
    clock = Clock()
    async with appliance(tmp_path / "db", clock) as box:
        workflow_id = await served(box, SERVED.replace("timeout: 90", "timeout: 30"))
        await Host(box).ask()
    clock.forward(1000)
    async with appliance(tmp_path / "db", clock) as box:
        _, machine = await hosts(box)
        await machine.ask()
        clock.forward(30)
        await box.deadlines.look()
        assert (await box.workflows.get(workflow_id)).service == "receiver"


async def test_nobody_waits_longer_because_the_appliance_was_away(tmp_path: Path) -> None:
    clock = Clock()
    async with appliance(tmp_path / "db", clock) as box:
        workflow_id = await served(box, OWN)
        await Host(box).ask()
    clock.forward(1000)
    async with appliance(tmp_path / "db", clock) as box:
        clock.forward(REPORTING)
        await box.deadlines.look()
        assert (await box.workflows.get(workflow_id)).reason == "ServiceNotReady"


@pytest.mark.parametrize("moment", ["created", "told", "ready", "running", "over", "stopped", "retried"])
async def test_a_new_appliance_goes_on_where_the_old_one_was(tmp_path: Path, moment: str) -> None:
    clock = Clock()
    reached = ["created", "told", "ready", "running", "over", "stopped", "retried"].index(moment)
    async with appliance(tmp_path / "db", clock) as box:
        workflow_id, worker = await served(box, OWN), await box.machine(1)
        ours = Host(box)
        if reached >= 1:
            await ours.ask()
        if reached >= 2:
            await ours.say("", Phase.READY)
        if reached >= 3:
            offer = await box.offer(worker)
            assert offer is not None
        if reached >= 4:
            await box.report(worker, offer, State.FAILED)
        if reached >= 5:
            ours.has.clear()
            await ours.repeat()
        if reached >= 6:
            await box.workflows.retry(workflow_id)
        asked = await box.services.wanted("", "") if reached else None
        before = await box.workflows.get(workflow_id)
    async with appliance(tmp_path / "db", clock) as box:
        assert await box.workflows.get(workflow_id) == before
        assert asked is None or await box.services.wanted("", "") == asked
        again = Host(box, has=ours.has)
        if reached in {4, 5}:
            assert await again.ask() == []
            again.has.clear()
            await again.repeat()
            assert await phases(box, workflow_id) == ["STOPPED"]
            return
        assert await again.ask() == ["boot files"]
        assert asked is None or again.told() == asked.services[0]
        await again.obey()
        assert await box.finish(worker) == ["one"]
        await again.obey()
        assert await phases(box, workflow_id) == ["STOPPED"]


async def test_deadlines_are_kept_while_the_part_runs(box: Appliance) -> None:
    workflow_id = await served(box, OWN)
    await Host(box).ask()
    box.clock.forward(61)
    async with asyncio.timeout(60), asyncio.TaskGroup() as parts:
        async with box.wakeups.listening(CHANGES, 60):
            running = parts.create_task(box.deadlines.run())
        assert (await box.workflows.get(workflow_id)).state is State.FAILED
        running.cancel()
