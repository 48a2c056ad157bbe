"""A key means the same machines in memory and in the store."""

import json
from uuid import UUID

import pytest

from tests.integration.engine.appliance import Appliance, address, hardware, mac
from tinkbox.model.errors import Refusal
from tinkbox.model.hardware import hardware_from_document, parse_hardware
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


async def test_an_agent_id_that_goes_finds_nothing_any_more(box: Appliance) -> None:
    spec = {name: value for name, value in OBJECT["spec"].items() if name != "agentID"}  # type: ignore[attr-defined]
    await box.machines.push(hardware_from_document({**OBJECT, "spec": spec}))
    assert box.machines.known.at("agent-7") == ""
    assert box.machines.known.at(mac(2))
    await box.machines.delete("second")
    assert (box.machines.known.at(mac(2)), list(meant(box.machines.known, "second"))) == ("", [])
