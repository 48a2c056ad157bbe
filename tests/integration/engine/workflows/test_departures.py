"""Machines that are taken out of service, come back, and are forgotten."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.engine.appliance import HELLO, RELAY, Appliance, appliance, hardware, mac
from tinkbox.engine.machines.hardware_document import Added
from tinkbox.engine.rollouts.planning import Wanted
from tinkbox.model.boot import Asker, Boot, Client, Silence
from tinkbox.model.errors import Conflict, Invalid, NotFound
from tinkbox.model.labels import LabelChange, parse_selector
from tinkbox.model.machine_state import MachineState
from tinkbox.model.workflow import State


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Appliance]:
    async with appliance(tmp_path / "tinkbox.sqlite") as made:
        yield made


async def state_of(box: Appliance, workflow: str) -> State:
    return (await box.workflows.get(workflow)).state


async def test_a_retired_machine_gets_no_address_and_boots_nothing_until_it_is_back(box: Appliance) -> None:
    await box.machine(1)
    workflow = await box.workflow()
    client = Client(mac=mac(1), asker=Asker.PXE)
    assert (plan := box.booting.plan_for(client, "eth1")) is not None
    assert plan.boot is Boot.OSIE
    await box.workflows.cancel(workflow)
    await box.departures.retire("machine-1", "ann", "board broken")
    for asker in (Asker.PXE, Asker.SYSTEM):
        asking = Client(mac=mac(1), asker=asker)
        assert box.booting.plan_for(asking, "eth1") is None
        assert box.booting.silence(asking, "eth1") is Silence.RETIRED
    assert box.booting.script_plan(mac(1), "172.30.0.11") is None
    assert box.machines.known.knows(mac(1)), "it is not unknown"
    await box.departures.give_back("machine-1", "bob")
    assert box.booting.plan_for(Client(mac=mac(1)), "eth1") is not None


async def test_who_when_and_why_stay_on_record(tmp_path: Path) -> None:
    async with appliance(tmp_path / "db") as box:
        await box.machine(1)
        status, canceled = await box.departures.retire("machine-1", "ann", "board broken")
        assert (status.state, canceled) == (MachineState.RETIRED, [])
    async with appliance(tmp_path / "db") as box:
        retired = (await box.machines.get(mac(1))).retired
        assert retired is not None
        assert (retired.who, retired.reason, retired.at) == ("ann", "board broken", box.clock.now)
        with pytest.raises(Conflict, match="is retired already, since 2026-11-21 by ann"):
            await box.departures.retire("machine-1", "bob")
        back = await box.departures.give_back("machine-1", "bob")
        assert back.retired is None
        (note,) = await box.machine_changes.notes("machine-1")
        assert note.text == "returned to service; was retired from 2026-11-21 by ann: board broken"
        with pytest.raises(Conflict, match="machine machine-1 is not retired"):
            await box.departures.give_back("machine-1", "bob")
        with pytest.raises(Invalid, match="the reason"):
            await box.departures.retire("machine-1", "ann", "a\x1b[2J")


async def test_its_name_and_cards_stay_its_own_and_no_selector_finds_it(box: Appliance) -> None:
    await box.machine(1)
    await box.machines.label("machine-1", LabelChange(set=(("rack", "r1"),)))
    await box.departures.retire("machine-1", "ann")
    assert box.machines.known.selected(parse_selector("rack=r1")) == []
    for added in (Added(macs=(mac(1),)), Added(macs=(mac(2),), name="machine-1")):
        with pytest.raises(Conflict):
            await box.additions.add(added)


async def test_no_work_is_given_to_a_retired_machine(box: Appliance) -> None:
    await box.machine(1)
    workflow = await box.workflow()
    await box.workflows.cancel(workflow)
    await box.departures.retire("machine-1", "ann", "broken")
    for begin in (box.workflow(), box.workflows.retry(workflow)):
        with pytest.raises(Conflict, match="machine machine-1 is retired since 2026-11-21: broken") as refused:
            await begin
        assert "tinkbox hardware return machine-1" in str(refused.value)
    with pytest.raises(Conflict, match="is retired"):
        box.machines.credential("machine-1", "s", "r", "ann")
    assert await state_of(box, workflow) is State.CANCELED, "its workflows stay readable"


@pytest.mark.parametrize("force", [False, True])
async def test_a_machine_that_a_workflow_needs_is_retired_only_with_force(box: Appliance, force: bool) -> None:
    await box.machine(1)
    await box.machine(2)
    workflow = await box.workflow(RELAY, a=1, b=2)
    if not force:
        with pytest.raises(Conflict, match=f"workflow {workflow} is not over and needs machine machine-2: --force"):
            await box.departures.retire("machine-2", "ann")
        assert await state_of(box, workflow) is State.PENDING
        assert (await box.machines.get("machine-2")).retired is None
        return
    status, canceled = await box.departures.retire("machine-2", "ann", force=True)
    assert (status.state, canceled) == (MachineState.RETIRED, [workflow])
    assert await state_of(box, workflow) is State.CANCELED
    assert (await box.machines.get("machine-1")).retired is None


async def test_a_worker_may_end_what_it_has_begun_on_a_machine_that_is_retired_with_force(box: Appliance) -> None:
    worker = await box.machine(1)
    workflow = await box.workflow()
    offer = await box.offer(worker)
    assert offer is not None
    await box.departures.retire("machine-1", "ann", force=True)
    assert await state_of(box, workflow) is State.STOPPING
    await box.report(worker, offer, State.CANCELED)
    assert await state_of(box, workflow) is State.CANCELED
    assert await box.offer(worker) is None


async def test_a_machine_is_not_forgotten_while_its_workflow_is_being_stopped(box: Appliance) -> None:
    worker = await box.machine(1)
    workflow = await box.workflow()
    offer = await box.offer(worker)
    assert offer is not None
    with pytest.raises(
        Conflict, match=f"workflow {workflow} is not over and needs machine machine-1: it was told to stop"
    ):
        await box.departures.delete("machine-1", "ann", force=True)
    await box.report(worker, offer, State.CANCELED)
    await box.departures.delete("machine-1", "ann")


async def test_a_machine_is_deleted_with_all_that_is_unfinished_only_with_force(box: Appliance) -> None:
    machine = await box.machine(1)
    workflow = await box.workflow()
    with pytest.raises(Conflict, match=f"workflow {workflow} is not over and needs machine machine-1: --force"):
        await box.departures.delete("machine-1", "ann")
    deleted, canceled = await box.departures.delete("machine-1", "ann", force=True)
    assert (deleted.id, canceled) == (machine, [workflow])
    assert await state_of(box, workflow) is State.CANCELED
    with pytest.raises(NotFound):
        await box.machines.get("machine-1")


@pytest.mark.parametrize("deletes", [False, True])
async def test_a_machine_that_waits_in_a_rollout_leaves_only_with_force(box: Appliance, deletes: bool) -> None:
    leave = box.departures.delete if deletes else box.departures.retire
    ids = [await box.machine(number) for number in (1, 2)]
    await box.templates.create("hello", HELLO)
    made = await box.rollouts.create(Wanted(template="hello", machines=ids, max_parallel=1), "ann")
    with pytest.raises(
        Conflict, match=f"machine machine-2 waits in rollout {made.rollout.short}: `tinkbox rollout get"
    ):
        await leave("machine-2", "ann")
    assert (await box.machines.get("machine-2")).retired is None
    await leave("machine-2", "ann", force=True)


async def test_a_retired_machine_can_be_deleted_and_added_anew(box: Appliance) -> None:
    await box.machine(1)
    await box.departures.retire("machine-1", "ann")
    await box.departures.delete("machine-1", "ann")
    await box.machine(1)
    assert (await box.machines.get(str(hardware(1)["id"]))).retired is None
