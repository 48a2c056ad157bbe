"""Machines behind a router that relays: ISC dhcrelay, which says by option 82 on which of its interfaces they are."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from tests import golden
from tests.integration.boot.wires import Appliance, Host, cable, dhcrelay, dnsmasq, hosts, serve, words
from tinkbox.wire.dhcp.packets import MessageType, decode

FIRMWARE, INSTALLED = (decode(golden.packet(f"dhcp/{name}-discover")) for name in ("ovmf-pxe", "udhcpc"))
OURS, THEIRS, NEAR, FAR = "172.30.0.1", "172.30.0.66", "172.30.0.2", "10.9.0.1"
KNOWN = {
    str(each.mac): {"eth0": "172.30.0.5/24", "10.9.0.0/24": f"10.9.0.{host}/24"}
    for host, each in ((5, FIRMWARE), (6, INSTALLED))
}


@dataclass(slots=True)
class Network:
    ours: Host
    router: Host
    machine: Host


@pytest.fixture
def network() -> Iterator[Network]:
    with hosts("relay-ours", "relay-router", "relay-machine") as (ours, router, machine):
        cable(ours, "eth0", router, "near")
        cable(router, "far", machine, "eth0", str(FIRMWARE.mac))
        ours.ip(f"address add {OURS}/24 dev eth0")
        ours.ip(f"route add 10.9.0.0/24 via {NEAR}")
        router.ip(f"address add {NEAR}/24 dev near")
        router.ip(f"address add {FAR}/24 dev far")
        yield Network(ours=ours, router=router, machine=machine)


def relayed(network: Network, *, proxy: bool = False) -> Appliance:
    appliance = serve(network.ours, {"eth0": OURS}, KNOWN, proxy=proxy)
    dhcrelay(network.router, "far", "near", OURS)
    return appliance


def test_an_installed_system_gets_the_address_of_its_own_network(network: Network, tmp_path: Path) -> None:
    relayed(network)
    network.machine.ip(f"link set eth0 address {INSTALLED.mac}")
    ran = network.machine.udhcpc("eth0", tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert words(ran.stdout.splitlines()) == ["10.9.0.6", "24", OURS]


def test_a_relay_may_speak_with_us_by_another_address_than_that_of_the_machines_network(
    network: Network, tmp_path: Path
) -> None:
    """RFC 3527: then it says by option 82 which network that is, and is answered where it speaks."""
    appliance = serve(network.ours, {"eth0": OURS}, KNOWN)
    dhcrelay(network.router, "far", "near", "-U", "near", OURS)
    ran = network.machine.udhcpc("eth0", tmp_path, "-V", "PXEClient:Arch:00007", "-x", "0x5d:0007")
    assert ran.returncode == 0, ran.stderr
    assert words(ran.stdout.splitlines()) == ["10.9.0.5", "24", OURS]
    assert appliance.next("DISCOVER")["relay"] == FAR


def test_behind_two_relays_in_a_row_a_machine_gets_the_address_of_its_own_network(
    network: Network, tmp_path: Path
) -> None:
    serve(network.ours, {"eth0": OURS}, KNOWN)
    with hosts("relay-inner") as (inner,):
        network.router.ip("link delete far")
        cable(network.router, "middle", inner, "middle")
        cable(inner, "far", network.machine, "eth0", str(FIRMWARE.mac))
        network.router.ip("address add 10.8.0.1/24 dev middle")
        network.router.ip("route add 10.9.0.0/24 via 10.8.0.2")
        run = network.router.start("sysctl", "-qw", "net.ipv4.ip_forward=1")
        assert run.wait(60) == 0
        inner.ip("address add 10.8.0.2/24 dev middle")
        inner.ip(f"address add {FAR}/24 dev far")
        inner.ip("route add default via 10.8.0.1")
        dhcrelay(network.router, "middle", "near", "-m", "forward", OURS)
        dhcrelay(inner, "far", "middle", "10.8.0.1")
        ran = network.machine.udhcpc("eth0", tmp_path)
        assert ran.returncode == 0, ran.stderr
        assert words(ran.stdout.splitlines()) == ["10.9.0.5", "24", OURS]


def test_dnsmasq_relays_as_well(network: Network, tmp_path: Path) -> None:
    """It says nothing by option 82."""
    serve(network.ours, {"eth0": OURS}, KNOWN)
    dnsmasq(
        network.router, f"--dhcp-relay={FAR},{OURS}", "--interface=far", "--interface=near", ready="DHCP relay from"
    )
    ran = network.machine.udhcpc("eth0", tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert words(ran.stdout.splitlines()) == ["10.9.0.5", "24", OURS]


def test_firmware_is_told_what_to_boot_and_its_port_is_seen(network: Network) -> None:
    appliance = relayed(network)
    with network.machine.firmware("eth0") as firmware:
        firmware.ask(FIRMWARE)
        offer = firmware.answer(FAR, FIRMWARE.xid)
        more = {53: b"\x03", 54: offer.options[54], 50: offer.yiaddr.packed}
        firmware.ask(replace(FIRMWARE, xid=12, options={**FIRMWARE.options, **more}))
        granted = firmware.answer(FAR, 12)
    assert (offer.yiaddr, offer.file, offer.siaddr) == (IPv4Address("10.9.0.5"), "snponly.efi", IPv4Address(OURS))
    assert (granted.message_type, granted.yiaddr) == (MessageType.ACK, IPv4Address("10.9.0.5"))
    told = appliance.next("DISCOVER")
    assert (told["relay"], told["circuit"]) == (FAR, "far")
    assert appliance.next("LEASED")["address"] == "10.9.0.5"


def test_a_machine_that_was_moved_here_is_refused_its_old_address(network: Network) -> None:
    """INIT-REBOOT: it asks for the address that it had on another network, and has none with which to hear."""
    relayed(network)
    moved = {**INSTALLED.options, 53: b"\x03", 50: IPv4Address("172.30.0.5").packed}
    with network.machine.firmware("eth0") as firmware:
        firmware.ask(replace(INSTALLED, xid=13, options=moved))
        refused = firmware.answer(FAR, 13)
    assert (refused.message_type, refused.yiaddr) == (MessageType.NAK, IPv4Address(0))


def test_a_machine_that_renews_says_so_to_us_without_its_relay(network: Network) -> None:
    relayed(network)
    network.machine.ip("address add 10.9.0.6/24 dev eth0")
    network.machine.ip(f"route add default via {FAR}")
    run = network.router.start("sysctl", "-qw", "net.ipv4.ip_forward=1")
    assert run.wait(60) == 0
    renewal = replace(INSTALLED, xid=14, ciaddr=IPv4Address("10.9.0.6"), options={**INSTALLED.options, 53: b"\x03"})
    with network.machine.firmware("eth0", "10.9.0.6") as firmware:
        firmware.ask(renewal, (OURS, 67))
        renewed = firmware.answer(OURS, 14)
    assert (renewed.message_type, renewed.yiaddr) == (MessageType.ACK, IPv4Address("10.9.0.6"))


def test_beside_another_server_firmware_behind_a_relay_hears_both(network: Network) -> None:
    with hosts("relay-theirs") as (theirs,):
        network.ours.ip("link add lab type bridge forward_delay 0")
        network.ours.ip("link set lab up")
        network.ours.ip("address flush dev eth0")
        network.ours.ip("link set eth0 master lab")
        network.ours.ip(f"address add {OURS}/24 dev lab")
        network.ours.ip(f"route add 10.9.0.0/24 via {NEAR}")
        cable(network.ours, "eth9", theirs, "eth0")
        network.ours.ip("link set eth9 master lab")
        theirs.ip(f"address add {THEIRS}/24 dev eth0")
        theirs.ip(f"route add 10.9.0.0/24 via {NEAR}")
        dnsmasq(theirs, "--interface=eth0", "--dhcp-range=10.9.0.100,10.9.0.110,255.255.255.0,10m")
        serve(network.ours, {"lab": OURS}, KNOWN, proxy=True)
        dhcrelay(network.router, "far", "near", OURS, THEIRS)
        with network.machine.firmware("eth0") as firmware:
            firmware.ask(FIRMWARE)
            answers = sorted((firmware.answer(FAR, FIRMWARE.xid) for _ in range(2)), key=lambda each: each.yiaddr)
    ours, theirs_offer = answers
    assert (ours.yiaddr, ours.file, str(ours.options[54], "latin-1")) == (
        IPv4Address(0),
        "snponly.efi",
        str(IPv4Address(OURS).packed, "latin-1"),
    )
    assert str(theirs_offer.yiaddr).startswith("10.9.0.1")
