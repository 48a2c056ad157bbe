"""Routes that lead what is for machines to another interface, in a network namespace, and what is told of them."""

import socket
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

from tests.integration.boot.wires import Host, at_home_in, cable, hosts, run
from tinkbox.model.host_vitals import StrayRoute
from tinkbox.model.leases import Subnet
from tinkbox.vitals.routes import stray_routes, takes, unrouted

OURS = IPv4Address("172.30.0.1")
MACHINE = IPv4Address("172.30.0.41")
LAB = Subnet(
    network=IPv4Network("172.30.0.0/24"),
    interface="lab",
    pool=(IPv4Address("172.30.0.100"), IPv4Address("172.30.0.200")),
)
RELAYED = Subnet(network=IPv4Network("172.31.0.0/24"), pool=(IPv4Address("172.31.0.5"), IPv4Address("172.31.0.9")))
ALONE = frozenset({IPv4Network(MACHINE)})
STRAY = StrayRoute(interface="lab", ours=OURS, network=LAB.network, address=MACHINE, among=ALONE)


@pytest.fixture
def lab() -> Iterator[tuple[Host, Host]]:
    """The appliance's host with a machine on one interface, and something else on another, as a VPN is."""
    with hosts("appliance", "machine") as (appliance, machine):
        cable(appliance, "lab", machine, "eth0")
        cable(appliance, "vpn", machine, "vpn")
        appliance.ip("address add 172.30.0.1/24 dev lab")
        appliance.ip("address add 10.9.0.1/24 dev vpn")
        machine.ip("address add 172.30.0.41/24 dev eth0")
        yield appliance, machine


def told(host: Host) -> tuple[StrayRoute, ...]:
    with at_home_in(host.name):
        return stray_routes([LAB, RELAYED], {"lab": OURS}, [OURS, MACHINE, IPv4Address("192.168.7.7")])


def answers_by(host: Host, interface: str) -> bool:
    """Whether what the appliance sends to the machine goes out by an interface."""
    before = sent(host, interface)
    with at_home_in(host.name):
        answering = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with answering:
        answering.bind((str(OURS), 0))
        answering.sendto(b"!", (str(MACHINE), 9))
    return sent(host, interface) > before


def sent(host: Host, interface: str) -> int:
    """The packets that an interface took: those whose receiver has to be asked for first count when ARP asks."""
    with at_home_in(host.name):
        kernel = Path("/proc/thread-self/net/dev").read_text()
    (line,) = (each for each in kernel.splitlines() if each.strip().startswith(f"{interface}:"))
    return int(line.split()[10])


def test_a_sound_host_sends_to_its_machines_by_their_interface(lab: tuple[Host, Host]) -> None:
    appliance, _ = lab
    appliance.ip("route add default via 10.9.0.2")
    appliance.ip("route add 172.31.0.0/24 via 10.9.0.2")  # machines behind a relay may be anywhere
    assert told(appliance) == ()
    assert answers_by(appliance, "lab")


@pytest.mark.parametrize(
    ("commands", "route"),
    [
        (["route add 172.30.0.41 via 10.9.0.2"], "172.30.0.41/32 via 10.9.0.2 dev vpn"),
        (["route add 172.30.0.0/26 dev vpn"], "172.30.0.0/26 dev vpn"),
        (
            ["route add default via 10.9.0.2 table 77", "rule add to 172.30.0.41 table 77"],
            "default via 10.9.0.2 dev vpn table 77",
        ),
    ],
)
def test_a_route_elsewhere_is_told_with_its_line(lab: tuple[Host, Host], commands: list[str], route: str) -> None:
    appliance, _ = lab
    appliance.ip("neighbour add 10.9.0.2 lladdr 02:00:00:00:00:02 dev vpn")
    for each in commands:
        appliance.ip(each)
    (found,) = told(appliance)
    assert found == replace(STRAY, among=found.among, through="vpn", route=route)
    assert answers_by(appliance, "vpn")


@pytest.mark.parametrize("kind", ["blackhole", "prohibit", "unreachable"])
def test_a_route_that_leads_nowhere_is_told_with_the_kernels_word(lab: tuple[Host, Host], kind: str) -> None:
    appliance, _ = lab
    appliance.ip(f"route add {kind} 172.30.0.41")
    (found,) = told(appliance)
    assert found == replace(STRAY, why=found.why)
    assert found.why
    with pytest.raises(OSError, match=found.why):
        answers_by(appliance, "lab")


def test_a_network_of_containers_in_the_pool_is_found_beside_the_ends_of_the_pool(lab: tuple[Host, Host]) -> None:
    appliance, _ = lab
    appliance.ip("address add 172.30.0.129/26 dev vpn")
    found = told(appliance)
    assert [(str(each.address), each.through, each.route, each.twin) for each in found] == [
        ("172.30.0.128", "vpn", "172.30.0.128/26 dev vpn", False)
    ]


@pytest.mark.parametrize(
    ("commands", "asked", "route"),
    [
        (["route add 172.30.0.104/32 dev vpn"], ["172.30.0.104"], "172.30.0.104/32 dev vpn"),
        (["route add 172.30.0.120/30 via 10.9.0.2"], ["172.30.0.120", "172.30.0.123"], "172.30.0.120/30 via 10.9.0.2 dev vpn"),
        (["route add 172.30.0.200/29 dev vpn"], ["172.30.0.200"], "172.30.0.200/29 dev vpn"),
        (["route add blackhole 172.30.0.104"], ["172.30.0.104"], ""),
        (["rule add to 172.30.0.104 table 77", "route add default dev vpn table 77"], ["172.30.0.104"], "default dev vpn table 77"),
        (["route add 172.30.0.104/32 dev lab"], [], ""),
        (["route add 172.30.0.104/32 dev vpn table 77"], [], ""),
        (["route add 172.30.0.9/32 dev vpn", "route add 172.30.0.201/32 dev vpn"], [], ""),
    ],
)  # fmt: skip
def test_a_route_within_the_pool_is_found_where_it_leads_elsewhere(
    lab: tuple[Host, Host], commands: list[str], asked: list[str], route: str
) -> None:
    appliance, _ = lab
    for each in commands:
        appliance.ip(each)
    found = told(appliance)
    assert [str(each.address) for each in found] == asked
    assert {each.route for each in found} <= {route}


def test_more_routes_than_are_read_keep_nothing_else_from_being_asked_for(
    lab: tuple[Host, Host], tmp_path: Path
) -> None:
    appliance, _ = lab
    many = tmp_path / "routes"
    many.write_text("".join(f"route add 10.{100 + (each >> 8)}.{each & 255}.0/24 dev vpn\n" for each in range(5000)))
    appliance.ip(f"-batch {many}")
    appliance.ip("route add 172.30.0.41 dev vpn")
    (found,) = told(appliance)
    assert (found.address, found.among) == (MACHINE, ALONE)


@pytest.mark.parametrize(
    ("commands", "among"),
    [
        (["route add 172.30.0.41/32 dev vpn"], ["172.30.0.41/32"]),
        (["rule add to 172.30.0.41 prohibit"], ["172.30.0.41/32"]),
        (["rule add to 172.30.0.41/28 prohibit"], ["172.30.0.32/28"]),
        (["rule add to 172.30.0.40/31 table 77", "route add default dev vpn table 77"], ["172.30.0.40/31"]),
        (["route add 172.30.0.0/26 dev vpn"], ["172.30.0.0/26"]),
        (
            ["route add 172.30.0.32/28 dev vpn", "route add 172.30.0.42/32 dev lab"],
            ["172.30.0.32/29", "172.30.0.40/31", "172.30.0.43/32", "172.30.0.44/30"],
        ),
        (
            ["route add 172.30.0.32/28 dev vpn", *(f"route add 172.30.0.{each}/32 dev lab" for each in range(32, 41))],
            ["172.30.0.41/32"],
        ),
        (["rule add from 172.30.0.1 prohibit"], ["172.30.0.0/24"]),
    ],
)
def test_a_stray_route_tells_which_addresses_are_treated_alike(
    lab: tuple[Host, Host], commands: list[str], among: list[str]
) -> None:
    appliance, _ = lab
    for each in commands:
        appliance.ip(each)
    (found,) = (each for each in told(appliance) if each.address == MACHINE)
    assert sorted(map(str, found.among)) == among


def test_a_second_interface_in_the_network_is_told_apart(lab: tuple[Host, Host]) -> None:
    appliance, _ = lab
    appliance.ip("address add 172.30.0.2/24 dev vpn metric 50")
    appliance.ip("address del 172.30.0.1/24 dev lab")
    appliance.ip("address add 172.30.0.1/24 dev lab metric 100")
    found = told(appliance)
    assert {(each.through, each.twin, each.refused) for each in found} == {("vpn", True, False)}
    assert MACHINE in [each.address for each in found]


def test_strict_reverse_path_filtering_is_told_where_it_drops(lab: tuple[Host, Host]) -> None:
    appliance, machine = lab
    appliance.ip("route add 172.30.0.41 via 10.9.0.2")
    run(*appliance.command("sysctl", "-q", "-w", "net.ipv4.conf.lab.rp_filter=1", "net.ipv4.conf.all.rp_filter=0"))
    assert told(appliance)[0].refused
    assert not arrives(appliance, machine)
    run(*appliance.command("sysctl", "-q", "-w", "net.ipv4.conf.all.rp_filter=2"))  # loose: the larger one counts
    assert not told(appliance)[0].refused
    assert arrives(appliance, machine)


def arrives(appliance: Host, machine: Host) -> bool:
    """Whether what the machine sends is taken: behind it something is sent from an address of it that is taken for sure."""
    machine.ip("address replace 172.30.0.99/24 dev eth0")
    with at_home_in(appliance.name):
        hearing = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with at_home_in(machine.name):
        asking, sure = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    with hearing, asking, sure:
        hearing.bind((str(OURS), 60000))
        hearing.settimeout(30)
        asking.bind((str(MACHINE), 0))
        sure.bind(("172.30.0.99", 0))
        asking.sendto(b"?", (str(OURS), 60000))
        sure.sendto(b"!", (str(OURS), 60000))
        return hearing.recv(10) == b"?"


def test_an_interface_that_is_gone_is_not_asked_for(lab: tuple[Host, Host]) -> None:
    appliance, _ = lab
    appliance.ip("link delete lab")
    assert told(appliance) == ()


def test_an_interface_that_belongs_to_another_device_has_routes_of_its_own(lab: tuple[Host, Host]) -> None:
    appliance, _ = lab
    appliance.ip("route add 172.30.0.41 via 10.9.0.2")
    appliance.ip("link add red type bridge")
    appliance.ip("link set lab master red")
    assert told(appliance) == ()


def test_what_no_host_there_can_send_is_not_taken(lab: tuple[Host, Host]) -> None:
    appliance, _ = lab
    run(*appliance.command("sysctl", "-qw", "net.ipv4.conf.lab.rp_filter=1"))
    everybody = IPv4Address("255.255.255.255")
    with at_home_in(appliance.name):
        assert takes(MACHINE, OURS, "lab")
        assert takes(MACHINE, everybody, "lab")
        for source in (
            "127.0.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "0.0.0.7",
            "172.30.0.1",
            "10.9.0.1",
            "10.9.0.41",
            "192.168.7.7",
        ):
            assert not takes(IPv4Address(source), OURS, "lab"), source
            assert not takes(IPv4Address(source), everybody, "lab"), source
        assert not takes(MACHINE, IPv4Address("172.30.0.41"), "lab"), "it is for another host"
        assert not takes(MACHINE, OURS, "nowhere")
    appliance.ip("route add 192.168.7.0/24 via 172.30.0.41 dev lab")
    with at_home_in(appliance.name):
        assert takes(IPv4Address("192.168.7.7"), OURS, "lab"), "a relay behind a router"


def unrouted_of(host: Host, *more: IPv4Address) -> list[tuple[tuple[str, ...], bool, tuple[str, ...]]]:
    """What is asked for without success of the network behind a relay, whether that is all of it, and who filters."""
    with at_home_in(host.name):
        found = unrouted([LAB, RELAYED], {"lab": OURS}, more)
    assert {each.network for each in found} <= {RELAYED.network}
    return [(tuple(map(str, each.addresses)), each.whole, each.filtering) for each in found]


def test_a_network_behind_a_relay_to_which_no_route_leads_is_found(lab: tuple[Host, Host]) -> None:
    appliance, _ = lab
    run(*appliance.command("sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.lab.rp_filter=0"))
    ends = ("172.31.0.5", "172.31.0.9")
    assert unrouted_of(appliance, MACHINE, IPv4Address("172.31.0.77")) == [((*ends, "172.31.0.77"), True, ())]
    run(*appliance.command("sysctl", "-qw", "net.ipv4.conf.all.rp_filter=2"))
    assert unrouted_of(appliance) == [(ends, True, ("lab",))]
    appliance.ip("route add 172.31.0.9 via 10.9.0.2")
    assert unrouted_of(appliance) == [(("172.31.0.5",), False, ("lab",))]
    appliance.ip("route add default via 10.9.0.2")
    assert unrouted_of(appliance) == []
    appliance.ip("route add unreachable 172.31.0.0/24")
    assert unrouted_of(appliance) == [(("172.31.0.5",), False, ("lab",))]


def test_a_route_for_what_we_send_alone_is_one(lab: tuple[Host, Host]) -> None:
    appliance, _ = lab
    for each in ("route add 172.31.0.0/24 via 10.9.0.2 table 77", f"rule add from {OURS} table 77"):
        appliance.ip(each)
    assert unrouted_of(appliance) == []
