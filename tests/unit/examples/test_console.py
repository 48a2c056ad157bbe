import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.lab.console import Console, ConsoleTimeout


class Serial:
    """The machine's end of a serial line."""

    def __init__(self, path: Path) -> None:
        reading, self._writing = os.pipe()
        self.console = Console(os.fdopen(reading, "rb"), path)

    def says(self, data: bytes) -> None:
        os.write(self._writing, data)

    def goes_off(self) -> None:
        if self._writing >= 0:
            os.close(self._writing)
            self._writing = -1
            self.console.close()


@pytest.fixture
def serial(tmp_path: Path) -> Iterator[Serial]:
    line = Serial(tmp_path / "console.log")
    yield line
    line.goes_off()


def test_a_line_is_found_whole_though_it_comes_in_pieces(serial: Serial) -> None:
    serial.says(b"booting\r\nthe system is ")
    serial.says(b"up; motd: hello\r\n")
    assert serial.console.wait_for("system", 60) == "the system is up; motd: hello"


def test_a_half_line_is_not_found(serial: Serial) -> None:
    serial.says(b"first\nthe system is ")
    serial.console.wait_for("first", 60)
    with pytest.raises(ConsoleTimeout, match="not seen within 0 s"):
        serial.console.wait_for("the system", 0)


def test_a_timeout_shows_the_last_lines(serial: Serial) -> None:
    serial.says(b"one\ntwo\n")
    serial.console.wait_for("two", 60)
    with pytest.raises(ConsoleTimeout, match=r"(?s)'three'.*    one\n    two"):
        serial.console.wait_for("three", 0)


def test_a_machine_that_goes_off_is_not_waited_for(serial: Serial) -> None:
    serial.says(b"last words")
    serial.goes_off()
    with pytest.raises(ConsoleTimeout, match=r"(?s)the machine is off.*last words"):
        serial.console.wait_for("never", 600)


def test_what_was_said_last_is_found_after_it_went_off(serial: Serial) -> None:
    serial.says(b"last words")
    serial.goes_off()
    assert serial.console.wait_for("last", 60) == "last words"


def test_firmware_that_places_text_by_cursor_is_read_as_lines(serial: Serial) -> None:
    serial.says(b"\x1b[2J\x1b[01;01H\x1b[0m>>Start PXE over IPv4.\x1b[02;01H  PXE-E18: no server\r\n")
    assert serial.console.wait_for("E18", 60) == "PXE-E18: no server"
    assert serial.console.lines == [">>Start PXE over IPv4.", "PXE-E18: no server"]


def test_everything_is_kept_in_the_file(serial: Serial, tmp_path: Path) -> None:
    serial.says(b"\x1b[1mone\r\n")
    serial.goes_off()
    assert (tmp_path / "console.log").read_bytes() == b"\x1b[1mone\r\n"


def test_a_caller_may_give_up_meanwhile(serial: Serial) -> None:
    def give_up() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        serial.console.wait_for("never", 600, during=give_up)


def test_what_was_shown_before_is_still_there(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    console = Console(os.fdopen(reading, "rb"), tmp_path / "console.log", shown=b"booted\r\nthe worker ")
    os.write(writing, b"waits\r\n")
    assert console.wait_for("worker", 60) == "the worker waits"
    os.close(writing)
    console.close()
    assert console.lines == ["booted", "the worker waits"]
