"""A view that `q` or Ctrl-C ends: keys are read without Enter and not shown, and afterwards the terminal is as it was."""

import asyncio
import os
import re
import signal
import sys
import termios
import tty
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from tinkbox.cli.terminal.raw_terminal import Told

_ENDS = (signal.SIGTERM, signal.SIGHUP)
KEYS = 1024
# What arrows, function keys and the keypad send, which may have a q in it.
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.)")


def quits(keys: bytes) -> bool:
    """Whether `q` is among these keys."""
    return b"q" in _SEQUENCE.sub(b"", keys).lower()


class UntilQuit:
    """An async context manager whose body lasts until `q` or Ctrl-C, which is no error.

    Whatever ends it, the terminal is given back as it was, also while the process is stopped by Ctrl-Z.  A signal that
    ends the process becomes Told.  Without a keyboard of its own (standard input is no terminal, or the process runs
    in the background) there is only Ctrl-C.
    """

    async def __aenter__(self) -> Self:
        self._task = asyncio.current_task()
        self._quit = False
        self._told = 0
        self._keyboard = _keyboard()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._end)
        for number in _ENDS:
            loop.add_signal_handler(number, self._end, number)
        if self._keyboard is not None:
            self._before: list[Any] = termios.tcgetattr(self._keyboard)
            loop.add_signal_handler(signal.SIGTSTP, self._stop)
            loop.add_signal_handler(signal.SIGCONT, self._go_on)
            loop.add_reader(self._keyboard, self._typed)
            tty.setcbreak(self._keyboard, termios.TCSADRAIN)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTSTP, signal.SIGCONT, *_ENDS):
            loop.remove_signal_handler(number)
        if self._keyboard is not None:
            loop.remove_reader(self._keyboard)
            self._give_back()
        if self._told:
            raise Told(self._told) from None
        if self._quit and kind is asyncio.CancelledError:
            assert self._task is not None
            self._task.uncancel()
            return True
        return False

    def _typed(self) -> None:
        assert self._keyboard is not None
        try:
            keys = os.read(self._keyboard, KEYS)
        except OSError:
            keys = b""
        if not keys or self._take(keys):
            # Nothing at all is what a terminal gives that is gone.
            asyncio.get_running_loop().remove_reader(self._keyboard)
            self._end()

    def _take(self, keys: bytes) -> bool:
        """Whether what was typed ends it."""
        return quits(keys)

    def _end(self, told: int = 0) -> None:
        self._quit, self._told = True, told or self._told
        if self._task is not None:
            self._task.cancel()

    def _stop(self) -> None:
        """Stop, as Ctrl-Z has it."""
        self._give_back()
        os.kill(os.getpid(), signal.SIGSTOP)

    def _go_on(self) -> None:
        """Begin anew: whatever stopped the process, a shell had the terminal meanwhile.  In the background it still has."""
        if self._has_keyboard:
            assert self._keyboard is not None
            tty.setcbreak(self._keyboard, termios.TCSADRAIN)

    @property
    def _has_keyboard(self) -> bool:
        """Whether what is typed is for us now."""
        return self._keyboard is not None and _is_ours(self._keyboard)

    def _give_back(self) -> None:
        # From the background it would stop us, and the terminal is then as somebody else has it.
        if self._has_keyboard:
            assert self._keyboard is not None
            with suppress(termios.error):  # it is gone
                termios.tcsetattr(self._keyboard, termios.TCSADRAIN, self._before)


def _keyboard() -> int | None:
    """Standard input, where it is a terminal and what is typed there is for us."""
    if sys.stdin is None or not sys.stdin.isatty():
        return None
    file = sys.stdin.fileno()
    return file if _is_ours(file) else None


def _is_ours(file: int) -> bool:
    """Whether we are in the terminal's foreground."""
    try:
        return os.tcgetpgrp(file) == os.getpgrp()
    except OSError:
        return False
