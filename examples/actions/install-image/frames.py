"""The frames of a system image, a few at a time: fetched and written, and compared with their digests on the disk.

A frame that has zstd's checksum is not hashed when it arrives, for what counts is what the disk holds: one sha256 less of
the whole image is a tenth of an installation on a slow processor.  Where the disk holds something else, `vouch` finds out
whether the disk or the image is to blame.
"""

import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import zstandard
from block_map import Frame
from download import Broken
from failure import Failure
from progress import Progress
from registry import SystemImage
from server import Server
from sizes import MIB, size
from target import Target
from threads import each

# Each connection asks for so many frames at once, and has one of them in memory.
AT_ONCE = 8
CONNECTIONS = max(2, min(4, os.cpu_count() or 2))
_ATTEMPTS = 3
_SYNCED_EVERY = 256 * MIB


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the image that is not zeros, and the sha256 of its raw bytes."""

    place: int
    length: int
    digest: str


class FrameCopy:
    def __init__(self, image: SystemImage, server: Server) -> None:
        self._image = image
        self._blocks = image.blocks
        self._server = server
        self._lock = threading.Lock()
        self._damaged: dict[int, int] = {}
        self._unsynced = 0
        self._first: tuple[int, bytes] | None = None

    def start(self, length: int) -> bytes:
        """The first bytes of the image, at most a frame of them; nothing is written."""
        frames = self._blocks.frames
        if not frames or frames[0].index:
            return bytes(min(length, self._blocks.size))
        got: list[bytes] = []
        self._fetch(frames[:1], lambda _, raw: got.append(raw), by_digest=True)
        self._first = (0, got[0])
        return got[0][:length]

    def pieces(self) -> list[Piece]:
        blocks = self._blocks
        return [Piece(blocks.place(one.index), blocks.raw_length(one.index), one.digest) for one in blocks.frames]

    def zeros(self) -> list[tuple[int, int]]:
        return list(self._blocks.zeros())

    def vouch(self, piece: Piece) -> None:
        """Compare the frame of this piece with its digest; raises Failure with ImageDamaged when it is not what the image says."""
        frame = next(frame for frame in self._blocks.frames if self._blocks.place(frame.index) == piece.place)
        self._fetch([frame], lambda *_: None, by_digest=True)

    def copy(self, target: Target, progress: Progress) -> int:
        """Put the image on the disk; returns how many bytes of it were there already, from an earlier attempt."""
        kept = 0

        def put(frame: Frame, raw: bytes) -> None:
            target.put(self._blocks.place(frame.index), raw)
            progress.advance(len(raw))
            self._sync_now_and_then(target, len(raw))

        def copy(run: tuple[Frame, ...]) -> None:
            nonlocal kept
            wanted = [frame for frame in run if not (resumed and self._is_there(target, frame))]
            there = sum(self._blocks.raw_length(frame.index) for frame in run if frame not in wanted)
            progress.advance(there)
            with self._lock:
                kept += there
            for part in _neighbours(wanted):
                self._fetch(part, put)

        resumed = self._was_begun(target)
        for place, length in self._blocks.zeros():
            target.zero(place, length)
        frames = self._blocks.frames
        if self._first is not None:
            put(frames[0], self._first[1])
            self._first, frames = None, frames[1:]
        each(_runs(frames), copy, CONNECTIONS, self._server.give_up)
        return kept

    def _was_begun(self, target: Target) -> bool:
        """Frames come in their order: of an interrupted attempt the first ones are there."""
        later = self._blocks.frames[1:]
        probed = {0, *(1 << power for power in range(20)), len(later) - 1}
        return any(self._is_there(target, later[number]) for number in sorted(probed) if 0 <= number < len(later))

    def _is_there(self, target: Target, frame: Frame) -> bool:
        place, length = self._blocks.place(frame.index), self._blocks.raw_length(frame.index)
        # What is held back was not written by an earlier attempt either.
        return hashlib.sha256(target.disk.read(place, length)).hexdigest() == frame.digest

    def _fetch(self, frames: Iterable[Frame], put: Callable[[Frame, bytes], None], *, by_digest: bool = False) -> None:
        """Frames that lie side by side in the blob; their own checksum is enough unless they are wanted `by_digest`."""
        wanted = list(frames)
        decompressor = zstandard.ZstdDecompressor()

        def take(number: int, packed: bytearray) -> None:
            frame = wanted[number]
            length = self._blocks.raw_length(frame.index)
            raw = _decompressed(decompressor, packed, length)
            if raw is None or not (
                (not by_digest and zstandard.get_frame_parameters(packed).has_checksum)
                or hashlib.sha256(raw).hexdigest() == frame.digest
            ):
                self._count_damaged(frame)
            else:
                put(frame, raw)

        self._server.pieces(
            self._image.url, wanted[0].offset, [frame.length for frame in wanted], self._image.length, take
        )

    def _count_damaged(self, frame: Frame) -> None:
        """Raises Broken, to have it sent again, or Failure."""
        with self._lock:
            self._damaged[frame.index] = self._damaged.get(frame.index, 0) + 1
            attempts = self._damaged[frame.index]
        what = f"frame {frame.index} of {self._image.name} (byte {self._blocks.place(frame.index)} of the disk)"
        if attempts >= _ATTEMPTS:
            raise Failure(
                "ImageDamaged",
                f"{what} arrived damaged {attempts} times: fetch or import the image again on the appliance",
            )
        raise Broken(f"{what} arrived damaged")

    def _sync_now_and_then(self, target: Target, written: int) -> None:
        """So that progress is the disk's, and memory is not full of what waits for it."""
        with self._lock:
            self._unsynced += written
            due = self._unsynced >= _SYNCED_EVERY
            if due:
                self._unsynced = 0
        if due:
            target.disk.sync()


def read_back(
    target: Target,
    pieces: list[Piece],
    zeros: list[tuple[int, int]],
    progress: Progress,
    vouch: Callable[[Piece], None],
) -> None:
    """Compare what the disk holds with the digests; raises Failure with DiskLies, unless `vouch` knows better."""
    with target.disk.read_back() as reader:

        def compare(piece: Piece) -> None:
            content = target.read(reader, piece.place, piece.length)
            if hashlib.sha256(content).hexdigest() != piece.digest:
                vouch(piece)
                raise _lies(target, piece.place, piece.length)
            progress.advance(piece.length)

        each(pieces, compare, CONNECTIONS)
        for place, length in zeros[:: -(-len(zeros) // 64) or 1]:
            start = -(-place // 4096) * 4096
            if any(target.read(reader, start, min(4096, length))):
                raise _lies(target, place, length)


def _lies(target: Target, place: int, length: int) -> Failure:
    return Failure(
        "DiskLies",
        f"{target.disk.path} does not hold what was written to it at byte {place} (within {size(length)}): "
        "look at the kernel's messages, and replace the disk or its cable",
    )


def _runs(frames: tuple[Frame, ...]) -> Iterator[tuple[Frame, ...]]:
    for part in _neighbours(frames):
        for start in range(0, len(part), AT_ONCE):
            yield tuple(part[start : start + AT_ONCE])


def _neighbours(frames: Iterable[Frame]) -> Iterator[list[Frame]]:
    """In parts that lie side by side in the blob."""
    part: list[Frame] = []
    for frame in frames:
        if part and part[-1].offset + part[-1].length != frame.offset:
            yield part
            part = []
        part.append(frame)
    if part:
        yield part


def _decompressed(decompressor: zstandard.ZstdDecompressor, packed: bytearray, length: int) -> bytes | None:
    """So many bytes exactly, or None.  What a frame says of its size is believed only when it is that."""
    try:
        if zstandard.frame_content_size(packed) not in {-1, length}:
            return None
        raw = decompressor.decompress(packed, max_output_size=length)
    except zstandard.ZstdError:
        return None
    return raw if len(raw) == length else None
