"""What one turn of the event loop handles: little of a flood, and always what is urgent."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from selectors import EVENT_READ, EVENT_WRITE

import pytest

from tinkbox.short_turns import EVENTS, ShortTurns


class Pipe:
    """A pipe with a byte in it, and its end to read from."""

    def __init__(self, *, urgent: bool = False) -> None:
        self.urgent = urgent
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


def watching(opened: ExitStack, count: int, *, urgent: bool = False) -> tuple[ShortTurns, list[Pipe]]:
    turns = ShortTurns()
    opened.callback(turns.close)
    pipes = [Pipe(urgent=urgent and not number) for number in range(count)]
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


def test_what_is_urgent_comes_first_in_every_turn_and_once(opened: ExitStack) -> None:
    turns, pipes = watching(opened, EVENTS * 5, urgent=True)
    for _ in range(10):
        turn = ready(turns)
        assert turn.count(pipes[0]) == 1
    turns.unregister(pipes[0])
    assert all(pipes[0] not in ready(turns) for _ in range(10))
    turns.register(pipes[0], EVENT_READ, pipes[0])
    assert pipes[0] in ready(turns)


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
