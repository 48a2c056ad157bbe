"""The operator's terminal while a shell on a machine has it: raw, and afterwards as it was."""

import asyncio
import os
import signal
import sys
import termios
import tty
from contextlib import suppress
from types import TracebackType
from typing import Self

from tinkbox.cli.output.printable import clean
from tinkbox.model.errors import Invalid
from tinkbox.wire.terminal.control_sequences import Traces

PIECE = 32 * 1024
_LAST_WORDS = 1.0
_ENDS = (signal.SIGTERM, signal.SIGHUP)


def is_terminal() -> bool:
    """Whether somebody sits there: standard input and output are a terminal."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


class Told(Exception):
    """The process was told to end by a signal."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class Terminal:
    """An async context manager; within it every byte that is typed is read, and every byte that is written is shown.

    Whatever ends it, an exception or a signal, the terminal is given back as it was: its settings, its screen, its
    cursor.  A signal that ends the process becomes Told.
    """

    async def __aenter__(self) -> Self:
        self._file = _opened()
        self._before = termios.tcgetattr(self._file)
        self._traces = Traces()
        self._told = 0
        self._task = asyncio.current_task()
        self.resized = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGWINCH, self.resized.set)
        for number in _ENDS:
            loop.add_signal_handler(number, self._end, number)
        tty.setraw(self._file, termios.TCSADRAIN)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGWINCH, *_ENDS):
            loop.remove_signal_handler(number)
        try:
            # A terminal that shows nothing any more must not keep us from giving it back.
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(_LAST_WORDS):
                    await self._put(self._traces.undo() + b"\r\n")
        finally:
            with suppress(termios.error):  # it is gone
                termios.tcsetattr(self._file, termios.TCSANOW, self._before)
            os.close(self._file)
        if self._told:
            raise Told(self._told) from None

    @property
    def size(self) -> tuple[int, int]:
        """(rows, columns)."""
        try:
            columns, rows = os.get_terminal_size(sys.stdin.fileno())
        except OSError:
            columns, rows = 0, 0
        return rows or 24, columns or 80

    async def read(self) -> bytes:
        """What was typed next; nothing when the terminal is gone."""
        while True:
            try:
                return os.read(self._file, PIECE)
            except BlockingIOError:
                await ready(self._file)
            except OSError:
                return b""

    async def write(self, content: bytes) -> None:
        """Show it as it is; raises OSError when the terminal is gone."""
        self._traces.add(content)
        await self._put(content)

    async def say(self, text: str) -> None:
        """Show our own words, on lines of their own."""
        lines = "".join(f"\r\n[{clean(line)}]" for line in text.splitlines())
        await self._put(f"{lines}\r\n".encode())

    async def _put(self, content: bytes) -> None:
        loop, room = asyncio.get_running_loop(), asyncio.Event()
        rest = memoryview(content)
        while rest:
            try:
                rest = rest[os.write(self._file, rest[:PIECE]) :]
            except BlockingIOError:
                room.clear()
                loop.add_writer(self._file, room.set)
                try:
                    await room.wait()
                finally:
                    loop.remove_writer(self._file)

    def _end(self, number: int) -> None:
        self._told = number
        if self._task is not None:
            self._task.cancel()


def _opened() -> int:
    """The terminal, opened once more: others share the one we were given, and would not wait for it as we do."""
    flags = os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
    for path in (os.ttyname(sys.stdin.fileno()), "/dev/tty"):
        try:
            return os.open(path, flags)
        except OSError:
            continue
    raise Invalid("this terminal cannot be opened: run tinkbox breakpoint shell -- COMMAND instead")


async def ready(file: int) -> None:
    """Wait until there is something to read; raises PermissionError for a file, where there always is."""
    loop, came = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(file, came.set)
    try:
        await came.wait()
    finally:
        loop.remove_reader(file)
