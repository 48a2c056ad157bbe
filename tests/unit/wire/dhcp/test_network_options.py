"""What a machine is told about its network."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address

import pytest

from tinkbox.model.hardware import Interface, MacAddress, Route
from tinkbox.wire.dhcp.network_options import network_options

GATEWAY, ROUTER = IPv4Address("172.30.0.2"), IPv4Address("172.30.0.9")
BARE = Interface(mac=MacAddress("08:00:27:00:00:01"))


def routes(*networks: str, gateway: IPv4Address | None = None) -> bytes:
    listed = tuple(Route(network=IPv4Network(each), router=ROUTER) for each in networks)
    return network_options(Interface(mac=BARE.mac, gateway=gateway, routes=listed))[121]


def test_what_nobody_configured_is_not_told() -> None:
    assert network_options(BARE) == {}


@pytest.mark.parametrize(
    ("network", "octets"),
    [
        ("0.0.0.0/0", b"\x00"),
        ("10.0.0.0/8", b"\x08\x0a"),
        ("10.0.0.0/24", b"\x18\x0a\x00\x00"),
        ("10.17.0.0/16", b"\x10\x0a\x11"),
        ("10.27.129.0/24", b"\x18\x0a\x1b\x81"),
        ("10.229.0.128/25", b"\x19\x0a\xe5\x00\x80"),
        ("10.198.122.47/32", b"\x20\x0a\xc6\x7a\x2f"),
    ],
)
def test_a_route_is_written_as_in_the_table_of_rfc_3442(network: str, octets: bytes) -> None:
    assert routes(network) == octets + ROUTER.packed


def test_whoever_heeds_the_routes_and_thus_not_the_gateway_finds_it_among_them() -> None:
    assert routes("10.0.0.0/8", gateway=GATEWAY) == b"\x08\x0a" + ROUTER.packed + b"\x00" + GATEWAY.packed


def test_a_default_route_of_the_document_is_not_doubled() -> None:
    assert routes("0.0.0.0/0", gateway=GATEWAY) == b"\x00" + ROUTER.packed


def test_the_gateway_stays_where_there_are_no_routes_to_ask_for() -> None:
    told = network_options(Interface(mac=BARE.mac, gateway=GATEWAY), asks_for_routes=True)
    assert told == {3: GATEWAY.packed}


def test_dhcp_tells_the_servers_that_have_an_address_of_ipv4() -> None:
    servers = (IPv6Address("2001:db8::53"), IPv4Address("172.30.0.53"))
    told = network_options(
        Interface(mac=BARE.mac, name_servers=servers, time_servers=("ntp.lab.example", *servers)),
    )
    assert told == {6: bytes((172, 30, 0, 53)), 42: bytes((172, 30, 0, 53))}
    assert network_options(Interface(mac=BARE.mac, name_servers=servers[:1], time_servers=("ntp",))) == {}
