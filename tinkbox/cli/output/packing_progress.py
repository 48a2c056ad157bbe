"""How far packing an image is, on standard error: one line that changes on a terminal, elsewhere a line every few seconds."""

import sys
import time
from collections.abc import Callable
from typing import Final, TextIO

from tinkbox.model.sizes import show_size
from tinkbox.model.system_image import Progress, Stage

ON_TERMINAL: Final = 0.1
ELSEWHERE: Final = 5.0
_WORDS: Final = {
    Stage.CHECKING: "Checking the file",
    Stage.UNPACKING: "Decompressing the file",
    Stage.PACKING: "Packing the disk",
}
ERASE: Final = "\r\x1b[2K"


class PackingProgress:
    """Hears of progress by being called; `close` leaves a terminal's line empty."""

    def __init__(self, out: TextIO | None = None, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._out = sys.stderr if out is None else out
        self._monotonic = monotonic
        self._terminal = self._out.isatty()
        self._told = monotonic()

    def __call__(self, progress: Progress) -> None:
        now = self._monotonic()
        if now - self._told >= (ON_TERMINAL if self._terminal else ELSEWHERE):
            self._told = now
            begin, end = (ERASE, "") if self._terminal else ("", "\n")
            print(f"{begin}{_text(progress)}", end=end, file=self._out, flush=True)

    def close(self) -> None:
        if self._terminal:
            print(ERASE, end="", file=self._out, flush=True)


def _text(progress: Progress) -> str:
    words, done = _WORDS[progress.stage], show_size(progress.done)
    if not progress.total:
        return f"{words}: {done}"
    return f"{words}: {done} of {show_size(progress.total)} ({min(100, progress.done * 100 // progress.total)}%)"
