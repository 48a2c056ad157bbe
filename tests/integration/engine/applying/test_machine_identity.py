"""Which machine a hardware document means: by its id, its namespace and name, its MACs."""

import json
from collections.abc import Awaitable, Callable

import pytest

from tests.integration.engine.appliance import ADDRESS, HELLO, Appliance, address, hardware, mac
from tests.integration.engine.applying.documents import files, pruning
from tests.integration.engine.applying.documents import machine as of_site
from tinkbox.engine.applying.applying import Wish
from tinkbox.engine.documents.kubernetes import take_hardware
from tinkbox.engine.machines.changes import Change
from tinkbox.engine.machines.references import References
from tinkbox.model.documents.kubernetes import identity
from tinkbox.model.errors import Conflict, Invalid
from tinkbox.model.hardware import Hardware, namespace_of

Way = Callable[..., Awaitable[None]]
N1, M1 = identity("", "n1"), identity("", "m1")


def machine(name: str, number: int = 0, kept: str = "", namespace: str = "", agent: str = "", version: int = 1) -> str:
    """A document with this name and the MAC of this number."""
    metadata = {
        "name": name,
        **({"namespace": namespace} if namespace else {}),
        **({"annotations": {"tinkbox.internal/id": kept}} if kept else {}),
    }
    cards = {mac(number): {}} if number else {}
    interfaces = {"interfaces": [{"dhcp": {"mac": each}} for each in cards]}
    spec = {**(interfaces if version == 1 else {"networkInterfaces": cards}), **({"agentID": agent} if agent else {})}
    return json.dumps(
        {"apiVersion": f"tinkerbell.org/v1alpha{version}", "kind": "Hardware", "metadata": metadata, "spec": spec}
    )


async def by_apply(box: Appliance, *texts: str) -> None:
    await box.applying.apply(files(*texts), Wish(), "ann")


async def by_push(box: Appliance, *texts: str) -> None:
    machines, _ = take_hardware("\n".join(texts))
    await box.machines.push(*machines)


@pytest.fixture(params=[by_apply, by_push])
def store(request: pytest.FixtureRequest) -> Way:
    way: Way = request.param
    return way


async def refusal(stored: Awaitable[None]) -> str:
    """What a document is refused with, in the words that `apply` and `push` share."""
    with pytest.raises((Invalid, Conflict)) as refused:
        await stored
    if isinstance(refused.value, Conflict):
        return str(refused.value)
    (problem,) = refused.value.problems
    return problem.text


def there(box: Appliance) -> dict[str, list[str]]:
    """The MACs of all machines, by namespace and name."""
    machines: list[Hardware] = [each.hardware for each in box.machines.known.all()]
    return {f"{namespace_of(each)}/{each.name}": [one.mac for one in each.interfaces] for each in machines}


async def test_a_machine_that_was_renamed_elsewhere_does_not_take_the_place_of_another_one_here(
    box: Appliance, store: Way
) -> None:
    await store(box, machine("n1", 31))
    await box.machine_changes.note("n1", "its fan is loud", "ann")
    assert await refusal(store(box, machine("m1", 11, N1))) == (
        f"the id {N1} is that of machine n1 here, which has neither this name nor any of these MACs, so the document is of "
        "another machine: give the document another id, which is any new UUID, or leave the annotation tinkbox.internal/id out. "
        "If it is the same machine, change its name first, and its MACs in a second step"
    )
    assert there(box) == {"default/n1": [mac(31)]}
    await store(box, machine("m1", 11))
    await store(box, machine("o1", 12, "5ff1fc4f-1c1e-4d3f-a2c0-3f1e0a1b2c3d"))
    assert there(box) == {"default/n1": [mac(31)], "default/m1": [mac(11)], "default/o1": [mac(12)]}
    assert [each.text for each in await box.machine_changes.notes("n1")] == ["its fan is loud"]


@pytest.mark.parametrize("version", [1, 2])
async def test_a_machine_that_was_moved_elsewhere_does_not_take_the_place_of_one_in_its_first_namespace(
    box: Appliance, store: Way, version: int
) -> None:
    await store(box, machine("n1", 31, namespace="a", version=version))
    moved = machine("n1", 11, identity("a", "n1"), namespace="b", version=version)
    assert "is that of machine n1 here, which has neither this namespace nor" in await refusal(store(box, moved))
    assert there(box) == {"a/n1": [mac(31)]}


async def test_the_same_machine_changes_its_name_and_its_macs_in_two_steps(box: Appliance, store: Way) -> None:
    await store(box, machine("n1", 31))
    await store(box, machine("m1", 31, N1))
    await store(box, machine("m1", 11, N1))
    assert there(box) == {"default/m1": [mac(11)]}
    told = await refusal(store(box, machine("n1", 12, N1)))
    assert "give the document another id, which is any new UUID. If" in told  # without one it has this id as well


async def test_an_agent_id_tells_machines_apart_as_a_mac_does(box: Appliance, store: Way) -> None:
    await store(box, machine("n1", agent="a-1"))
    told = await refusal(store(box, machine("m1", kept=N1, agent="a-2")))
    assert "which has neither this name nor any of these MACs, nor this agent id, so" in told
    await store(box, machine("m1", 11, N1, agent="a-1"))
    await store(box, machine("n1", 11, N1, agent="a-2"))
    assert there(box) == {"default/n1": [mac(11)]}


@pytest.mark.parametrize(("known", "told"), [(0, 11), (31, 0), (0, 0)])
async def test_a_machine_that_nothing_tells_apart_is_renamed(box: Appliance, store: Way, known: int, told: int) -> None:
    await store(box, machine("n1", known))
    await store(box, machine("m1", told, N1))
    assert list(there(box)) == ["default/m1"]


async def test_a_document_of_2020_with_the_id_of_a_name_is_of_that_machine_or_refused(
    box: Appliance, store: Way
) -> None:
    await store(box, machine("n1", 31))
    told = await refusal(store(box, json.dumps({**hardware(11), "id": N1})))
    assert "give the document another id, which is any new UUID. If it is the same machine" in told
    await store(box, json.dumps({**hardware(31), "id": N1}))
    await store(box, json.dumps({**hardware(11), "id": N1}))  # whose id is of 2020 by now: it was chosen
    assert box.machines.known.find(mac(11)).hardware.id == N1


async def test_an_editor_names_its_machine_and_changes_all_of_it_at_once(box: Appliance, store: Way) -> None:
    await store(box, machine("n1", 31))
    await box.machine_changes.change("n1", Change(name="m1", added_macs=(mac(11),), removed_macs=(mac(31),)))
    assert there(box) == {"default/m1": [mac(11)]}


async def test_no_machine_gets_the_name_of_another_in_its_namespace(box: Appliance, store: Way) -> None:
    await store(box, machine("n1", 11))
    await box.machine_changes.change("n1", Change(name="m1"))
    assert await refusal(store(box, machine("m1", 51))) == (
        f"the machine with the id {N1} is called m1 in namespace default: choose another name, or give the document of the same "
        f"machine its id, under metadata: `annotations: {{tinkbox.internal/id: {N1}}}`"
    )
    await store(box, machine("m1", 51, namespace="lab"), machine("b1", 12))
    told = await refusal(store(box, machine("m1", 12, identity("", "b1"))))
    assert f"the machine with the id {N1} is called m1" in told
    assert there(box) == {"default/m1": [mac(11)], "lab/m1": [mac(51)], "default/b1": [mac(12)]}
    await store(box, machine("m1", 52, N1))
    assert there(box)["default/m1"] == [mac(52)]


async def test_what_will_be_there_says_whether_a_name_is_taken(box: Appliance, store: Way) -> None:
    await store(box, machine("n1", 11), machine("m1", 12))
    await store(box, machine("m1", 11, N1), machine("n1", 12, M1))  # exchanged
    assert there(box) == {"default/m1": [mac(11)], "default/n1": [mac(12)]}
    await store(box, machine("o1", 11, N1), machine("m1", 12, M1))  # one after the other
    assert there(box) == {"default/o1": [mac(11)], "default/m1": [mac(12)]}
    told = await refusal(store(box, machine("p1", 13), machine("p1", 14, "5ff1fc4f-1c1e-4d3f-a2c0-3f1e0a1b2c3d")))
    assert f"the machine with the id {identity('', 'p1')} is called p1" in told
    assert "default/p1" not in there(box)


async def test_machines_exchange_their_macs(box: Appliance, store: Way) -> None:
    await store(box, machine("n1", 11), machine("m1", 12))
    await store(box, machine("n1", 12), machine("m1", 11))
    assert there(box) == {"default/n1": [mac(12)], "default/m1": [mac(11)]}
    assert box.machines.known.find(mac(11)).hardware.name == "m1"


async def test_machines_exchange_their_agent_ids(box: Appliance, store: Way) -> None:
    await store(box, machine("n1", 11, agent="a-1"), machine("m1", 12, agent="a-2"))
    await store(box, machine("n1", 11, agent="a-2"), machine("m1", 12, agent="a-1"))
    assert box.machines.known.find("a-1").hardware.name == "m1"
    assert box.machines.known.find("a-2").hardware.name == "n1"


TAKEN = {
    "id": identity("", "node2"),
    "id in capitals": identity("", "node2").upper(),
    "MAC": mac(2),
    "MAC of Windows": mac(2).replace(":", "-").upper(),
    "MAC of a switch": f"{mac(2)[:5]}.{mac(2)[6:11]}.{mac(2)[12:]}".replace(":", ""),
    "address": address(2),
}


@pytest.mark.parametrize("agent", TAKEN.values(), ids=TAKEN)
async def test_an_agent_id_that_reads_as_another_machine_is_refused(box: Appliance, store: Way, agent: str) -> None:
    """In whatever spelling, and whichever of the two comes first, also in one file."""
    node2 = of_site(2)
    await store(box, node2)
    told = await refusal(store(box, machine("n1", 11, agent=agent)))
    assert "already" in told
    assert "node2" in told or TAKEN["id"] in told
    assert set(there(box)) == {"default/node2"}
    assert box.machines.known.at(agent) == TAKEN["id"]
    await box.departures.delete("node2", "ann")
    for documents in ((machine("n1", 11, agent=agent), node2), (node2, machine("n1", 11, agent=agent))):
        with pytest.raises((Invalid, Conflict)):
            await store(box, *documents)
    assert there(box) == {}
    await store(box, machine("n1", 11, agent=agent))
    told = await refusal(store(box, node2))
    assert "already" in told or "as its agent id" in told
    assert set(there(box)) == {"default/n1"}
    assert box.machines.known.at(agent) == N1
    assert await box.store.read(lambda tables: tables.hardware.at(agent)) == N1


async def test_an_agent_id_may_be_the_machines_own_mac_address_or_id(box: Appliance, store: Way) -> None:
    for number, agent in enumerate((N1, mac(11), mac(11).replace(":", "-")), 1):
        await store(box, machine("n1", 11, agent=agent))
        for spelled in (agent, agent.upper()):
            assert await box.store.read(lambda tables, spelled=spelled: tables.hardware.at(spelled)) == N1, number
            assert box.machines.known.at(spelled) == N1


async def test_a_machine_is_found_by_an_agent_id_however_its_mac_is_spelled(box: Appliance, store: Way) -> None:
    await store(box, machine("n1", agent=mac(11).replace(":", "-")))
    for spelled in (mac(11), mac(11).upper(), mac(11).replace(":", "")):
        assert await box.store.read(lambda tables, spelled=spelled: tables.hardware.at(spelled)) == N1
        assert box.machines.known.at(spelled) == N1
        assert (found := References([box.machines.known.find("n1").hardware]).at(spelled)) is not None
        assert found.id == N1


async def test_agent_ids_that_differ_in_a_hyphen_are_those_of_two_machines(box: Appliance, store: Way) -> None:
    await store(box, machine("n1", agent="ag-1"), machine("m1", agent="ag1"))
    found = [
        await box.store.read(lambda tables, each=each: tables.hardware.at(each)) for each in ("ag-1", "ag1", "AG1")
    ]
    assert found == [N1, M1, ""]


@pytest.mark.parametrize("agent", ["provisioner", ADDRESS])
async def test_no_machine_has_an_agent_id_that_means_the_appliance(box: Appliance, store: Way, agent: str) -> None:
    told = await refusal(store(box, machine("n1", 11, agent=agent)))
    assert told.endswith(f"agent id {agent} is what templates call the appliance itself: choose another one")
    assert there(box) == {}


async def test_agent_ids_stay_while_a_workflow_is_not_over(box: Appliance, store: Way) -> None:
    """Those that two machines exchange as well: the workflow would stay that of one, and its map mean the other."""
    await store(box, machine("n1", 11, agent="a-1"), machine("m1", 12, agent="a-2"))
    await box.templates.create("hello", HELLO)
    workflow = await box.workflows.create("hello", {"device_1": "a-1"}, name="w")
    told = await refusal(store(box, machine("n1", 11, agent="a-2"), machine("m1", 12, agent="a-1")))
    assert told.startswith(
        f"workflow {workflow[:8]} is not over and knows machine n1 by its MACs, addresses and agent id"
    )
    await box.workflows.cancel("w", "ann")
    await store(box, machine("n1", 11, agent="a-2"), machine("m1", 12, agent="a-1"))
    assert box.machines.known.find("a-1").hardware.name == "m1"


async def test_a_machine_takes_no_mac_of_one_that_is_not_stored_with_it(box: Appliance, store: Way) -> None:
    await store(box, machine("n1", 11), machine("m1", 12))
    assert "already" in await refusal(store(box, machine("n1", 12), machine("o1", 11)))
    assert there(box) == {"default/n1": [mac(11)], "default/m1": [mac(12)]}


async def test_the_name_of_a_machine_that_is_pruned_is_free(box: Appliance) -> None:
    await by_apply(box, machine("n1", 11).replace('"name"', '"labels": {"a": "b"}, "name"'))
    await box.machine_changes.change("n1", Change(name="m1"))
    await box.applying.apply(files(machine("m1", 51)), pruning("a=b"), "ann")
    assert there(box) == {"default/m1": [mac(51)]}


async def test_hostnames_of_2020_take_no_name(box: Appliance, store: Way) -> None:
    await store(box, json.dumps(hardware(1)), machine("machine-1", 11))
    assert len(there(box)) == 2


async def test_two_machines_of_one_name_that_an_earlier_release_stored_can_be_changed(
    box: Appliance, store: Way
) -> None:
    await store(box, machine("n1", 11), machine("m1", 12))
    named = take_hardware(machine("m1", 11, N1))[0]
    await box.store.write(lambda tables: box.machines.take_in(tables, named))
    await box.machines.refresh([N1])
    await store(box, machine("m1", 21, N1))
    await store(box, machine("m1", 22))
    assert sorted(each.hardware.interfaces[0].mac for each in box.machines.known.all()) == [mac(21), mac(22)]


async def test_the_old_documents_of_exchanged_names_are_told_a_way_out_that_works(box: Appliance, store: Way) -> None:
    old = machine("n1", 11), machine("m1", 12)
    await store(box, *old)
    for key, name in (("n1", "x1"), ("m1", "n1"), ("x1", "m1")):
        await box.machine_changes.change(key, Change(name=name))
    assert await refusal(store(box, old[0])) == (
        "machine m1 was called n1 before, and a document of that name would replace it: choose another name, or give the "
        f"document of the same machine its id, under metadata: `annotations: {{tinkbox.internal/id: {N1}}}`"
    )
    await store(box, machine("n1", 11, N1), machine("m1", 12, M1))
    assert there(box) == {"default/n1": [mac(11)], "default/m1": [mac(12)]}
