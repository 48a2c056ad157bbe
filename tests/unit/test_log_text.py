"""Nothing in a message forges a line of the log or steers the terminal of who reads it."""

import io
import logging
from collections.abc import Iterator

import pytest

from tinkbox.log_text import LONGEST, LogText, log_to

EVIL = "bye\n2026-11-24 14:47:30,000 m2 is done\r\x1b[2J\x9b31m\u2028\u202e"
HARMLESS = r"bye\n2026-11-24 14:47:30,000 m2 is done\r\x1b[2J\x9b31m\u2028\u202e"


@pytest.fixture
def log() -> Iterator[logging.Logger]:
    log = logging.getLogger("told")
    log.propagate = False
    log.setLevel(logging.INFO)
    yield log
    for each in list(log.handlers):
        log.removeHandler(each)


@pytest.fixture
def written(log: logging.Logger) -> io.StringIO:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LogText("-"))
    log.addHandler(handler)
    return stream


def test_a_message_is_one_line_whatever_it_quotes(log: logging.Logger, written: io.StringIO) -> None:
    log.info("the client gave up: %s", EVIL)
    log.info(EVIL)
    assert written.getvalue() == f"- the client gave up: {HARMLESS}\n- {HARMLESS}\n"


def test_a_traceback_keeps_its_lines_and_none_begins_like_a_record(log: logging.Logger, written: io.StringIO) -> None:
    try:
        raise ValueError(EVIL)
    except ValueError:
        log.exception("failed", stack_info=True)
    first, *others = written.getvalue().splitlines()
    assert first == "- failed"
    assert others[0] == "    Traceback (most recent call last):"
    assert r"    2026-11-24 14:47:30,000 m2 is done\r\x1b[2J\x9b31m\u2028\u202e" in others
    assert "    Stack (most recent call last):" in others
    assert all(each.startswith("    ") and each.isprintable() for each in others)


def test_text_that_another_formatter_left_is_not_trusted(log: logging.Logger) -> None:
    record = log.makeRecord("told", logging.ERROR, "f", 1, "failed", (), (ValueError, ValueError("x"), None))
    record.exc_text = EVIL
    assert LogText("-").format(record) == "- failed\n    ValueError: x"


def test_a_long_line_is_cut(log: logging.Logger, written: io.StringIO) -> None:
    log.info("x" * 1_000_000)
    assert len(written.getvalue()) == LONGEST + len("…\n")


def test_every_logger_writes_so(monkeypatch: pytest.MonkeyPatch) -> None:
    root, stream = logging.getLogger(), io.StringIO()
    level = root.level
    monkeypatch.setattr(root, "handlers", [])
    try:
        log_to(stream)
        logging.getLogger("aiohttp.server").error("%s", EVIL)
    finally:
        root.setLevel(level)
    assert stream.getvalue().endswith(f" {HARMLESS}\n")
