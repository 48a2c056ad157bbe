"""Attacks in other hosts' names: acknowledgements that nobody gave, and machines that are not there."""

import json
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from ipaddress import IPv4Address

import pytest

from examples.lab.network import BRIDGE
from tests.golden import packet
from tests.integration.attacks.attacked import KNOWN, SERVER, Attacked, attacked
from tests.integration.boot.wires import inside
from tests.machine.lab import address, hardware, mac
from tinkbox.model.hardware import MacAddress
from tinkbox.wire.dhcp.packets import MessageType, Option, Packet, decode, encode

ROAMING = 2  # a known machine without a reservation
INVENTED, ADDRESSES = 69, 51
SILENCE = 3.0  # seconds without an answer, which is how a flood is known to be over
MOST_TIMES = 4
BROADCAST = 0x8000
DISCOVERING = f"""
interface: {BRIDGE}
dhcp: {{mode: pool, pool: 172.30.0.100-172.30.0.150}}
unknown_machines: discover
"""


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    with attacked(tmp_path_factory.mktemp("spoofed"), DISCOVERING) as made:
        yield made
        made.appliance.check()


def datagram(source: tuple[str, int], target: tuple[str, int], content: bytes) -> bytes:
    """A UDP datagram in somebody's name, for a raw socket: the kernel fills in length and checksum of the IPv4 header."""
    udp = struct.pack(">HHHH", source[1], target[1], 8 + len(content), 0) + content
    head = struct.pack(">BBHHHBBH", 0x45, 0, 0, 0, 0, 64, socket.IPPROTO_UDP, 0)
    return head + IPv4Address(source[0]).packed + IPv4Address(target[0]).packed + udp


def test_blind_acknowledgements_have_no_file_sent_to_somebody_else(box: Attacked) -> None:
    asks = b"\0\1undionly.kpxe\0octet\0blksize\x001468\0"
    victim = (address(KNOWN), 4_000)
    sent = 0
    with box.datagrams(box.machine, port=victim[1]) as line, inside(box.hostile.path):
        raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        with raw:
            raw.sendto(datagram(victim, (SERVER, 69), asks), (SERVER, 0))
            sent += len(asks)
            heard = len(line.recv(65536))
            for block in range(120):
                for port in (69, *range(40_000, 40_003)):
                    raw.sendto(datagram(victim, (SERVER, port), struct.pack(">HH", 4, block)), (SERVER, 0))
                sent += 4
        line.settimeout(SILENCE)
        with suppress(TimeoutError):
            while True:
                heard += len(line.recv(65536))
    assert heard <= MOST_TIMES * sent


def test_invented_machines_leave_an_address_to_a_known_one_without_a_reservation(box: Attacked) -> None:
    hello = decode(packet("dhcp/seabios-ipxe-rom-discover"))

    def requests(offered: Packet) -> Packet:
        more = {Option.MESSAGE_TYPE: b"\3", Option.SERVER_ID: IPv4Address(SERVER).packed}
        options = hello.options | more | {Option.ADDRESS_REQUEST: offered.yiaddr.packed}
        return replace(hello, xid=offered.xid, mac=offered.mac, flags=BROADCAST, options=options)

    lent = set[IPv4Address]()
    with box.datagrams(box.hostile, port=68) as line:
        for number in range(INVENTED):
            invented = replace(
                hello, xid=0x900 + number, mac=MacAddress(f"02:00:00:00:01:{number:02x}"), flags=BROADCAST
            )
            line.sendto(encode(invented), ("255.255.255.255", 67))
        line.settimeout(SILENCE)
        with suppress(TimeoutError):
            while True:
                heard = decode(line.recv(65536))
                if heard.message_type is MessageType.OFFER:
                    line.sendto(encode(requests(heard)), ("255.255.255.255", 67))
                elif heard.message_type is MessageType.ACK:
                    lent.add(heard.yiaddr)
    assert 0 < len(lent) <= ADDRESSES // 2
    document = box.work / "roaming.json"
    document.write_text(json.dumps(hardware(ROAMING, ip=None)))
    box.appliance.command("hardware", "push", "--file", document)
    devices = json.dumps({"device_1": mac(ROAMING)})
    box.appliance.command("workflow", "create", "-t", "one", "-r", devices)
    offered = box.dhcp(replace(hello, xid=0xB00, mac=MacAddress(mac(ROAMING)), flags=BROADCAST))
    assert offered.message_type is MessageType.OFFER
    assert offered.yiaddr not in lent
