"""Whether files are what their description says: their sizes at once, their digests in the background.  All of this blocks."""

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tinkbox.model.vitals import MISSING, DamagedFile

# A file that did not change is read again so many seconds after it was read last: disks change bytes without a word.
AGAIN: Final = 3600.0
_PIECE: Final = 1 << 20
# Seconds of rest for each of reading: machines that boot read the same disk.
_REST: Final = 1.0
_Identity = tuple[int, int, int, int]  # number, size, and the times of content and status


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedFile:
    """A file, its size in bytes and its SHA-256 in hex, as its description has them."""

    path: Path
    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    identity: _Identity
    expected: str
    at: float
    how: str


def glance(described: Iterable[DescribedFile]) -> Iterator[DamagedFile]:
    """The files that are missing, have another size or cannot be read, as far as that is known without their content."""
    for each in described:
        status = _glanced(each)
        if isinstance(status, str):
            yield DamagedFile(path=str(each.path), how=status)


def _glanced(each: DescribedFile) -> os.stat_result | str:
    """Its status, or what is wrong."""
    try:
        status = each.path.stat()
    except FileNotFoundError:
        return MISSING
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    if status.st_size != each.size:
        return f"it has {status.st_size} bytes, and {each.size} when it was built"
    return status


class FileDigests:
    """Remembers what it read of each file; `steady` is in seconds."""

    def __init__(self, steady: Callable[[], float], rest: Callable[[float], None] = time.sleep) -> None:
        self._steady = steady
        self._rest = rest
        self._read: dict[Path, _Read] = {}

    def look(self, described: Sequence[DescribedFile]) -> tuple[DamagedFile, ...]:
        """The files that are missing, have another size, cannot be read, or have another digest.

        One is read when it is new, has changed, or was read AGAIN seconds ago.
        """
        for gone in self._read.keys() - {each.path for each in described}:
            del self._read[gone]
        found = ((each, self._trouble(each)) for each in described)
        return tuple(DamagedFile(path=str(each.path), how=how) for each, how in found if how)

    def _trouble(self, each: DescribedFile) -> str:
        status = _glanced(each)
        if isinstance(status, str):
            return status
        identity = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        known = self._read.get(each.path)
        if (
            known is None
            or (known.identity, known.expected) != (identity, each.sha256)
            or self._steady() - known.at >= AGAIN
        ):
            known = _Read(identity=identity, expected=each.sha256, at=self._steady(), how=self._compared(each))
            self._read[each.path] = known
        return known.how

    def _compared(self, each: DescribedFile) -> str:
        hasher, piece = hashlib.sha256(), bytearray(_PIECE)
        try:
            with each.path.open("rb", buffering=0) as file:
                while True:
                    begun = self._steady()
                    count = file.readinto(piece)
                    if not count:
                        break
                    hasher.update(memoryview(piece)[:count])
                    self._rest(_REST * (self._steady() - begun))
        except OSError as error:
            return f"it cannot be read: {error.strerror}"
        if hasher.hexdigest() == each.sha256:
            return ""
        return f"its SHA-256 is {hasher.hexdigest()[:16]}…, and was {each.sha256[:16]}… when it was built"
