"""What is told of a document whose addresses cannot work on the networks that are served."""

from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from tinkbox.engine.machines.addressing import Addressing, notes_on
from tinkbox.model.documents.hardware import hardware_from_document
from tinkbox.model.hardware import MacAddress
from tinkbox.model.leases import Lease, LeaseState, Subnet

OURS = IPv4Address("172.30.0.1")
SUBNETS = [
    Subnet(network=IPv4Network("172.30.0.0/24"), interface="eth1"),
    Subnet(network=IPv4Network("172.40.0.0/16")),
]
SERVED = "172.30.0.0/24 (eth1), 172.40.0.0/16 (by a relay)"
MAC = "08:00:27:00:00:01"
KEY = "network.interfaces[0].dhcp.ip"


def notes(*interfaces: dict[str, Any], mode: str = "reservation", subnets: list[Subnet] = SUBNETS) -> dict[str, str]:
    hardware = hardware_from_document(
        {"id": "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94", "network": {"interfaces": list(interfaces)}}
    )
    told = notes_on(hardware, Addressing(mode=mode, subnets=subnets, own=[OURS]))
    return {each.key: each.text for each in told}


def card(address: str, netmask: str = "255.255.255.0", gateway: str = "") -> dict[str, Any]:
    return {"dhcp": {"mac": MAC, "ip": {"address": address, "netmask": netmask, "gateway": gateway}}}


@pytest.mark.parametrize("address", ["172.30.0.5", "172.40.7.5"])
def test_an_address_of_a_served_network_needs_no_word(address: str) -> None:
    assert notes(card(address, gateway=address.rpartition(".")[0] + ".254")) == {}


def test_an_address_of_no_served_network_is_told() -> None:
    said = f"172.31.0.5 is in none of the networks that are served here: {SERVED}"
    assert notes(card("172.31.0.5")) == {f"{KEY}.address": said}
    assert notes(card("172.31.0.5", "")) == {
        f"{KEY}.address": f"{said}; it has no netmask either, so it is not given out"
    }


def test_an_address_and_a_mac_that_the_appliances_host_has_itself_are_told() -> None:
    hardware = hardware_from_document(
        {"id": "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94", "network": {"interfaces": [card("172.30.0.27")]}}
    )
    held = IPv4Address("172.30.0.27")
    sound = Addressing(mode="reservation", subnets=SUBNETS, own=[OURS])
    assert list(notes_on(hardware, sound)) == []
    wrong = replace(sound, held=lambda: {held}, cards=lambda: {MAC: "lab"})
    assert {each.key: each.text for each in notes_on(hardware, wrong)} == {
        "network.interfaces[0].dhcp.mac": f"{MAC} is the MAC of the appliance's own interface lab: no machine can have it there",
        f"{KEY}.address": "the appliance's host itself has 172.30.0.27: what it sends to the machine, it gets itself",
    }
    assert [each.key for each in notes_on(hardware, replace(wrong, mode="off"))] == ["network.interfaces[0].dhcp.mac"]


def test_a_missing_netmask_is_that_of_the_served_network() -> None:
    assert notes(card("172.40.0.5", "")) == {
        f"{KEY}.netmask": "172.40.0.5 has no netmask: that of 172.40.0.0/16 is given out with it"
    }


@pytest.mark.parametrize(
    ("gateway", "said"),
    [
        ("172.30.1.1", "172.30.1.1 is not on the network 172.30.0.0/24 of 172.30.0.5"),
        ("172.30.0.5", "172.30.0.5 is the machine's own address"),
    ],
)
def test_a_gateway_that_cannot_be_reached_is_told(gateway: str, said: str) -> None:
    for netmask in ("255.255.255.0", ""):
        assert notes(card("172.30.0.5", netmask, gateway))[f"{KEY}.gateway"].startswith(said)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("172.30.0.1", "the appliance's own address"),
        ("172.30.0.255", "an end of the network 172.30.0.0/24"),
        ("172.30.0.0", "an end of the network 172.30.0.0/24"),
    ],
)
def test_an_address_that_no_machine_can_have_is_told(address: str, said: str) -> None:
    assert said in notes(card(address))[f"{KEY}.address"]


def test_a_netmask_that_leaves_the_appliance_out_is_told() -> None:
    said = notes(card("172.30.0.20", "255.255.255.248"))[f"{KEY}.netmask"]
    assert said.startswith("the appliance 172.30.0.1 is not within 172.30.0.16/29: with the netmask 255.255.255.248 ")
    assert said.endswith("The network that is served here is 172.30.0.0/24, whose netmask is 255.255.255.0")
    assert notes(card("172.30.0.3", "255.255.255.248")) == {}, "the appliance is within"


def test_a_netmask_of_a_larger_network_is_told() -> None:
    assert notes(card("172.30.0.20", "255.255.0.0"))[f"{KEY}.netmask"] == (
        "with the netmask 255.255.0.0 the machine looks for all of 172.30.0.0/16 on its own link: the network that is served here is "
        "172.30.0.0/24, whose netmask is 255.255.255.0"
    )
    assert notes(card("172.30.0.20", "255.255.255.0")) == {}
    assert notes(card("172.30.0.20", "255.255.255.248", "172.30.0.17")) == {}, "a router leads to it"
    assert notes(card("172.40.0.20", "255.255.255.248")) == {}, "it is behind a relay"


def test_an_address_that_the_pool_has_lent_is_told_with_its_holder_and_the_end() -> None:
    hardware = hardware_from_document(
        {"id": "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94", "network": {"interfaces": [card("172.30.0.5")]}}
    )
    addressing = Addressing(mode="pool", subnets=SUBNETS, own=[OURS])

    def told(to: str) -> list[str]:
        until = datetime(2026, 11, 21, 3, 10, tzinfo=UTC)
        lease = Lease(
            address=IPv4Address("172.30.0.5"), mac=MacAddress(to), state=LeaseState.BOUND, until=until, seconds=600
        )
        return [str(each) for each in notes_on(hardware, addressing, {lease.address: lease}.get)]

    (said,) = told("08:00:27:00:00:99")
    assert said.startswith(f"{KEY}.address: 172.30.0.5 is lent to 08:00:27:00:00:99 until 2026-11-21 03:10 UTC")
    assert told(MAC) == []


def test_a_machine_without_an_address_is_told_of_where_addresses_are_reserved_only() -> None:
    bare = {"dhcp": {"mac": MAC}}
    assert "DHCP does not answer it" in notes(bare)["network.interfaces"]
    assert notes(bare, {**card("172.30.0.5"), "dhcp": {**card("172.30.0.5")["dhcp"], "mac": "08:00:27:00:00:02"}}) == {}
    assert notes(bare, mode="pool") == {}


@pytest.mark.parametrize("mode", ["proxy", "off"])
def test_nothing_is_said_of_addresses_that_another_server_gives(mode: str) -> None:
    assert notes(card("10.0.0.5", "", "10.1.1.1"), mode=mode) == {}


def test_nothing_is_said_of_networks_where_none_is_known_and_of_interfaces_that_are_not_answered() -> None:
    assert notes(card("10.0.0.5"), subnets=[]) == {}
    hardware = hardware_from_document(
        {
            "kind": "Hardware",
            "metadata": {"name": "a"},
            "spec": {"interfaces": [{**card("10.0.0.5"), "disableDhcp": True}]},
        }
    )
    assert not list(notes_on(hardware, Addressing(mode="reservation", subnets=SUBNETS, own=[])))
