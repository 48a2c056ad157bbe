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
from tests.integration.attacks.attacked import KNOWN, PATIENCE, SERVER, Attacked, attacked
from tests.integration.boot.wires import inside
from tests.machine.hosts import Host
from tests.machine.lab import address, hardware, mac, until
from tinkbox.boot.tftp.path_mtu import way_to
from tinkbox.model.hardware import MacAddress
from tinkbox.wire.dhcp.packets import MessageType, Op, Option, Packet, decode, encode

ROAMING, RUNNING, WAITING = 2, 3, 4  # known machines without a reservation
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


def fragmentation_needed(quoted: bytes) -> bytes:
    """An ICMP message that has a host send in packets of 552 bytes, for a raw socket."""
    message = struct.pack(">BBHHH", 3, 4, 0, 0, 552) + quoted
    total = sum(struct.unpack(f">{len(message) // 2}H", message))
    total = (total & 0xFFFF) + (total >> 16)
    return message[:2] + struct.pack(">H", ~(total + (total >> 16)) & 0xFFFF) + message[4:]


def put_together(host: Host) -> int:
    """How many fragments a host has had to put together."""
    names, values = (line.split() for line in host.run("cat", "/proc/net/snmp").decode().splitlines()[:2])
    return int(values[names.index("ReasmReqds")])


def test_a_forged_icmp_message_makes_no_machines_blocks_smaller(box: Attacked) -> None:
    before = put_together(box.machine)
    header = struct.pack(">BBHHHBBH", 0x45, 0, 28, 0, 0, 64, socket.IPPROTO_ICMP, 0)
    header += IPv4Address(SERVER).packed + IPv4Address(address(KNOWN)).packed
    with inside(box.hostile.path):
        raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    with raw, box.datagrams(box.machine) as line:
        raw.sendto(fragmentation_needed(header + bytes(8)), (SERVER, 0))
        with inside(box.network):
            until(lambda: way_to(address(KNOWN)).mtu == 552, "the kernel to believe it")
        line.sendto(b"\0\1undionly.kpxe\0octet\0blksize\x001468\0", (SERVER, 69))
        agreed, server = line.recvfrom(65536)
        assert agreed == b"\0\6blksize\x001468\0"
        # And of the transfer that is under way, as who sees its packets can.
        udp = struct.pack(">BBHHHBBH", 0x45, 0, 1500, 0, 0, 64, socket.IPPROTO_UDP, 0) + header[12:]
        udp += struct.pack(">HHHH", server[1], line.getsockname()[1], 1480, 0)
        raw.sendto(fragmentation_needed(udp), (SERVER, 0))
        line.sendto(b"\0\4\0\0", server)
        assert len(line.recv(65536)) == 1472
    assert put_together(box.machine) == before


@pytest.fixture
def running(box: Attacked) -> Iterator[tuple[Host, str]]:
    """A machine that a workflow waits for, with the address that the pool lent it."""
    know(box, RUNNING)
    discover = replace(
        decode(packet("dhcp/seabios-ipxe-rom-discover")), xid=0xC00, mac=MacAddress(mac(RUNNING)), flags=BROADCAST
    )
    with Host(box.switch, [(BRIDGE, address(RUNNING))]) as machine:
        machine.run("ip", "link", "set", "eth0", "address", mac(RUNNING))
        lent = str(box.dhcp(requests(discover, box.dhcp(discover, by=machine)), by=machine).yiaddr)
        machine.run("ip", "address", "flush", "dev", "eth0")
        machine.run("ip", "address", "add", f"{lent}/24", "dev", "eth0")
        yield machine, lent


def know(box: Attacked, number: int) -> None:
    """Push a machine without a reservation, and have a workflow wait for it."""
    document = box.work / "hardware.json"
    document.write_text(json.dumps(hardware(number, ip=None)))
    box.appliance.command("hardware", "push", "--file", document)
    box.appliance.command("workflow", "create", "-t", "one", "-r", json.dumps({"device_1": mac(number)}))


def requests(hello: Packet, offered: Packet) -> Packet:
    """What accepts an offer."""
    more = {Option.MESSAGE_TYPE: b"\3", Option.SERVER_ID: IPv4Address(SERVER).packed}
    options = hello.options | more | {Option.ADDRESS_REQUEST: offered.yiaddr.packed}
    return replace(hello, xid=offered.xid, mac=offered.mac, flags=BROADCAST, options=options)


@pytest.mark.parametrize("kind", [MessageType.RELEASE, MessageType.DECLINE], ids=lambda each: each.name)
def test_whoever_gives_an_address_back_in_a_machines_name_takes_nothing_from_it(
    box: Attacked, running: tuple[Host, str], kind: MessageType
) -> None:
    machine, lent = running
    # The attacker has the address as well, so it answers there, perhaps before the machine does.
    box.hostile.run("ip", "address", "replace", f"{lent}/32", "dev", "eth0")
    options = {Option.MESSAGE_TYPE: bytes([kind]), Option.SERVER_ID: IPv4Address(SERVER).packed}
    if kind is MessageType.DECLINE:
        options[Option.ADDRESS_REQUEST] = IPv4Address(lent).packed
    held = IPv4Address(lent if kind is MessageType.RELEASE else 0)
    forged = Packet(op=Op.REQUEST, xid=0xD00, mac=MacAddress(mac(RUNNING)), ciaddr=held, options=options)
    with inside(box.hostile.path), socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
        raw.sendto(datagram((lent, 68), (SERVER, 67), encode(forged)), (SERVER, 0))

    def lease() -> str:
        leases = json.loads(box.appliance.command("hardware", "leases", "--format", "json"))
        return next((str(each["state"]) for each in leases if each["address"] == lent), "")

    def decided() -> bool:
        return lease() != "bound" or f"{lent}, by {kind.name}" in box.appliance.command("hardware", "get", mac(RUNNING))

    until(decided, "the appliance to believe it, or not")
    box.hostile.run("ip", "address", "delete", f"{lent}/32", "dev", "eth0")
    assert lease() == "bound"
    script = box.get(f"/boot/{mac(RUNNING).replace(':', '-')}/script.ipxe", by=machine)
    assert script.startswith(b"HTTP/1.1 200")


def test_invented_machines_leave_an_address_to_a_known_one_without_a_reservation(box: Attacked) -> None:
    hello = decode(packet("dhcp/seabios-ipxe-rom-discover"))
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
                    line.sendto(encode(requests(hello, heard)), ("255.255.255.255", 67))
                elif heard.message_type is MessageType.ACK:
                    lent.add(heard.yiaddr)
    assert 0 < len(lent) <= ADDRESSES // 2
    know(box, ROAMING)
    offered = box.dhcp(replace(hello, xid=0xB00, mac=MacAddress(mac(ROAMING)), flags=BROADCAST))
    assert offered.message_type is MessageType.OFFER
    assert offered.yiaddr not in lent


ABSENT = 400  # of whom each is answered, and does not answer ARP


def forged_relays() -> Iterator[bytes]:
    hello = replace(decode(packet("dhcp/seabios-ipxe-rom-discover")), mac=MacAddress(mac(KNOWN)))
    for number in range(ABSENT):
        yield datagram(
            ("172.30.0.66", 67),
            (SERVER, 67),
            encode(replace(hello, xid=0xE00 + number, giaddr=IPv4Address("10.1.0.1") + number)),
        )


def forged_sources(port: int, question: bytes) -> Iterator[bytes]:
    for number in range(ABSENT):
        yield datagram((f"172.30.0.{160 + number % 90}", 5_000 + number), (SERVER, port), question)


NAME = struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + b"\4none\7invalid\0\0\1\0\1"
NO_FILE = b"\0\1none\0octet\0"


@pytest.mark.parametrize(
    ("port", "question", "forged"),
    [(53, NAME, forged_sources(53, NAME)), (69, NO_FILE, forged_sources(69, NO_FILE))],
    ids=["DNS", "TFTP"],
)
def test_answers_to_hosts_that_are_not_there_keep_none_from_a_machine(
    box: Attacked, port: int, question: bytes, forged: Iterator[bytes]
) -> None:
    flood(box, forged)
    with box.datagrams(box.machine) as line:
        line.settimeout(PATIENCE)
        line.sendto(question, (SERVER, port))
        assert line.recv(65536)


def test_replies_to_relays_that_are_not_there_keep_no_machine_from_an_address(box: Attacked) -> None:
    know(box, WAITING)
    hello = replace(
        decode(packet("dhcp/seabios-ipxe-rom-discover")), xid=0xF00, mac=MacAddress(mac(WAITING)), flags=BROADCAST
    )
    flood(box, forged_relays())
    assert box.dhcp(hello).message_type is MessageType.OFFER


def flood(box: Attacked, forged: Iterator[bytes]) -> None:
    """Send datagrams in others' names at once."""
    with inside(box.hostile.path), socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
        for each in forged:
            raw.sendto(each, (SERVER, 0))
