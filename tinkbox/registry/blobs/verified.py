"""Which blobs are known to hold what their digests say, and which are damaged, also after a restart.

A file that was hashed counts as what it was for a day, as long as its number, size and times stay.  One that has to be
hashed is hashed once, however many ask meanwhile, and in threads that nothing else waits for.

A blob is damaged from the first time on that its file has another digest, cannot be read, is gone, or is no file.  That ends when it is
kept anew, and when its file changes, such as by `chmod`: what that holds is found when it is hashed.
"""

import errno
import hashlib
import logging
import os
import stat
import struct
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from io import BufferedReader
from pathlib import Path
from sys import intern
from typing import Final

from tinkbox.model.errors import Unavailable
from tinkbox.model.images.references import DIGEST
from tinkbox.registry.blobs.folders import UNREADABLE, Folders
from tinkbox.registry.blobs.journal import Journal, Row

VERIFIED_FOR: Final = timedelta(days=1)
# Processors are for more than this, and disks read two files at a time as quickly as many.
AT_ONCE: Final = 2
PIECE: Final = 1 << 20
_IDENTITY: Final = struct.Struct(">4Q")
_WRAP: Final = (1 << 64) - 1
_NO_FILE: Final = b""
_DAMAGED: Final = "damaged"  # the fourth column of a row that says so; earlier releases pass such a row over
# What is so of this moment, or of this process, and of no file.
_PASSING: Final = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.EINTR, errno.ESTALE, errno.ETIMEDOUT)
_log = logging.getLogger(__name__)


class Verified:
    """Blobs by their digests; `journal` is the file that keeps it over restarts.

    `drop` takes away a file that does not hold what its digest says.  Whoever changes files holds `deciding` meanwhile.
    `folders` tells of those that cannot be entered.
    """

    def __init__(
        self,
        journal: Path,
        clock: Callable[[], datetime],
        deciding: threading.Lock,
        drop: Callable[[str], None],
        folders: Folders,
    ) -> None:
        self._clock = clock
        self._deciding = deciding
        self._drop = drop
        self._folders = folders
        # By digest: which file, and when it was hashed, in seconds since 1970.
        self._known: dict[str, tuple[bytes, int]] = {}
        # By digest: which file was found damaged, _NO_FILE for one that was gone, and since when, likewise.
        self._damaged: dict[str, tuple[bytes, int]] = {}
        self._turn = threading.Lock()
        self._running: dict[str, Future[bool]] = {}
        self._threads: ThreadPoolExecutor | None = None
        self._stopping = threading.Event()
        self._journal = Journal(journal, self._rows)
        for row in self._journal.rows():
            with suppress(ValueError):
                self._take_note(row)
        self._journal.rewrite()

    def holds(self, digest: str, path: Path) -> bool:
        """Whether the file need not be hashed.

        Raises FileNotFoundError, also for a link, and Unavailable for what is no file or cannot be reached.
        """
        try:
            with self._folders.entered(path.parent):
                status = path.lstat()
        except OSError as error:
            if error.errno in UNREADABLE:  # is found again, and told, when the file is opened
                return False
            raise
        if stat.S_ISLNK(status.st_mode):
            raise FileNotFoundError(errno.ENOENT, "a link, which is not followed", str(path))
        if not stat.S_ISREG(status.st_mode):
            if self._note_damage(digest, _identity(status)):
                _log.error("blob damaged, in whose place is no file: %s", path, extra={"action": "registry.damaged"})
            raise Unavailable(f"{path} is no file, and a blob belongs there: remove it")
        identity = _identity(status)
        known = self._known.get(digest)
        return known is not None and known[0] == identity and self._is_within(VERIFIED_FOR, known[1])

    def is_unchanged(self, digest: str, path: str) -> bool:
        """Whether the file is there and as it was when it was hashed, however long ago."""
        known = self._known.get(digest)
        try:
            return known is not None and known[0] == _identity(os.stat(path))  # noqa: PTH116  there are tens of thousands
        except OSError:
            return False

    def was_hashed_within(self, span: timedelta, digest: str) -> bool:
        """Whether a blob was hashed, and found whole, so short a time ago."""
        known = self._known.get(digest)
        return known is not None and self._is_within(span, known[1])

    def note(self, digest: str, path: Path) -> None:
        """The file was hashed on its way in."""
        self._note(digest, path.stat())

    def forget(self, digest: str) -> None:
        """What was known of the file does not count any more."""
        self._known.pop(digest, None)

    def miss(self, digest: str, path: Path) -> None:
        """A blob's file is gone, or is none that can be looked at: it is damaged from now on."""
        self._note_damage(digest, _identity_at(path))

    def damaged_at(self, digest: str, path: Path) -> datetime | None:
        """Since when a blob is damaged, as far as is known; None: it is not.  Reads nothing of most."""
        found = self._damaged.get(digest)
        if found is None:
            return None
        identity, at = found
        with suppress(OSError):
            if _identity(path.lstat()) != identity:
                return None
        return datetime.fromtimestamp(at, UTC)

    def damaged(self) -> Collection[str]:
        """The digests of which `damaged_at` may tell a time."""
        return list(self._damaged)

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
        with self._opened(digest, path) as file:
            status = os.fstat(file.fileno())
            hasher, piece = hashlib.new(digest.partition(":")[0]), bytearray(min(PIECE, status.st_size + 1))
            with _while_readable(path):
                while count := file.readinto(piece):
                    if self._stopping.is_set():
                        raise Unavailable("the appliance stops: ask again when it runs")
                    hasher.update(memoryview(piece)[:count])
        if hasher.hexdigest() == path.name:
            self._note(digest, status)
            return True
        with self._deciding, suppress(FileNotFoundError):
            # Another one may have been pushed into its place meanwhile.
            if _identity(path.stat()) == _identity(status) and self._note_damage(digest, _identity(status)):
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

    def _opened(self, digest: str, path: Path) -> BufferedReader:
        """The open file.  One that cannot be opened is damaged, and stays: perhaps only its mode is wrong."""
        try:
            return path.open("rb")
        except FileNotFoundError:
            raise
        except OSError as error:
            if error.errno in _PASSING:
                raise _ask_again(path, error) from None
            with self._folders.entered(path.parent):
                identity = _identity_at(path)
            if self._note_damage(digest, identity):
                told = f"{path}: {error.strerror}"
                _log.error("blob damaged, which cannot be opened: %s", told, extra={"action": "registry.damaged"})
            raise Unavailable(
                f"{path} cannot be opened: {error.strerror}: let tinkbox's user read it, or push or load its image "
                "again"
            ) from None

    def _is_within(self, span: timedelta, at: int) -> bool:
        age = self._clock() - datetime.fromtimestamp(at, UTC)
        # The moment was cut to seconds; of a clock that was put back nothing is known.
        return timedelta(seconds=-1) <= age < span

    def _note(self, digest: str, status: os.stat_result) -> None:
        known = self._known[intern(digest)] = _identity(status), int(self._clock().timestamp())
        self._damaged.pop(digest, None)
        self._journal.append(_row(digest, *known))

    def _note_damage(self, digest: str, identity: bytes) -> bool:
        """The file is damaged; whether that was not known of it."""
        self._known.pop(digest, None)
        before, since = self._damaged.get(digest, (None, int(self._clock().timestamp())))
        self._damaged[intern(digest)] = identity, since
        if before != identity:
            self._journal.append((*_row(digest, identity, since), _DAMAGED))
        return before != identity

    def _take_note(self, row: Row) -> None:
        """What a row of the journal says; raises ValueError where it is damaged itself."""
        if len(row) not in (3, 4) or not DIGEST.match(row[0]) or row[3:] not in ([], [_DAMAGED]):
            return
        identity, at = bytes.fromhex(row[1]), int(row[2])
        of_these, of_others = (self._damaged, self._known) if row[3:] else (self._known, self._damaged)
        if len(identity) == _IDENTITY.size or (row[3:] and identity == _NO_FILE):
            of_these[intern(row[0])] = identity, at
            of_others.pop(row[0], None)

    def _rows(self) -> Iterator[Row]:
        yield from (_row(digest, *known) for digest, known in list(self._known.items()))
        yield from ((*_row(digest, *found), _DAMAGED) for digest, found in list(self._damaged.items()))


@contextmanager
def _while_readable(path: Path) -> Iterator[None]:
    """Leaves what the disk cannot read any more: as far as it was read it has another digest."""
    try:
        yield
    except OSError as error:
        if error.errno not in UNREADABLE:
            raise _ask_again(path, error) from None


def _ask_again(path: Path, error: OSError) -> Unavailable:
    return Unavailable(f"{path} cannot be read now: {error.strerror}: ask again")


def _row(digest: str, identity: bytes, at: int) -> Row:
    return digest, identity.hex(), str(at)


def _identity_at(path: Path) -> bytes:
    """The same of what lies at a path; _NO_FILE where that is gone or cannot even be looked at."""
    try:
        return _identity(path.lstat())
    except OSError as error:
        if error.errno in (errno.ENOENT, *UNREADABLE):
            return _NO_FILE
        raise


def _identity(status: os.stat_result) -> bytes:
    """What changes when a file does."""
    numbers = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return _IDENTITY.pack(*(each & _WRAP for each in numbers))
