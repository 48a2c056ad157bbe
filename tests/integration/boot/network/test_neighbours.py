"""The hardware address behind an address, as the kernel has it."""

import socket
from collections.abc import Iterator
from contextlib import closing
from ipaddress import IPv4Network

import pytest

from examples.lab.network import BRIDGE, Network
from tests.integration.boot.wires import at_home_in, hosts, inside
from tests.machine.hosts import Host
from tinkbox.boot.network.neighbours import Neighbours
from tinkbox.model.hardware import MacAddress

MAC, FIRST, SECOND = "08:00:27:aa:00:07", "172.30.0.7", "172.30.0.8"
LOOPBACK, OTHER = IPv4Network("127.0.0.0/8"), IPv4Network("10.0.0.0/8")


@pytest.fixture
def neighbours() -> Iterator[Neighbours]:
    """Those of an appliance with one neighbour, which has two addresses and spoke to us from both."""
    with Network() as network, Host(network, [(BRIDGE, FIRST)]) as host:
        host.run("ip", "link", "set", "eth0", "address", MAC)
        host.run("ip", "address", "add", f"{SECOND}/24", "dev", "eth0")
        with inside(network.path):
            listening = socket.create_server((str(network.address), 0))
            made = Neighbours({"lo": LOOPBACK, "none": OTHER, BRIDGE: IPv4Network("172.30.0.0/24")})
        with listening, closing(made), inside(host.path):
            for address in (FIRST, SECOND):
                socket.create_connection(listening.getsockname(), timeout=60, source_address=(address, 0)).close()
            yield made


def test_whoever_spoke_to_us_is_known_by_its_mac_at_each_of_its_addresses(neighbours: Neighbours) -> None:
    assert [neighbours.mac_at(each) for each in (FIRST, SECOND)] == [MacAddress(MAC)] * 2


def test_an_entry_that_no_arp_changes_is_known_with_its_interface() -> None:
    with hosts("appliance") as (appliance,):
        for words in (
            "link add lab type bridge",
            "address add 172.30.0.1/24 dev lab",
            "link set lab up",
            f"neigh add {FIRST} lladdr {MAC} nud permanent dev lab",
            f"neigh add {SECOND} lladdr {MAC} nud reachable dev lab",
        ):
            appliance.ip(words)
        with at_home_in(appliance.name):
            made = Neighbours({"lo": LOOPBACK, "lab": IPv4Network("172.30.0.0/24")})
        with closing(made):
            assert made.permanent_at(FIRST) == ("lab", MacAddress(MAC))
            assert [made.permanent_at(each) for each in (SECOND, "172.30.0.9", "127.0.0.1", "")] == [None] * 4
            assert made.mac_at(SECOND) == MacAddress(MAC)


def test_whose_mac_has_to_be_known_is_who_is_on_a_network_of_ours(neighbours: Neighbours) -> None:
    asked = (FIRST, "172.30.0.9", "10.1.2.3", "192.168.0.1", "127.0.0.1", "")
    assert [each for each in asked if neighbours.attached(each)] == [FIRST, "172.30.0.9", "10.1.2.3"]


@pytest.mark.parametrize("address", ["172.30.0.9", "10.1.2.3", "127.0.0.1", "", "x", "::1"])
def test_whoever_did_not_is_nobody(neighbours: Neighbours, address: str) -> None:
    assert neighbours.mac_at(address) is None
