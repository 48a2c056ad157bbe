"""A key means the same machines in memory and in the store."""

import json
from uuid import UUID

import pytest

from tests.integration.engine.appliance import Appliance, address, hardware, mac
from tinkbox.model.documents.hardware import hardware_from_document, parse_hardware
from tinkbox.model.errors import Refusal
from tinkbox.model.machine_keys import meant

OBJECT = {
    "apiVersion": "tinkerbell.org/v1alpha1",
    "kind": "Hardware",
    "metadata": {"name": "second"},
    "spec": {
        "agentID": "agent-7",
        "interfaces": [
            {
                "dhcp": {
                    "mac": mac(2),
                    "hostname": "machine-1",
                    "ip": {"address": address(2), "netmask": "255.255.255.0"},
                }
            }
        ],
    },
}
FIRST = str(UUID(int=1))


@pytest.fixture
async def box(box: Appliance) -> Appliance:
    second = hardware_from_document(OBJECT)
    await box.machines.push(parse_hardware(json.dumps(hardware(1)).encode()), second)
    return box


@pytest.mark.parametrize(
    ("key", "number"),
    [
        (FIRST, 1),
        ("00000000-0000-0000", 1),
        (mac(1), 1),
        (mac(1).upper().replace(":", "-"), 1),
        (address(2), 1),
        ("agent-7", 1),
        ("second", 1),
        ("machine-1", 2),
        ("Second", 0),
        ("agent", 0),
        ("", 0),
        ("%", 0),
    ],
)
async def test_every_key_means_the_same_machines_in_memory_and_in_the_store(
    box: Appliance, key: str, number: int
) -> None:
    stored = await box.store.read(lambda tables: meant(tables.hardware, key))
    assert set(meant(box.machines.known, key)) == set(stored)
    assert len(stored) == number
    if number == 1:
        assert box.machines.known.find(key).hardware.id == stored[0]
    else:
        with pytest.raises(Refusal):
            box.machines.known.find(key)


async def test_the_beginning_of_an_id_is_that_of_the_machines_that_are_there(box: Appliance) -> None:
    begins = FIRST[:13]
    for number in (2, 3):
        other = json.dumps(hardware(3)).replace(str(UUID(int=3)), f"{FIRST[:35]}{number}")
        await box.machines.push(parse_hardware(other))
        assert set(meant(box.machines.known, begins)) == {FIRST, f"{FIRST[:35]}{number}"}
        await box.machines.delete(f"{FIRST[:35]}{number}")
        assert meant(box.machines.known, begins) == [FIRST]


async def test_the_key_of_a_machine_is_its_name_or_the_id_where_that_means_others(box: Appliance) -> None:
    """Names that two have, and that are the MAC or the address of another; what has no name is known by its id."""
    listed = [
        ({"name": "j1", "namespace": "a"}, mac(11)),
        ({"name": "j1", "namespace": "b"}, mac(12)),
        ({"name": mac(11)}, mac(13)),
        ({"name": "172.30.0.11"}, mac(14)),
        ({"name": "alone"}, mac(15)),
        ({"name": mac(16)}, mac(16)),
    ]
    made = [
        hardware_from_document({**OBJECT, "metadata": metadata, "spec": {"interfaces": [{"dhcp": {"mac": card}}]}})
        for metadata, card in listed
    ]
    without = {"id": str(UUID(int=9)), "network": {"interfaces": [{"dhcp": {"mac": mac(17)}}]}}
    await box.machines.push(*made, hardware_from_document(without))
    keys = {each.hardware.id: each.key for each in await box.machines.all()}
    assert [keys[each.id] for each in made] == [
        *(each.id for each in made[:3]),
        made[3].id if box.machines.known.at("172.30.0.11") else "172.30.0.11",
        "alone",
        mac(16),
    ]
    assert keys[str(UUID(int=9))] == str(UUID(int=9))
    assert all(box.machines.known.find(key).hardware.id == identity for identity, key in keys.items())


async def test_an_agent_id_that_goes_finds_nothing_any_more(box: Appliance) -> None:
    spec = {name: value for name, value in OBJECT["spec"].items() if name != "agentID"}  # type: ignore[attr-defined]
    await box.machines.push(hardware_from_document({**OBJECT, "spec": spec}))
    assert box.machines.known.at("agent-7") == ""
    assert box.machines.known.at(mac(2))
    await box.machines.delete("second")
    assert (box.machines.known.at(mac(2)), list(meant(box.machines.known, "second"))) == ("", [])
