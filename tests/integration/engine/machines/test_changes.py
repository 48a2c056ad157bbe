"""A known machine that people change, and their notes about it."""

import json
import re
from collections.abc import AsyncIterator
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance, address, appliance, hardware, mac
from tinkbox.engine.machines.changes import Base, Change
from tinkbox.engine.machines.hardware_document import Added
from tinkbox.model.documents.hardware import ID_ANNOTATION, hardware_from_document, parse_hardware
from tinkbox.model.errors import Conflict, Invalid, NotFound
from tinkbox.model.hardware import namespace_of, primary
from tinkbox.model.labels import LabelChange, LabelKind
from tinkbox.model.notes import MAX_NOTE, MAX_NOTES

OBJECT = {
    "apiVersion": "tinkerbell.org/v1alpha1",
    "kind": "Hardware",
    "metadata": {"name": "old1"},
    "spec": {"agentID": "agent-1", "interfaces": [{"dhcp": {"mac": mac(1), "hostname": "old1"}}]},
}


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Appliance]:
    async with appliance(tmp_path / "tinkbox.sqlite") as made:
        yield made


async def added(box: Appliance, number: int = 7) -> str:
    made = await box.additions.add(Added(macs=(mac(number),), name=f"node{number}"), f"172.30.0.{number}/24")
    return made.id


def base(box: Appliance, key: str) -> Base:
    record = box.machines.known.find(key)
    return Base(updated_at=record.updated_at, labels=record.hardware.labels)


async def test_values_change_and_the_machine_stays_the_same(box: Appliance) -> None:
    machine = await added(box)
    box.clock.forward(1)
    wanted = Change(
        name="node8",
        address="172.30.0.8/24",
        gateway=IPv4Address("172.30.0.1"),
        added_macs=(mac(8),),
        disks=("/dev/sda",),
        labels=LabelChange(set=(("rack", "r1"),)),
    )
    status = await box.machine_changes.change("node7", wanted)
    assert (status.hardware.id, status.hardware.name, status.hardware.labels) == (machine, "node8", {"rack": "r1"})
    first, second = status.hardware.interfaces
    assert (str(first.address), str(first.gateway), first.hostname, second.mac) == (
        "172.30.0.8",
        "172.30.0.1",
        "node8",
        mac(8),
    )
    assert status.hardware.document["spec"]["disks"] == [{"device": "/dev/sda"}]
    assert box.machines.known.find("172.30.0.8").hardware.id == machine
    with pytest.raises(NotFound):
        await box.machines.get("node7")


async def test_another_address_of_its_network_needs_no_prefix(box: Appliance) -> None:
    await box.additions.add(Added(macs=(mac(7),), name="node7"), "192.168.9.7/23", "192.168.8.1")
    interface = (await box.machine_changes.change("node7", Change(address="192.168.8.9"))).hardware.interfaces[0]
    assert (str(interface.address), str(interface.netmask), str(interface.gateway)) == (
        "192.168.8.9", "255.255.254.0", "192.168.8.1",
    )  # fmt: skip
    with pytest.raises(Invalid, match="no network known here"):
        await box.machine_changes.change("node7", Change(address="192.168.10.9"))


async def test_a_renamed_machine_keeps_its_id_over_restarts_and_pushes(tmp_path: Path) -> None:
    async with appliance(tmp_path / "db") as box:
        machine = await added(box)
        await box.machine_changes.change("node7", Change(name="node8"))
    async with appliance(tmp_path / "db") as box:
        stored = (await box.machines.get("node8")).hardware
        assert (stored.id, stored.document["metadata"]["annotations"]) == (machine, {ID_ANNOTATION: machine})
        await box.machines.push(hardware_from_document(stored.document))
        assert len(box.machines.known.all()) == 1
        with pytest.raises(Conflict, match="machine node8 was called node7 before"):
            await box.additions.add(Added(macs=(mac(9),), name="node7"))
        document = {**stored.document, "metadata": {"name": "node7"}}
        with pytest.raises(Conflict, match="tinkbox hardware edit node8 --name node7"):
            await box.machines.push(hardware_from_document(document))
        await box.machine_changes.change("node8", Change(name="node7"))
        assert (await box.machines.get("node7")).hardware.id == machine


async def test_a_document_of_the_namespace_that_a_machine_had_before_is_not_of_that_machine(box: Appliance) -> None:
    """It makes the same id; the machine that has it is in another namespace by now."""
    machine = await added(box)
    stored = (await box.machines.get(machine)).hardware
    before = {**stored.document, "metadata": {"name": "node7"}}
    moved = {**before, "metadata": {"name": "node7", "namespace": "lab", "annotations": {ID_ANNOTATION: machine}}}
    await box.machines.push(hardware_from_document(moved))
    with pytest.raises(
        Conflict, match=f"machine node7 of namespace lab was of namespace default before.*{ID_ANNOTATION}: {machine}"
    ):
        await box.machines.push(hardware_from_document(before))
    assert namespace_of((await box.machines.get("node7")).hardware) == "lab"
    await box.machines.push(
        hardware_from_document({**moved, "metadata": {**moved["metadata"], "namespace": "default"}})
    )
    await box.machines.push(hardware_from_document(before))


async def test_what_another_machine_has_is_refused_with_its_name(box: Appliance) -> None:
    await added(box, 7)
    await added(box, 8)
    for change, said in (
        (Change(name="node8"), "there is a machine called node8 already"),
        (Change(address="172.30.0.8/24"), r"172\.30\.0\.8 belongs to machine node8 already"),
        (Change(added_macs=(mac(8),)), f"{mac(8)} belongs to machine node8 already"),
    ):
        with pytest.raises(Conflict, match=said):
            await box.machine_changes.change("node7", change)


async def test_what_a_workflow_knows_a_machine_by_changes_only_with_force(box: Appliance) -> None:
    await added(box, 1)
    workflow = await box.workflow()
    labelled = await box.machine_changes.change("node1", Change(labels=LabelChange(set=(("a", "b"),)), name="node2"))
    assert labelled.hardware.name == "node2"
    for change in (Change(address="172.30.0.9/24"), Change(added_macs=(mac(9),))):
        with pytest.raises(Conflict, match=f"workflow {workflow} is not over"):
            await box.machine_changes.change("node2", change)
    forced = await box.machine_changes.change("node2", Change(address="172.30.0.9/24"), force=True)
    assert str(primary(forced.hardware).address) == "172.30.0.9"


async def test_a_push_that_changes_what_a_workflow_knows_a_machine_by_is_refused_and_edit_forces_it(
    box: Appliance,
) -> None:
    await box.machine(1)
    workflow = await box.workflow()
    for old, new in ((mac(1), mac(9)), (address(1), address(9))):
        with pytest.raises(Conflict) as refusal:
            await box.machines.push(parse_hardware(json.dumps(hardware(1)).replace(old, new)))
        assert str(refusal.value) == (
            f"workflow {workflow[:8]} is not over and knows machine machine-1 by its MACs, addresses and agent id: wait for it, "
            "cancel it, or change them with `tinkbox hardware edit machine-1 --force`"
        )
    await box.machine_changes.change("machine-1", Change(added_macs=(mac(9),), removed_macs=(mac(1),)), force=True)
    assert [each.mac for each in (await box.machines.get("machine-1")).hardware.interfaces] == [mac(9)]
    await box.machines.push(parse_hardware(json.dumps(hardware(1)).replace(mac(1), mac(9))))


async def test_a_push_of_other_machines_stores_none_where_one_is_refused_for_a_workflow(box: Appliance) -> None:
    await box.machine(1)
    await box.workflow()
    both = [parse_hardware(json.dumps(each)) for each in (hardware(2), hardware(1))]
    moved = parse_hardware(json.dumps(hardware(1)).replace(mac(1), mac(9)))
    with pytest.raises(Conflict, match="is not over and knows machine machine-1"):
        await box.machines.push(both[0], moved)
    assert len(await box.machines.all()) == 1
    await box.machines.push(*both)


async def test_a_push_changes_a_machine_under_way_where_its_macs_and_addresses_stay(box: Appliance) -> None:
    await box.machine(1)
    workflow = await box.workflow()
    await box.machine(1)
    await box.machines.push(parse_hardware(json.dumps({**hardware(1), "metadata": {"facility": {}}})))
    assert (await box.machines.get("machine-1")).hardware.document["metadata"] == {"facility": {}}
    await box.workflows.cancel(workflow)
    await box.machines.push(parse_hardware(json.dumps(hardware(1)).replace(mac(1), mac(9))))
    assert (await box.machines.get(mac(9))).hardware.id == hardware(1)["id"]


async def test_a_machine_goes_from_2020s_format_to_todays_and_back_under_its_id(box: Appliance) -> None:
    of_2020 = {**hardware(1), "network": {"interfaces": [{"dhcp": {"mac": mac(1), "hostname": "old1"}}]}}
    kept = {**OBJECT, "metadata": {"name": "old1", "annotations": {ID_ANNOTATION: of_2020["id"]}}}
    for document in (of_2020, kept, of_2020, kept):
        await box.machines.push(parse_hardware(json.dumps(document)))
        (machine,) = await box.machines.all()
        assert (machine.hardware.id, machine.hardware.document) == (of_2020["id"], document)


async def test_a_machine_of_a_name_goes_to_2020s_format_and_back_unless_it_is_called_otherwise_then(
    box: Appliance,
) -> None:
    named = parse_hardware(json.dumps(OBJECT))
    of_2020 = {"id": named.id, "network": {"interfaces": [{"dhcp": {"mac": mac(1), "hostname": "old1"}}]}}
    for document in (OBJECT, of_2020, OBJECT, json.loads(json.dumps(of_2020).replace("old1", "new1"))):
        await box.machines.push(parse_hardware(json.dumps(document)))
        (machine,) = await box.machines.all()
        assert machine.hardware.document == document
    with pytest.raises(
        Conflict, match=r"machine new1 was called old1 before.* `tinkbox hardware edit new1 --name old1`"
    ):
        await box.machines.push(named)
    await box.machine_changes.change("new1", Change(name="old1"))
    await box.machines.push(named)


async def test_a_whole_document_is_stored_with_its_labels(box: Appliance) -> None:
    machine = await added(box)
    document = json.loads(json.dumps((await box.machines.get("node7")).hardware.document))
    document["metadata"] = {"name": "node9", "labels": {"rack": "r2"}}
    written = hardware_from_document(document)
    status = await box.machine_changes.replace("node7", written, base(box, "node7"))
    assert (status.hardware.id, status.hardware.name, status.hardware.labels) == (machine, "node9", {"rack": "r2"})


async def test_no_change_is_lost_when_two_edit_at_once(box: Appliance) -> None:
    await box.machine(1)
    began = base(box, "machine-1")
    written = parse_hardware(json.dumps({**hardware(1), "metadata": {"a": 1}}))
    box.clock.forward(1)
    await box.machine_changes.change("machine-1", Change(address="172.30.0.77/24"))
    with pytest.raises(Conflict, match="was changed meanwhile"):
        await box.machine_changes.replace("machine-1", written, began)
    began = base(box, "machine-1")
    await box.machines.label("machine-1", LabelChange(set=(("rack", "r1"),)))
    with pytest.raises(Conflict, match="was changed meanwhile"):
        await box.machine_changes.replace("machine-1", written, began)
    status = await box.machine_changes.replace("machine-1", written, base(box, "machine-1"))
    assert (str(primary(status.hardware).address), status.hardware.labels) == (address(1), {"rack": "r1"})


async def test_the_document_of_another_machine_is_refused(box: Appliance) -> None:
    await box.machine(1)
    with pytest.raises(Invalid, match="this is the document of another machine"):
        await box.machine_changes.replace("machine-1", parse_hardware(json.dumps(hardware(2))), base(box, "machine-1"))


async def test_the_same_again_stores_nothing(box: Appliance) -> None:
    await added(box)
    before = box.machines.known.find("node7").updated_at
    box.clock.forward(1)
    await box.machine_changes.change("node7", Change(name="node7", address="172.30.0.7/24"))
    assert box.machines.known.find("node7").updated_at == before


async def test_notes_are_numbered_and_stay_until_they_are_removed(tmp_path: Path) -> None:
    async with appliance(tmp_path / "db") as box:
        await added(box)
        await box.machine_changes.note("node7", "  loud\n fan ", "ann")
        await box.machine_changes.note("node7", "on loan", "bob")
    async with appliance(tmp_path / "db") as box:
        notes = await box.machine_changes.notes(mac(7))
        assert [(each.number, each.who, each.text) for each in notes] == [(1, "ann", "loud fan"), (2, "bob", "on loan")]
        assert [each.number for each in await box.machine_changes.remove_note("node7", 1)] == [2]
        with pytest.raises(NotFound, match="machine node7 has no note 1"):
            await box.machine_changes.remove_note("node7", 1)
        for text in ("", "   ", "a\x1b[2J", "x" * (MAX_NOTE + 1)):
            with pytest.raises(Invalid, match="a note"):
                await box.machine_changes.note("node7", text, "ann")
        await box.machines.delete("node7")
        await added(box)
        assert await box.machine_changes.notes("node7") == []


async def test_notes_are_bounded(box: Appliance) -> None:
    await added(box)
    for number in range(MAX_NOTES):
        await box.machine_changes.note("node7", f"note {number}", "ann")
    with pytest.raises(Conflict, match=f"the machine has {MAX_NOTES} notes already"):
        await box.machine_changes.note("node7", "one more", "ann")


async def test_nothing_is_kept_of_a_machine_that_was_deleted_meanwhile(box: Appliance) -> None:
    machine = await added(box)
    # Committed, and not followed in memory yet.
    await box.store.write(lambda tables: box.machines.leave_out(tables, machine))
    with pytest.raises(NotFound, match="was deleted meanwhile"):
        await box.machine_changes.note(machine, "its fan is loud", "ann")
    with pytest.raises(NotFound, match="was deleted meanwhile"):
        await box.departures.retire(machine, "ann")
    with pytest.raises(NotFound, match="was deleted meanwhile"):
        await box.machines.label(machine, LabelChange(set=(("rack", "r1"),)))
    assert await box.store.read(lambda tables: tables.labels.of(LabelKind.MACHINE, machine)) == {}


async def test_a_machine_is_found_by_the_name_that_it_has_now(box: Appliance) -> None:
    machine = await added(box)
    await box.machine_changes.change("node7", Change(name="node8"))
    assert box.machines.known.find("node8").hardware.id == machine
    with pytest.raises(NotFound):
        box.machines.known.find("node7")
    await box.machines.delete("node8")
    with pytest.raises(NotFound):
        box.machines.known.find("node8")
    await added(box)
    for number in (1, 2):
        document = hardware(number)
        document["network"]["interfaces"][0]["dhcp"]["hostname"] = "twin"
        await box.machines.push(parse_hardware(json.dumps(document)))
    with pytest.raises(Conflict, match="ambiguous: it fits 2"):
        box.machines.known.find("twin")
    await box.machines.delete(mac(1))
    assert box.machines.known.find("twin").hardware.interface(mac(2)) is not None


async def test_machines_of_one_name_are_told_apart_by_their_namespaces_where_these_differ(box: Appliance) -> None:
    twins = []
    for number, namespace in ((1, ""), (2, "lab")):
        metadata = {"name": "twin", **({"namespace": namespace} if namespace else {})}
        spec = {"interfaces": [{"dhcp": {"mac": mac(number)}}]}
        document = {"apiVersion": "tinkerbell.org/v1alpha1", "kind": "Hardware", "metadata": metadata, "spec": spec}
        parsed = parse_hardware(json.dumps(document))
        await box.machines.push(parsed)
        twins.append(f"{parsed.id} ({mac(number)}, namespace {namespace or 'default'})")
    of_2020 = hardware(3)
    of_2020["network"]["interfaces"][0]["dhcp"]["hostname"] = "twin"
    await box.machines.push(parse_hardware(json.dumps(of_2020)))
    with pytest.raises(Conflict, match=f"{of_2020['id']} \\({mac(3)}, no namespace\\)"):
        await box.machines.delete("twin")
    await box.machines.delete(of_2020["id"])
    for change in (box.machines.delete, box.workflows.retry):
        with pytest.raises(Conflict) as refusal:
            await change("twin")
        assert str(refusal.value).endswith(f"name one by its id: {', '.join(twins)}")


async def test_what_is_the_mac_of_one_machine_and_the_name_of_another_means_neither(box: Appliance) -> None:
    first = await added(box, 7)
    name = mac(7).replace(":", "-")
    second = (await box.additions.add(Added(macs=(mac(8),), name=name), "172.30.0.8/24")).id
    told = re.escape(
        f"hardware '{name}' is ambiguous: it fits 2, name one by its id: {first} ({mac(7)}), {second} ({mac(8)})"
    )
    with pytest.raises(Conflict, match=f"^{told}$"):
        await box.machines.delete(name)
    with pytest.raises(Conflict, match=f"^{told}$"):
        await box.workflows.retry(name)
    assert [box.machines.known.find(each).hardware.id for each in (mac(7), mac(8))] == [first, second]
    await box.machine_changes.change(second, Change(name="node8"))
    await box.machines.delete(name)
    assert [each.hardware.id for each in await box.machines.all()] == [second]


async def test_a_machine_may_have_its_own_mac_or_id_as_its_name(box: Appliance) -> None:
    name = mac(7).replace(":", "-")
    machine = (await box.additions.add(Added(macs=(mac(7),), name=name), "172.30.0.7/24")).id
    assert box.machines.known.find(name).hardware.id == machine
    await box.machine_changes.change(machine, Change(name=machine))
    assert box.machines.known.find(machine).hardware.id == machine


async def test_no_machine_gets_the_id_of_another_as_its_name(box: Appliance) -> None:
    first, second = await added(box, 7), await added(box, 8)
    for change in (
        box.machine_changes.change("node8", Change(name=first)),
        box.additions.add(Added(macs=(mac(9),), name=first), "172.30.0.9/24"),
    ):
        with pytest.raises(Conflict, match=f"{first} belongs to machine node7 already"):
            await change
    document = hardware(9)
    document["network"]["interfaces"][0]["dhcp"]["hostname"] = first.upper()
    with pytest.raises(Conflict, match=f"conflicting hardware name {first}, which is an id: machine {first} has it"):
        await box.machines.push(parse_hardware(json.dumps(document)))
    document["network"]["interfaces"][0]["dhcp"]["hostname"] = hardware(10)["id"]
    both = [parse_hardware(json.dumps(each)) for each in (document, hardware(10))]
    with pytest.raises(Conflict, match=f"conflicting hardware name {hardware(10)['id']}"):
        await box.machines.push(*both)
    assert [each.hardware.id for each in await box.machines.all()] == [first, second]
