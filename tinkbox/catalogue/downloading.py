"""Large files on their way here: resumed where they stopped, bounded, and hashed as they come.

What arrived of a file stays in the cache folder with a note of what it belongs to, so that a second run goes on with it; what no
run could go on with is removed.  One process has a file at a time, until it needs it no more: the next one waits.
"""

import asyncio
import fcntl
import hashlib
import json
import os
import re
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import urlsplit

import aiohttp

from tinkbox.catalogue.transport import AGAIN, Web
from tinkbox.model.errors import Invalid, NotFound, TooLarge, Unavailable
from tinkbox.model.sizes import show_size

MAX_SIZE: Final = 64 << 30
ATTEMPTS: Final = 5
PAUSE_SECONDS: Final = 2.0
QUIET_SECONDS: Final = 10.0
PIECE: Final = 1 << 20
# Left free beside the file; packing wants more, and says so itself.
SPARE: Final = 64 << 20
_RANGE: Final = re.compile(r"bytes (\d{1,15})-(\d{1,15})/(\d{1,15})\Z")
_UNSATISFIED: Final = re.compile(r"bytes \*/(\d{1,15})\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be fetched: `digest` may be empty and `size` 0; `plain` allows a redirect from HTTPS to HTTP."""

    url: str
    digest: str = ""
    size: int = 0
    plain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """A whole file with its digest, of the order's algorithm."""

    path: Path
    digest: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """How far a download is.

    `total` is 0 while nobody tells it, `rate` in bytes a second of this run.  `silent_seconds` is for how long nothing came, where
    that is long.
    """

    done: int
    total: int
    rate: float
    silent_seconds: float = 0.0

    @property
    def seconds_left(self) -> float | None:
        return (self.total - self.done) / self.rate if self.total and self.rate else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Note:
    """What the part of a file belongs to: what its server calls this state of it.

    With `whole` all of it arrived, as far as is known: it has the digest, where there is one.
    """

    url: str
    digest: str
    total: int = 0
    etag: str = ""
    modified: str = ""
    whole: bool = False

    @property
    def proven(self) -> bool:
        """Whether it was the file that was ordered: no server needs to be asked."""
        return self.whole and bool(self.digest)

    @property
    def validator(self) -> str:
        """What If-Range takes: a weak tag is none."""
        return self.etag if self.etag.startswith('"') else self.modified


class _Interrupted(Exception):
    """The transfer ended early; another attempt may go on."""


class _NoRoom(Unavailable):
    """The disk has none for the file; another attempt would find none either."""


@contextmanager
def alone(cache: Path, order: Order, waits: Callable[[], None], *, keep: bool = False) -> Iterator[None]:
    """Have what the folder `cache` has of an order to yourself.  Raises Unavailable where the folder cannot be made or used.

    Another process that has it is waited for until it ends, which may be minutes: `waits` is called before.  It may have brought
    what you want: look again.  With `keep` a whole file stays in any case, even one that no run could go on with.
    """
    try:
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(f"cannot make the folder {cache}: {error.strerror}: set XDG_CACHE_HOME to another") from None
    part = _part(cache, order)
    while True:
        descriptor = _opened(part)
        try:
            _lock(descriptor, waits)
            # The process before may have removed the file that we waited for: then its name is another file's.
            if not _is(part, descriptor):
                continue
            try:
                yield
            except BaseException:
                # Whatever ends it, a signal as well: what the next run would drop does not stay.
                if _is(part, descriptor) and not _worth_keeping(_read_note(part), keep):
                    forget(part)
                raise
            finally:
                # Nobody could go on with an empty file.  Removed by us, its name may be that of the next process's file.
                if _is(part, descriptor) and not os.fstat(descriptor).st_size:
                    forget(part)
            return
        finally:
            os.close(descriptor)


def _opened(part: Path) -> int:
    try:
        return os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise Unavailable(
            f"cannot write to {part}: {error.strerror}: remove it, make {part.parent} yours, "
            "or set XDG_CACHE_HOME to another folder"
        ) from None


def _lock(descriptor: int, waits: Callable[[], None]) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        waits()
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:
        return  # a file system without locks, such as some of the network: better without than not at all


def _is(path: Path, descriptor: int) -> bool:
    """Whether a path leads to the file that is open."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def forget(part: Path) -> None:
    """Remove a download, or a part of one.  Have its order `alone` meanwhile."""
    _note_of(part).unlink(missing_ok=True)
    part.unlink(missing_ok=True)


class Downloads:
    """Below the folder `cache`; `clock` counts seconds."""

    def __init__(
        self,
        web: Web,
        cache: Path,
        clock: Callable[[], float],
        *,
        max_size: int = MAX_SIZE,
        pause: float = PAUSE_SECONDS,
        quiet: float = QUIET_SECONDS,
        free: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free,
    ) -> None:
        self._web = web
        self._cache = cache
        self._clock = clock
        self._max_size = max_size
        self._pause = pause
        self._quiet = quiet
        self._free = free

    async def fetch(self, order: Order, said: Callable[[Arrived], None]) -> Download:
        """Fetch a file, or what is missing of it.  Have the order `alone` meanwhile, and for as long as you need the file.

        Raises Invalid for another file than was ordered, which is then gone from the cache; NotFound, TooLarge, Unavailable
        when it stops or there is no room.
        """
        transfer = _Transfer(self._web, order, _part(self._cache, order), self._max_size, self._free)
        with self._watched(transfer, said):
            await self._arrive(transfer, said)
        return transfer.finish()

    @contextmanager
    def _watched(self, transfer: "_Transfer", said: Callable[[Arrived], None]) -> Iterator[None]:
        """Say it when nothing comes for long."""
        loop = asyncio.get_running_loop()
        timer: asyncio.TimerHandle

        def look() -> None:
            nonlocal timer
            now = self._clock()
            if now - transfer.heard_at >= self._quiet:
                said(replace(transfer.arrived(now), silent_seconds=now - transfer.heard_at))
            timer = loop.call_later(self._quiet / 2, look)

        timer = loop.call_later(self._quiet / 2, look)
        try:
            yield
        finally:
            timer.cancel()

    async def _arrive(self, transfer: "_Transfer", said: Callable[[Arrived], None]) -> None:
        transfer.begin(self._clock())
        for attempt in range(1, ATTEMPTS + 1):
            before = transfer.done
            try:
                async for _ in transfer.run():
                    transfer.heard_at = self._clock()
                    said(transfer.arrived(transfer.heard_at))
                return
            except _Interrupted as stopped:
                # A server that sends nothing more will send nothing more.
                if attempt == ATTEMPTS or (transfer.done == before and attempt > 1):
                    raise Unavailable(f"{transfer.url} stopped: {stopped}{transfer.leave()}") from None
                await asyncio.sleep(self._pause)
            except _NoRoom as refusal:
                raise Unavailable(f"{refusal}{transfer.leave()}") from None
            except TooLarge:
                transfer.forget()
                raise


class _Transfer:
    """One file: its part on the disk, the hash of that, and what its server said of it."""

    def __init__(self, web: Web, order: Order, part: Path, max_size: int, free: Callable[[Path], int]) -> None:
        self._web = web
        self._order = order
        self._part = part
        self._max_size = max_size
        self._free = free
        self._algorithm = order.digest.partition(":")[0] or "sha256"
        self._note = _Note(url=order.url, digest=order.digest)
        self._hash = hashlib.new(self._algorithm)
        self.done = 0
        self.began_at = self.heard_at = 0.0
        self.began_with = 0

    @property
    def url(self) -> str:
        return self._order.url

    def arrived(self, now: float) -> Arrived:
        seconds = now - self.began_at
        rate = (self.done - self.began_with) / seconds if seconds > 0 else 0.0
        return Arrived(done=self.done, total=self._note.total or self._order.size, rate=rate)

    def begin(self, now: float) -> None:
        """Take up what an earlier run left, when it is known what that is a part of, or else drop it."""
        note = _read_note(self._part)
        ours = note is not None and (note.url, note.digest) == (self._order.url, self._order.digest)
        if note is not None and ours and (note.validator or note.proven):
            self._note = note
            with self._part.open("rb") as file:
                while piece := file.read(PIECE):
                    self._hash.update(piece)
                    self.done += len(piece)
            if note.proven and self._digest() != note.digest:
                # It changed on the disk since.
                self._note = _Note(url=note.url, digest=note.digest)
                self._restart()
        else:
            self._restart()
        self.began_at, self.heard_at, self.began_with = now, now, self.done

    async def run(self) -> AsyncIterator[None]:
        """Ask for what is missing and keep what comes; raises _Interrupted when it stops early."""
        if self.done and (self.done == self._note.total or self._note.proven):
            return
        headers = {"Accept-Encoding": "identity"}
        if self.done and self._note.validator:
            headers |= {"Range": f"bytes={self.done}-", "If-Range": self._note.validator}
        else:
            self._restart()
        try:
            async with self._web.answer("GET", self._order.url, headers, plain=self._order.plain) as (response, _):
                if self._complete(response):
                    return
                self._take_up(response)
                with self._part.open("r+b") as file:
                    file.seek(self.done)
                    file.truncate()
                    async for piece in response.content.iter_chunked(PIECE):
                        await asyncio.to_thread(self._keep, file, piece)
                        yield
        except _NoRoom:
            raise
        except Unavailable as error:
            if self.done == self.began_with:
                raise
            raise _Interrupted(str(error).removesuffix(AGAIN)) from None
        if self.done < self._note.total:
            raise _Interrupted(f"it ended at {self.done} of {self._note.total} bytes")

    def leave(self) -> str:
        """End it before the file is whole; returns words on what is kept, which is what a second run can go on with."""
        if self.done and _resumable(self._note):
            return f"; {show_size(self.done)} are kept: run the command again to go on"
        lost = "; nothing of it is kept, as its server does not tell what a second run would need" if self.done else ""
        self.forget()
        return lost

    def finish(self) -> Download:
        digest = self._digest()
        if self._order.digest and digest != self._order.digest:
            self.forget()
            raise Invalid(
                f"{self._order.url} is not what it should be: its digest is {digest}, not {self._order.digest}; "
                "it was removed"
            )
        if not self._note.whole:
            self._note = replace(self._note, whole=True)
            # Without it only a second run has to fetch the file again.
            with suppress(OSError):
                _write_note(self._part, self._note)
        return Download(path=self._part, digest=digest, size=self.done)

    def _digest(self) -> str:
        return f"{self._algorithm}:{self._hash.hexdigest()}"

    def _complete(self, response: aiohttp.ClientResponse) -> bool:
        """Whether the server says that nothing is missing."""
        if response.status != 416:
            return False
        told = _UNSATISFIED.match(response.headers.get("Content-Range", ""))
        if told and int(told[1]) == self.done:
            return True
        self.forget()
        raise Invalid(f"{self._order.url} has become shorter since a part of it was fetched: run the command again")

    def _take_up(self, response: aiohttp.ClientResponse) -> None:
        """Find out what an answer is: the rest, all of it, or something else."""
        url, status = self._order.url, response.status
        if status in (404, 410):
            raise NotFound(f"{url} is not there (HTTP {status}): its publisher may have replaced it by a newer one")
        if status not in (200, 206):
            raise Unavailable(f"{url} answers HTTP {status} {response.reason or ''}".rstrip())
        if response.content_type == "text/html":
            raise Invalid(f"{url} is a web page, not an image: is there a login page or a proxy on the way?")
        tag, modified = response.headers.get("ETag", ""), response.headers.get("Last-Modified", "")
        note = _Note(url=url, digest=self._order.digest, etag=tag[:200], modified=modified[:100])
        total = self._rest(response) if status == 206 else response.content_length or 0
        if total is None:
            self._note = note
            self._restart()
            raise _Interrupted("it sent another part than was asked for")
        if self.done and self._note.total and total and total != self._note.total:
            self.forget()
            raise Invalid(f"{url} was replaced while it was fetched: run the command again")
        if status == 206 and self._note.etag and tag != self._note.etag:
            # Another mirror's copy, or another file: what is here already may not be its beginning.
            self._note = note
            self._restart()
            raise _Interrupted("the rest came from another copy")
        if status == 200:
            self._restart()
        self._bound(total)
        self._note = _Note(**{**asdict(note), "total": total})
        _write_note(self._part, self._note)

    def _rest(self, response: aiohttp.ClientResponse) -> int | None:
        """The whole size, by an answer that has the rest; None for one that has another part."""
        told = _RANGE.match(response.headers.get("Content-Range", ""))
        return int(told[3]) if told and int(told[1]) == self.done else None

    def _bound(self, total: int) -> None:
        if total > self._max_size:
            raise TooLarge(f"{self._order.url} has {show_size(total)}; {show_size(self._max_size)} is the most")
        self._require(max(0, (total or self._order.size) - self.done))

    def _require(self, amount: int) -> None:
        """Raise _NoRoom where so much more would fill the disk."""
        folder = self._part.parent
        free = self._free(folder)
        if amount + SPARE > free:
            needed = f"needs {show_size(amount)}" if self._note.total or not self.done else "does not tell its size"
            raise _NoRoom(
                f"no room: {self._order.url} {needed}, and {folder} has {show_size(free)} left, of which {show_size(SPARE)} "
                "stay free: make room there, or set XDG_CACHE_HOME to a folder on another disk"
            )

    def _keep(self, file: BinaryIO, piece: bytes) -> None:
        if self.done + len(piece) > self._max_size:
            raise TooLarge(f"{self._order.url} has more than {show_size(self._max_size)}")
        # Its server need not tell the size, and others write to the same disk.
        self._require(len(piece))
        try:
            file.write(piece)
            file.flush()
        except OSError as error:
            raise _NoRoom(f"cannot write to {self._part.parent}: {error.strerror}: make room there") from None
        self._hash.update(piece)
        self.done += len(piece)

    def _restart(self) -> None:
        self._hash = hashlib.new(self._algorithm)
        self.done = self.began_with = 0
        os.truncate(self._part, 0)

    def forget(self) -> None:
        forget(self._part)


def _part(cache: Path, order: Order) -> Path:
    name = re.sub(r"[^A-Za-z0-9._-]", "_", urlsplit(order.url).path.rpartition("/")[2])[-80:].lstrip(".") or "image"
    return cache / f"{hashlib.sha256(f'{order.url} {order.digest}'.encode()).hexdigest()[:16]}-{name}"


def _note_of(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _resumable(note: _Note | None) -> bool:
    """Whether another run could go on with a part."""
    return note is not None and (note.proven or bool(note.validator and note.total))


def _worth_keeping(note: _Note | None, keep: bool) -> bool:
    return _resumable(note) or (keep and note is not None and note.whole)


def _write_note(part: Path, note: _Note) -> None:
    _note_of(part).write_text(json.dumps(asdict(note)))


def _read_note(part: Path) -> _Note | None:
    try:
        document: Mapping[str, object] = json.loads(_note_of(part).read_text())
        total = document["total"]
        texts = {name: str(document[name]) for name in ("url", "digest", "etag", "modified")}
        whole = document.get("whole") is True
        return _Note(total=total, whole=whole, **texts) if isinstance(total, int) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
