"""A file with a line for each thing that happened, read at the next start.

It saves work and nothing depends on it: lines are not flushed to the disk, one that was cut off is passed over, and a disk
that is full takes none.  When most lines are out of date the file is written anew.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

SPARE: Final = 1_000
# A line has less than 300 bytes, and there are a few for each blob of tens of thousands.
MAX_JOURNAL: Final = 64 << 20
Row = Sequence[str]
_log = logging.getLogger(__name__)


class Journal:
    """One file; `live` gives the rows of which a new file consists.  Its methods may be called in any thread."""

    def __init__(self, path: Path, live: Callable[[], Iterable[Row]]) -> None:
        self._path = path
        self._live = live
        self._turn = threading.Lock()
        self._lines = self._most = 0

    def rows(self) -> Iterator[Row]:
        """What stands in the file, in the order in which it was appended; nothing where it cannot be read."""
        try:
            if self._path.stat().st_size > MAX_JOURNAL:
                return
            text = self._path.read_bytes().decode("ascii", errors="replace")
        except OSError:
            return
        whole, _, _ = text.rpartition("\n")
        for line in whole.split("\n"):
            yield line.split(" ")

    def append(self, row: Row) -> None:
        """Add a row."""
        with self._turn:
            self._lines += 1
            try:
                if self._lines > self._most:
                    self._rewrite()
                else:
                    with self._path.open("ab", buffering=0) as file:
                        file.write(f"{' '.join(row)}\n".encode())
            except OSError as error:
                _log.debug("journal %s not written: %s", self._path, error)

    def rewrite(self) -> None:
        """Write the file anew, with what is live."""
        with self._turn, suppress(OSError):
            self._rewrite()

    def _rewrite(self) -> None:
        rows = [" ".join(row) for row in self._live()]
        if not rows and not self._path.exists():
            self._most = SPARE
            return
        new = self._path.with_suffix(".new")
        new.write_text("".join(f"{row}\n" for row in rows), encoding="ascii")
        new.replace(self._path)
        self._lines, self._most = len(rows), 2 * len(rows) + SPARE
