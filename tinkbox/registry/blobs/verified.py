"""Which blobs are known to hold what their digests say, also after a restart.

A file that was hashed counts as what it was for a day, as long as its number, size and times stay.  One that has to be
hashed is hashed once, however many ask meanwhile, and in threads that nothing else waits for.
"""

import errno
import hashlib
import os
import stat
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from io import BufferedReader
from pathlib import Path
from sys import intern
from typing import Final

from tinkbox.model.errors import Unavailable
from tinkbox.model.images.references import DIGEST
from tinkbox.registry.blobs.journal import Journal, Row

VERIFIED_FOR: Final = timedelta(days=1)
# Processors are for more than this, and disks read two files at a time as quickly as many.
AT_ONCE: Final = 2
PIECE: Final = 1 << 20
_IDENTITY: Final = struct.Struct(">4Q")
_WRAP: Final = (1 << 64) - 1


class Verified:
    """Blobs by their digests; `journal` is the file that keeps it over restarts.

    `drop` takes away a damaged blob.  Whoever changes files holds `deciding` meanwhile.
    """

    def __init__(
        self, journal: Path, clock: Callable[[], datetime], deciding: threading.Lock, drop: Callable[[str], None]
    ) -> None:
        self._clock = clock
        self._deciding = deciding
        self._drop = drop
        # By digest: which file, and when it was hashed, in seconds since 1970.
        self._known: dict[str, tuple[bytes, int]] = {}
        self._turn = threading.Lock()
        self._running: dict[str, Future[bool]] = {}
        self._threads: ThreadPoolExecutor | None = None
        self._stopping = threading.Event()
        self._journal = Journal(journal, self._rows)
        for row in self._journal.rows():
            if len(row) == 3 and DIGEST.match(row[0]) and len(row[1]) == 2 * _IDENTITY.size:
                try:
                    self._known[intern(row[0])] = bytes.fromhex(row[1]), int(row[2])
                except ValueError:
                    continue
        self._journal.rewrite()

    def holds(self, digest: str, path: Path) -> bool:
        """Whether the file need not be hashed; raises FileNotFoundError, also for a link, and Unavailable for what is no file."""
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            raise FileNotFoundError(errno.ENOENT, "a link, which is not followed", str(path))
        if not stat.S_ISREG(status.st_mode):
            raise Unavailable(f"{path} is no file, and a blob belongs there: remove it")
        identity = _identity(status)
        known = self._known.get(digest)
        if known is None or known[0] != identity:
            return False
        age = self._clock() - datetime.fromtimestamp(known[1], UTC)
        # The moment was cut to seconds; of a clock that was put back nothing is known.
        return timedelta(seconds=-1) <= age < VERIFIED_FOR

    def is_unchanged(self, digest: str, path: str) -> bool:
        """Whether the file is there and as it was when it was hashed, however long ago."""
        known = self._known.get(digest)
        try:
            return known is not None and known[0] == _identity(os.stat(path))  # noqa: PTH116  there are tens of thousands
        except OSError:
            return False

    def note(self, digest: str, path: Path) -> None:
        """The file was hashed on its way in."""
        self._note(digest, path.stat())

    def forget(self, digest: str) -> None:
        """The blob is gone."""
        self._known.pop(digest, None)

    def check(self, digest: str, path: Path) -> "Future[bool]":
        """Hash the file in a thread: whether it is what its digest says.

        The future raises FileNotFoundError, and Unavailable when the registry stops meanwhile.  Whoever waits for the same
        digest gets the same future: shield it from being cancelled.
        """
        with self._turn:
            if digest not in self._running:
                if self._threads is None:
                    self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="registry-check")
                self._running[digest] = self._threads.submit(self._checked, digest, path)
            return self._running[digest]

    def check_here(self, digest: str, path: Path) -> bool:
        """The same in this thread, for what is small; raises FileNotFoundError, and Unavailable for what cannot be opened."""
        with _opened(path) as file:
            status = os.fstat(file.fileno())
            hasher, piece = hashlib.new(digest.partition(":")[0]), bytearray(min(PIECE, status.st_size + 1))
            with _while_readable():
                while count := file.readinto(piece):
                    if self._stopping.is_set():
                        raise Unavailable("the appliance stops: ask again when it runs")
                    hasher.update(memoryview(piece)[:count])
        if hasher.hexdigest() == path.name:
            self._note(digest, status)
            return True
        with self._deciding:
            # Another one may have been pushed into its place meanwhile.
            if _identity(path.stat()) == _identity(status):
                self._drop(digest)
        return False

    def close(self) -> None:
        """End what is being hashed."""
        self._stopping.set()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def _checked(self, digest: str, path: Path) -> bool:
        try:
            # It may have been hashed between the question and now.
            return self.holds(digest, path) or self.check_here(digest, path)
        finally:
            with self._turn:
                self._running.pop(digest, None)

    def _note(self, digest: str, status: os.stat_result) -> None:
        known = self._known[intern(digest)] = _identity(status), int(self._clock().timestamp())
        self._journal.append(_row(digest, *known))

    def _rows(self) -> Iterator[Row]:
        return (_row(digest, *known) for digest, known in list(self._known.items()))


def _opened(path: Path) -> BufferedReader:
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Unavailable(f"{path} cannot be opened: {error.strerror}: put that right, or remove it") from None


@contextmanager
def _while_readable() -> Iterator[None]:
    """Leaves what the disk cannot read any more: as far as it was read it has another digest."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.EIO:
            raise


def _row(digest: str, identity: bytes, at: int) -> Row:
    return digest, identity.hex(), str(at)


def _identity(status: os.stat_result) -> bytes:
    """What changes when a file does."""
    numbers = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return _IDENTITY.pack(*(each & _WRAP for each in numbers))
