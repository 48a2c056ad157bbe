"""A line that breaks, and is dialled again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.unit.worker.shell_fakes import FakeConnection, FakeDoor, until
from tinkbox.model.errors import Denied, Invalid, NotFound, Refusal, Unavailable
from tinkbox.model.shells import ShellEnd
from tinkbox.wire.messages.shell import Channel, Frame, close, status
from tinkbox.worker.shells import line as line_module
from tinkbox.worker.shells.line import Line

ONE, TWO, LAST = Frame(Channel.STDOUT, b"1"), Frame(Channel.STDOUT, b"2"), status(ShellEnd(0))


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_module, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(line_module, "LONGEST_WAIT", 0.04)


class Kept:
    """A line that is kept up, with what came on it."""

    def __init__(self, door: FakeDoor) -> None:
        self.door = door
        self.came: list[Frame] = []
        self.line = Line(lambda: door.shell("a", "s"), self._take)

    @property
    def connections(self) -> list[FakeConnection]:
        return self.door.connections.get("s", [])

    async def connection(self, number: int = 0) -> FakeConnection:
        await until(lambda: len(self.connections) > number)
        return self.connections[number]

    async def _take(self, frame: Frame) -> None:
        self.came.append(frame)


@asynccontextmanager
async def kept(door: FakeDoor) -> AsyncIterator[Kept]:
    kept = Kept(door)
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        keeping = group.create_task(kept.line.keep())
        yield kept
        keeping.cancel()


async def test_frames_go_both_ways_in_order() -> None:
    async with kept(FakeDoor()) as it:
        await it.line.send_when_up(ONE)
        await it.line.send_when_up(TWO)
        connection = await it.connection()
        assert connection.sent == [ONE, TWO]
        connection.say(close(Channel.STDIN), ONE)
        await until(lambda: it.came == [close(Channel.STDIN), ONE])


@pytest.mark.parametrize("end", [Unavailable("broken"), Invalid("no frame"), None])
async def test_a_line_that_ends_is_dialled_again(end: Refusal | None) -> None:
    async with kept(FakeDoor()) as it:
        (await it.connection()).say(end)
        second = await it.connection(1)
        await it.line.send_when_up(TWO)
        assert second.sent == [TWO]


@pytest.mark.parametrize("refusal", [Unavailable("away"), Denied("who are you"), NotFound("no such shell")])
async def test_whatever_the_appliance_answers_it_is_asked_again(refusal: Refusal) -> None:
    async with kept(FakeDoor(refusal=refusal)) as it:
        await until(lambda: it.door.dialled > 3)
        it.door.refusal = None
        await it.line.send_when_up(ONE)
        assert it.connections[0].sent == [ONE]


async def test_the_waits_grow_and_are_short_again_after_something_came(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    sleep = asyncio.sleep

    async def noting(seconds: float) -> None:
        waits.append(seconds)
        await sleep(0)

    async with kept(FakeDoor(refusal=Unavailable("away"))) as it:
        monkeypatch.setattr(line_module.asyncio, "sleep", noting)
        while it.door.dialled < 6:
            await sleep(0)
        it.door.refusal = None
        while not it.connections:
            await sleep(0)
        it.connections[0].say(ONE, Unavailable("broken"))
        while len(it.connections) < 2:
            await sleep(0)
        monkeypatch.undo()
    assert waits[:4] == [0.01, 0.02, 0.04, 0.04]
    assert waits[-1] == 0.01


async def test_what_could_not_be_sent_is_sent_on_the_next_connection() -> None:
    async with kept(FakeDoor(room=False)) as it, asyncio.TaskGroup() as group:
        first = await it.connection()
        sending = group.create_task(it.line.send_when_up(ONE))
        await asyncio.sleep(0.02)
        assert not sending.done(), "it waits for room"
        it.door.room = True
        first.break_off()
        await sending
        assert (await it.connection(1)).sent == [ONE]


async def test_a_late_failure_of_the_old_connection_is_none_of_the_new_one() -> None:
    async with kept(FakeDoor(room=False)) as it, asyncio.TaskGroup() as group:
        old = await it.connection()
        sending = group.create_task(it.line.send_when_up(ONE))
        await asyncio.sleep(0.02)
        it.door.room = True
        old.say(None)
        new = await it.connection(1)
        await asyncio.sleep(0.02)
        old.break_off()
        await sending
        assert new.sent == [ONE]


async def test_the_last_frame_is_said_on_every_connection() -> None:
    async with kept(FakeDoor()) as it:
        first = await it.connection()
        await it.line.send_when_up(ONE)
        await it.line.finish(LAST)
        assert first.sent == [ONE, LAST]
        assert it.line.finished.is_set()
        first.break_off()
        assert (await it.connection(1)).sent == [LAST]


async def test_the_last_frame_waits_for_an_appliance_that_is_away() -> None:
    async with kept(FakeDoor(refusal=Unavailable("away"))) as it:
        await it.line.finish(LAST)
        assert not it.line.finished.is_set()
        it.door.refusal = None
        await it.line.finished.wait()
        assert it.connections[0].sent == [LAST]


async def test_nobody_waits_for_a_line_that_was_hung_up() -> None:
    async with kept(FakeDoor(refusal=Unavailable("away"))) as it, asyncio.TaskGroup() as group:
        sending = group.create_task(it.line.send_when_up(ONE))
        await asyncio.sleep(0.02)
        assert not sending.done()
        it.line.hang_up()
        await sending
        await it.line.send_when_up(TWO)
