"""Beside somebody else's DHCP server: dnsmasq gives the addresses, we say what to boot."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from tests import golden
from tests.integration.boot.wires import Appliance, Host, cable, dnsmasq, hosts, serve, words
from tinkbox.wire.dhcp.packets import MessageType, Packet, decode

FIRMWARE, IPXE = (decode(golden.packet(f"dhcp/{name}-discover")) for name in ("ovmf-pxe", "snponly-ipxe"))
OURS, THEIRS = "172.30.0.1", "172.30.0.66"
SCRIPT = b"http://172.30.0.1/boot/08-00-27-00-00-02/script.ipxe"


@dataclass(slots=True)
class Network:
    machine: Host
    appliance: Appliance


@pytest.fixture
def network() -> Iterator[Network]:
    with hosts("proxy-switch", "proxy-ours", "proxy-theirs", "proxy-machine") as (switch, ours, theirs, machine):
        switch.ip("link add lab type bridge forward_delay 0")
        switch.ip("link set lab up")
        for port, (host, mac) in enumerate(((ours, ""), (theirs, ""), (machine, str(FIRMWARE.mac)))):
            cable(switch, f"port{port}", host, "eth0", mac)
            switch.ip(f"link set port{port} master lab")
        ours.ip(f"address add {OURS}/24 dev eth0")
        theirs.ip(f"address add {THEIRS}/24 dev eth0")
        dnsmasq(theirs, "--interface=eth0", "--dhcp-range=172.30.0.100,172.30.0.110,10m", "--dhcp-authoritative")
        known = {str(FIRMWARE.mac): {"eth0": "172.30.0.5/24"}}
        yield Network(machine=machine, appliance=serve(ours, {"eth0": OURS}, known, proxy=True))


def chosen(offer: Packet, base: Packet = FIRMWARE) -> Packet:
    """What the machine says to accept an offer."""
    more = {53: b"\x03", 54: offer.options[54], 50: offer.yiaddr.packed}
    return replace(base, xid=offer.xid, options={**base.options, **more})


def test_an_installed_system_gets_its_address_from_the_other_server(network: Network, tmp_path: Path) -> None:
    ran = network.machine.udhcpc("eth0", tmp_path)
    assert ran.returncode == 0, ran.stderr
    address, _, router, server = words(ran.stdout.splitlines())
    assert address.startswith("172.30.0.1")
    assert (router, server) == (THEIRS, THEIRS)


def test_firmware_gets_its_address_from_one_and_its_program_from_the_other(network: Network) -> None:
    with network.machine.firmware("eth0") as firmware:
        firmware.ask(FIRMWARE)
        ours = firmware.answer(OURS, FIRMWARE.xid)
        assert (ours.message_type, ours.yiaddr, ours.file) == (MessageType.OFFER, IPv4Address(0), "snponly.efi")
        firmware.ask(replace(FIRMWARE, xid=12))
        theirs = firmware.answer(THEIRS, 12)
        assert theirs.message_type is MessageType.OFFER
        firmware.ask(chosen(replace(theirs, xid=13)))
        granted = firmware.answer(THEIRS, 13)
        assert granted.message_type is MessageType.ACK
        # Nothing of ours stands in its way: before the answer to what it asks next, no acknowledgement, and no refusal.
        firmware.ask(replace(FIRMWARE, xid=14))
        firmware.answer(OURS, 14)
        assert [server for server, packet in firmware.heard if packet.xid == 13] == [THEIRS]
    told = network.appliance.next("OTHER_SERVER")
    assert (told["server"], told["address"]) == (THEIRS, str(granted.yiaddr))


def test_having_an_address_firmware_gets_its_program_on_port_4011(network: Network) -> None:
    network.machine.ip("address add 172.30.0.105/24 dev eth0")
    request = replace(FIRMWARE, xid=11, ciaddr=IPv4Address("172.30.0.105"), options={**FIRMWARE.options, 53: b"\x03"})
    with network.machine.firmware("eth0", "172.30.0.105") as firmware:
        firmware.ask(request, (OURS, 4011))
        reply = firmware.answer(OURS, 11)
    assert (reply.message_type, reply.file, reply.siaddr) == (MessageType.ACK, "snponly.efi", IPv4Address(OURS))
    assert (reply.options[97], reply.yiaddr) == (FIRMWARE.options[97], IPv4Address(0))
    assert network.appliance.next("BOOT_SERVER")["file"] == "snponly.efi"


def test_ipxe_gets_its_script_from_us(network: Network) -> None:
    with network.machine.firmware("eth0") as firmware:
        firmware.ask(IPXE)
        offer = firmware.answer(OURS, IPXE.xid)
    assert offer.options[67].startswith(SCRIPT)
    assert (offer.options[60], offer.yiaddr) == (b"PXEClient", IPv4Address(0))


def test_a_machine_that_nobody_knows_hears_only_the_other_server(network: Network) -> None:
    network.machine.ip("link set eth0 address 08:00:27:00:00:99")
    strange = replace(FIRMWARE, mac=type(FIRMWARE.mac)("08:00:27:00:00:99"))
    with network.machine.firmware("eth0") as firmware:
        firmware.ask(strange)
        assert firmware.answer(THEIRS, FIRMWARE.xid).message_type is MessageType.OFFER
    assert network.appliance.next("IGNORED")["why"] == "no hardware document names it"
