"""Machines that a person adds by their MACs."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance, appliance, mac
from tinkbox.engine.machines.additions import MOST_ANSWERING, Additions
from tinkbox.engine.machines.addressing import Addressing
from tinkbox.engine.machines.hardware_document import Added
from tinkbox.model.errors import Conflict, Invalid, Unavailable
from tinkbox.model.leases import Lease, LeaseState, Subnet

OURS = IPv4Address("172.30.0.1")
ADDRESSING = Addressing(
    mode="reservation", subnets=[Subnet(network=IPv4Network("172.30.0.0/29"), interface="eth1")], own=[OURS]
)


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Appliance]:
    async with appliance(tmp_path / "tinkbox.sqlite") as made:
        yield made


def additions(box: Appliance, addressing: Addressing = ADDRESSING, *answering: str) -> Additions:
    async def answers(address: IPv4Address) -> bool:
        await asyncio.sleep(0)
        return str(address) in answering or "all" in answering

    return Additions(box.store, box.machines, addressing, answers, box.clock)


def added(number: int, name: str = "") -> Added:
    return Added(macs=(mac(number),), name=name)


async def test_it_gets_the_lowest_address_that_is_nobodys(box: Appliance) -> None:
    made = additions(box)
    first, second = await made.add(added(7, "node7")), await made.add(added(8))
    assert [str(each.interfaces[0].address) for each in (first, second)] == ["172.30.0.2", "172.30.0.3"]
    assert box.machines.known.find("node7").hardware.id == first.id
    await box.machines.delete("node7")
    assert str((await made.add(added(9))).interfaces[0].address) == "172.30.0.2"


async def test_an_address_that_the_appliances_host_has_beside_is_not_given_to_a_machine(box: Appliance) -> None:
    made = additions(box, replace(ADDRESSING, held=lambda: {IPv4Address("172.30.0.2")}))
    assert str((await made.add(added(7))).interfaces[0].address) == "172.30.0.3"
    with pytest.raises(Conflict, match="the appliance's own address"):
        await made.add(added(8), "172.30.0.2")


async def test_two_that_are_added_at_once_get_two_addresses(box: Appliance) -> None:
    made = additions(box)
    async with asyncio.TaskGroup() as group:
        adding = [group.create_task(made.add(added(each))) for each in (7, 8, 9)]
    assert sorted(str(each.result().interfaces[0].address) for each in adding) == [
        "172.30.0.2",
        "172.30.0.3",
        "172.30.0.4",
    ]


async def test_an_address_where_a_host_answers_or_that_is_lent_is_left_alone(box: Appliance) -> None:
    until = box.clock() + timedelta(hours=1)
    lent = Lease(address=IPv4Address("172.30.0.3"), mac=mac(3), state=LeaseState.BOUND, until=until, seconds=3600)
    over = replace(lent, address=IPv4Address("172.30.0.4"), until=box.clock())
    await box.store.write(lambda tables: tables.leases.save([lent, over]))
    hardware = await additions(box, ADDRESSING, "172.30.0.2").add(added(7))
    assert str(hardware.interfaces[0].address) == "172.30.0.4"


async def test_gateway_and_name_servers_are_those_of_the_network(box: Appliance) -> None:
    terms = {"gateway": IPv4Address("172.30.0.2"), "name_servers": (IPv4Address("172.30.0.3"),)}
    subnet = Subnet(network=IPv4Network("172.30.0.0/29"), interface="eth1", **terms)
    (interface,) = (await additions(box, replace(ADDRESSING, subnets=[subnet])).add(added(7))).interfaces
    assert (str(interface.address), interface.gateway) == ("172.30.0.4", terms["gateway"])
    assert interface.name_servers == terms["name_servers"]


@pytest.mark.parametrize("mode", ["pool", "proxy", "off"])
async def test_where_machines_have_addresses_anyway_none_is_reserved(box: Appliance, mode: str) -> None:
    hardware = await additions(box, replace(ADDRESSING, mode=mode)).add(added(7))
    assert hardware.interfaces[0].address is None


async def test_an_address_of_its_own_is_taken_as_told(box: Appliance) -> None:
    made = additions(box)
    hardware = await made.add(added(7), "172.30.0.6", "172.30.0.5")
    assert (str(hardware.interfaces[0].address), str(hardware.interfaces[0].netmask)) == (
        "172.30.0.6",
        "255.255.255.248",
    )
    with pytest.raises(Conflict, match=r"172\.30\.0\.6 belongs to machine machine-08"):
        await made.add(added(8), "172.30.0.6")
    with pytest.raises(Conflict, match="appliance's own"):
        await made.add(added(8), str(OURS))
    for end in ("172.30.0.0", "172.30.0.7"):
        with pytest.raises(Invalid, match="no host can have"):
            await made.add(added(8), end)
    with pytest.raises(Invalid, match="together with an address"):
        await made.add(added(8), gateway="172.30.0.5")


async def test_what_another_machine_has_is_refused_and_the_machine_is_named(box: Appliance) -> None:
    made = additions(box)
    await made.add(added(7, "node7"))
    await box.machine(1)
    with pytest.raises(Conflict, match=rf"{mac(7)} belongs to machine node7 already"):
        await made.add(added(7, "node8"))
    with pytest.raises(Conflict, match="there is a machine called node7 already"):
        await made.add(added(8, "node7"))
    hostname = box.machines.known.find(mac(1)).hardware.interfaces[0].hostname
    with pytest.raises(Conflict, match=f"there is a machine called {hostname} already"):
        await made.add(added(8, hostname))
    assert len(await box.machines.all()) == 2


async def test_a_network_without_room_is_refused_with_what_to_do(box: Appliance) -> None:
    made = additions(box)
    for number in range(2, 7):
        await made.add(added(number))
    with pytest.raises(Unavailable, match=r"no free address in 172\.30\.0\.0/29: delete"):
        await made.add(added(7))
    wide = replace(ADDRESSING, subnets=[Subnet(network=IPv4Network("172.31.0.0/24"), interface="eth2")])
    with pytest.raises(Unavailable, match="--address"):
        await additions(box, wide, "all").add(added(7))
    assert MOST_ANSWERING == 16
