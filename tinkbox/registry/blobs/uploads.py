"""Blob uploads in progress: bounded in number, bytes and age; forgotten when the process ends."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NoReturn

from tinkbox.model.errors import Conflict, NotFound, TooLarge, TooMany
from tinkbox.model.images.room import Amount
from tinkbox.model.limits import UPLOAD_BYTES, UPLOADS, Limits
from tinkbox.registry.blobs.blobs import PIECE, Staged
from tinkbox.registry.blobs.room import LEFT_AFTER

MAX_IDLE = timedelta(hours=1)
LOOK_EVERY = 10.0
# Of each upload one piece is written while another comes.
WRITTEN_AT_ONCE = PIECE // 2
MAX_BLOB = 64 << 30


@dataclass(slots=True, kw_only=True)
class Upload:
    """One client's blob on its way in.

    Take `turn` for whatever changes it, and get it again then (`Uploads.get`): until then it may end.
    """

    id: str
    holder: str
    repository: str
    staged: Staged
    touched_at: datetime
    taken: int = 0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


def _nothing() -> "asyncio.Future[None]":
    """What is written already."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    done.set_result(None)
    return done


class Uploads:
    """All uploads in progress; `stage` makes an empty blob.

    An upload that was left alone for LEFT_AFTER ends where something else needs its room (`make_room`), and while the disk is
    `full`, so that what machines send waits.  Room is asked for in threads: any of them may end what was left alone.
    """

    def __init__(
        self,
        stage: Callable[[], Staged],
        clock: Callable[[], datetime],
        new_token: Callable[[], str],
        limits: Limits,
        full: Callable[[], bool],
        max_blob: int = MAX_BLOB,
    ) -> None:
        self._stage = stage
        self._clock = clock
        self._new_token = new_token
        self._max_blob = max_blob
        self._full = full
        self._number = limits.of(UPLOADS)
        self._bytes = limits.of(UPLOAD_BYTES)
        self._uploads: dict[str, Upload] = {}
        # Held to look which there are, and to change that and what they take.
        self._counting = threading.Lock()

    async def run(self) -> NoReturn:
        """Forget the uploads that nobody goes on with, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            self.look()

    def look(self) -> None:
        """Forget those that nobody goes on with."""
        self.end_left_alone(LEFT_AFTER if self._full() else MAX_IDLE)

    def left_alone(self, since: timedelta = LEFT_AFTER) -> Amount:
        """What those take to which nothing was added for so long."""
        with self._counting:
            return _taken_by(self._left_alone(since))

    def end_left_alone(self, since: timedelta = LEFT_AFTER) -> Amount:
        """End those to which nothing was added for so long; returns what they took.  Any thread may do that."""
        with self._counting:
            left = self._left_alone(since)
            for each in left:
                self._forget(each)  # from here on a request finds it no more
        for each in left:
            each.staged.discard()
        return _taken_by(left)

    def make_room(self) -> int:
        """End those that were left alone, for something that has no room.  Any thread may do that.

        Returns the bytes of those to which nothing is added just now: they are the next.
        """
        self.end_left_alone()
        return self.left_alone(timedelta()).octets

    def begin(self, repository: str, holder: str) -> Upload:
        """Start one of the client at an address; raises TooMany."""
        self.look()
        self._make_place(holder)
        with self._counting:
            has_place = self._number.take(holder)
        if not has_place:
            limit = self._number.limit
            raise TooMany(
                f"{self._number.held_by(holder)} uploads of {holder} are in progress, {self._number.used} in all, of "
                f"{limit.each} and {limit.all}: try again when some have ended, or raise {limit.key} in tinkbox.yaml"
            )
        try:
            staged = self._stage()
        except BaseException:
            with self._counting:
                self._number.give_back(holder)
            raise
        upload = Upload(
            id=self._new_token(), holder=holder, repository=repository, staged=staged, touched_at=self._clock()
        )
        with self._counting:
            self._uploads[upload.id] = upload
        return upload

    def get(self, repository: str, identity: str) -> Upload:
        """An upload in progress; raises NotFound."""
        with self._counting:
            upload = self._uploads.get(identity)
        if upload is None or upload.repository != repository:
            raise NotFound("no such upload: it ended, was idle for too long, or the appliance was restarted")
        return upload

    async def append(self, upload: Upload, chunks: AsyncIterator[bytes], start: int | None = None) -> None:
        """Add what arrives, which begins at `start` when the client says so; raises Conflict, TooLarge, Unavailable.

        What arrived before a connection broke stays, and the client can go on from there.  While one piece is hashed and
        written, the next one comes.
        """
        if start is not None and start != upload.staged.size:
            raise Conflict(f"the upload goes on at byte {upload.staged.size}, not at {start}")
        pending, writing = bytearray(), _nothing()
        try:
            async for chunk in chunks:
                pending += chunk
                if len(pending) >= WRITTEN_AT_ONCE:
                    await self._written(upload, writing)
                    writing = self._write(upload, pending)
                    pending = bytearray()
        finally:
            await self._written(upload, writing)
            if upload.id in self._uploads:
                await self._written(upload, self._write(upload, pending))

    def end(self, upload: Upload) -> None:
        """Forget one, whether its blob was kept or not."""
        with self._counting:
            self._forget(upload)
        upload.staged.discard()

    def _forget(self, upload: Upload) -> None:
        if self._uploads.pop(upload.id, None) is not None:
            self._number.give_back(upload.holder)
            self._bytes.give_back(upload.holder, upload.taken)

    def _write(self, upload: Upload, chunk: bytearray) -> "asyncio.Future[None]":
        """Have a piece written; `_written` says whether it was.  Raises TooLarge and TooMany, and ends the upload."""
        try:
            if upload.staged.size + len(chunk) > self._max_blob:
                raise TooLarge(f"a blob may have {self._max_blob} bytes at most")
            limit = self._bytes.limit
            if upload.staged.size + len(chunk) > limit.each:
                raise TooLarge(
                    f"{limit.key}.each is {limit.shown(limit.each)}: the blob has more, raise it in tinkbox.yaml"
                )
            if not self._take(upload, len(chunk)):
                raise TooMany(
                    f"uploads in progress may have {limit.shown(limit.each)} of one address, {limit.shown(limit.all)} of "
                    f"all: try again when some have ended, or raise {limit.key} in tinkbox.yaml"
                )
        except BaseException:
            self.end(upload)
            raise
        return asyncio.get_running_loop().run_in_executor(None, upload.staged.write, chunk)

    async def _written(self, upload: Upload, writing: "asyncio.Future[None]") -> None:
        """Wait for a piece to be written; raises Unavailable, and ends the upload."""
        try:
            await writing
        except BaseException:
            self.end(upload)  # the file and its hash may no longer agree
            raise
        upload.touched_at = self._clock()

    def _take(self, upload: Upload, count: int) -> bool:
        """Count what comes for one; False, and nothing is counted, beyond the limit."""
        with self._counting:
            has_room = self._bytes.has_room(upload.holder, count)
        if not has_room:
            self.end_left_alone()
        with self._counting:
            if not self._bytes.take(upload.holder, count):
                return False
            upload.taken += count
            return True

    def _make_place(self, holder: str) -> None:
        """Where a limit is reached, end the upload that was left alone for longest: the holder's own, if it has too many."""
        with self._counting:
            if self._number.has_room(holder):
                return
            own_only = self._number.held_by(holder) >= self._number.limit.each
            left = [each for each in self._left_alone(LEFT_AFTER) if not own_only or each.holder == holder]
        if left:
            self.end(min(left, key=lambda each: each.touched_at))

    def _left_alone(self, since: timedelta) -> list[Upload]:
        """Those of which nothing came for so long; what is being written just now is none."""
        before = self._clock() - since
        return [each for each in self._uploads.values() if each.touched_at <= before and not each.turn.locked()]


def _taken_by(uploads: Sequence[Upload]) -> Amount:
    return Amount(number=len(uploads), octets=sum(each.taken for each in uploads))
