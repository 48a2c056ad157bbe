"""Blob uploads in progress: bounded in number, age and size; forgotten when the process ends."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tinkbox.model.errors import Conflict, NotFound, TooLarge, Unavailable
from tinkbox.registry.blobs import PIECE, Staged

MAX_UPLOADS = 64
MAX_IDLE = timedelta(hours=1)
MAX_BLOB = 64 << 30


@dataclass(slots=True, kw_only=True)
class Upload:
    """One client's blob on its way in.  Take `turn` for whatever changes it."""

    id: str
    repository: str
    staged: Staged
    touched_at: datetime
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class Uploads:
    """All uploads in progress; `stage` makes an empty blob."""

    def __init__(
        self,
        stage: Callable[[], Staged],
        clock: Callable[[], datetime],
        new_token: Callable[[], str],
        max_blob: int = MAX_BLOB,
    ) -> None:
        self._stage = stage
        self._clock = clock
        self._new_token = new_token
        self._max_blob = max_blob
        self._uploads: dict[str, Upload] = {}

    def begin(self, repository: str) -> Upload:
        """Start one; raises Unavailable when too many are in progress."""
        now = self._clock()
        for old in [each for each in self._uploads.values() if now - each.touched_at > MAX_IDLE]:
            self.end(old)
        if len(self._uploads) >= MAX_UPLOADS:
            raise Unavailable(f"{MAX_UPLOADS} uploads are in progress: try again when some have ended")
        upload = Upload(id=self._new_token(), repository=repository, staged=self._stage(), touched_at=now)
        self._uploads[upload.id] = upload
        return upload

    def get(self, repository: str, identity: str) -> Upload:
        """An upload in progress; raises NotFound."""
        upload = self._uploads.get(identity)
        if upload is None or upload.repository != repository:
            raise NotFound("no such upload: it ended, was idle for too long, or the appliance was restarted")
        return upload

    async def append(self, upload: Upload, chunks: AsyncIterator[bytes], start: int | None = None) -> None:
        """Add what arrives, which begins at `start` when the client says so; raises Conflict, TooLarge, Unavailable.

        What arrived before a connection broke stays, and the client can go on from there.
        """
        if start is not None and start != upload.staged.size:
            raise Conflict(f"the upload goes on at byte {upload.staged.size}, not at {start}")
        pending = bytearray()
        try:
            async for chunk in chunks:
                pending += chunk
                if len(pending) >= PIECE:
                    await self._write(upload, pending)
                    pending = bytearray()
        finally:
            if upload.id in self._uploads:
                await self._write(upload, pending)

    def end(self, upload: Upload) -> None:
        """Forget one, whether its blob was kept or not."""
        self._uploads.pop(upload.id, None)
        upload.staged.discard()

    async def _write(self, upload: Upload, chunk: bytearray) -> None:
        try:
            if upload.staged.size + len(chunk) > self._max_blob:
                raise TooLarge(f"a blob may have {self._max_blob} bytes at most")
            await asyncio.to_thread(upload.staged.write, chunk)
        except BaseException:
            self.end(upload)  # the file and its hash may no longer agree
            raise
        upload.touched_at = self._clock()
