"""A shell's recording, played."""

import os
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO

from tinkbox.wire.terminal.asciicast import Happened, Header, Kind, decode, decode_header
from tinkbox.wire.terminal.control_sequences import Traces, without_questions

LONGEST_PAUSE = 2.0


def play(recording: bytes, speed: float) -> None:
    """Show it as it was, on a terminal at its pace; elsewhere all that was printed, at once."""
    lines = BytesIO(recording)
    header = decode_header(lines.readline())
    printed = (happened for happened in decode(lines) if happened.kind is Kind.OUTPUT)
    if not sys.stdout.isatty():
        for happened in printed:
            sys.stdout.buffer.write(happened.text.encode())
        return
    _warn(header)
    with _only_watching() as show:
        for pause, text in paced(printed, speed):
            time.sleep(pause)
            show(text.encode())


def paced(printed: Iterator[Happened], speed: float) -> Iterator[tuple[float, str]]:
    """Each piece of output with the seconds to wait before it."""
    before = 0.0
    for happened in printed:
        yield min(happened.seconds - before, LONGEST_PAUSE) / speed, happened.text
        before = happened.seconds


@contextmanager
def _only_watching() -> Iterator[Callable[[bytes], None]]:
    """Yields what shows output; what is typed meanwhile is not seen, and afterwards the terminal is as it was."""
    traces = Traces()

    def show(content: bytes) -> None:
        content = without_questions(content)
        traces.add(content)
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()

    file = sys.stdout.fileno()
    before = termios.tcgetattr(file)
    quiet = termios.tcgetattr(file)
    quiet[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(file, termios.TCSADRAIN, quiet)
    try:
        yield show
    finally:
        sys.stdout.buffer.write(traces.undo())
        sys.stdout.buffer.flush()
        # Also what the terminal may have answered.
        termios.tcsetattr(file, termios.TCSAFLUSH, before)


def _warn(header: Header) -> None:
    columns, rows = os.get_terminal_size(sys.stdout.fileno())
    if columns < header.width or rows < header.height:
        print(
            f"tinkbox: recorded on {header.width} x {header.height} characters, shown on {columns} x {rows}",
            file=sys.stderr,
        )
