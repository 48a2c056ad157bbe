"""Machines: their documents, their tickets, and how far their boots have come."""

import asyncio
import json
from pathlib import Path
from uuid import UUID

import pytest

from tests.integration.engine.appliance import RELAY, Appliance, address, appliance, hardware, mac
from tinkbox.engine.machines.boot_plan import MAX_BOOTS
from tinkbox.engine.machines.boot_tickets import Seal
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.machines.sessions import Near
from tinkbox.model.boot import Asker, Boot, Plan, Stage, Supply
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.errors import Conflict, NotFound, Unavailable
from tinkbox.model.workflow import State


def netboot(box: Appliance, number: int = 1) -> Boot | None:
    plan = box.dhcp_plan(number)
    return plan.boot if plan else None


def script(box: Appliance, number: int = 1) -> Plan | None:
    plan = box.dhcp_plan(number)
    if plan is not None:
        box.machines.progress.saw(mac(number), Stage.PARKED if plan.boot is Boot.PARKED else Stage.SCRIPT)
    return plan


async def test_unknown_machines_and_those_without_a_ticket_are_met_with_silence(box: Appliance) -> None:
    assert netboot(box) is None
    await box.machine(1)
    assert netboot(box) is None


async def test_an_installed_system_gets_its_address_with_or_without_a_ticket(box: Appliance) -> None:
    await box.machine(1)
    plan = box.dhcp_plan(1, netboots=False)
    assert plan is not None
    assert plan.boot is Boot.NOTHING
    assert str(plan.interface.address) == address(1)


async def test_a_ticket_lives_from_the_workflows_creation_to_its_success(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.workflow()
    assert netboot(box) is Boot.OSIE
    assert (await box.machines.get(worker)).ticket
    await box.finish(worker)
    assert netboot(box) is Boot.LOCAL_DISK
    assert not (await box.machines.get(worker)).ticket


async def test_a_failed_workflow_leaves_the_ticket_and_another_success_takes_it(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.workflow()
    offer = await box.offer(worker)
    assert offer is not None
    await box.report(worker, offer, State.FAILED)
    assert netboot(box) is Boot.OSIE
    await box.workflow()
    await box.finish(worker)
    assert netboot(box) is Boot.LOCAL_DISK


async def test_the_ticket_stays_while_another_workflow_waits(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.workflow()
    await box.workflow()
    for _ in range(2):
        offer = await box.offer(worker)
        assert offer is not None
        await box.report(worker, offer)
    assert netboot(box) is Boot.OSIE
    await box.finish(worker)
    assert netboot(box) is Boot.LOCAL_DISK


async def test_deleting_the_only_waiting_workflow_takes_the_ticket_back(box: Appliance) -> None:
    await box.machine(1)
    await box.workflows.delete(await box.workflow())
    assert netboot(box) is None


async def test_deleting_a_waiting_workflow_takes_nothing_from_one_that_runs_or_from_what_is_installed(
    box: Appliance,
) -> None:
    worker = await box.machine(1)
    await box.workflow()
    assert await box.offer(worker) is not None
    await box.workflows.delete(await box.workflow())
    assert netboot(box) is Boot.OSIE
    await box.finish(worker)
    await box.workflows.delete(await box.workflow())
    assert netboot(box) is Boot.LOCAL_DISK


async def test_deleting_a_workflow_that_failed_takes_the_ticket_that_the_failure_left(box: Appliance) -> None:
    worker = await box.machine(1)
    workflow_id = await box.workflow()
    offer = await box.offer(worker)
    assert offer is not None
    await box.report(worker, offer, State.FAILED)
    assert netboot(box) is Boot.OSIE
    await box.workflows.delete(workflow_id)
    assert netboot(box) is None


async def test_deleting_an_old_success_leaves_the_ticket_of_a_later_failure(box: Appliance) -> None:
    worker = await box.machine(1)
    succeeded = await box.workflow()
    await box.finish(worker)
    await box.workflow()
    offer = await box.offer(worker)
    assert offer is not None
    await box.report(worker, offer, State.FAILED)
    await box.workflows.delete(succeeded)
    assert netboot(box) is Boot.OSIE


async def test_a_success_takes_the_ticket_of_every_machine_that_had_a_part_in_it(box: Appliance) -> None:
    first, second = await box.machine(1), await box.machine(2)
    await box.workflow(RELAY, a=1, b=2)
    for worker in (first, second, first):
        assert (netboot(box, 1), netboot(box, 2)) == (Boot.OSIE, Boot.OSIE)
        await box.finish(worker)
    assert (netboot(box, 1), netboot(box, 2)) == (Boot.LOCAL_DISK, Boot.LOCAL_DISK)


async def test_allow_pxe_false_forbids_it_altogether(box: Appliance) -> None:
    document = hardware(1)
    document["network"]["interfaces"][0]["netboot"]["allow_pxe"] = False  # type: ignore[index]
    await box.machines.push(parse_hardware(json.dumps(document)))
    await box.workflow()
    assert netboot(box) is None
    assert script(box) is None


async def test_three_boots_without_progress_park_the_machine_with_a_reason(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.workflow()
    for _ in range(MAX_BOOTS):
        plan = script(box)
        assert plan is not None
        assert plan.boot is Boot.OSIE
        box.machines.progress.saw(mac(1), Stage.KERNEL)
    parked = script(box)
    assert parked is not None
    assert parked.boot is Boot.PARKED
    assert "3 boots without progress, the furthest fetched the kernel" in parked.reason
    typed = ": `tinkbox export hardware/machine-1 | tinkbox hardware push` frees it"
    assert (await box.machines.get(worker)).parked == parked.reason + typed
    assert script(box) is not None
    assert (await box.machines.get(worker)).parked == parked.reason + typed, "waiting in the park must not count"


async def test_the_reason_counts_how_far_the_last_of_the_boots_came(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.workflow()
    for _ in range(MAX_BOOTS):
        script(box)
    box.machines.progress.saw(mac(1), Stage.RAMDISK)
    assert "the furthest fetched the OSIE" in (await box.machines.get(worker)).parked


async def test_a_parked_machine_is_let_go_by_a_push_or_a_new_workflow(box: Appliance) -> None:
    await box.machine(1)
    for release in (box.machine, lambda number: box.workflow(device_1=number)):
        await box.workflow()
        for _ in range(MAX_BOOTS):
            script(box)
        assert netboot(box) is Boot.PARKED
        await release(1)
        assert netboot(box) is Boot.OSIE


async def supplied(box: Appliance, *, ready: bool) -> Machines:
    """Machines of which number 1 is supplied by its workflow."""
    supply = Supply(service="boot", url="http://w.lab/auto.ipxe", ready=ready)
    known = {str(UUID(int=1)): supply}
    near = Near(lambda _: None, lambda _: False, lambda _, __: False, lambda _, __: "", lambda _: None)
    machines = Machines(
        box.store, box.wakeups, box.clock, box.clock.steady, Seal(b"key"), near, lambda _: False, known.get
    )
    await machines.load()
    box.machines = machines
    return machines


async def test_a_machine_boots_what_its_own_workflow_supplies_and_others_the_osie(box: Appliance) -> None:
    await box.machine(1)
    await box.machine(2)
    for number in (1, 2):
        await box.workflow(device_1=number)
    await supplied(box, ready=True)
    assert (netboot(box, 1), netboot(box, 2)) == (Boot.WORKFLOW, Boot.OSIE)
    plan = box.dhcp_plan(1)
    assert plan is not None
    assert plan.script == "http://w.lab/auto.ipxe"


async def test_boots_of_what_a_workflow_supplies_count_and_waiting_for_it_does_not(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.workflow()
    machines = await supplied(box, ready=False)
    for _ in range(MAX_BOOTS + 1):
        assert netboot(box) is Boot.WAITING
        machines.progress.saw(mac(1), Stage.SERVICES, "service boot is not ready")
    assert (await machines.get(worker)).boots == 0
    machines = await supplied(box, ready=True)
    for _ in range(MAX_BOOTS):
        assert netboot(box) is Boot.WORKFLOW
        machines.progress.saw(mac(1), Stage.SUPPLIED)
    assert netboot(box) is Boot.PARKED
    assert "the furthest boots what its workflow supplies" in (await machines.get(worker)).parked


async def test_a_machine_that_asks_every_other_second_is_noted_once_for_each_time_it_begins_to_wait(
    box: Appliance,
) -> None:
    worker = await box.machine(1)
    for stage in (Stage.SERVICES, Stage.SERVICES, Stage.DISCOVER, Stage.SERVICES, Stage.SERVICES, Stage.SUPPLIED):
        box.machines.progress.saw(mac(1), stage)
    seen = [each.stage for each in await box.machines.timeline.of(mac(1))]
    assert seen == [Stage.SERVICES, Stage.DISCOVER, Stage.SERVICES, Stage.SUPPLIED]
    assert (await box.machines.get(worker)).stage is Stage.SUPPLIED


async def test_the_workers_contact_is_progress(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.workflow()
    for _ in range(10):
        script(box)
        await box.offer(worker)
    assert netboot(box) is Boot.OSIE


async def test_boots_are_counted_over_a_restart_of_the_appliance(tmp_path: Path) -> None:
    async with appliance(tmp_path / "db") as box:
        await box.machine(1)
        await box.workflow()
        for _ in range(MAX_BOOTS):
            script(box)
        await box.machines.progress.save()
    async with appliance(tmp_path / "db") as box:
        assert netboot(box) is Boot.PARKED


async def test_progress_is_remembered_over_a_restart_of_the_appliance(tmp_path: Path) -> None:
    async with appliance(tmp_path / "db") as box:
        worker = await box.machine(1)
        await box.workflow()
        await box.offer(worker)
        script(box)
        await box.machines.progress.save()
        await box.offer(worker)
        await box.machines.progress.save()
    async with appliance(tmp_path / "db") as box:
        assert (await box.machines.get(worker)).boots == 0


async def test_the_script_names_the_workflow_also_after_a_restart_of_the_appliance(tmp_path: Path) -> None:
    async with appliance(tmp_path / "db") as box:
        await box.machine(1)
        await box.workflow()
    async with appliance(tmp_path / "db") as box:
        plan = script(box)
        assert plan is not None
        assert plan.workflow == "hello_world_workflow"


async def test_boots_are_counted_only_while_there_is_a_ticket(box: Appliance) -> None:
    worker = await box.machine(1)
    box.machines.progress.saw(mac(1), Stage.SCRIPT)
    assert (await box.machines.get(worker)).boots == 0
    await box.workflow()
    box.machines.progress.saw(mac(1), Stage.SCRIPT)
    assert (await box.machines.get(worker)).boots == 1


async def test_what_was_noted_and_not_saved_yet_outlives_what_is_read_from_the_store(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.workflow()
    script(box)
    await box.offer(worker, boot_id="boot-1")
    script(box)
    before = await box.machines.get(worker)
    await box.machines.refresh([worker])
    assert await box.machines.get(worker) == before
    assert (before.boots, before.stage, before.last_contact) == (1, Stage.SCRIPT, box.clock.now)
    await box.offer(worker, boot_id="boot-1")
    await box.offer(worker, boot_id="boot-1")
    assert [each.stage for each in await box.machines.timeline.of(mac(1))].count(Stage.WORKER) == 2


async def test_the_plan_names_the_workflow_on_whose_behalf_a_machine_boots(box: Appliance) -> None:
    await box.machine(1)
    await box.workflow()
    assert box.dhcp_plan(2) is None
    plan = box.dhcp_plan(1)
    assert plan is not None
    assert plan.workflow == "hello_world_workflow"


async def test_the_timeline_keeps_what_was_seen_in_order(box: Appliance) -> None:
    await box.machine(1)
    box.machines.progress.saw(mac(1), Stage.DISCOVER)
    await box.machines.progress.save()
    box.machines.progress.saw(mac(1), Stage.LOADER, "undionly.kpxe", retransmissions=2)
    box.machines.progress.saw(mac(9), Stage.DISCOVER)
    seen = await box.machines.timeline.of(mac(1))
    assert [each.stage for each in seen] == [Stage.DISCOVER, Stage.LOADER]
    assert (seen[1].detail, seen[1].facts) == ("undionly.kpxe", {"retransmissions": 2})


async def test_the_worker_is_in_the_timeline_once_for_each_boot(box: Appliance) -> None:
    worker = await box.machine(1)
    for boot_id in ("boot-1", "boot-1", "boot-2"):
        await box.offer(worker, boot_id=boot_id)
    assert [each.stage for each in await box.machines.timeline.of(mac(1))] == [
        Stage.WORKER,
        Stage.CREDENTIAL,
        Stage.SESSION,
        Stage.WORKER,
    ]


async def test_a_full_disk_delays_saving_and_does_not_end_it(box: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    await box.machine(1)
    write, saved, refusals = box.store.write, asyncio.Event(), [Unavailable("the disk is full")]

    async def full_at_first(use_case: object) -> None:
        if refusals:
            raise refusals.pop()
        await write(use_case)  # type: ignore[arg-type]
        saved.set()

    monkeypatch.setattr(box.store, "write", full_at_first)
    monkeypatch.setattr("tinkbox.engine.batch_saving.SAVE_EVERY", 0.0)
    monkeypatch.setattr("tinkbox.engine.batch_saving.RETRY_SAVING", 0.0)
    async with asyncio.timeout(60), asyncio.TaskGroup() as parts:
        saving = parts.create_task(box.machines.timeline.run())
        box.machines.progress.saw(mac(1), Stage.DISCOVER)
        await saved.wait()
        saving.cancel()
    assert await box.store.read(lambda tables: [each.stage for each in tables.sightings.of([mac(1)]).values()]) == [
        Stage.DISCOVER
    ]


async def test_while_nothing_can_be_saved_boots_go_on_and_the_newest_sightings_wait(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    await box.machine(1)
    await box.workflow()
    write = box.store.write

    async def full(use_case: object) -> None:
        raise Unavailable("the disk is full")

    monkeypatch.setattr(box.store, "write", full)
    monkeypatch.setattr("tinkbox.engine.timeline.timeline.MAX_UNSAVED", 3)
    for number in range(5):
        box.machines.progress.saw(mac(1), Stage.DISCOVER, str(number))
        with pytest.raises(Unavailable):
            await box.machines.progress.save()
    assert box.dhcp_plan(1) is not None
    monkeypatch.setattr(box.store, "write", write)
    await box.machines.progress.save()
    assert [each.detail for each in await box.machines.timeline.of(mac(1))] == ["2", "3", "4"]


async def test_a_mac_or_address_of_another_machine_is_a_conflict_and_changes_nothing(box: Appliance) -> None:
    first = await box.machine(1)
    await box.machine(2)
    document = hardware(2)
    document["network"]["interfaces"][0]["dhcp"]["mac"] = mac(1)  # type: ignore[index]
    with pytest.raises(Conflict, match=f"conflicting hardware MAC address {mac(1)}: machine {first}"):
        await box.machines.push(parse_hardware(json.dumps(document)))
    document = hardware(2)
    document["network"]["interfaces"][0]["dhcp"]["ip"]["address"] = address(1)  # type: ignore[index]
    with pytest.raises(Conflict, match="conflicting hardware IP address"):
        await box.machines.push(parse_hardware(json.dumps(document)))
    assert (await box.machines.get(mac(2))).hardware.interfaces[0].address is not None
    assert len(await box.machines.all()) == 2


@pytest.mark.parametrize(
    ("agent", "claim"), [(address(2), f"IP address {address(2)}"), (mac(2).upper(), f"MAC address {mac(2)}")]
)
async def test_a_conflict_says_that_the_other_machine_has_it_as_its_agent_id(
    box: Appliance, agent: str, claim: str
) -> None:
    metadata = {"apiVersion": "tinkerbell.org/v1alpha1", "kind": "Hardware", "metadata": {"name": "kk"}}
    holder = parse_hardware(json.dumps({**metadata, "spec": {"agentID": agent}}))
    await box.machines.push(holder)
    with pytest.raises(Conflict, match=f"^conflicting hardware {claim}: machine {holder.id} has it as its agent id$"):
        await box.machines.push(parse_hardware(json.dumps(hardware(2))))


async def test_pushing_again_replaces_the_document(box: Appliance) -> None:
    worker = await box.machine(1)
    document = hardware(1)
    dhcp = document["network"]["interfaces"][0]["dhcp"]  # type: ignore[index]
    dhcp["mac"], dhcp["ip"]["address"] = "08:00:27:00:00:77", "172.30.0.77"
    await box.machines.push(parse_hardware(json.dumps(document)))
    for key in ("08:00:27:00:00:77", "172.30.0.77"):
        assert (await box.machines.get(key)).hardware.id == worker
    for key in (mac(1), address(1)):
        with pytest.raises(NotFound):
            await box.machines.get(key)


@pytest.mark.parametrize(
    "key",
    [
        "08:00:27:00:00:01", "08-00-27-00-00-01", "0800.2700.0001", "080027000001", "172.30.0.11", "machine-1",
        "00000000-0000-0000-0000-000000000001",
    ],
)  # fmt: skip
async def test_a_machine_is_found_by_whatever_names_it(box: Appliance, key: str) -> None:
    worker = await box.machine(1)
    await box.machine(2)
    assert (await box.machines.get(key)).hardware.id == worker


@pytest.mark.parametrize("first", [1, 2])
async def test_a_card_that_moves_to_another_machine_is_known_as_its_from_then_on(box: Appliance, first: int) -> None:
    second = 3 - first
    for number in (first, second):
        await box.machine(number)
    without, with_both = hardware(first), hardware(second)
    moved = without["network"]["interfaces"][0]  # type: ignore[index]
    with_both["network"]["interfaces"].append(json.loads(json.dumps(moved)))  # type: ignore[index]
    moved["dhcp"] |= {"mac": mac(9), "ip": {"address": address(9), "netmask": "255.255.255.0"}}
    await box.machines.push(*(parse_hardware(json.dumps(each)) for each in (without, with_both)))
    assert box.machines.known.holder(mac(first)) == str(UUID(int=second))
    assert box.machines.known.mac_at(address(first)) == mac(first)
    assert box.machines.known.cards(mac(first)) == box.machines.known.cards(mac(second)) == [mac(second), mac(first)]
    assert box.machines.known.cards(mac(9)) == [mac(9)]
    assert box.machines.known.cards(mac(77)) == []
    assert box.machines.known.holder(mac(9)) == str(UUID(int=first))


async def test_a_card_stays_with_whoever_took_it_over_while_a_deletion_was_under_way(box: Appliance) -> None:
    for number in (1, 2):
        await box.machine(number)
    deleted, other = str(UUID(int=1)), str(UUID(int=2))
    await box.store.write(lambda tables: tables.hardware.delete(deleted))
    document = hardware(2)
    document["network"]["interfaces"].append(hardware(1)["network"]["interfaces"][0])  # type: ignore[index]
    await box.machines.push(parse_hardware(json.dumps(document)))
    box.machines.progress.saw(mac(1), Stage.DISCOVER)
    await box.machines.refresh([deleted])
    assert (box.machines.known.holder(mac(1)), box.machines.known.mac_at(address(1))) == (other, mac(1))
    assert box.machines.timeline.newest(mac(1)) is not None


async def test_a_question_of_the_worker_before_the_last_boot_takes_nothing_from_the_one_that_runs(
    box: Appliance,
) -> None:
    worker = await box.machine(1)
    await box.workflow()
    await box.session(worker, "boot-1")
    begun = await box.offer(worker, "boot-2")
    assert begun is not None
    with pytest.raises(Conflict, match="another boot of its machine"):
        await box.offer(worker, "boot-1")
    again = await box.offer(worker, "boot-2")
    assert again is not None
    assert again.attempt == begun.attempt


async def test_a_machine_that_a_workflow_needs_is_not_deleted(box: Appliance) -> None:
    worker = await box.machine(1)
    workflow_id = await box.workflow()
    with pytest.raises(Conflict, match=workflow_id):
        await box.machines.delete(worker)
    await box.workflows.delete(workflow_id)
    await box.machines.delete(worker)
    assert await box.machines.all() == []


async def test_what_was_seen_of_a_machine_goes_with_the_machine_or_with_its_interface(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.machine(2)
    for number in (1, 2):
        box.machines.progress.saw(mac(number), Stage.SCRIPT)
    moved = {**hardware(1), "network": hardware(3)["network"]}
    await box.machines.push(parse_hardware(json.dumps(moved)))
    assert [each.mac for each in box.machines.timeline.machines()] == [mac(2)]
    box.machines.progress.saw(mac(3), Stage.KERNEL)
    assert (await box.machines.get(worker)).stage is Stage.KERNEL
    await box.machines.delete(worker)
    assert [each.mac for each in box.machines.timeline.machines()] == [mac(2)]


async def test_a_stranger_that_is_pushed_keeps_what_was_seen_of_it(box: Appliance) -> None:
    box.machines.progress.saw(mac(1), Stage.IGNORED)
    assert box.machines.known.holder(mac(1)) == ""
    worker = await box.machine(1)
    assert box.machines.known.holder(mac(1)) == worker
    assert [each.stage for each in await box.machines.timeline.of(mac(1))] == [Stage.IGNORED]


async def test_a_machine_that_was_seen_before_it_was_told_of_stands_where_it_was_seen(box: Appliance) -> None:
    box.machines.progress.saw(mac(1), Stage.INVENTORY)
    seen_at = box.clock()
    box.clock.forward(60)
    found = await box.machines.get(await box.machine(1))
    assert (found.stage, found.stage_at) == (Stage.INVENTORY, seen_at)


async def test_a_machine_that_gets_no_further_is_said_to_have_stalled(box: Appliance) -> None:
    worker = await box.machine(1)
    assert (await box.machines.get(worker)).stalled == ""
    box.machines.progress.saw(mac(1), Stage.DISCOVER, asker=Asker.PXE)
    box.clock.forward(8)
    box.machines.progress.saw(mac(1), Stage.DISCOVER, asker=Asker.PXE)
    box.clock.forward(33)
    assert (await box.machines.get(worker)).stalled == "stalled here for 41 s"
    box.machines.progress.saw(mac(1), Stage.OFFERED)
    assert (await box.machines.get(worker)).stalled == ""
    box.clock.forward(41)
    box.machines.progress.saw(mac(1), Stage.DISCOVER, asker=Asker.PXE)
    status = await box.machines.get(worker)
    assert (status.stage, status.stalled) == (Stage.OFFERED, "stalled here for 41 s"), "it goes round there"


async def test_what_was_seen_is_saved_also_when_the_progress_was_refused(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    await box.machine(1)
    box.machines.progress.saw(mac(1), Stage.SCRIPT)
    write, refusals = box.store.write, [Unavailable("the disk is full")]

    async def full_at_first(use_case: object) -> None:
        if refusals:
            raise refusals.pop()
        await write(use_case)  # type: ignore[arg-type]

    monkeypatch.setattr(box.store, "write", full_at_first)
    with pytest.raises(Unavailable):
        await box.machines.progress.save()
    assert len(await box.store.read(lambda tables: tables.sightings.of([mac(1)]))) == 1


async def test_the_worker_is_seen_on_the_interface_that_the_machine_booted_from(box: Appliance) -> None:
    both = hardware(1)
    both["network"]["interfaces"] += hardware(2)["network"]["interfaces"]
    await box.machines.push(parse_hardware(json.dumps(both)))
    box.machines.progress.saw(mac(1), Stage.DISCOVER)
    box.clock.forward(1)
    box.machines.progress.saw(mac(2), Stage.RAMDISK)
    await box.offer(both["id"])
    assert [each.stage for each in await box.machines.timeline.of(mac(2))] == [Stage.RAMDISK, Stage.WORKER]
    assert [each.stage for each in await box.machines.timeline.of(mac(1))] == [Stage.DISCOVER]
