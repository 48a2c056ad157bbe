"""How far something long is, on standard error: one line that changes on a terminal, elsewhere a line every few seconds."""

import shutil
import sys
import time
from collections.abc import Callable
from contextlib import closing
from typing import Final, Generic, TextIO, TypeVar

from tinkbox.cli.output.printable import clean

T = TypeVar("T")
ON_TERMINAL: Final = 0.1
ELSEWHERE: Final = 5.0
ERASE: Final = "\r\x1b[2K"


class ProgressLine(Generic[T]):
    """Hears of progress by being called, which `worded` words; `close` leaves a terminal's line empty."""

    def __init__(
        self,
        worded: Callable[[T], str],
        out: TextIO | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        *,
        at_once: bool = False,
    ) -> None:
        """With `at_once` a terminal shows each progress, between other lines that are printed."""
        self._worded = worded
        self._out = sys.stderr if out is None else out
        self._monotonic = monotonic
        self._terminal = self._out.isatty()
        self._every = (0.0 if at_once else ON_TERMINAL) if self._terminal else ELSEWHERE
        self._told = monotonic()

    def __call__(self, progress: T) -> None:
        now = self._monotonic()
        if now - self._told >= self._every:
            self._told = now
            if self._terminal:
                # A line that wraps would not be erased as a whole.
                words = self._worded(progress)[: shutil.get_terminal_size().columns - 1]
                print(f"{ERASE}{words}", end="", file=self._out, flush=True)
            else:
                print(self._worded(progress), file=self._out, flush=True)

    def close(self) -> None:
        if self._terminal:
            print(ERASE, end="", file=self._out, flush=True)


def while_it_works(doing: str) -> "closing[ProgressLine[float]]":
    """Hears every second how long the appliance works at something by now, such as `applying 3 files`."""

    def worded(seconds: float) -> str:
        return clean(f"{doing}: the appliance works, {seconds:.0f} s")

    return closing(ProgressLine(worded))
