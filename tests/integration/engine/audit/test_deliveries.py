"""Lines of the audit, sent to a syslog server over TCP that is restarted, resets, and reads late: each arrives at least once."""

import asyncio
import json
import socket
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance
from tinkbox.engine.audit.audit import Audit
from tinkbox.engine.audit.delivery import SETTLED, Carrier, LineFile, Syslog, Taken
from tinkbox.model.audit import NONE_BEFORE, Act, Head, Kind, Line, line_of
from tinkbox.model.audit_places import SyslogServer
from tinkbox.store.database import Store

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


class Receiver:
    """A syslog server over TCP on one port, which can be restarted, and the numbers of the lines that its program read."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.port = 0
        self._server: socket.socket | None = None
        self._connection: socket.socket | None = None
        self._unread = b""
        self.begin()

    def begin(self) -> None:
        self._server = socket.create_server(("127.0.0.1", self.port))
        self._server.settimeout(60)
        self.port = self._server.getsockname()[1]

    def accept(self) -> None:
        assert self._server is not None
        self._connection, _ = self._server.accept()
        self._connection.settimeout(60)
        self._unread = b""

    def read(self, number: int) -> None:
        """Read lines until one has this number."""
        assert self._connection is not None
        while number not in self.numbers:
            self._unread += self._connection.recv(1000)
            while self._unread:
                length, _, rest = self._unread.partition(b" ")
                if not rest or len(rest) < int(length):
                    break
                message, self._unread = rest[: int(length)], rest[int(length) :]
                self.numbers.append(json.loads(message.partition(b" - audit - ")[2])["number"])

    def end(self, *, resets: bool = False) -> None:
        """What is unread is lost with it."""
        for each in (self._connection, self._server):
            if each is not None:
                if resets:
                    each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                each.close()
        self._connection = self._server = None


class Wall:
    """Time as it is told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Lab:
    audit: Audit
    store: Store
    receiver: Receiver
    wall: Wall
    places: list[Syslog] = field(default_factory=list)

    def carrier(self) -> Carrier:
        server = SyslogServer(host="127.0.0.1", port=self.receiver.port, tcp=True)
        self.places.append(Syslog(server, "box", self.wall))
        return Carrier(self.audit, self.places[-1])

    async def write(self, number: int) -> None:
        for _ in range(number):
            await self.audit.begin(Act(kind=Kind.ASKED, what="PUT /v1/hardware"))


@pytest.fixture
def lab(box: Appliance) -> Iterator[Lab]:
    receiver = Receiver()
    made = Lab(Audit(box.store, box.wakeups, box.clock, box.clock.steady), box.store, receiver, Wall())
    yield made
    for each in made.places:
        each.close()
    receiver.end()


async def waiting(lab: Lab, carrier: Carrier) -> int:
    return (await carrier.standing(await lab.audit.newest())).waiting


async def all_acknowledged(lab: Lab, carrier: Carrier) -> None:
    while await carrier.carry() or await waiting(lab, carrier):
        pass


@pytest.mark.parametrize("resets", [False, True])
async def test_no_line_is_lost_when_the_receiver_is_restarted_between_two_lines(lab: Lab, resets: bool) -> None:
    carrier = lab.carrier()
    await carrier.carry()
    for _ in range(3):
        await lab.write(1)
        newest = await lab.audit.newest()
        await carrier.carry()
        lab.receiver.accept()
        lab.receiver.read(newest)
        lab.receiver.end(resets=resets)
        await lab.write(1)
        with pytest.raises(OSError):
            await carrier.carry()
        lab.receiver.begin()
        await carrier.carry()
        lab.receiver.accept()
        lab.receiver.read(newest + 1)
        lab.receiver.end(resets=resets)
        with pytest.raises(OSError):
            await carrier.carry()
        lab.receiver.begin()
    assert sorted(set(lab.receiver.numbers)) == [1, 2, 3, 4, 5, 6]


async def test_what_the_kernel_acknowledged_and_the_program_never_read_is_sent_again(lab: Lab) -> None:
    carrier = lab.carrier()
    await carrier.carry()
    await lab.write(100)
    await all_acknowledged(lab, carrier)
    lab.receiver.accept()
    lab.receiver.read(50)  # in the middle of what it got
    lab.receiver.end()
    with pytest.raises(OSError):
        await carrier.carry()
    lab.receiver.begin()
    while await carrier.carry():
        pass
    lab.receiver.accept()
    lab.receiver.read(100)
    assert set(lab.receiver.numbers) == set(range(1, 101))


async def test_what_stood_for_a_while_is_not_sent_again(lab: Lab) -> None:
    carrier = lab.carrier()
    await carrier.carry()
    await lab.write(3)
    await all_acknowledged(lab, carrier)
    lab.receiver.accept()
    lab.receiver.read(3)
    lab.wall.now += SETTLED
    await carrier.carry()
    await lab.write(1)
    lab.receiver.end()
    with pytest.raises(OSError):
        await carrier.carry()
    lab.receiver.begin()
    await carrier.carry()
    lab.receiver.accept()
    lab.receiver.read(4)
    assert lab.receiver.numbers == [1, 2, 3, 4]


async def test_a_place_does_not_have_what_it_has_not_acknowledged(lab: Lab) -> None:
    carrier = lab.carrier()
    await carrier.carry()
    lines = 10_000
    await lab.store.write(
        lambda tables: [
            tables.audit.add(Act(kind=Kind.OWN, what="w", why="why" * 100), NOW, Head()) for _ in range(lines)
        ]
    )
    async with asyncio.TaskGroup() as group:
        group.create_task(all_acknowledged(lab, carrier))
        while not (await carrier.standing(lines)).sent:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)
        assert await waiting(lab, carrier) > 0
        lab.receiver.accept()
        await asyncio.to_thread(lab.receiver.read, lines)
    assert await waiting(lab, carrier) == 0


class BlackHole:
    """A place that takes no line that is written, until it is `ended` or `takes` lines."""

    name = "tcp://hole:514"

    def __init__(self) -> None:
        self.ended = False
        self.takes = 0

    def reached(self) -> None:
        return None

    def send(self, lines: Sequence[Line]) -> None: ...

    def look(self) -> Taken:
        if self.ended:
            raise TimeoutError(110, "Connection timed out")
        return Taken(acknowledged=self.takes)

    def close(self) -> None: ...


async def test_time_without_an_acknowledgement_counts_from_the_first_line_that_waits(lab: Lab, box: Appliance) -> None:
    hole = BlackHole()
    carrier = Carrier(lab.audit, hole)
    await carrier.carry()
    box.clock.forward(3600)
    begin = box.clock()
    await lab.write(2)
    await carrier.carry()
    standing = await carrier.standing(2)
    assert (standing.waiting, standing.sent, standing.problem, standing.since) == (2, False, "", None)
    box.clock.forward(35)
    hole.ended = True
    with pytest.raises(TimeoutError):
        await carrier.carry()
    box.clock.forward(5)
    hole.ended = False
    await carrier.carry()
    standing = await carrier.standing(2)
    assert (standing.problem, standing.since) == ("Connection timed out", begin), "it is connected, and took nothing"
    hole.takes = 1
    await carrier.carry()
    standing = await carrier.standing(2)
    assert (standing.waiting, standing.sent, standing.problem, standing.since) == (1, True, "", None)


async def test_an_appliance_that_ends_before_its_first_lines_are_taken_sends_them_when_it_is_started_again(
    lab: Lab,
) -> None:
    await lab.write(2)
    first = lab.carrier()
    await first.carry()
    assert (await first.standing(2)).first == 3, "it begins with what is new"
    await lab.write(1)
    await first.carry()
    lab.receiver.end()
    lab.receiver.begin()
    second = lab.carrier()
    await second.carry()
    lab.receiver.accept()
    lab.receiver.read(3)
    assert (await second.standing(3)).first == 3


async def test_what_a_place_lacks_is_counted_by_the_lines_there_are_now(lab: Lab) -> None:
    carrier = lab.carrier()
    await carrier.carry()
    lab.receiver.end()
    for lines in (2, 3):
        await lab.write(lines)
        with pytest.raises(ConnectionRefusedError):
            await carrier.carry()
        await lab.write(1)
        assert await waiting(lab, carrier) == await lab.audit.newest()


async def test_start_after_which_nothing_was_sent_yet_lacks_what_the_last_one_had_not_sent(lab: Lab) -> None:
    first = lab.carrier()
    await first.carry()
    await lab.write(2)
    await all_acknowledged(lab, first)
    assert (await first.standing(2)).sent
    await lab.audit.deliver(lab.places[-1].name, 2)
    await lab.write(3)
    standing = await lab.carrier().standing(5)
    assert (standing.first, standing.waiting, standing.sent, standing.problem) == (1, 3, False, "")


async def test_place_that_cannot_be_examined_at_first_gets_what_is_written_meanwhile(lab: Lab, tmp_path: Path) -> None:
    place = tmp_path / "audit.jsonl"
    place.mkdir()
    await lab.write(1)
    carrier = Carrier(lab.audit, LineFile(place))
    with pytest.raises(IsADirectoryError):
        await carrier.carry()
    await lab.write(2)
    assert await waiting(lab, carrier) == 2
    place.rmdir()
    await carrier.carry()
    assert [json.loads(each)["number"] for each in place.read_text().splitlines()] == [2, 3]


def test_a_place_that_is_gone_is_known_while_nothing_is_sent() -> None:
    receiver = Receiver()
    syslog = Syslog(SyslogServer(host="127.0.0.1", port=receiver.port, tcp=True), "box", lambda: 0.0)
    assert syslog.look() == Taken()
    syslog.send([line_of(Act(kind=Kind.OWN), 1, NOW, NONE_BEFORE)])
    receiver.accept()
    receiver.read(1)
    syslog.look()
    receiver.end()
    with pytest.raises(ConnectionError, match="closed"):
        syslog.look()
    assert syslog.look() == Taken(), "it is connected anew with the next lines"
