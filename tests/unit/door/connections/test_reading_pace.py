"""Who sends what costs much is read in small pieces and seldom."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from tests.unit.door.our_loop import in_our_loop
from tinkbox.door.connections.reading_pace import COSTLY, FIRST_PIECE, LARGEST_PIECE, ReadingPace


@dataclass
class Reader(asyncio.Protocol):
    """Each octet takes it so many seconds of the processor."""

    seconds: float = 0.0
    pieces: list[int] = field(default_factory=list)
    read: int = 0

    def data_received(self, data: bytes) -> None:
        self.pieces.append(len(data))
        self.read += len(data)
        until = time.thread_time() + self.seconds * len(data)
        while time.thread_time() < until:
            pass


@dataclass
class Line:
    client: socket.socket
    transport: asyncio.Transport
    reader: Reader

    async def send(self, octets: int) -> None:
        """Returns when all of it was read."""
        whole = self.reader.read + octets
        await asyncio.get_running_loop().sock_sendall(self.client, bytes(octets))
        while self.reader.read < whole:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)


@asynccontextmanager
async def line(pace: ReadingPace, reader: Reader) -> AsyncIterator[Line]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setblocking(False)
        transport, _ = await asyncio.get_running_loop().create_connection(lambda: reader, sock=ours)
        pace.take_over(transport)
        async with asyncio.timeout(60):
            yield Line(theirs, transport, reader)
        transport.close()


@in_our_loop
async def test_what_is_cheap_is_read_in_larger_and_larger_pieces() -> None:
    async with line(ReadingPace(), Reader()) as made:
        await made.send(8 << 20)
        assert made.reader.pieces[0] == FIRST_PIECE
        assert FIRST_PIECE < max(made.reader.pieces) <= LARGEST_PIECE


@in_our_loop
async def test_what_is_costly_is_read_in_small_pieces_and_rests_in_between() -> None:
    async with line(ReadingPace(), Reader(2 * COSTLY / FIRST_PIECE)) as made:
        loop = asyncio.get_running_loop()
        began = loop.time()
        await made.send(10 * FIRST_PIECE)
        assert set(made.reader.pieces) == {FIRST_PIECE}
        # Nine rests of nine times as long as it took; a clock of a millisecond is not asked for more.
        assert loop.time() - began > 9 * 9 * 2 * COSTLY * 0.8


@in_our_loop
async def test_all_that_is_costly_shares_a_time_and_what_is_cheap_waits_for_none() -> None:
    pace = ReadingPace()
    async with (
        line(pace, Reader(2 * COSTLY / FIRST_PIECE)) as first,
        line(pace, Reader(2 * COSTLY / FIRST_PIECE)) as second,
        line(pace, Reader()) as cheap,
    ):
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with asyncio.TaskGroup() as group:
            group.create_task(first.send(5 * FIRST_PIECE))
            group.create_task(second.send(5 * FIRST_PIECE))
            await cheap.send(10)
            assert first.reader.read + second.reader.read < 10 * FIRST_PIECE
        assert loop.time() - began > 8 * 9 * 2 * COSTLY * 0.8


@in_our_loop
async def test_a_protocol_that_has_enough_or_wants_more_is_heard_after_the_rest() -> None:
    class Full(Reader):
        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            made.transport.pause_reading()

    async with line(ReadingPace(), Full(2 * COSTLY / FIRST_PIECE)) as made:
        await made.send(FIRST_PIECE)
        assert not made.transport.is_reading()
        made.transport.resume_reading()
        assert made.transport.is_reading()
        # It rests all the same: nobody reads it within a turn or two.
        await asyncio.get_running_loop().sock_sendall(made.client, b"more")
        for _ in range(3):
            await asyncio.sleep(0)
        assert made.reader.pieces == [FIRST_PIECE]
        await made.send(1)
        assert not made.transport.is_reading()


@in_our_loop
async def test_a_connection_that_closes_while_it_rests_is_over() -> None:
    async with line(ReadingPace(), Reader(2 * COSTLY / FIRST_PIECE)) as made:
        await made.send(FIRST_PIECE)
        made.transport.abort()
        assert not made.transport.is_reading()
        assert await asyncio.get_running_loop().sock_recv(made.client, 1) == b""


@pytest.mark.parametrize("octets", [1, FIRST_PIECE])
@in_our_loop
async def test_the_end_is_heard_behind_a_rest(octets: int) -> None:
    class Ended(Reader):
        def eof_received(self) -> bool | None:
            heard.set()
            return None

    heard = asyncio.Event()
    async with line(ReadingPace(), Ended(2 * COSTLY / octets)) as made:
        await made.send(octets)
        made.client.shutdown(socket.SHUT_WR)
        await heard.wait()
