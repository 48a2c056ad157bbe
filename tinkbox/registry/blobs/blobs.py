"""Content-addressed files.  All of this blocks but for `ready`, `check`, `promise` and `usage`: an event loop hands it to a thread.

Files are verified when they come, whenever they changed, and a day later, by hashing them before
the first byte is served.  Hashing while sending would find damage only when the client has it all, could not
check a `Range`, and would cost the kernel's sendfile; clients check digests themselves as well.
"""

import asyncio
import errno
import hashlib
import logging
import os
import shutil
import stat
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from sys import intern
from typing import Final

from tinkbox.folder_sync import sync_folder
from tinkbox.model.errors import Full, Invalid, NotFound, Unavailable
from tinkbox.model.images.references import ALGORITHMS, DIGEST, algorithm_of, digest_of
from tinkbox.model.images.room import Amount, ImageRoom, Waiting
from tinkbox.model.write_fault import Unwritten, WriteFault
from tinkbox.refused_writes import RefusedWrites, has_room
from tinkbox.registry.blobs.folders import UNREADABLE, Folders
from tinkbox.registry.blobs.promises import Promises
from tinkbox.registry.blobs.room import Room
from tinkbox.registry.blobs.verified import Verified
from tinkbox.unwritable import Unwritable, file_size_limit, unwritable, why_unwritable

PIECE = 1 << 20
TO_THE_MINUTE: Final = "%Y-%m-%d %H:%M UTC"
# What is smaller is hashed at once by whoever asks: it takes less time than to have it done.
SMALL: Final = 4 << 20
_NOT_WRITTEN: Final = (errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, *UNREADABLE)
_log = logging.getLogger(__name__)


def _no_matter(*_: object) -> None:
    return None


@contextmanager
def writing(folder: Path, note: Callable[[Unavailable, Unwritable], None] = _no_matter) -> Iterator[None]:
    """Turns a full disk of the registry's folder into Full, and one that takes nothing into Unavailable; `note` hears of these."""
    try:
        yield
    except OSError as error:
        refusal = _not_written(error, folder)
        if refusal is None:
            raise
        note(refusal, _what_refused(error, folder))
        raise refusal from None


def _what_refused(error: OSError, folder: Path) -> Unwritable:
    seen = unwritable(folder, *_named(error))
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return seen._replace(fault=WriteFault.FULL)
    if error.errno == errno.EROFS:
        return seen._replace(fault=WriteFault.READ_ONLY)
    return seen._replace(fault=WriteFault.FAILING) if error.errno == errno.EIO else seen


def _named(error: OSError) -> tuple[Path, ...]:
    """The file that an error is of; of one that is renamed, its new place."""
    named = error.filename2 or error.filename
    return (Path(os.fsdecode(named)),) if named and not isinstance(named, int) else ()


def _not_written(error: OSError, folder: Path) -> Unavailable | None:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        seen = why_unwritable(folder) or "delete images or make room"
        return Full(f"the registry's disk is full ({error.strerror}): {seen}, then try again")
    named = error.filename2 or error.filename
    if error.errno == errno.ENOENT and named:
        return Unavailable(
            f"the registry cannot write {named}: its folder is gone: put it back from where it was moved to, or from a backup"
        )
    if error.errno not in _NOT_WRITTEN:
        return None
    place = f" {named}" if named else ""
    seen = why_unwritable(folder, *_named(error))
    way_out = seen or "see that its disk is sound and writable, and that its folder belongs to tinkbox's user"
    return Unavailable(f"the registry cannot write{place} ({error.strerror}): {way_out}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """How many blobs there are, their bytes, and the bytes of what is on its way in."""

    blobs: int
    octets: int
    incoming: int

    @property
    def taken(self) -> int:
        """All bytes."""
        return self.octets + self.incoming


@dataclass(slots=True)
class Incoming:
    """The bytes that are on their way in for one blob, or for one load of many."""

    octets: int = 0


class Staged:
    """A blob on its way in: hashed as it is written, without a name until it is kept.

    `take` is told of bytes before they are written, and may refuse them; what is discarded gives them back, as less than none.
    `around` is around each write.
    """

    def __init__(
        self,
        path: Path,
        take: Callable[[int], None] = _no_matter,
        around: Callable[[], AbstractContextManager[None]] | None = None,
    ) -> None:
        self.path = path
        self._writing = around or partial(writing, path.parent)
        self.size = 0
        self._take = take
        self._taken = 0
        self._is_gone = False
        self._turn = threading.Lock()
        self._others: dict[str, str] = {}
        self._hash = hashlib.sha256()
        self._file = path.open("xb")

    @property
    def is_gone(self) -> bool:
        """Whether it was discarded, as it is too when it is kept."""
        return self._is_gone

    @property
    def digest(self) -> str:
        """Of what was written so far."""
        return f"sha256:{self._hash.hexdigest()}"

    def digest_by(self, algorithm: str) -> str:
        """Of all that was written, when nothing more comes; by another algorithm than sha256 it is read again, once."""
        if algorithm == "sha256":
            return self.digest
        if algorithm not in self._others:
            with self.path.open("rb") as file:
                self._others[algorithm] = f"{algorithm}:{hashlib.file_digest(file, algorithm).hexdigest()}"
        return self._others[algorithm]

    def write(self, chunk: bytes | bytearray) -> None:
        """Add bytes; raises Unavailable when there is no room for them."""
        with self._turn:
            if self._is_gone:  # a thread still writes what nobody waits for any more
                raise Unavailable("the upload is over: begin it again")
            self._take(len(chunk))
            self._taken += len(chunk)
        with self._writing():
            self._file.write(chunk)
            self._file.flush()
        self._hash.update(chunk)
        self._others.clear()
        self.size += len(chunk)

    def finish(self) -> None:
        """Put it on the disk for good; nothing may be written after that."""
        if not self._file.closed:
            with self._writing(), self._file:
                os.fsync(self._file.fileno())

    def discard(self) -> None:
        """Forget it, also after it was kept."""
        with suppress(OSError):  # closing tries once more to write what did not fit
            self._file.close()
        with suppress(OSError):  # what a disk does not delete goes at the next start
            self.path.unlink()
        with self._turn:
            self._is_gone = True
            taken, self._taken = self._taken, 0
            self._take(-taken)


class Blobs:
    """The blobs below one folder, and the place for what is on its way in.

    Which blobs there are is read at the start and known from then on.  Any thread may ask and change.  `make_room` is called by
    any of them before something is refused for want of room: it ends what nobody goes on with, and returns the bytes of what is
    on its way in and may be next.

    To make one raises Unavailable where a folder of blobs cannot be read.  `ways` tells of the folders that cannot be used.
    What the disk does not take, or what there is no room for, is noted among `refused_writes`.
    """

    def __init__(
        self,
        root: Path,
        clock: Callable[[], datetime],
        new_token: Callable[[], str],
        room: Room | None = None,
        make_room: Callable[[], int] = lambda: 0,
        refused_writes: RefusedWrites | None = None,
    ) -> None:
        self._folders = {algorithm: root / "blobs" / algorithm for algorithm in ALGORITHMS}
        self.ways = Folders(root)
        self._incoming = root / "incoming"
        self._new_token = new_token
        self._room = room or Room()
        self._make_room = make_room
        self._refused_writes = refused_writes or RefusedWrites(clock)
        self._writing = partial(writing, self._incoming, self._note_unwritten)
        self._kept = 0  # blobs, since the start
        shutil.rmtree(self._incoming, ignore_errors=True)
        for folder in (*self._folders.values(), self._incoming):
            with self.ways.listed(folder), self.ways.changed(folder):
                make_folder(folder)
        unreadable: list[Path] = []
        self._sizes = dict(self._found(unreadable.append))
        self._octets = sum(self._sizes.values())
        self._arriving = 0
        self._unneeded: Collection[str] = ()
        self._counting = threading.Lock()
        self._promises = Promises(root / "promised", clock)
        self._verified = Verified(root / "verified", clock, self._promises.turn, self._drop_damaged, self.ways)
        for path in unreadable:
            self._verified.miss(f"{path.parent.name}:{path.name}", path)

    def close(self) -> None:
        """End what is being hashed."""
        self._verified.close()

    def path(self, digest: str) -> Path:
        """Where a blob is, or would be; raises Invalid for what is no digest."""
        if not DIGEST.match(digest):
            raise Invalid(f"not a sha256 or sha512 digest: {digest[:140]!r}")
        algorithm, _, name = digest.partition(":")
        return self._folders[algorithm] / name

    def stage(self, incoming: Incoming | None = None) -> Staged:
        """A new, empty blob without a name, which belongs to what is `incoming`; raises Full when the registry is."""
        incoming = incoming if incoming is not None else Incoming()
        self._take_more(incoming, 0)
        with self._writing():
            return Staged(self._incoming / self._new_token(), partial(self._take, incoming), self._writing)

    def keep(self, staged: Staged, algorithm: str = "sha256", *, promised: bool = False) -> str:
        """Give a finished blob its name, for good; returns its digest.  It takes the place of one that is here already.

        That may be damaged though it was hashed today.  One that is `promised` stays for an hour.
        """
        digest = staged.digest_by(algorithm)
        path = self.path(digest)
        if self._name(staged, digest, path, promised=promised):
            self._sync(path.parent)
        return digest

    def keep_all(self, staged: Mapping[str, Staged]) -> None:
        """The same of many by their digests: they come to the disk together, which takes less time."""
        changed = set()
        for digest, each in staged.items():
            path = self.path(digest)
            if self._name(each, digest, path, promised=False):
                changed.add(path.parent)
        for folder in changed:
            self._sync(folder)

    def _name(self, staged: Staged, digest: str, path: Path, *, promised: bool) -> bool:
        """Give a blob its name, so that its folder is still to be synced; False for one that has it, and is here."""
        with self._promises.turn:
            if promised:
                self._promises.make(digest)
            is_here = self._is_here(digest, path)
        if is_here and staged.is_gone:  # several images of an archive have it
            return False
        staged.finish()
        with self._promises.turn, self._writing():
            staged.path.replace(path)
            self._count(digest, staged.size)
            self._verified.note(digest, path)
            self._kept += 1
        staged.discard()  # it is kept, and on its way in no more
        return True

    def add(self, content: bytes, algorithm: str = "sha256", beside: Sequence[tuple[Path, bytes]] = ()) -> str:
        """Keep a small blob, and write files that refer to it; returns its digest.

        All come to the disk together, which takes less time, and appear in this order.
        """
        digest = digest_of(content, algorithm)
        path = self.path(digest)
        places: dict[Path, Path] = {}
        with ExitStack() as staging, self._writing():
            if not self._is_here(digest, path):
                places[path] = staging.enter_context(self._written(content, partial(self._take, Incoming())))
            names: dict[bytes, Path] = {}
            for place, text in beside:
                make_folder(place.parent)
                if text in names:  # one file with two names: to put it on the disk takes once the time
                    places[place] = staging.enter_context(self._second_name(names[text]))
                else:
                    places[place] = names[text] = staging.enter_context(self._written(text))
            with self._promises.turn:
                for place, staged in places.items():
                    staged.replace(place)
                    if place == path:
                        self._count(digest, len(content))
                        self._verified.note(digest, path)
                        self._kept += 1
        # To sync one puts the names of all on the disk where the file system has a journal.
        for folder in dict.fromkeys(place.parent for place in places):
            self._sync(folder)
        return digest

    def write(self, path: Path, content: bytes) -> None:
        """Write a small file anywhere below the root so that it is there wholly, or as it was before.

        It may take of what is reserved: to delete something can need it.
        """
        with self._written(content) as staged, self._writing():
            make_folder(path.parent)
            staged.replace(path)
            sync_folder(path.parent)

    @contextmanager
    def _written(self, content: bytes, take: Callable[[int], None] = _no_matter) -> Iterator[Path]:
        """A file without a name, complete and on the disk; gone afterwards unless it was given one."""
        with self._writing():
            staged = Staged(self._incoming / self._new_token(), take, self._writing)
        try:
            staged.write(content)
            staged.finish()
            yield staged.path
        finally:
            staged.discard()

    @contextmanager
    def _second_name(self, file: Path) -> Iterator[Path]:
        """Another name for a file, likewise."""
        name = self._incoming / self._new_token()
        name.hardlink_to(file)
        try:
            yield name
        finally:
            name.unlink(missing_ok=True)

    def ready(self, digest: str) -> Path | None:
        """A blob's file if it is known to hold what its digest says, None if it has to be hashed.

        Raises NotFound, and Unavailable where its folder cannot be read.
        """
        path = self.path(digest)
        try:
            return path if self._verified.holds(digest, path) else None
        except FileNotFoundError:
            raise self.lost(digest) from None

    def is_unchanged(self, digest: str) -> bool:
        """Whether a blob's file is there and as it was when it was hashed last, however long ago."""
        algorithm, _, name = digest.partition(":")
        return self._verified.is_unchanged(digest, f"{self._folders[algorithm]}/{name}")

    def seen(self) -> Collection[str]:
        """The digests of the blobs whose files are there now, and are not known to be damaged.

        Raises Unavailable where a folder cannot be read.
        """
        found: set[str] = set()
        for algorithm, folder in self._folders.items():
            with self.ways.listed(folder), os.scandir(folder) as entries:
                files = (entry.name for entry in entries if entry.is_file(follow_symlinks=False))
                found.update(f"{algorithm}:{name}" for name in files)
        return found.difference(each for each in self._verified.damaged() if self.damaged_at(each) is not None)

    def refuse_unreadable(self) -> None:
        """Raise Unavailable where a folder of blobs cannot be read: nothing is known of any of its blobs then."""
        for folder in self._folders.values():
            with self.ways.listed(folder):
                os.scandir(folder).close()

    def has(self, digest: str) -> bool:
        """Whether a blob's file is there now, and is not known to be damaged.

        Raises Unavailable where its folder cannot be read.
        """
        return self.has_file(digest) and self.damaged_at(digest) is None

    def has_file(self, digest: str) -> bool:
        """The same, though it is known to be damaged."""
        return self._is_file(self.path(digest))

    def damaged_at(self, digest: str) -> datetime | None:
        """Since when a blob is damaged on the disk, as far as is known; None: it is not.  Reads nothing of most."""
        return self._verified.damaged_at(digest, self.path(digest))

    def is_closed(self, digest: str) -> bool:
        """Whether a blob's file is there, and only its mode or owner keeps it from being read."""
        path = self.path(digest)
        return self._is_file(path) and not os.access(path, os.R_OK)

    def forget_hash(self, digest: str) -> None:
        """A blob counts as hashed no more: who asks for it next has that done."""
        self._verified.forget(digest)

    def was_hashed_within(self, span: timedelta, digest: str) -> bool:
        """Whether a blob was hashed, and found whole, so short a time ago."""
        return self._verified.was_hashed_within(span, digest)

    def doubt(self, digest: str) -> "Future[bool]":
        """A blob's file could not be read though it counted as whole: have it hashed anew."""
        self.forget_hash(digest)
        return self.check(digest)

    def returned(self) -> Collection[str]:
        """The blobs that were lost, or found damaged and deleted, and whose files are there again.

        From now on they count again.  What they hold is to be hashed.
        """
        found: list[str] = []
        with self._promises.turn:
            for digest in self._verified.damaged():
                if digest in self._sizes:
                    continue
                with suppress(OSError, Unavailable), self.ways.entered(self.path(digest).parent):
                    status = self.path(digest).lstat()
                    if stat.S_ISREG(status.st_mode):
                        self._count(digest, status.st_size)
                        found.append(digest)
        return found

    def lost(self, digest: str) -> NotFound:
        """What says that a blob is not here, or is damaged; raises Unavailable where its whole folder is gone.

        Where its file should be there, and is gone, it is damaged from now on: another program deleted it, or the disk
        lost it.
        """
        with self._promises.turn:  # who deletes it has that as well
            return self._lost(digest)

    def is_small(self, digest: str) -> bool:
        """Whether to hash a blob takes no time worth mentioning."""
        return self._sizes.get(digest, 0) <= SMALL

    def check(self, digest: str) -> "Future[bool]":
        """Have a blob hashed, by threads of their own: see `Verified.check`; then `outcome` says what came of it."""
        return self._verified.check(digest, self.path(digest))

    def outcome(self, digest: str, *, whole: bool) -> Path:
        """The file of a blob that was hashed and found whole; raises Unavailable for a damaged one, which is marked then."""
        if whole:
            return self.path(digest)
        raise Unavailable(f"{digest} is damaged on the disk: push or load its image again")

    def verified(self, digest: str) -> Path:
        """A blob's file, known to hold what its digest says.

        Raises NotFound.  A damaged one is marked, so that it can be pushed again, and raises Unavailable.
        """
        path = self.ready(digest)
        if path is not None:
            return path
        try:
            if self.is_small(digest):
                whole = self._verified.check_here(digest, self.path(digest))
            else:
                whole = self.check(digest).result()
        except FileNotFoundError:
            raise self.lost(digest) from None
        return self.outcome(digest, whole=whole)

    def read(self, digest: str) -> bytes:
        """A small blob's bytes; raises as `verified` does, also for what the disk gives otherwise, or not at all, since it was hashed."""
        with suppress(OSError):
            content = self.verified(digest).read_bytes()
            if digest_of(content, algorithm_of(digest)) == digest:
                return content
        self.forget_hash(digest)
        self.verified(digest)
        raise Unavailable(f"{digest} cannot be read on the appliance's disk: ask again")

    def promise(self, digest: str) -> None:
        """A client is told that the blob is here: it stays for an hour.

        Raises NotFound when it is not here, or is damaged, and Unavailable where its folder cannot be read.
        """
        with self._promises.turn:
            if not self.has(digest):
                raise self._lost(digest)
            self._promises.make(digest)

    def is_promised(self, digest: str) -> bool:
        """Whether a client was told of the blob within an hour."""
        return self._promises.hold(digest)

    def remove(self, digest: str) -> None:
        """Forget a blob; who is reading it reads on."""
        with self._promises.turn:
            self._discard(digest)

    def waiting(self, digests: Collection[str]) -> Waiting:
        """Of blobs those that are promised."""
        until = {
            each: end for each in digests if each in self._sizes and (end := self._promises.until(each)) is not None
        }
        octets = sum(self._sizes.get(each, 0) for each in until)
        return Waiting(blobs=Amount(number=len(until), octets=octets), until=max(until.values(), default=None))

    def note_unneeded(self, digests: Collection[str]) -> None:
        """These blobs are promised, and no image needs them: who is refused for want of room is told of that."""
        self._unneeded = digests

    def note_needed(self, digests: Collection[str]) -> None:
        """These are needed by an image that came since."""
        self._unneeded = [each for each in self._unneeded if each not in digests]

    def put_aside(self, digest: str, *, though_promised: bool = False) -> Path | None:
        """Take a blob's name away unless it is promised; returns the file, which is still to be removed.

        To remove a large one takes a while, and may be done later.

        None also for one that the disk cannot give, which is marked as damaged then.  Raises Unavailable where a folder
        cannot be used.
        """
        with self._promises.turn:
            if self._promises.hold(digest) and not though_promised:
                return None
            aside, path = self._incoming / self._new_token(), self.path(digest)
            try:
                with self.ways.changed(path.parent, self._incoming):
                    path.rename(aside)
            except FileNotFoundError:
                with self.ways.listed(path.parent):  # else it may be there again together with its folder
                    os.scandir(path.parent).close()
                if path.exists():
                    return None
            except OSError as error:
                if error.errno not in UNREADABLE:
                    raise
                self._note_lost(digest, path)
                return None
            self._forget(digest)
            return aside

    def size(self, digest: str) -> int | None:
        """The bytes of a blob, None when it is not here.  It may be damaged."""
        return self._sizes.get(digest)

    def is_older(self, digest: str, moment: float) -> bool:
        """Whether a blob came before a moment by the clock of the disk, in seconds since 1970, or about then.

        Of one that the disk cannot tell it is taken for so.
        """
        path = self.path(digest)
        try:
            with self.ways.entered(path.parent):
                return path.stat().st_mtime < moment + 1
        except FileNotFoundError:
            return False
        except OSError as error:
            if error.errno not in UNREADABLE:
                raise
            return True

    def usage(self) -> Usage:
        """What all of it takes."""
        with self._counting:
            return Usage(blobs=len(self._sizes), octets=self._octets, incoming=self._arriving)

    def room(self, ending: int = 0) -> ImageRoom:
        """The same for people, with what may still come, where so many bytes on their way in are `ending`."""
        usage, room = self.usage(), self._room
        return ImageRoom(
            blobs=Amount(number=usage.blobs, octets=usage.octets),
            incoming=usage.incoming,
            free=room.left(usage.taken, ending),
            reserve=room.reserve,
            most=room.most,
            file_size_limit=file_size_limit(),
        )

    def is_full(self) -> bool:
        """Whether nothing more is taken in."""
        return self._room.is_full(self.usage().taken)

    def __iter__(self) -> Iterator[str]:
        """The digests of all blobs."""
        return iter(list(self._sizes))

    def _found(self, unreadable: Callable[[Path], None]) -> Iterator[tuple[str, int]]:
        """All blobs with their sizes; what else lies in their folders is none.  `unreadable` hears of those that the disk cannot give."""
        for algorithm, folder in self._folders.items():
            with self.ways.listed(folder), os.scandir(folder) as entries:
                for entry in entries:
                    digest = f"{algorithm}:{entry.name}"
                    if entry.is_symlink():
                        _log.warning(
                            "link in the registry passed over: %s", entry.path, extra={"action": "registry.passed_over"}
                        )
                    elif DIGEST.match(digest) and entry.is_file(follow_symlinks=False):
                        try:
                            size = entry.stat(follow_symlinks=False).st_size
                        except OSError as error:
                            if error.errno not in UNREADABLE:
                                raise
                            _tell_lost(Path(entry.path))
                            unreadable(Path(entry.path))
                        else:
                            yield intern(digest), size

    def _is_file(self, path: Path) -> bool:
        try:
            with self.ways.entered(path.parent):
                return stat.S_ISREG(path.lstat().st_mode)
        except OSError:
            return False

    def _is_here(self, digest: str, path: Path) -> bool:
        try:
            return self._verified.holds(digest, path)
        except FileNotFoundError:
            return False

    def _take(self, incoming: Incoming, count: int) -> None:
        if count > 0:
            self._take_more(incoming, count)
            return
        with self._counting:
            self._count_incoming(incoming, count)

    def _take_more(self, incoming: Incoming, count: int) -> None:
        try:
            self._take_if_free(incoming, count)
        except Full:
            resting = self._make_room()
            try:
                self._take_if_free(incoming, count, resting)
            except Full as full:
                self._note_full(full, incoming.octets + count)
                raise

    def _take_if_free(self, incoming: Incoming, count: int, resting: int = 0) -> None:
        with self._counting:
            self._room.refuse_beyond(
                self._octets, self._arriving, count, self._waiting, own=incoming.octets, resting=resting
            )
            self._count_incoming(incoming, count)

    def _count_incoming(self, incoming: Incoming, count: int) -> None:
        self._arriving += count
        incoming.octets += count

    def _waiting(self) -> Waiting:
        return self.waiting(self._unneeded)

    def _count(self, digest: str, size: int) -> None:
        with self._counting:
            self._octets += size - self._sizes.get(digest, 0)
            self._sizes[intern(digest)] = size

    def _forget(self, digest: str) -> None:
        self._verified.forget(digest)
        with self._counting:
            self._octets -= self._sizes.pop(digest, 0)

    def _discard(self, digest: str) -> None:
        path = self.path(digest)
        with self._writing(), self.ways.changed(path.parent):
            path.unlink(missing_ok=True)
        self._forget(digest)

    def _lost(self, digest: str) -> NotFound:
        """The same for the one who has the turn already."""
        path = self.path(digest)
        with self.ways.listed(path.parent):
            path.parent.stat()
        if digest in self._sizes and not self._is_file(path):
            self._note_lost(digest, path)
        at = self.damaged_at(digest)
        since = f": it is damaged on the disk since {at:{TO_THE_MINUTE}}" if at is not None else ""
        return NotFound(f"no blob {digest}{since}: push or load its image again")

    def _note_lost(self, digest: str, path: Path) -> None:
        """From now on a blob is damaged, which is not what it was when it was counted, and counts no more."""
        if self.damaged_at(digest) is None:
            self._verified.miss(digest, path)
            _tell_lost(path)
        self._forget(digest)

    def _sync(self, folder: Path) -> None:
        with self._writing():
            sync_folder(folder)

    def _note_unwritten(self, refusal: Unavailable, why: Unwritable) -> None:
        takes_again = partial(asyncio.to_thread, has_room, self._incoming)
        self._refused_writes.refuse(Unwritten.REGISTRY, str(refusal), takes_again, fault=why.fault, way_out=why.text)

    def _note_full(self, full: Full, wanted: int) -> None:
        """Note that so many bytes, at least, would be too many; that is over with the next blob that comes.

        It is too when as much is free as all that is here takes: what is larger was too large, and the registry is not full.
        """
        kept = self._kept

        async def takes_again() -> bool:
            usage = self.usage()
            return self._kept != kept or self._room.left(usage.taken) >= max(min(wanted, usage.taken), PIECE)

        self._refused_writes.refuse(
            Unwritten.IMAGES, str(full), takes_again, fault=WriteFault.TOO_MUCH, way_out=full.way_out
        )

    def _drop_damaged(self, digest: str) -> None:
        told = {"action": "registry.damaged"}
        try:
            self._discard(digest)
        except (OSError, Unavailable) as error:  # such as of a disk that the kernel made read-only
            _log.error("blob damaged, and not deleted: %s: %s", digest, error, extra=told)
        else:
            _log.error("blob deleted, which was damaged on the disk: %s", digest, extra=told)


def _tell_lost(path: Path) -> None:
    """Log what is wrong with what lies where a blob belongs, and is no file that can be looked at."""
    try:
        path.lstat()
    except FileNotFoundError:
        how = "whose file is gone"
    except OSError as error:
        how = f"whose file the disk cannot give ({error.strerror})"
    else:
        how = "in whose place is no file"
    _log.error("blob damaged, %s: %s", how, path, extra={"action": "registry.damaged"})


def make_folder(path: Path) -> None:
    """Make a folder with its parents, for good."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        sync_folder(path.parent)
