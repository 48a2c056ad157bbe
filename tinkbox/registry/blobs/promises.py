"""Blobs that clients were told of: they stay for an hour, whatever else is deleted.

A push asks which blobs are here, or sends them, and names them in its manifest later.  Nobody knows which of several pushes
a manifest ends, so it ends no promise.
"""

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from sys import intern
from typing import Final

from tinkbox.model.images.references import DIGEST
from tinkbox.registry.blobs.journal import Journal, Row

PROMISED_FOR: Final = timedelta(hours=1)


class Promises:
    """By digest; `journal` is the file that keeps them over restarts.  Hold `turn` to decide by them."""

    def __init__(self, journal: Path, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._made: dict[str, datetime] = {}
        self.turn = threading.Lock()
        self._journal = Journal(journal, self._rows)
        for row in self._journal.rows():
            if len(row) == 2 and DIGEST.match(row[0]) and row[1].isdecimal() and len(row[1]) < 12:
                self._made[intern(row[0])] = datetime.fromtimestamp(int(row[1]), UTC)
        self._journal.rewrite()

    def make(self, digest: str) -> None:
        """The blob stays for an hour from now on."""
        now = self._made[intern(digest)] = self._clock()
        self._journal.append(_row(digest, now))

    def hold(self, digest: str) -> bool:
        """Whether a blob has to stay."""
        made = self._made.get(digest)
        if made is None:
            return False
        if self._is_valid(made):
            return True
        del self._made[digest]
        return False

    def until(self, digest: str) -> datetime | None:
        """How long a blob has to stay; None: it need not."""
        made = self._made.get(digest)
        return made + PROMISED_FOR if made is not None and self._is_valid(made) else None

    def _is_valid(self, made: datetime) -> bool:
        # Of a clock that was put back nothing is known.
        return abs(self._clock() - made) < PROMISED_FOR

    def _rows(self) -> Iterator[Row]:
        return (_row(digest, made) for digest, made in list(self._made.items()) if self._is_valid(made))


def _row(digest: str, made: datetime) -> Row:
    return digest, str(int(made.timestamp()))
