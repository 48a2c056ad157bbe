"""How far a download is, on standard error: one line that changes on a terminal, elsewhere a line every few seconds."""

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from tinkbox.cli.output.packing_progress import ELSEWHERE, ERASE, ON_TERMINAL
from tinkbox.model.sizes import show_size

if TYPE_CHECKING:
    from tinkbox.catalogue.downloading import Arrived


class DownloadProgress:
    """Hears of progress by being called; `close` leaves a terminal's line empty."""

    def __init__(self, name: str, out: TextIO | None = None, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._out = sys.stderr if out is None else out
        self._monotonic = monotonic
        self._terminal = self._out.isatty()
        self._told = monotonic()

    def __call__(self, arrived: "Arrived") -> None:
        now = self._monotonic()
        if now - self._told >= (ON_TERMINAL if self._terminal else ELSEWHERE):
            self._told = now
            begin, end = (ERASE, "") if self._terminal else ("", "\n")
            print(f"{begin}Downloading {self._name}: {_text(arrived)}", end=end, file=self._out, flush=True)

    def close(self) -> None:
        if self._terminal:
            print(ERASE, end="", file=self._out, flush=True)


def _text(arrived: "Arrived") -> str:
    parts = [show_size(arrived.done)]
    if arrived.total:
        parts[0] += f" of {show_size(arrived.total)} ({min(100, arrived.done * 100 // arrived.total)}%)"
    if arrived.rate:
        parts.append(f"{show_size(int(arrived.rate))}/s")
    if arrived.seconds_left is not None:
        minutes, seconds = divmod(int(arrived.seconds_left), 60)
        parts.append(f"{minutes}:{seconds:02} left")
    return ", ".join(parts)
