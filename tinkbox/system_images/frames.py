"""Cuts a disk into frames and compresses each by itself, several at a time; they are written in their order.

All together are one stream that `zstd -d` makes the raw disk of.
"""

import hashlib
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import zstandard

from tinkbox.model.errors import TooLarge
from tinkbox.model.images.system_image import FRAME, BlockMap, Frame, RawDisk
from tinkbox.model.sizes import show_size

Piece = bytes | int
LEVEL: Final = 3
MAX_WORKERS: Final = 8


@dataclass(frozen=True, slots=True)
class _Made:
    """A compressed frame; one of zeros has no digest."""

    content: bytes
    digest: str = ""


class _Compressors(threading.local):
    """One for each thread: they cannot be shared."""

    def __init__(self) -> None:
        self.own = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)


class Frames:
    """Takes a disk in pieces; `written` is given each compressed frame, in order."""

    def __init__(self, written: Callable[[bytes], None], *, workers: int, max_disk: int) -> None:
        self.size = 0
        self.filled = 0
        self._written = written
        self._max_disk = max_disk
        self._frame = bytearray(FRAME)
        self._place = 0
        self._zeros = bytes(FRAME)
        self._compressors = _Compressors()
        self._zero_frame = _Made(self._compressors.own.compress(self._zeros))
        self._hash = hashlib.sha256()
        self._hashing = ThreadPoolExecutor(1, "hashing")
        self._packing = ThreadPoolExecutor(min(workers, MAX_WORKERS), "packing")
        self._most = 2 * min(workers, MAX_WORKERS)
        self._pending: deque[tuple[Future[None], Future[_Made] | _Made]] = deque()
        self._frames: list[Frame] = []
        self._index = self._offset = 0

    def __enter__(self) -> "Frames":
        return self

    def __exit__(self, *_: object) -> None:
        for pool in (self._hashing, self._packing):
            pool.shutdown(cancel_futures=True)

    def take(self, pieces: Iterable[Piece]) -> BlockMap:
        """The whole disk; returns what is where.  Raises TooLarge for more than it may have."""
        for piece in pieces:
            if self.size + (piece if isinstance(piece, int) else len(piece)) > self._max_disk:
                raise too_large(self._max_disk)
            if isinstance(piece, int):
                self._skip(piece)
            else:
                self._add(piece)
        if self._place:
            self._close()
        while self._pending:
            self._write()
        digest = f"sha256:{self._hash.hexdigest()}"
        return BlockMap(raw=RawDisk(size=self.size, digest=digest), frames=tuple(self._frames))

    def _add(self, piece: bytes) -> None:
        view = memoryview(piece)
        while view:
            part = view[: FRAME - self._place]
            self._frame[self._place : self._place + len(part)] = part
            self._count(len(part))
            view = view[len(part) :]

    def _skip(self, zeros: int) -> None:
        while zeros:
            if not self._place and zeros >= FRAME:
                self.size += FRAME
                zeros -= FRAME
                self._queue(self._zeros, self._zero_frame)
                continue
            part = min(zeros, FRAME - self._place)
            self._frame[self._place : self._place + part] = self._zeros[:part]
            zeros -= part
            self._count(part)

    def _count(self, amount: int) -> None:
        self.size += amount
        self._place += amount
        if self._place == FRAME:
            self._close()

    def _close(self) -> None:
        """End the frame that is being filled."""
        content = bytes(memoryview(self._frame)[: self._place])
        self._place = 0
        if content == self._zeros:
            self._queue(self._zeros, self._zero_frame)
        else:
            self.filled += len(content)
            self._queue(content, self._packing.submit(self._compress, content))

    def _compress(self, content: bytes) -> _Made:
        packed = self._compressors.own.compress(content)
        # Only the last frame is shorter than what was compared already.
        zeros = len(content) < FRAME and not any(content)
        return _Made(packed, "" if zeros else hashlib.sha256(content).hexdigest())

    def _queue(self, content: bytes, made: "Future[_Made] | _Made") -> None:
        self._pending.append((self._hashing.submit(self._hash.update, content), made))
        if len(self._pending) > self._most:
            self._write()

    def _write(self) -> None:
        hashed, waiting = self._pending.popleft()
        hashed.result()
        made = waiting if isinstance(waiting, _Made) else waiting.result()
        self._written(made.content)
        if made.digest:
            self._frames.append(Frame(self._index, self._offset, len(made.content), made.digest))
        self._index += 1
        self._offset += len(made.content)


def too_large(max_disk: int) -> TooLarge:
    return TooLarge(f"the disk has more than {show_size(max_disk)}: `--max-size` takes a larger one")
