"""The whole terminal for a view: its keys, its screen, its size; and afterwards as it was."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

from tinkbox.cli.terminal.quit_key import UntilQuit

# The other screen, without a cursor, and a line that is wider than thought does not run into the next (xterm's private
# modes); what was there before comes back with the first.
_BEGIN = "\x1b[?1049h\x1b[?25l\x1b[?7l"
_END = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"


class FullScreen(UntilQuit):
    """As UntilQuit, but that keys are read by its body: only Ctrl-C ends it by itself, and a terminal that is gone.

    `changed` is set when the terminal has another size, or has to be drawn anew.
    """

    def __init__(self) -> None:
        self._keys = asyncio.Queue[bytes]()
        self.changed = asyncio.Event()
        self._is_stopped = False

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        asyncio.get_running_loop().add_signal_handler(signal.SIGWINCH, self.changed.set)
        self.write(_BEGIN)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGWINCH)
        self.write(_END)
        return await super().__aexit__(kind, error, trace)

    @property
    def size(self) -> tuple[int, int]:
        """(rows, columns)."""
        try:
            columns, rows = os.get_terminal_size(sys.stdout.fileno())
        except OSError:
            columns, rows = 0, 0
        return rows or 24, columns or 80

    async def read(self) -> bytes:
        """What was typed next."""
        return await self._keys.get()

    def write(self, text: str) -> None:
        """Show it as it is."""
        if self._is_stopped:
            return  # a shell has the terminal; all of it is drawn anew afterwards
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except OSError:
            self._end()  # the terminal is gone

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """As it was before, for as long as another program has it."""
        await self.__aexit__(None, None, None)
        try:
            yield
        finally:
            await self.__aenter__()

    def _take(self, keys: bytes) -> bool:
        self._keys.put_nowait(keys)
        return False

    def _stay_stopped(self) -> None:
        if not self._quit:
            os.kill(os.getpid(), signal.SIGSTOP)

    def _stop(self) -> None:
        self.write(_END)
        self._is_stopped = True
        super()._stop()

    def _go_on(self) -> None:
        if not self._has_keyboard:
            # As any full-screen program in the background: the screen is the shell's.
            self._is_stopped = True
            # Shells continue what they tell to end: that signal is taken first.
            asyncio.get_running_loop().call_soon(self._stay_stopped)
            return
        super()._go_on()
        self._is_stopped = False
        self.write(_BEGIN)
        self.changed.set()
