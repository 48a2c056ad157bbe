"""Machines that are taken out of service, come back, and are forgotten."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.engine.appliance import HELLO, RELAY, Appliance, appliance, hardware, mac
from tinkbox.engine.machines.hardware_document import Added
from tinkbox.engine.rollouts.planning import Wanted
from tinkbox.model.boot import Asker, Boot, Client, Silence
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.errors import Conflict, Invalid, NotFound
from tinkbox.model.labels import LabelChange, parse_selector
from tinkbox.model.machine_state import MachineState
from tinkbox.model.notes import MAX_NOTES
from tinkbox.model.rollout import Place, RolloutState
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
        await box.machines.credential("machine-1", "s", "r", "ann")
    assert await state_of(box, workflow) is State.CANCELED, "its workflows stay readable"


async def test_the_way_back_names_the_retired_machine_and_no_other_of_its_name(box: Appliance) -> None:
    machine = await box.machine(1)
    workflow = await box.workflow()
    await box.workflows.cancel(workflow)
    await box.departures.retire("machine-1", "ann", "broken")
    await box.machines.push(parse_hardware(json.dumps(hardware(2)).replace("machine-2", "machine-1")))
    back = f"`tinkbox hardware return {machine}` takes it back into service"
    template = (await box.templates.all())[0].name
    plan = await box.rollouts.plan(Wanted(template=template, machines=[machine]))
    assert [each.why for each in plan.refused] == [f"it is retired: {back}"]
    with pytest.raises(Conflict, match=re.escape(back)):
        await box.machines.credential(machine, "s", "r", "ann")
    with pytest.raises(Conflict, match=re.escape(back)):
        await box.workflows.retry(workflow)


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
    _, canceled = await box.departures.retire("machine-1", "ann", force=True)
    assert await state_of(box, workflow) is State.STOPPING
    assert await box.departures.stopping(canceled) == canceled == [workflow]
    await box.report(worker, offer, State.CANCELED)
    assert await state_of(box, workflow) is State.CANCELED
    assert await box.departures.stopping(canceled) == []
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


async def test_a_machine_that_comes_back_before_its_turn_stays_out_of_the_rollout_that_it_waited_in(
    box: Appliance,
) -> None:
    ids = [await box.machine(number) for number in (1, 2, 3)]
    await box.templates.create("hello", HELLO)
    rollout = (await box.rollouts.create(Wanted(template="hello", machines=ids, max_parallel=1), "ann")).rollout.id
    while await box.progression.look():
        pass
    await box.departures.retire("machine-2", "ann", force=True)
    await box.departures.delete("machine-3", "ann", force=True)
    assert [(each.name, each.place, each.message) for each in (await box.rollouts.members(rollout)).members][1:] == [
        ("machine-2", Place.CANCELED, "the machine was retired before its turn"),
        ("machine-3", Place.CANCELED, "the machine was deleted before its turn"),
    ]
    await box.departures.give_back("machine-2", "ann")
    (workflow,) = await box.workflows.all()
    await box.workflows.cancel(workflow.id)
    while await box.progression.look():
        pass
    assert [each.id for each in await box.workflows.all()] == [workflow.id], "it is not installed after all"
    assert (await box.rollouts.get(rollout)).rollout.state is RolloutState.FAILED
    await box.rollouts.retry(rollout)
    while await box.progression.look():
        pass
    places = {each.name: each.place for each in (await box.rollouts.members(rollout)).members}
    assert places == {"machine-1": Place.PENDING, "machine-2": Place.WAITING, "machine-3": Place.LEFT}


@pytest.mark.parametrize("paused", [False, True])
async def test_a_rollout_whose_machines_all_leave_before_the_first_begins_is_over(box: Appliance, paused: bool) -> None:
    machine = await box.machine(1)
    await box.templates.create("hello", HELLO)
    rollout = (await box.rollouts.create(Wanted(template="hello", machines=[machine]), "ann")).rollout.id
    if paused:
        await box.rollouts.pause(rollout)
    await box.departures.retire("machine-1", "ann", force=True)
    while await box.progression.look():
        pass
    assert (await box.rollouts.get(rollout)).rollout.state is RolloutState.FAILED
    assert await box.workflows.all() == []


async def test_a_retired_machine_can_be_deleted_and_added_anew(box: Appliance) -> None:
    await box.machine(1)
    await box.departures.retire("machine-1", "ann")
    await box.departures.delete("machine-1", "ann")
    await box.machine(1)
    assert (await box.machines.get(str(hardware(1)["id"]))).retired is None


async def canceled_and_deleted(box: Appliance, text: str = HELLO, **devices: int) -> str:
    """A workflow that was canceled, of which the machine 1 is deleted; returns its id."""
    workflow = await box.workflow(text, **devices)
    await box.workflows.cancel(workflow)
    await box.departures.delete("machine-1", "ann")
    return workflow


async def test_a_workflow_of_a_machine_that_was_deleted_is_not_retried(box: Appliance) -> None:
    await box.machine(1)
    workflow = await canceled_and_deleted(box)
    with pytest.raises(
        Conflict, match=f"machine {mac(1)} was deleted: make a new workflow, with `tinkbox workflow cre"
    ):
        await box.workflows.retry(workflow)
    assert await state_of(box, workflow) is State.CANCELED
    worker = await box.machine(1)
    with pytest.raises(Conflict, match="machine machine-1 was deleted and registered anew since: make a new workflow"):
        await box.workflows.retry(workflow[:8], "hello")
    assert await state_of(box, workflow) is State.CANCELED
    assert (await box.offer(worker)) is None
    assert (await box.machines.get("machine-1")).ticket is False
    later = await box.workflow()
    await box.workflows.cancel(later)
    assert await box.workflows.retry("machine-1") == later, "made for the machine as it is now"


async def test_a_workflow_of_two_machines_is_not_retried_when_one_was_deleted(box: Appliance) -> None:
    await box.machine(1)
    await box.machine(2)
    workflow = await canceled_and_deleted(box, RELAY, a=1, b=2)
    with pytest.raises(Conflict, match="was deleted"):
        await box.workflows.retry(workflow)
    await box.machine(1)
    with pytest.raises(Conflict, match="machine machine-1 was deleted and registered anew"):
        await box.workflows.retry(workflow)


async def test_the_name_of_a_machine_means_no_earlier_workflow_for_what_changes_it(box: Appliance) -> None:
    await box.machine(1)
    workflow = await canceled_and_deleted(box)
    await box.machine(1)
    for change in (box.workflows.retry, box.workflows.cancel, box.workflows.delete):
        for key in ("machine-1", mac(1)):
            with pytest.raises(
                NotFound, match=f"was deleted and registered anew since workflow {workflow[:8]}, has no"
            ):
                await change(key)
    assert (await box.workflows.get("machine-1")).id == workflow, "it is shown still"
    await box.workflows.delete(workflow)
    with pytest.raises(NotFound, match="machine machine-1 has no workflow"):
        await box.workflows.retry("machine-1")


async def test_a_machine_full_of_notes_comes_back_when_one_is_removed(box: Appliance) -> None:
    await box.machine(1)
    for number in range(MAX_NOTES):
        await box.machine_changes.note("machine-1", f"note {number}", "ann")
    await box.machine_changes.remove_note("machine-1", 1)
    await box.machine_changes.note("machine-1", "the last", "ann")
    await box.departures.retire("machine-1", "ann")
    with pytest.raises(Conflict, match=f"has {MAX_NOTES} notes, .*`tinkbox hardware note machine-1 --remove 2`"):
        await box.departures.give_back("machine-1", "bob")
    assert (await box.machines.get(mac(1))).state is MachineState.RETIRED
    assert len(await box.machine_changes.notes("machine-1")) == MAX_NOTES
    await box.machine_changes.remove_note("machine-1", 2)
    await box.departures.give_back("machine-1", "bob")
    assert len(await box.machine_changes.notes("machine-1")) == MAX_NOTES


async def test_a_machine_that_gets_into_a_rollout_while_it_is_deleted_stays(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    await box.machine(1)
    await box.templates.create("hello", HELLO)
    needed_by, made = box.machines.needed_by, list[object]()

    async def overtaken(key: str) -> list[str]:
        found = await needed_by(key)
        if not made:
            made.append(await box.rollouts.create(Wanted(template="hello", machines=[mac(1)]), "bob"))
        return found

    monkeypatch.setattr(box.machines, "needed_by", overtaken)
    with pytest.raises(Conflict, match="waits in rollout"):
        await box.departures.delete("machine-1", "ann")
    await box.departures.delete("machine-1", "ann", force=True)
