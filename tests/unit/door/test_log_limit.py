"""The log does not grow by what strangers send."""

import logging
from collections.abc import Iterator

import pytest
from aiohttp.http_exceptions import BadHttpMessage

from tinkbox.door.log_limit import LINES, TRACEBACKS, LogLimit


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.written: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.written.append(record.getMessage())


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lines(clock: Clock) -> Iterator[Lines]:
    lines = Lines()
    lines.addFilter(LogLimit(clock))
    log = logging.getLogger("limited")
    log.propagate = False
    log.addHandler(lines)
    yield lines
    log.removeHandler(lines)


def say(number: int) -> None:
    for each in range(number):
        logging.getLogger("limited").warning("number %d", each)


def fail(number: int, error: Exception) -> None:
    for _ in range(number):
        logging.getLogger("limited").error("failed", exc_info=error)


def test_one_place_of_the_program_fills_no_log_and_hides_no_other(lines: Lines, clock: Clock) -> None:
    say(5000)
    assert len(lines.written) == LINES.burst
    logging.getLogger("limited").warning("something else")
    assert lines.written[-1] == "something else"
    clock.now += 1 / LINES.a_second
    say(1)
    assert lines.written[-1] == f"number 0 (and {5000 - LINES.burst} more of this kind)"


def test_tracebacks_are_fewer(lines: Lines) -> None:
    fail(5000, ValueError("ours"))
    assert len(lines.written) == TRACEBACKS.burst


def test_requests_that_are_none_are_not_logged(lines: Lines) -> None:
    fail(1, BadHttpMessage("no request"))
    assert lines.written == []
