"""The boot server of port 4011, on a real socket."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from ipaddress import IPv4Address

import pytest

from tests.unit.boot.dhcp_bench import FIRMWARE, INSTALLED, SERVICE, Lab, until
from tinkbox.boot.dhcp.boot_server import BootServer
from tinkbox.boot.dhcp.rate_limit import RateLimit
from tinkbox.boot.network.sockets import bind_udp
from tinkbox.model.boot import Stage
from tinkbox.model.hardware import MacAddress
from tinkbox.wire.dhcp.packets import MessageType, Op, Packet, decode, encode

ASKING = replace(FIRMWARE, ciaddr=IPv4Address("172.30.0.77"), options={**FIRMWARE.options, 53: b"\x03"})


class Bench:
    def __init__(self, server: BootServer, lab: Lab, machine: socket.socket, address: tuple[str, int]) -> None:
        self.server, self.lab, self._machine, self._address = server, lab, machine, address

    def say(self, *packets: Packet | bytes) -> None:
        for each in packets:
            self._machine.sendto(each if isinstance(each, bytes) else encode(each), self._address)

    async def hear(self) -> Packet:
        async with asyncio.timeout(60):
            return decode(await asyncio.get_running_loop().sock_recv(self._machine, 2048))


@asynccontextmanager
async def serving(known: Sequence[MacAddress] = (FIRMWARE.mac,)) -> AsyncIterator[Bench]:
    lab = Lab(known)
    machine = bind_udp(interface="", address="127.0.0.1", port=0)
    with machine, bind_udp(interface="", address="127.0.0.1", port=0) as line:
        server = BootServer(line, "lo", lab, SERVICE, RateLimit(lab.knows, lambda: 0.0))
        async with asyncio.TaskGroup() as group:
            task = group.create_task(server.serve())
            yield Bench(server, lab, machine, line.getsockname())
            task.cancel()


async def test_firmware_is_told_its_boot_file_where_it_asked_from() -> None:
    async with serving() as bench:
        bench.say(ASKING)
        reply = await bench.hear()
        assert (reply.message_type, reply.file) == (MessageType.ACK, "snponly.efi")
        assert (reply.ciaddr, reply.yiaddr) == (IPv4Address("172.30.0.77"), IPv4Address(0))
        assert bench.lab.seen == [(FIRMWARE.mac, Stage.BOOT_SERVER, "snponly.efi, PXE, architecture 7")]


async def test_no_answer_is_longer_than_the_firmware_takes() -> None:
    async with serving() as bench:
        bench.say(replace(ASKING, options={**ASKING.options, 57: b"\2\x40", 61: b"x" * 400}))
        reply = await bench.hear()
        assert len(encode(reply)) <= 576 - 28
        assert reply.options[67] == b"snponly.efi"


async def test_noise_strangers_and_installed_systems_hear_nothing() -> None:
    strange = replace(ASKING, mac=MacAddress("08:00:27:00:00:99"))
    async with serving() as bench:
        bench.say(b"", b"\xff" * 300, replace(ASKING, op=Op.REPLY), strange, replace(INSTALLED, mac=FIRMWARE.mac))
        bench.say(replace(ASKING, xid=9))
        assert (await bench.hear()).xid == 9
        assert bench.server.malformed == 2
        assert [(mac, stage) for mac, stage, _ in bench.lab.seen] == [
            (strange.mac, Stage.IGNORED),
            (FIRMWARE.mac, Stage.BOOT_SERVER),
        ]


class Deaf(socket.socket):
    """Takes nothing that is to be sent."""

    refused = 0

    def sendto(self, datagram: bytes, flags: int, address: tuple[str, int]) -> int:  # type: ignore[override]
        self.refused += 1
        raise OSError(22, "Invalid argument")


async def test_what_cannot_be_sent_a_hundred_times_is_not_logged_a_hundred_times(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lab = Lab([FIRMWARE.mac])
    machine = bind_udp(interface="", address="127.0.0.1", port=0)
    with machine, Deaf(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.bind(("127.0.0.1", 0))
        line.setblocking(False)
        server = BootServer(line, "lo", lab, SERVICE, RateLimit(lab.knows, lambda: 0.0))
        async with asyncio.TaskGroup() as group:
            task = group.create_task(server.serve())
            for _ in range(100):
                machine.sendto(encode(ASKING), line.getsockname())
            await until(lambda: line.refused == 100)
            task.cancel()
    assert [record.args[-1] for record in caplog.records if record.args] == [1, 2, 4, 8, 16, 32, 64]
    assert lab.seen == []


async def test_one_that_never_stops_asking_is_not_heard() -> None:
    hostile = encode(replace(ASKING, mac=MacAddress("08:00:27:00:00:99")))
    async with serving() as bench:
        for _ in range(50):
            bench.say(*([hostile] * 20))
            await asyncio.sleep(0)
        bench.say(ASKING)
        assert (await bench.hear()).mac == FIRMWARE.mac
        assert bench.server.throttled > 500
