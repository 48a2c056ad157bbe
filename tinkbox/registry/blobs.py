"""Content-addressed files.  All of this blocks: an event loop hands it to a thread.

Files are verified once after start and again whenever they changed, or a day later, by hashing them before
the first byte is served.  Hashing while sending would find damage only when the client has it all, could not
check a `Range`, and would cost the kernel's sendfile; clients check digests themselves as well.
"""

import errno
import hashlib
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path

from tinkbox.folder_sync import sync_folder
from tinkbox.model.errors import Invalid, NotFound, Unavailable
from tinkbox.model.image import DIGEST

VERIFIED_FOR = timedelta(days=1)
PIECE = 1 << 20
_log = logging.getLogger(__name__)
Identity = tuple[int, int, int, int]


@contextmanager
def space_needed() -> Iterator[None]:
    """Turns a full disk into Unavailable."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise Unavailable("the registry's disk is full: delete images or make room, then try again") from None
        raise


class Staged:
    """A blob on its way in: hashed as it is written, without a name until it is kept."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self._hash = hashlib.sha256()
        self._file = path.open("xb")

    @property
    def digest(self) -> str:
        """Of what was written so far."""
        return f"sha256:{self._hash.hexdigest()}"

    def write(self, chunk: bytes | bytearray) -> None:
        """Add bytes; raises Unavailable when the disk is full."""
        with space_needed():
            self._file.write(chunk)
            self._file.flush()
        self._hash.update(chunk)
        self.size += len(chunk)

    def finish(self) -> None:
        """Put it on the disk for good; nothing may be written after that."""
        if not self._file.closed:
            with space_needed(), self._file:
                os.fsync(self._file.fileno())

    def discard(self) -> None:
        """Forget it, also after it was kept."""
        with suppress(OSError):  # closing tries once more to write what did not fit
            self._file.close()
        self.path.unlink(missing_ok=True)


class Blobs:
    """The blobs below one folder, and the place for what is on its way in."""

    def __init__(self, root: Path, clock: Callable[[], datetime], new_token: Callable[[], str]) -> None:
        self._folder = root / "blobs" / "sha256"
        self._incoming = root / "incoming"
        self._clock = clock
        self._new_token = new_token
        self._verified: dict[str, tuple[Identity, datetime]] = {}
        shutil.rmtree(self._incoming, ignore_errors=True)
        make_folder(self._folder)
        make_folder(self._incoming)

    def path(self, digest: str) -> Path:
        """Where a blob is, or would be; raises Invalid for what is no sha256 digest."""
        if not DIGEST.match(digest):
            raise Invalid(f"not a sha256 digest: {digest[:100]!r}")
        return self._folder / digest.removeprefix("sha256:")

    def stage(self) -> Staged:
        """A new, empty blob without a name."""
        with space_needed():
            return Staged(self._incoming / self._new_token())

    def keep(self, staged: Staged) -> str:
        """Give a finished blob its name, for good; returns its digest."""
        staged.finish()
        path = self.path(staged.digest)
        staged.path.replace(path)
        sync_folder(path.parent)
        self._verified[staged.digest] = (_identity(path), self._clock())
        return staged.digest

    def add(self, content: bytes) -> str:
        """Keep a small blob; returns its digest."""
        staged = self.stage()
        try:
            staged.write(content)
            return self.keep(staged)
        finally:
            staged.discard()

    def write(self, path: Path, content: bytes) -> None:
        """Write a small file anywhere below the root so that it is there wholly, or as it was before."""
        staged = self.stage()
        try:
            staged.write(content)
            staged.finish()
            with space_needed():
                make_folder(path.parent)
            staged.path.replace(path)
            sync_folder(path.parent)
        finally:
            staged.discard()

    def verified(self, digest: str) -> Path:
        """A blob's file, known to hold what its digest says.

        Raises NotFound.  A damaged one is dropped, so that it can be pushed again, and raises Unavailable.
        """
        path = self.path(digest)
        try:
            identity = _identity(path)
            known = self._verified.get(digest)
            if known and known[0] == identity and self._clock() - known[1] < VERIFIED_FOR:
                return path
            with path.open("rb") as file:
                actual = hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            raise NotFound(f"no blob {digest}") from None
        if actual != path.name:
            self.remove(digest)
            _log.error("blob deleted, which was damaged on the disk: %s", digest, extra={"action": "registry.damaged"})
            raise Unavailable(f"{digest} was damaged on the disk and is dropped: push or load its image again")
        self._verified[digest] = (identity, self._clock())
        return path

    def read(self, digest: str) -> bytes:
        """A small blob's bytes; raises as `verified` does."""
        return self.verified(digest).read_bytes()

    def remove(self, digest: str) -> None:
        """Forget a blob; who is reading it reads on."""
        self._verified.pop(digest, None)
        self.path(digest).unlink(missing_ok=True)

    def __iter__(self) -> Iterator[str]:
        """The digests of all blobs."""
        return (f"sha256:{entry.name}" for entry in os.scandir(self._folder))


def make_folder(path: Path) -> None:
    """Make a folder with its parents, for good."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        sync_folder(path.parent)


def _identity(path: Path) -> Identity:
    status = path.stat()
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
