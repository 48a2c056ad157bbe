"""The TFTP server on a loopback port, with a clock that the test turns."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tinkbox.boot import tftp
from tinkbox.boot.sockets import bind_udp
from tinkbox.boot.tftp import TftpServer

LOADER = bytes(range(256)) * 5  # three blocks
FILES = {"loader.efi": LOADER, "empty": b""}


class Observer:
    def __init__(self) -> None:
        self.told: asyncio.Queue[tuple[str, str, int, float, int]] = asyncio.Queue()

    def loader_fetched(self, peer: str, name: str, size: int, seconds: float, retransmissions: int) -> None:
        self.told.put_nowait((peer, name, size, seconds, retransmissions))


class Machine:
    """A client's socket; everything waits ten seconds at most."""

    def __init__(self, server: tuple[str, int], address: str = "127.0.0.1") -> None:
        self._server = server
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((address, 0))
        self._socket.setblocking(False)

    def say(self, datagram: bytes) -> None:
        self._socket.sendto(datagram, self._server)

    def ask(self, name: str, *options: str, mode: str = "octet") -> None:
        self.say(b"\0\1" + b"".join(part.encode() + b"\0" for part in (name, mode, *options)))

    def acknowledge(self, block: int) -> None:
        self.say(struct.pack("!HH", 4, block))

    async def hear(self) -> bytes:
        datagram, sender = await asyncio.wait_for(asyncio.get_running_loop().sock_recvfrom(self._socket, 2048), 10)
        assert sender == self._server
        return datagram

    async def fetch(self, name: str) -> bytes:
        self.ask(name)
        content, number = b"", 1
        while True:
            datagram = await self.hear()
            assert datagram[:4] == struct.pack("!HH", 3, number)
            content += datagram[4:]
            self.acknowledge(number)
            number += 1
            if len(datagram) < 516:
                return content

    def close(self) -> None:
        self._socket.close()


class Bench:
    def __init__(self, listening: socket.socket) -> None:
        self.observer, self.now = Observer(), 1000.0
        self.address = listening.getsockname()
        self.server = TftpServer(listening, FILES, self.observer, lambda: self.now)
        self._machines: list[Machine] = []

    def machine(self, address: str = "127.0.0.1") -> Machine:
        self._machines.append(Machine(self.address, address))
        return self._machines[-1]

    def close(self) -> None:
        for machine in self._machines:
            machine.close()


@asynccontextmanager
async def serving() -> AsyncIterator[Bench]:
    with bind_udp(interface="", address="127.0.0.1", port=0) as listening:
        bench = Bench(listening)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(bench.server.serve())
            yield bench
            task.cancel()
        bench.close()


async def test_a_file_arrives_and_somebody_is_told() -> None:
    async with serving() as bench:
        assert await bench.machine().fetch("/loader.efi") == LOADER
        assert await asyncio.wait_for(bench.observer.told.get(), 10) == ("127.0.0.1", "loader.efi", 1280, 0.0, 0)


async def test_an_empty_file_is_one_empty_block() -> None:
    async with serving() as bench:
        assert await bench.machine().fetch("empty") == b""


async def test_options_are_agreed_on() -> None:
    async with serving() as bench:
        machine = bench.machine()
        machine.ask("loader.efi", "tsize", "0", "blksize", "1024", "windowsize", "2")
        assert await machine.hear() == b"\0\6blksize\x001024\0tsize\x001280\0windowsize\x002\0"
        machine.acknowledge(0)
        assert await machine.hear() == b"\0\3\0\1" + LOADER[:1024]
        assert await machine.hear() == b"\0\3\0\2" + LOADER[1024:]


async def test_many_machines_are_served_at_once() -> None:
    async with serving() as bench, asyncio.TaskGroup() as group:
        fetching = [group.create_task(bench.machine(f"127.0.0.{n}").fetch("loader.efi")) for n in range(2, 42)]
    assert [task.result() for task in fetching] == [LOADER] * 40


@pytest.mark.parametrize("name", ["nothing", "../loader.efi", "/etc/passwd", "loader.efi/", "LOADER.EFI"])
async def test_only_the_closed_set_of_names_is_served(name: str) -> None:
    async with serving() as bench:
        machine = bench.machine()
        machine.ask(name)
        assert await machine.hear() == b"\0\5\0\1no such file\0"


async def test_writing_and_text_mode_are_refused() -> None:
    async with serving() as bench:
        machine = bench.machine()
        machine.say(b"\0\2loader.efi\0octet\0")
        assert await machine.hear() == b"\0\5\0\2read only\0"
        machine.ask("loader.efi", mode="netascii")
        assert await machine.hear() == b"\0\5\0\4only octet mode\0"


async def test_noise_is_counted_and_strays_get_no_answer() -> None:
    async with serving() as bench:
        machine = bench.machine()
        for datagram in (b"", b"\0\3\0\1x", b"\0\1no-mode", b"\xff" * 700):
            machine.say(datagram)
        machine.acknowledge(7)
        machine.say(b"\0\5\0\0stray\0")
        assert await machine.fetch("empty") == b""
        assert bench.server.malformed == 4


async def test_silence_is_broken_once_the_patience_is_over() -> None:
    async with serving() as bench:
        machine = bench.machine()
        machine.ask("loader.efi")
        first = await machine.hear()
        bench.now += 1.0
        assert await machine.hear() == first
        bench.now += 2.0
        assert await machine.hear() == first
        for number in (1, 2, 3):
            machine.acknowledge(number)
        assert await asyncio.wait_for(bench.observer.told.get(), 10) == ("127.0.0.1", "loader.efi", 1280, 3.0, 2)


async def test_each_repetition_starts_its_patience_anew() -> None:
    async with serving() as bench:
        machine, witness = bench.machine(), bench.machine()
        machine.ask("loader.efi")
        first = await machine.hear()
        for wait in (1.0, 2.0):
            bench.now += wait
            assert await machine.hear() == first
        witness.ask("loader.efi")
        await witness.hear()
        bench.now += 3.5  # less than the four seconds that are due now
        await witness.hear()
        machine.acknowledge(1)
        assert (await machine.hear())[:4] == b"\0\3\0\2"


async def test_echoes_of_old_acknowledgements_do_not_postpone_the_repetition() -> None:
    async with serving() as bench:
        machine = bench.machine()
        machine.ask("loader.efi")
        await machine.hear()
        machine.acknowledge(1)
        second = await machine.hear()
        bench.now += 0.9
        machine.acknowledge(1)
        machine.ask("nothing")  # its answer tells that the echo was handled
        assert await machine.hear() == b"\0\5\0\1no such file\0"
        bench.now += 0.2
        assert await machine.hear() == second


async def test_a_machine_that_went_away_is_given_up_and_forgotten(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as bench:
        machine = bench.machine()
        machine.ask("loader.efi")
        first = await machine.hear()
        for _ in range(6):
            bench.now += 8
            assert await machine.hear() == first
        witness = bench.machine()
        witness.ask("loader.efi")
        await witness.hear()
        bench.now += 8
        assert await witness.hear() == first  # repeated in the same round in which the other is given up
        assert "nothing heard after block 0 of 3" in caplog.text
        machine.acknowledge(1)
        assert await machine.fetch("empty") == b""
        assert (await bench.observer.told.get())[1] == "empty"
        assert bench.observer.told.empty()


async def test_a_size_probe_leaves_room_for_the_real_request_from_the_same_port(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving() as bench:
        machine = bench.machine()
        machine.ask("loader.efi", "tsize", "0")
        assert await machine.hear() == b"\0\6tsize\x001280\0"
        machine.say(b"\0\5\0\0User aborted\0")
        assert await machine.fetch("loader.efi") == LOADER
        assert (await bench.observer.told.get())[1] == "loader.efi"
        assert bench.observer.told.empty()
    assert "gave up" not in caplog.text


async def test_giving_up_in_the_middle_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as bench:
        machine = bench.machine()
        machine.ask("loader.efi")
        await machine.hear()
        machine.acknowledge(1)
        await machine.hear()
        machine.say(b"\0\5\0\3Disk full\0")
        assert await machine.fetch("empty") == b""
    assert "loader.efi to 127.0.0.1: the client gave up at block 1 of 3: 3 Disk full" in caplog.text


async def test_a_request_repeated_before_anything_moved_starts_over_and_a_late_one_is_ignored() -> None:
    async with serving() as bench:
        machine = bench.machine()
        machine.ask("loader.efi", "blksize", "512")
        assert await machine.hear() == b"\0\6blksize\x00512\0"
        machine.ask("loader.efi", "blksize", "512")
        assert await machine.hear() == b"\0\6blksize\x00512\0"
        machine.acknowledge(0)
        assert (await machine.hear())[:4] == b"\0\3\0\1"
        machine.ask("loader.efi", "blksize", "512")
        machine.acknowledge(1)
        assert (await machine.hear())[:4] == b"\0\3\0\2"


async def test_another_request_from_the_same_port_replaces_the_first() -> None:
    async with serving() as bench:
        machine = bench.machine()
        machine.ask("loader.efi")
        await machine.hear()
        machine.acknowledge(1)
        await machine.hear()
        assert await machine.fetch("empty") == b""


async def test_one_address_cannot_take_all_the_room() -> None:
    async with serving() as bench:
        greedy = [bench.machine() for _ in range(tftp.MAX_PER_ADDRESS)]
        for machine in greedy:
            machine.ask("loader.efi")
            await machine.hear()
        late, elsewhere = bench.machine(), bench.machine("127.0.0.2")
        late.ask("empty")
        assert await elsewhere.fetch("loader.efi") == LOADER
        greedy[0].say(b"\0\5\0\0bye\0")
        late.ask("loader.efi")
        # The request for "empty" was never answered: the first thing heard is the loader.
        assert (await late.hear())[:5] == b"\0\3\0\1" + LOADER[:1]


async def test_all_together_take_no_more_than_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tftp, "MAX_TRANSFERS", 1)
    async with serving() as bench:
        first, second = bench.machine("127.0.0.2"), bench.machine("127.0.0.3")
        first.ask("loader.efi")
        await first.hear()
        second.ask("loader.efi")
        second.ask("nothing")
        assert await second.hear() == b"\0\5\0\1no such file\0"
