"""The TFTP server on a loopback port, with a clock that the test turns."""

import asyncio
import errno
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tinkbox.boot.network.sockets import bind_udp
from tinkbox.boot.tftp import server as tftp
from tinkbox.boot.tftp.server import MOVES_TOLD_EVERY, TftpServer
from tinkbox.boot.tftp.transfer_ports import TransferPorts
from tinkbox.boot.tftp.transfer_room import STALLED_SECONDS, TransferRoom
from tinkbox.model.boot import Stage
from tinkbox.model.limits import TFTP_TRANSFERS, Ledger, Limit, Room
from tinkbox.model.sightings import Fact
from tinkbox.short_turns import EventLoop
from tinkbox.wire.tftp import DOUBLED, RETRIES, RETRIES_UNHEARD

LOADER = bytes(range(256)) * 5  # three blocks
KNOWN = "127.0.0.9"
FILES = {"loader.efi": LOADER, "empty": b""}


class TftpFiles:
    """The same for everybody, but what a test puts aside for one."""

    def __init__(self) -> None:
        self.files: dict[str, bytes | Path] = dict(FILES)
        self.own: dict[tuple[str, str], bytes | Path] = {}

    def find(self, peer: str, name: str) -> bytes | Path | None:
        return self.own.get((peer, name), self.files.get(name))


class Observer:
    """`told` has who has which loader; `seen` everything, in its order."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[tuple[str, str, Fact, Fact, Fact]] = asyncio.Queue()
        self.seen: list[tuple[str, Stage, dict[str, Fact]]] = []
        self.moved: asyncio.Queue[str] = asyncio.Queue()

    def saw_address(self, address: str, stage: Stage, detail: str = "", **facts: Fact) -> None:
        assert detail
        self.seen.append((address, stage, facts))
        if stage is Stage.LOADER:
            who = address, str(facts["name"]), facts["bytes"], facts["seconds"], facts["retransmissions"]
            self.told.put_nowait(who)

    def moves(self, address: str) -> None:
        self.moved.put_nowait(address)


class Machine:
    """A client's socket; everything waits a minute at most.

    It asks at the server's port, and speaks to where the last answer came from, as RFC 1350 has it.
    """

    def __init__(self, server: tuple[str, int], address: str = "127.0.0.1") -> None:
        self.server = server
        self.line = server
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((address, 0))
        self._socket.setblocking(False)

    def say(self, datagram: bytes) -> None:
        self._socket.sendto(datagram, self.line)

    def ask(self, name: str, *options: str, mode: str = "octet") -> None:
        self.line = self.server
        self.say(b"\0\1" + b"".join(part.encode() + b"\0" for part in (name, mode, *options)))

    def acknowledge(self, block: int) -> None:
        self.say(struct.pack("!HH", 4, block))

    def hears(self) -> bytes:
        """What is there now, if anything is."""
        with suppress(BlockingIOError):
            return self._socket.recv(2048)
        return b""

    async def hear(self) -> bytes:
        loop = asyncio.get_running_loop()
        datagram, self.line = await asyncio.wait_for(loop.sock_recvfrom(self._socket, 2048), 60)
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
    def __init__(self, listening: socket.socket, limit: Limit, *, single_port: bool) -> None:
        self.tftp_files, self.observer, self.now = TftpFiles(), Observer(), 1000.0
        self.hosts: dict[str, str] = {}  # by the addresses that answered ARP
        self.address = listening.getsockname()
        self.ledger = Ledger(limit, lambda: self.now)
        room = Room(ledger=self.ledger, known=lambda address: address == KNOWN)
        self.server = TftpServer(
            listening,
            self.tftp_files,
            self.observer,
            lambda: self.now,
            TransferRoom(room, lambda: self.now),
            lambda address: self.hosts.get(address, address),
            single_port=single_port,
        )
        self._machines: list[Machine] = []

    def machine(self, address: str = "127.0.0.1") -> Machine:
        self._machines.append(Machine(self.address, address))
        return self._machines[-1]

    def close(self) -> None:
        for machine in self._machines:
            machine.close()


@asynccontextmanager
async def serving(limit: Limit = TFTP_TRANSFERS, *, single_port: bool = False) -> AsyncIterator[Bench]:
    with bind_udp(interface="", address="127.0.0.1", port=0) as listening:
        bench = Bench(listening, limit, single_port=single_port)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(bench.server.serve())
            yield bench
            task.cancel()
        bench.close()


async def test_a_file_arrives_and_somebody_is_told() -> None:
    async with serving() as bench:
        assert await bench.machine().fetch("/loader.efi") == LOADER
        assert await asyncio.wait_for(bench.observer.told.get(), 60) == ("127.0.0.1", "loader.efi", 1280, 0.0, 0)


def test_the_next_block_is_sent_before_anything_else_has_its_turn() -> None:
    async def fetch() -> None:
        heard = asyncio.get_running_loop().create_future()
        async with serving() as bench:
            machine = bench.machine()
            machine.ask("loader.efi")
            await machine.hear()
            asyncio.get_running_loop().call_soon(machine.acknowledge, 1)
            asyncio.get_running_loop().call_soon(lambda: heard.set_result(machine.hears()))
            assert await heard == b"\0\3\0\2" + LOADER[512:1024]

    with asyncio.Runner(loop_factory=EventLoop) as runner:
        runner.run(fetch())


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
        assert await machine.hear() == b"\0\5\0\4only octet mode: tftp -m octet\0"


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
        machine.ask("loader.efi", "blksize", "512")
        first = await machine.hear()
        bench.now += 1.0
        assert await machine.hear() == first
        bench.now += 2.0
        assert await machine.hear() == first
        for number in (0, 1, 2, 3):
            machine.acknowledge(number)
        assert await asyncio.wait_for(bench.observer.told.get(), 60) == ("127.0.0.1", "loader.efi", 1280, 3.0, 2)


async def test_slow_transfer_is_told_to_move_for_as_long_as_it_does() -> None:
    async with serving() as bench:
        machine = bench.machine()
        machine.ask("loader.efi")
        await machine.hear()
        bench.now += MOVES_TOLD_EVERY
        machine.acknowledge(1)
        assert await asyncio.wait_for(bench.observer.moved.get(), 60) == "127.0.0.1"
        while (await machine.hear())[:4] != b"\0\3\0\2":  # it may have been reminded of the first one
            pass
        bench.now += MOVES_TOLD_EVERY
        await machine.hear()  # it is reminded of the second one, and acknowledges nothing
        assert bench.observer.moved.empty()


async def test_a_machine_that_answers_quickly_is_reminded_quickly() -> None:
    async with serving() as bench:
        machine = bench.machine()
        machine.ask("loader.efi")
        await machine.hear()
        bench.now += 0.05
        machine.acknowledge(1)
        second = await machine.hear()
        bench.now += 0.21
        assert await machine.hear() == second
        bench.now += 0.41
        assert await machine.hear() == second


async def test_progress_postpones_the_repetition() -> None:
    async with serving() as bench:
        machine, reporter = bench.machine(), bench.machine()
        machine.ask("loader.efi")
        await machine.hear()
        bench.now += 0.9
        machine.acknowledge(1)
        assert (await machine.hear())[:4] == b"\0\3\0\2"
        reporter.ask("loader.efi", "timeout", "1")
        await reporter.hear()
        bench.now += 0.9
        machine.acknowledge(2)
        assert (await machine.hear())[:4] == b"\0\3\0\3"
        bench.now += 0.9  # for the reporter too long by now, for the machine not yet
        await reporter.hear()
        machine.acknowledge(3)
        told = await asyncio.wait_for(bench.observer.told.get(), 60)
        assert told[4] == 0


async def test_an_error_without_a_text_is_an_end() -> None:
    async with serving() as bench:
        machine = bench.machine()
        machine.ask("loader.efi")
        await machine.hear()
        machine.say(b"\0\5\0\1")
        assert await machine.fetch("empty") == b""
        failed = [facts["why"] for _, stage, facts in bench.observer.seen if stage is Stage.LOADER_FAILED]
        assert failed == ["gave up"]


async def test_requests_that_replace_each_other_take_the_room_of_one() -> None:
    async with serving() as bench:
        machine, others = bench.machine(), [bench.machine() for _ in range(TFTP_TRANSFERS.each - 1)]
        for number in range(2 * TFTP_TRANSFERS.each):
            machine.ask("loader.efi" if number % 2 else "empty")
            await machine.hear()
        for other in others:
            other.ask("loader.efi")
            assert (await other.hear())[4:] == LOADER[:512]


async def test_each_repetition_starts_its_patience_anew() -> None:
    async with serving() as bench:
        machine, reporter = bench.machine(), bench.machine()
        machine.ask("loader.efi", "blksize", "512")
        first = await machine.hear()
        for wait in (1.0, 2.0):
            bench.now += wait
            assert await machine.hear() == first
        reporter.ask("loader.efi", "blksize", "512")
        await reporter.hear()
        bench.now += 3.5  # less than the four seconds that are due now
        await reporter.hear()
        machine.acknowledge(0)
        assert (await machine.hear())[:4] == b"\0\3\0\1"


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
        machine.ask("loader.efi", "blksize", "512")
        first = await machine.hear()
        for _ in range(RETRIES_UNHEARD):
            bench.now += 8
            assert await machine.hear() == first
        reporter = bench.machine()
        reporter.ask("loader.efi", "blksize", "512")
        await reporter.hear()
        bench.now += 8
        assert await reporter.hear() == first  # repeated in the same round in which the other is given up
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
    assert "loader.efi to 127.0.0.1: the client gave up at block 1 of 3: 3 'Disk full'" in caplog.text


async def test_a_request_repeated_before_anything_moved_is_answered_from_the_same_port_and_a_late_one_is_ignored() -> (
    None
):
    async with serving() as bench:
        machine = bench.machine()
        machine.ask("loader.efi", "blksize", "512")
        assert await machine.hear() == b"\0\6blksize\x00512\0"
        first = machine.line
        bench.now += DOUBLED
        machine.ask("loader.efi", "blksize", "512")
        assert await machine.hear() == b"\0\6blksize\x00512\0"
        assert machine.line == first
        machine.acknowledge(0)
        assert (await machine.hear())[:4] == b"\0\3\0\1"
        ours = machine.line
        machine.ask("loader.efi", "blksize", "512")
        machine.line = ours
        machine.acknowledge(1)
        assert (await machine.hear())[:4] == b"\0\3\0\2"


async def test_a_request_that_the_network_doubled_ends_no_transfer_that_its_client_follows() -> None:
    async with serving() as bench:
        machine = bench.machine()
        for _ in range(2):
            machine.ask("loader.efi")
        for block in (1, 2, 3):
            assert (await machine.hear())[:4] == struct.pack("!HH", 3, block)
            machine.acknowledge(block)


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
        greedy = [bench.machine() for _ in range(TFTP_TRANSFERS.each)]
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


async def test_transfers_that_stopped_do_not_lock_their_address_out() -> None:
    async with serving() as bench:
        dead, busy = [bench.machine() for _ in range(TFTP_TRANSFERS.each - 1)], bench.machine()
        for machine in [busy, *dead]:
            machine.ask("loader.efi")
            await machine.hear()
        for machine in dead:
            machine.acknowledge(1)
            await machine.hear()
        bench.now += STALLED_SECONDS
        busy.acknowledge(1)
        assert (await busy.hear())[:4] == b"\0\3\0\2"
        assert await bench.machine().fetch("loader.efi") == LOADER
        (failed,) = [facts for _, stage, facts in bench.observer.seen if stage is Stage.LOADER_FAILED]
        assert (failed["why"], failed["block"]) == ("gave way", 1)
        assert failed["message"] == "it gave way to another transfer after block 1 of 3: all room was taken"
        busy.acknowledge(2)
        assert (await busy.hear())[:4] == b"\0\3\0\3"


async def test_one_host_cannot_take_all_the_room_with_many_addresses() -> None:
    """As who takes the addresses of machines that are off: it is known by its MAC as soon as it was sent anything."""
    addresses = [f"127.0.1.{number}" for number in range(1, 6)]
    async with serving(replace(TFTP_TRANSFERS, each=3, all=20)) as bench:
        for address in addresses:
            machine = bench.machine(address)
            machine.ask("loader.efi")
            await machine.hear()
            bench.hosts[address] = "02:00:00:00:00:66"
            machine.acknowledge(1)
        assert await bench.machine("127.0.0.2").fetch("loader.efi") == LOADER
        assert bench.ledger.held_by("02:00:00:00:00:66") == 3
        assert not any(map(bench.ledger.held_by, addresses))


async def test_when_all_is_taken_who_has_most_gives_way_to_who_has_less() -> None:
    """However many machines' MACs and addresses a host speaks in, and although its transfers move."""
    async with serving(replace(TFTP_TRANSFERS, each=2, all=8)) as bench:
        greedy = [bench.machine(address) for address in ("127.0.0.2", "127.0.0.3") for _ in range(2)]
        for machine in greedy:
            machine.ask("loader.efi")
            await machine.hear()
            machine.acknowledge(1)
            await machine.hear()
        late, later, last = bench.machine("127.0.0.4"), bench.machine("127.0.0.5"), bench.machine("127.0.0.6")
        for machine in (late, later):
            machine.ask("loader.efi")
            assert (await machine.hear())[:4] == b"\0\3\0\1"
            machine.acknowledge(1)
            assert (await machine.hear())[:4] == b"\0\3\0\2"
        last.ask("loader.efi")  # everybody has one by now
        for machine in (late, later):
            machine.acknowledge(2)
            assert (await machine.hear())[:4] == b"\0\3\0\3"
        assert bench.ledger.held_by("127.0.0.2") == bench.ledger.held_by("127.0.0.3") == 1


async def test_a_transfer_that_gives_way_to_its_own_host_leaves_nothing_behind() -> None:
    async with serving(replace(TFTP_TRANSFERS, each=2, all=4)) as bench:
        first, second = bench.machine("127.0.0.2"), bench.machine("127.0.0.2")
        for machine in (first, second):
            machine.ask("loader.efi")
            await machine.hear()
        bench.hosts["127.0.0.2"] = "02:00:00:00:00:66"
        first.acknowledge(1)
        second.acknowledge(1)
        assert (await second.hear())[:4] == b"\0\3\0\2"
        assert (bench.ledger.held_by("127.0.0.2"), bench.ledger.held_by("02:00:00:00:00:66")) == (0, 1)


async def test_who_asks_without_end_is_not_always_answered_and_slows_nobody() -> None:
    async with serving() as bench:
        insistent, reporter = bench.machine(), bench.machine("127.0.0.2")
        for _ in range(int(tftp.REQUESTS.burst)):
            insistent.ask("nothing")
            await insistent.hear()
        insistent.ask("nothing")
        assert await reporter.fetch("loader.efi") == LOADER
        bench.now += 1
        insistent.ask("loader.efi")
        assert await insistent.hear() == b"\0\3\0\1" + LOADER[:512]


async def asked(times: int, machine: Machine) -> int:
    """How many of so many requests are answered."""
    answered = 0
    for _ in range(times):
        machine.ask("nothing")
        machine.say(b"\0\2nothing\0octet\0")  # a request to write is always refused: nothing else comes behind that
        while (await machine.hear())[:4] == b"\0\5\0\1":
            answered += 1
            machine.line = machine.server
    return answered


async def test_who_asks_in_many_names_leaves_each_machine_the_few_requests_that_it_makes() -> None:
    async with serving() as bench:
        names = [bench.machine(f"127.0.1.{number}") for number in range(1, 8)]
        each = int(tftp.REQUESTS.burst)
        assert len(names) * (each - tftp.FEW_REQUESTS.burst) > tftp.REQUESTS_OF_ALL.burst
        answered = sum([await asked(each, machine) for machine in names])
        assert answered == tftp.REQUESTS_OF_ALL.burst + len(names) * tftp.FEW_REQUESTS.burst
        assert await asked(each, bench.machine("127.0.0.2")) == tftp.FEW_REQUESTS.burst


async def test_all_together_take_no_more_than_there_is_and_known_machines_have_a_reserve() -> None:
    async with serving(replace(TFTP_TRANSFERS, each=2, all=2)) as bench:
        first, second, known = bench.machine("127.0.0.2"), bench.machine("127.0.0.3"), bench.machine(KNOWN)
        first.ask("loader.efi")
        await first.hear()
        second.ask("loader.efi")
        second.ask("nothing")
        assert await second.hear() == b"\0\5\0\1no such file\0"
        assert await known.fetch("loader.efi") == LOADER


async def test_who_does_not_see_our_packets_acknowledges_nothing() -> None:
    """It knows the port that was asked, and sends in the name of the machine: from its address and port."""
    async with serving() as bench:
        victim = bench.machine()
        victim.ask("loader.efi", "windowsize", "64")
        assert (await victim.hear())[:2] == b"\0\6"
        asked, ours = bench.address, victim.line
        assert ours != asked
        victim.line = asked
        for block in range(4):
            victim.acknowledge(block)
        victim.ask("nothing")
        assert await victim.hear() == b"\0\5\0\1no such file\0"
        victim.line = ours
        victim.acknowledge(0)
        assert await victim.hear() == b"\0\3\0\1" + LOADER[:512]


async def test_a_transfer_hears_its_own_machine_alone() -> None:
    async with serving() as bench:
        machine, neighbour, same = bench.machine(), bench.machine("127.0.0.2"), bench.machine()
        machine.ask("loader.efi")
        await machine.hear()
        for other in (neighbour, same):
            other.line = machine.line
            other.acknowledge(1)
            other.say(b"\0\5\0\0bye\0")
        machine.acknowledge(1)
        assert await machine.hear() == b"\0\3\0\2" + LOADER[512:1024]


@pytest.mark.parametrize("options", [(), ("blksize", "1468", "windowsize", "64", "tsize", "0")])
async def test_a_victim_who_never_asked_gets_little(options: tuple[str, ...]) -> None:
    async with serving() as bench:
        victim = bench.machine()
        victim.ask("loader.efi", *options)
        asked = 2 + sum(len(word) + 1 for word in ("loader.efi", "octet", *options))
        heard = len(await victim.hear())
        for _ in range(100):
            bench.now += 60
            bench.server._remind()
        victim.ask("nothing")
        while (datagram := await victim.hear())[:2] != b"\0\5":
            heard += len(datagram)
        # Without options the first answer is the first block, by RFC 1350.
        assert heard <= (4 * asked if options else 516)
        assert bench.ledger.used == 0


async def test_requests_in_others_names_make_room_for_who_takes_what_it_asked_for() -> None:
    async with serving(replace(TFTP_TRANSFERS, each=4, all=4)) as bench:
        booting = bench.machine(KNOWN)
        booting.ask("loader.efi", "blksize", "512")
        await booting.hear()
        booting.acknowledge(0)
        first = await booting.hear()
        victim = bench.machine("127.0.0.51")
        victim.ask("loader.efi")
        await victim.hear()
        bench.now += 3
        assert await bench.machine("127.0.0.53").fetch("loader.efi") == LOADER
        booting.acknowledge(1)
        assert first[2:4] == b"\0\1", "who took a block goes on"
        while (datagram := await booting.hear())[2:4] == b"\0\1":
            pass
        assert datagram[2:4] == b"\0\2"


async def test_one_socket_can_carry_all_transfers() -> None:
    async with serving(single_port=True) as bench:
        machine = bench.machine()
        machine.ask("loader.efi")
        await machine.hear()
        assert machine.line == bench.address
        assert await bench.machine("127.0.0.2").fetch("loader.efi") == LOADER


async def test_where_there_is_no_port_to_be_had_the_machine_may_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving() as bench:
        machine = bench.machine()
        with monkeypatch.context() as full:
            full.setattr(TransferPorts, "open", _no_more_files)
            bench.server._handle(b"\0\1loader.efi\0octet\0", ("127.0.0.1", 7), None)
        assert bench.ledger.used == 0
        assert await machine.fetch("loader.efi") == LOADER


def _no_more_files(*_: object, **__: object) -> socket.socket:
    raise OSError(errno.EMFILE, "Too many open files")


# --- what is seen of it


async def test_every_step_is_told_with_its_facts() -> None:
    async with serving() as bench:
        machine = bench.machine()
        machine.ask("loader.efi", "tsize", "0", "blksize", "1024", "windowsize", "2")
        await machine.hear()
        assert bench.observer.seen == [
            (
                "127.0.0.1",
                Stage.LOADER_REQUESTED,
                {"name": "loader.efi", "blksize": 1024, "windowsize": 2, "tsize": 1280},
            )
        ]
        bench.now += 0.5
        machine.acknowledge(0)
        await machine.hear()
        machine.acknowledge(2)
        await asyncio.wait_for(bench.observer.told.get(), 60)
        assert bench.observer.seen[1:] == [
            (
                "127.0.0.1",
                Stage.LOADER,
                {
                    "name": "loader.efi",
                    "bytes": 1280,
                    "seconds": 0.5,
                    "retransmissions": 0,
                    "blksize": 1024,
                    "over": "tftp",
                },
            )
        ]


async def test_a_size_probe_is_told_as_one() -> None:
    async with serving() as bench:
        machine = bench.machine()
        machine.ask("loader.efi", "tsize", "0")
        await machine.hear()
        machine.say(b"\0\5\0\0User aborted\0")
        await machine.fetch("empty")
        failed = [facts for _, stage, facts in bench.observer.seen if stage is Stage.LOADER_FAILED]
        assert failed == [
            {
                "name": "loader.efi",
                "block": 0,
                "blocks": 3,
                "blksize": 512,
                "why": "probe",
                "message": "",
                "heard": 0,
                "retransmissions": 0,
                "recovered": 0,
            }
        ]


async def test_where_a_machine_fell_silent_is_told() -> None:
    async with serving() as bench:
        machine, reporter = bench.machine(), bench.machine()
        machine.ask("loader.efi")
        await machine.hear()
        machine.acknowledge(1)
        await machine.hear()
        for _ in range(RETRIES):
            bench.now += 8
            await machine.hear()
        reporter.ask("loader.efi", "blksize", "512")
        await reporter.hear()
        bench.now += 8
        await reporter.hear()
        (facts,) = (facts for _, stage, facts in bench.observer.seen if stage is Stage.LOADER_FAILED)
        assert (facts["why"], facts["block"], facts["blocks"], facts["blksize"]) == ("silence", 1, 3, 512)
        assert facts["message"] == "nothing heard after block 1 of 3"


async def test_how_often_a_transfer_went_on_after_blocks_were_sent_again_is_told_where_it_stops() -> None:
    async with serving() as bench:
        bench.tftp_files.files["large"] = bytes(512 * 9)
        machine, reporter = bench.machine(), bench.machine()
        machine.ask("large")
        await machine.hear()
        machine.acknowledge(1)
        for block in (2, 3, 4):
            assert (await machine.hear())[:4] == struct.pack("!HH", 3, block)
            bench.now += 8
            assert (await machine.hear())[:4] == struct.pack("!HH", 3, block)
            machine.acknowledge(block)
        await machine.hear()
        for _ in range(RETRIES):
            bench.now += 32
            await machine.hear()
        reporter.ask("loader.efi", "blksize", "512")
        await reporter.hear()
        bench.now += 64
        await reporter.hear()
        (facts,) = (
            facts for _, stage, facts in bench.observer.seen if stage is Stage.LOADER_FAILED and facts["block"] == 4
        )
        assert (facts["why"], facts["recovered"], facts["retransmissions"]) == ("silence", 3, 3 + RETRIES)


@pytest.mark.parametrize("name", ["pxelinux.cfg/default", ""])
async def test_what_is_not_served_is_told(name: str) -> None:
    async with serving() as bench:
        machine = bench.machine()
        machine.ask(name)
        assert (await machine.hear())[:4] == b"\0\5\0\1"
        ((_, stage, facts),) = bench.observer.seen
        assert (stage, facts["name"], facts["why"]) == (Stage.LOADER_FAILED, name, "not found")


async def test_a_request_that_is_repeated_is_told_once() -> None:
    async with serving() as bench:
        machine = bench.machine()
        for _ in range(3):
            machine.ask("loader.efi", "blksize", "512")
            await machine.hear()
            bench.now += DOUBLED
        assert [stage for _, stage, _ in bench.observer.seen] == [Stage.LOADER_REQUESTED]


# --- files that are read as they are sent


async def test_a_file_is_read_as_it_is_sent_and_closed_after_the_last(tmp_path: Path) -> None:
    async with serving() as bench:
        (tmp_path / "ramdisk").write_bytes(LOADER)
        bench.tftp_files.files["ramdisk"] = tmp_path / "ramdisk"
        first, second = bench.machine(), bench.machine()
        before = len(list(Path("/proc/self/fd").iterdir()))
        for machine in (first, second):
            machine.ask("ramdisk")
            assert (await machine.hear())[4:] == LOADER[:512]
        assert len(list(Path("/proc/self/fd").iterdir())) == before + 3  # the file, and a port for each
        first.say(b"\0\5\0\0enough\0")
        for number in (1, 2, 3):
            second.acknowledge(number)
        assert (await asyncio.wait_for(bench.observer.told.get(), 60))[:3] == ("127.0.0.1", "ramdisk", 1280)
        assert len(list(Path("/proc/self/fd").iterdir())) == before


async def test_each_machine_gets_its_own_file_of_the_same_name() -> None:
    async with serving() as bench:
        bench.tftp_files.own["127.0.0.2", "grub.cfg"] = b"boot the OSIE"
        bench.tftp_files.own["127.0.0.3", "grub.cfg"] = b"boot the disk"
        assert await bench.machine("127.0.0.2").fetch("grub.cfg") == b"boot the OSIE"
        assert await bench.machine("127.0.0.3").fetch("grub.cfg") == b"boot the disk"


async def test_a_file_that_is_gone_is_not_found(tmp_path: Path) -> None:
    async with serving() as bench:
        bench.tftp_files.files["ramdisk"] = tmp_path / "gone"
        machine = bench.machine()
        machine.ask("ramdisk")
        assert await machine.hear() == b"\0\5\0\1no such file\0"


async def test_a_file_that_cannot_be_read_any_more_ends_its_transfer(tmp_path: Path) -> None:
    async with serving() as bench:
        (tmp_path / "ramdisk").write_bytes(LOADER)
        bench.tftp_files.files["ramdisk"] = tmp_path / "ramdisk"
        machine = bench.machine()
        machine.ask("ramdisk")
        await machine.hear()
        (tmp_path / "ramdisk").write_bytes(b"short")
        machine.acknowledge(1)
        assert await machine.hear() == b"\0\5\0\0the file cannot be read\0"
        assert bench.observer.seen[-1][2]["why"] == "unreadable"
        assert await bench.machine().fetch("loader.efi") == LOADER
