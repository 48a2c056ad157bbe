"""The DHCP server on a real socket; what it sends is caught, so that no port 68 is needed."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from ipaddress import IPv4Address

import pytest

from tests import golden
from tinkbox.boot.dhcp import DhcpServer
from tinkbox.model.boot import Boot, Client, Plan, Stage
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.wire.dhcp import MessageType, Op, Packet, decode, encode
from tinkbox.wire.pxe import BootService

SERVICE = BootService(address=IPv4Address("172.30.0.1"), url="http://172.30.0.1")
FIRMWARE, IPXE, INSTALLED = (
    decode(golden.packet(f"dhcp/{name}-discover")) for name in ("ovmf-pxe", "snponly-ipxe", "udhcpc")
)
INTERFACE = Interface(mac=FIRMWARE.mac, address=IPv4Address("172.30.0.5"), netmask=IPv4Address("255.255.255.0"))


class Lab:
    """A planner that knows two machines."""

    def __init__(self, *known: MacAddress) -> None:
        self._known = known
        self.seen: list[tuple[MacAddress, Stage, str]] = []
        self.begun: list[MacAddress] = []

    def boot_plan(self, client: Client) -> Plan | None:
        if client.mac not in self._known:
            return None
        boot = Boot.OSIE if client.netboots else Boot.NOTHING
        return Plan(boot=boot, hardware_id="h", interface=replace(INTERFACE, mac=client.mac))

    def booted(self, mac: MacAddress) -> None:
        self.begun.append(mac)

    def saw(self, mac: MacAddress, stage: Stage, detail: str = "") -> None:
        self.seen.append((mac, stage, detail))


class Line(socket.socket):
    """Receives for real, after `troubles`; what is sent waits in `sent`, and an address in `unreachable` refuses."""

    def __init__(self) -> None:
        super().__init__(socket.AF_INET, socket.SOCK_DGRAM)
        self.bind(("127.0.0.1", 0))
        self.setblocking(False)
        self.sent: asyncio.Queue[tuple[bytes, tuple[str, int]]] = asyncio.Queue()
        self.unreachable: set[str] = set()
        self.troubles: list[OSError] = []

    def recv(self, size: int) -> bytes:  # type: ignore[override]
        if self.troubles:
            raise self.troubles.pop()
        return super().recv(size)

    def sendto(self, datagram: bytes, address: tuple[str, int]) -> int:  # type: ignore[override]
        if address[0] in self.unreachable:
            raise OSError(101, "Network is unreachable")
        self.sent.put_nowait((datagram, address))
        return len(datagram)


class Bench:
    def __init__(self, server: DhcpServer, line: Line, lab: Lab) -> None:
        self.server, self.line, self.lab = server, line, lab

    def say(self, *packets: Packet | bytes) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as machine:
            for packet in packets:
                machine.sendto(packet if isinstance(packet, bytes) else encode(packet), self.line.getsockname())

    async def hear(self) -> tuple[Packet, tuple[str, int]]:
        datagram, address = await asyncio.wait_for(self.line.sent.get(), 10)
        return decode(datagram), address


@asynccontextmanager
async def serving(known: Sequence[MacAddress] = (FIRMWARE.mac, INSTALLED.mac)) -> AsyncIterator[Bench]:
    lab = Lab(*known)
    with Line() as line:
        server = DhcpServer(line, "no-such-if", lab, SERVICE)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(server.serve())
            yield Bench(server, line, lab)
            task.cancel()


async def test_firmware_is_offered_its_address_and_program_and_is_seen() -> None:
    async with serving() as bench:
        bench.say(FIRMWARE)
        offer, address = await bench.hear()
        assert (offer.message_type, offer.yiaddr, offer.file) == (MessageType.OFFER, INTERFACE.address, "snponly.efi")
        assert address == ("255.255.255.255", 68)
        assert bench.lab.seen == [(FIRMWARE.mac, Stage.DISCOVER, "PXE, architecture 7")]


async def test_a_lease_is_noted_when_it_is_granted() -> None:
    wanted = {53: b"\x03", 50: b"\xac\x1e\0\5", 54: b"\xac\x1e\0\1"}
    async with serving() as bench:
        bench.say(replace(IPXE, options={**IPXE.options, **wanted}))
        granted, _ = await bench.hear()
        assert granted.message_type is MessageType.ACK
        assert granted.file == "http://172.30.0.1/boot/08-00-27-00-00-02/script.ipxe"
        assert bench.lab.seen == [(IPXE.mac, Stage.LEASED, "172.30.0.5, iPXE")]


async def test_a_refused_lease_is_not_noted_as_one() -> None:
    wanted = {53: b"\x03", 50: b"\xac\x1e\0\x63", 54: b"\xac\x1e\0\1"}
    async with serving() as bench:
        bench.say(replace(IPXE, options={**IPXE.options, **wanted}))
        refused, address = await bench.hear()
        assert refused.message_type is MessageType.NAK
        assert address == ("255.255.255.255", 68)
        assert bench.lab.seen == []


async def test_an_installed_system_gets_its_address_and_is_no_boot() -> None:
    async with serving() as bench:
        bench.say(INSTALLED)
        offer, _ = await bench.hear()
        assert (offer.yiaddr, offer.file) == (INTERFACE.address, "")
        assert bench.lab.seen == []


async def test_whatever_asks_anew_has_begun_to_boot_and_what_renews_has_not() -> None:
    renewal = replace(INSTALLED, ciaddr=IPv4Address("172.30.0.5"), options={**INSTALLED.options, 53: b"\x03"})
    selecting = {53: b"\x03", 50: b"\xac\x1e\0\5", 54: b"\xac\x1e\0\1"}
    for packet, begun in (
        (FIRMWARE, [FIRMWARE.mac]),
        (replace(IPXE, options={**IPXE.options, **selecting}), [IPXE.mac]),
        (INSTALLED, [INSTALLED.mac]),
        (renewal, []),
        (replace(INSTALLED, options={**INSTALLED.options, 60: b"tinkbox-osie"}), []),
    ):
        async with serving() as bench:
            bench.say(packet)
            await bench.hear()
            assert bench.lab.begun == begun


async def test_unknown_machines_hear_nothing_but_are_told_of() -> None:
    async with serving(known=[INSTALLED.mac]) as bench:
        bench.say(FIRMWARE, INSTALLED)
        offer, _ = await bench.hear()
        assert offer.mac == INSTALLED.mac
        assert bench.line.sent.empty()
        assert [mac for mac, _, _ in bench.lab.seen] == [FIRMWARE.mac]


async def test_noise_is_counted_and_hurts_nobody() -> None:
    async with serving() as bench:
        bench.say(b"", b"\xff" * 300, encode(FIRMWARE)[:250], replace(FIRMWARE, op=Op.REPLY), b"x" * 9000, INSTALLED)
        offer, _ = await bench.hear()
        assert offer.mac == INSTALLED.mac
        assert bench.line.sent.empty()
        assert bench.server.malformed == 4


async def test_more_packets_than_one_round_reads_are_all_answered() -> None:
    async with serving() as bench:
        bench.say(*(replace(INSTALLED, xid=number) for number in range(150)))
        assert [(await bench.hear())[0].xid for _ in range(150)] == list(range(150))


async def test_a_relayed_request_is_answered_to_the_relay() -> None:
    async with serving() as bench:
        relayed = replace(INSTALLED, giaddr=IPv4Address("10.9.0.1"), options={**INSTALLED.options, 82: b"\1\1x"})
        bench.say(relayed)
        offer, address = await bench.hear()
        assert address == ("10.9.0.1", 67)
        assert offer.options[82] == b"\1\1x"


async def test_where_the_kernel_cannot_be_told_the_hardware_address_everybody_hears() -> None:
    async with serving() as bench:
        bench.say(replace(INSTALLED, flags=0))
        _, address = await bench.hear()
        assert address == ("255.255.255.255", 68)


async def test_a_machine_that_refuses_an_earlier_reply_is_no_trouble_for_the_next(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving() as bench:
        bench.line.troubles = [ConnectionRefusedError(111, "Connection refused")]
        bench.say(INSTALLED)
        offer, _ = await bench.hear()
        assert offer.mac == INSTALLED.mac
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_reply_that_cannot_be_sent_is_logged_and_the_next_one_goes_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving() as bench:
        bench.line.unreachable = {"10.9.0.1"}
        bench.say(replace(INSTALLED, giaddr=IPv4Address("10.9.0.1")), INSTALLED)
        _, address = await bench.hear()
        assert address == ("255.255.255.255", 68)
    assert "reply to 10.9.0.1 failed" in caplog.text


async def test_what_machines_are_told_stands_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "tinkbox.boot.dhcp"):
        async with serving() as bench:
            bench.say(FIRMWARE, INSTALLED)
            await bench.hear()
            await bench.hear()
    (record,) = caplog.records
    assert record.getMessage() == "OFFER to 08:00:27:00:00:02 (PXE, architecture 7), 172.30.0.5: snponly.efi"
    assert record.__dict__["action"] == "dhcp.reply"
    assert record.__dict__["mac"] == "08:00:27:00:00:02"
