"""The syslog receiver over real sockets: what real programs say to it, and what a flood achieves."""

import asyncio
import shutil
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance, appliance, mac
from tinkbox.boot.network.sockets import bind_udp
from tinkbox.boot.syslog import STRANGER_SECONDS, STRANGERS, SyslogServer
from tinkbox.engine.machines.boot_history import Seen
from tinkbox.engine.timeline.syslog import BURST
from tinkbox.model.boot import Stage
from tinkbox.model.hardware import MacAddress
from tinkbox.store.syslog import KEPT_LINES
from tinkbox.wire.syslog import Message

MACHINE, OTHER, STRANGER = "127.1.14.1", "127.1.14.2", "127.1.14.9"
MACS = {MACHINE: mac(1), OTHER: mac(2)}


@dataclass
class Ears:
    """A listener that can be full, and that hears what it admits."""

    heard: asyncio.Queue[tuple[MacAddress, Message]] = field(default_factory=asyncio.Queue)
    full: set[MacAddress] = field(default_factory=set)
    in_vain: int = 0

    def admits(self, mac: MacAddress) -> bool:
        return mac not in self.full

    def said(self, mac: MacAddress, message: Message | None) -> None:
        if message is None:
            self.in_vain += 1
        else:
            self.heard.put_nowait((mac, message))

    async def next(self) -> tuple[MacAddress, Message]:
        async with asyncio.timeout(60):
            return await self.heard.get()


@asynccontextmanager
async def serving(
    listener: object,
    whose: Callable[[str], MacAddress | None] = MACS.get,
    monotonic: Callable[[], float] = time.monotonic,
) -> AsyncIterator[int]:
    """The port that is served."""
    with closing(bind_udp(interface="", address="127.0.0.1", port=0)) as listening:
        async with asyncio.TaskGroup() as parts:
            server = SyslogServer(listening, whose, listener, monotonic)  # type: ignore[arg-type]
            part = parts.create_task(server.serve())
            yield listening.getsockname()[1]
            part.cancel()


def say(address: str, port: int, *datagrams: bytes) -> None:
    with closing(socket.socket(type=socket.SOCK_DGRAM)) as machine:
        machine.bind((address, 0))
        for datagram in datagrams:
            machine.sendto(datagram, ("127.0.0.1", port))


async def run(*command: str) -> None:
    process = await asyncio.create_subprocess_exec(*command)
    async with asyncio.timeout(60):
        assert await process.wait() == 0


@pytest.mark.parametrize("form", ["--rfc3164", "--rfc5424"])
async def test_the_logger_of_linux_is_understood_in_both_forms(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = shutil.which("logger")
    assert program, "the logger of util-linux: package bsdutils"
    monkeypatch.setitem(MACS, "127.0.0.1", mac(3))
    ears = Ears()
    async with serving(ears) as port:
        where = ["--server", "127.0.0.1", "--port", str(port), "--udp"]
        await run(program, *where, form, "--tag", "installer", "--priority", "daemon.err", "no disk: [gave] up")
        whose, message = await ears.next()
    assert whose == mac(3)
    assert (message.program, message.text) == ("installer", "no disk: [gave] up")
    assert (message.facility, message.severity) == (3, 3)


async def test_who_speaks_is_told_by_the_address_and_strangers_are_not_heard() -> None:
    ears = Ears()
    async with serving(ears) as port:
        say(STRANGER, port, b"<13>let me in")
        say(MACHINE, port, b"<13>one\n<12>two")
        say(OTHER, port, b"", b"<6>three")
        heard = [await ears.next() for _ in range(3)]
    assert [(whose, message.text) for whose, message in heard] == [(mac(1), "one"), (mac(1), "two"), (mac(2), "three")]
    assert ears.heard.empty()


async def test_a_datagram_without_a_word_is_told_of_too() -> None:
    ears = Ears()
    async with serving(ears) as port:
        say(MACHINE, port, b"\n" * 8_000, b"", b"<13>a word")
        await ears.next()
    assert ears.in_vain == 2


async def test_strangers_who_flood_leave_the_others_their_turn() -> None:
    ears, turns = Ears(), 0
    async with serving(ears) as port:
        for number in range(100):
            say(f"127.2.0.{number + 1}", port, b"<13>let me in")
        say(MACHINE, port, b"<13>one")
        async with asyncio.timeout(60):
            while ears.heard.empty():
                await asyncio.sleep(0)
                turns += 1
    assert turns >= 100 / STRANGERS


async def test_whose_a_strangers_address_is_is_looked_up_once_in_a_while() -> None:
    ears, looked, now = Ears(), list[str](), 0.0

    def whose(address: str) -> MacAddress | None:
        looked.append(address)
        return MACS.get(address)

    async with serving(ears, whose, lambda: now) as port:
        for _ in range(2):
            say(STRANGER, port, *[b"<13>let me in"] * 10)
            say(MACHINE, port, b"<13>one")
            await ears.next()
            now += STRANGER_SECONDS
    assert looked == [STRANGER, MACHINE] * 2


async def test_a_machine_that_said_too_much_is_not_even_read() -> None:
    ears = Ears(full={mac(1)})
    async with serving(ears) as port:
        say(MACHINE, port, b"<13>x")
        say(OTHER, port, b"<13>y")
        assert (await ears.next())[0] == mac(2)
    assert ears.heard.empty()


async def test_one_that_floods_neither_hides_others_nor_fills_the_disk(tmp_path: Path) -> None:
    async with appliance(tmp_path / "db") as box:
        for number in (1, 2):
            await box.machine(number)
        async with serving(box.syslog) as port:
            for _ in range(40):
                say(MACHINE, port, *[b"<0>" + b"\x1bx" * 4_000] * 100)
                await asyncio.sleep(0)
            await _until_heard(box, port, b"<13>kernel: still heard", "kernel: still heard")
        await box.syslog.save()
        kept = await box.store.read(lambda tables: tables.syslog.of([mac(1)], 1_000_000))
        (size,) = await box.store.read(
            lambda tables: tables.syslog._sql.execute("SELECT sum(length(text)) FROM syslog").fetchone()
        )
    assert len(kept) == min(KEPT_LINES, int(BURST))
    assert size < 400 * (KEPT_LINES + 2)
    assert all(line.text.isprintable() for line in kept.values())


async def test_what_a_machine_said_is_in_its_timeline(tmp_path: Path) -> None:
    async with appliance(tmp_path / "db") as box:
        await box.machine(2)
        box.machines.progress.saw(mac(2), Stage.RAMDISK)
        async with serving(box.syslog) as port:
            told = b"<6>Nov 21 17:44:30 kernel: [    0.000000] Linux version 6.1\0"
            await _until_heard(box, port, told, "kernel: [    0.000000] Linux version 6.1")


async def _until_heard(box: Appliance, port: int, datagram: bytes, text: str) -> None:
    """A datagram may be lost, also on the way to ourselves: it is sent until it is heard."""
    seen = Seen(box.store, box.machines, box.syslog, box.clock)
    for _ in range(400):
        say(OTHER, port, datagram)
        await asyncio.sleep(0.02)
        if text in [each.detail for each in await seen.story(mac(2))]:
            return
    pytest.fail(f"nobody heard {text}")
