"""The log does not grow by what strangers send."""

import logging
from collections.abc import Iterator

import pytest
from aiohttp.http_exceptions import BadHttpMessage

from tinkbox.door.log_limit import LASTING, LINES, TOLD_EVERY, TRACEBACKS, LogLimit


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
    logs = [logging.getLogger(each) for each in ("limited", LogLimit.__module__)]
    for log in logs:
        log.propagate = False
        log.setLevel(logging.INFO)
        log.addHandler(lines)
    yield lines
    for log in logs:
        log.removeHandler(lines)
        log.propagate = True
        log.setLevel(logging.NOTSET)


def say(number: int, action: str = "tftp.failed") -> None:
    for each in range(number):
        logging.getLogger("limited").info("number %d", each, extra={"action": action})


def fail(number: int, error: Exception) -> None:
    for _ in range(number):
        logging.getLogger("limited").error("failed", exc_info=error)


def test_a_flood_of_one_action_fills_no_log_and_hides_no_other(lines: Lines, clock: Clock) -> None:
    say(5000)
    assert len(lines.written) == LINES.burst
    say(1, "workflow.created")
    fail(1, ValueError("ours"))
    assert lines.written[-2:] == ["number 0", "failed"]
    clock.now += 1 / LINES.a_second
    say(2)
    assert len(lines.written) == LINES.burst + 3


def test_one_action_is_one_flood_wherever_it_is_logged(lines: Lines) -> None:
    say(5000)
    logging.getLogger("limited").warning("elsewhere", extra={"action": "tftp.failed"})
    assert "elsewhere" not in lines.written


def test_what_a_library_logs_counts_for_its_place(lines: Lines) -> None:
    for _ in range(5000):
        logging.getLogger("limited").warning("no action")
    logging.getLogger("limited").warning("another line")
    assert lines.written == ["no action"] * int(LINES.burst) + ["another line"]


def test_what_was_left_out_is_told_once_a_minute(lines: Lines, clock: Clock) -> None:
    say(int(LINES.burst) + 1234)
    say(int(LINES.burst) + 5, "dhcp.reply")
    clock.now += TOLD_EVERY - 0.1
    say(1, "workflow.created")
    assert not [each for each in lines.written if "left out" in each]
    clock.now += 0.1
    say(2, "workflow.created")
    told = [each for each in lines.written if "left out" in each]
    assert told == ["lines left out in the last 60 s: 1,234 of tftp.failed, 5 of dhcp.reply"]


def test_many_actions_that_were_left_out_are_one_short_line(lines: Lines, clock: Clock) -> None:
    for each in range(50):
        say(int(LINES.burst) + 50 - each, f"action.{each}")
    clock.now += TOLD_EVERY
    say(1, "workflow.created")
    assert lines.written[-2].endswith(" 41 of action.9, 820 of others")


def test_a_flood_that_lasts_is_written_ever_more_slowly(lines: Lines, clock: Clock) -> None:
    hours = 10
    for _ in range(hours * 3600):
        clock.now += 1
        say(1)
    written = [each for each in lines.written if "left out" not in each]
    assert len(written) <= LASTING.burst + hours * 3600 * LASTING.a_second
    assert len(lines.written) - len(written) <= hours * 60


def test_tracebacks_are_fewer(lines: Lines) -> None:
    fail(5000, ValueError("ours"))
    assert len(lines.written) == TRACEBACKS.burst


def test_requests_that_are_none_are_not_logged(lines: Lines) -> None:
    fail(1, BadHttpMessage("no request"))
    assert lines.written == []
