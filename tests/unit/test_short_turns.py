"""What one turn of the event loop handles: little of a flood, and before each callback what is urgent."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from selectors import EVENT_READ, EVENT_WRITE

import pytest

from tinkbox.short_turns import EVENTS, LEAST, Connection, EventLoop, ShortTurns, Urgent


class Pipe:
    """A pipe with a byte in it, and its end to read from."""

    def __init__(self) -> None:
        self._end, self.other = os.pipe()
        os.write(self.other, b"x")

    def fileno(self) -> int:
        return self._end

    def close(self) -> None:
        os.close(self._end)
        os.close(self.other)


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def watching(opened: ExitStack, count: int) -> tuple[ShortTurns, list[Pipe]]:
    turns = ShortTurns()
    opened.callback(turns.close)
    pipes = [Pipe() for _ in range(count)]
    for each in reversed(pipes):
        opened.callback(each.close)
        turns.register(each, EVENT_READ, each)
    return turns, pipes


def ready(turns: ShortTurns) -> list[Pipe]:
    return [key.data for key, kinds in turns.select(0) if kinds == EVENT_READ]


def test_a_turn_has_few_events_and_passes_nothing_over(opened: ExitStack) -> None:
    turns, pipes = watching(opened, EVENTS * 3)
    seen = [ready(turns) for _ in range(3)]
    assert [len(each) for each in seen] == [EVENTS] * 3
    assert {each for turn in seen for each in turn} == set(pipes)


def test_groups_take_turns_however_many_of_one_are_ready(opened: ExitStack) -> None:
    turns, pipes = watching(opened, EVENTS * 10)
    crowd, alone = pipes[:-1], pipes[-1]
    turns.group_of |= {each.fileno(): "crowd" for each in crowd}
    turns.group_of[alone.fileno()] = "alone"
    first = ready(turns)
    assert alone in first
    assert len(first) == EVENTS
    seen = {each for _ in range(100) for each in ready(turns)}
    assert seen == set(pipes)


def test_many_groups_have_one_event_of_a_turn_each_and_who_had_it_last_comes_last(opened: ExitStack) -> None:
    turns, pipes = watching(opened, EVENTS * 4)
    name = {each: f"group {at % (EVENTS * 2)}" for at, each in enumerate(pipes)}
    turns.group_of |= {each.fileno(): group for each, group in name.items()}
    for _ in range(5):
        two = [name[each] for _ in range(2) for each in ready(turns)]
        assert len(set(two)) == len(two) == EVENTS * 2


def test_a_connection_is_of_its_group_until_it_is_lost(opened: ExitStack) -> None:
    async def serve() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, EventLoop)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            transport, _ = await loop.create_connection(asyncio.Protocol, sock=ours)
            assert isinstance(transport, Connection)
            transport.take_turns_as("host")
            assert loop.group_of == {ours.fileno(): "host"}
            transport.abort()
            await asyncio.sleep(0)
            assert loop.group_of == {}

    with asyncio.Runner(loop_factory=EventLoop) as runner:
        runner.run(serve())


def test_a_file_that_is_sent_hears_that_its_connection_is_aborted_and_the_next_one_is_heard(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def aborted() -> None:
        loop = asyncio.get_running_loop()
        with socket.socket() as listening, (tmp_path / "large").open("w+b") as file:
            listening.bind(("127.0.0.1", 0))
            listening.listen()
            file.truncate(64 << 20)
            client = socket.create_connection(listening.getsockname())
            transport, _ = await loop.connect_accepted_socket(asyncio.Protocol, listening.accept()[0])
            number = transport.get_extra_info("socket").fileno()
            async with asyncio.TaskGroup() as group:
                sending = group.create_task(_ended(loop.sendfile(transport, file)))
                while not loop.writer(number):  # type: ignore[attr-defined]  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0)
                transport.abort()
                async with asyncio.timeout(60):
                    assert await sending
            client.close()
            with socket.create_connection(listening.getsockname()) as client:
                reader, writer = await asyncio.open_connection(sock=listening.accept()[0])
                assert writer.get_extra_info("socket").fileno() == number
                client.sendall(b"heard")
                async with asyncio.timeout(60):
                    assert await reader.read(5) == b"heard"
                writer.close()

    with asyncio.Runner(loop_factory=EventLoop) as runner:
        runner.run(aborted())
    assert caplog.records == []


async def _ended(sending: Awaitable[int]) -> bool:
    """Whether what is sent is told that it did not arrive."""
    try:
        await sending
    except OSError:
        return True
    return False


def test_what_is_urgent_comes_before_each_callback_until_nobody_reads_it(opened: ExitStack) -> None:
    pipe, told = Urgent(opened.enter_context(closing(Pipe())), 1.0), list[str]()

    async def look() -> None:
        loop = asyncio.get_running_loop()
        loop.add_reader(pipe, told.append, "urgent")
        for name in ("one", "two"):
            loop.call_soon(told.append, name)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert loop.remove_reader(pipe)
        told.append("removed")
        await asyncio.sleep(0)

    with asyncio.Runner(loop_factory=EventLoop) as runner:
        runner.run(look())
    assert told[: told.index("two") + 1][-3:] == ["one", "urgent", "two"]
    assert told[0] == "urgent"
    assert told[-1] == "removed"


def test_what_is_urgent_has_its_share_of_the_time_however_much_else_is_to_be_done(
    opened: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, read, others, enough = 0.0, 0.0, 0, asyncio.Event()
    monkeypatch.setattr("time.perf_counter", lambda: now)

    def reads() -> None:
        nonlocal now, read
        now, read = now + 4 * LEAST, read + 4 * LEAST

    def does_something_else() -> None:
        nonlocal now, others
        now, others = now + LEAST, others + 1
        if others == 10_000:
            enough.set()

    async def look() -> None:
        loop = asyncio.get_running_loop()
        asks = Urgent(opened.enter_context(closing(Pipe())), 0.25)
        loop.add_reader(asks, reads)
        pipes = [opened.enter_context(closing(Pipe())) for _ in range(200)]
        for each in pipes:
            loop.add_reader(each, does_something_else)
        await enough.wait()
        for watched in (asks, *pipes):
            loop.remove_reader(watched)

    with asyncio.Runner(loop_factory=EventLoop) as runner:
        runner.run(look())
    assert 0.2 < read / now < 0.3


def test_what_is_urgent_and_fails_keeps_no_other_from_its_turn(opened: ExitStack) -> None:
    pipe, told = Urgent(opened.enter_context(closing(Pipe())), 1.0), list[object]()

    async def look() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: told.append(context["exception"]))
        loop.add_reader(pipe, {}.__getitem__, "nothing")
        await asyncio.sleep(0)
        loop.remove_reader(pipe)
        told.append("went on")

    with asyncio.Runner(loop_factory=EventLoop) as runner:
        runner.run(look())
    assert told[-1] == "went on"
    assert {type(each) for each in told[:-1]} == {KeyError}


def test_reading_writing_and_the_end_of_a_stream_are_told_apart(opened: ExitStack) -> None:
    turns, (pipe,) = watching(opened, 1)
    turns.register(pipe.other, EVENT_WRITE)
    assert {key.fileobj: kinds for key, kinds in turns.select(0)} == {pipe: EVENT_READ, pipe.other: EVENT_WRITE}
    os.read(pipe.fileno(), 1)
    turns.unregister(pipe.other)
    assert turns.select(0) == []
    assert turns.select(-1) == []


def test_who_waits_for_nothing_is_woken_by_what_comes(opened: ExitStack) -> None:
    turns, (pipe,) = watching(opened, 1)
    assert [key.data for key, _ in turns.select(None)] == [pipe]
    assert [key.data for key, _ in turns.select(5.0)] == [pipe]
