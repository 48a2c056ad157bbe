"""The block map of a system image: which frame of the raw disk is where in the blob.

A frame is a piece of the raw disk, compressed by itself.  What is not listed is zeros.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard

from failure import Failure

# A disk of 1 TiB in frames of 4 MiB.
MOST_FRAMES = 1 << 18
SMALLEST_FRAME, LARGEST_FRAME = 1 << 20, 1 << 24
_HEX = re.compile(r"[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True)
class Frame:
    """`offset` and `length` say where it is in the blob, `digest` is the sha256 of its raw bytes."""

    index: int
    offset: int
    length: int
    digest: str


@dataclass(frozen=True, slots=True)
class BlockMap:
    size: int
    frame_size: int
    frames: tuple[Frame, ...]

    def place(self, index: int) -> int:
        return index * self.frame_size

    def raw_length(self, index: int) -> int:
        """Only the last frame can be shorter."""
        return min(self.frame_size, self.size - index * self.frame_size)

    @property
    def listed(self) -> int:
        """How many bytes of the raw disk are in listed frames."""
        return sum(self.raw_length(frame.index) for frame in self.frames)

    def zeros(self) -> Iterator[tuple[int, int]]:
        """The ranges `(place, length)` that are not listed."""
        place = 0
        for frame in self.frames:
            if self.place(frame.index) > place:
                yield place, self.place(frame.index) - place
            place = self.place(frame.index) + self.raw_length(frame.index)
        if place < self.size:
            yield place, self.size - place


def parse_block_map(text: bytes, blob_size: int) -> BlockMap:
    """Raises Failure with ImageDamaged for anything that is not exactly as it should be."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise _damaged("it is no JSON") from None
    if not isinstance(document, dict) or not isinstance(document.get("frames"), list):
        raise _damaged("it has no list of frames")
    size, frame_size = document.get("size"), document.get("frame_size")
    if not _is_number(frame_size) or frame_size & (frame_size - 1) or not SMALLEST_FRAME <= frame_size <= LARGEST_FRAME:
        raise _damaged(f"frame_size is {frame_size!r}")
    if not _is_number(size) or size == 0 or size > MOST_FRAMES * frame_size:
        raise _damaged(f"size is {size!r}")
    count = -(-size // frame_size)
    entries = document["frames"]
    if len(entries) > count:
        raise _damaged(f"it lists {len(entries)} frames of {count}")
    frames = []
    previous, end = -1, 0
    for entry in entries:
        frame = _frame(entry)
        if not previous < frame.index < count:
            raise _damaged(f"frame {frame.index} follows frame {previous}, and the disk has {count}")
        # What zstd cannot compress grows by less than one part in 256.
        if frame.offset < end or not 0 < frame.length <= frame_size + frame_size // 128:
            raise _damaged(f"frame {frame.index} has {frame.length} bytes at {frame.offset}")
        previous, end = frame.index, frame.offset + frame.length
        frames.append(frame)
    if end > blob_size:
        raise _damaged(f"its last frame ends at {end}, and the blob has {blob_size} bytes")
    return BlockMap(size, frame_size, tuple(frames))


def _frame(entry: Any) -> Frame:
    if isinstance(entry, list) and len(entry) == 4:
        index, offset, length, digest = entry
        numbers = _is_number(index) and _is_number(offset) and _is_number(length)
        if numbers and isinstance(digest, str) and _HEX.match(digest):
            return Frame(index, offset, length, digest)
    raise _damaged(f"this is no frame: {str(entry)[:100]}")


def _is_number(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62


def _damaged(why: str) -> Failure:
    return Failure(
        "ImageDamaged", f"the block map of the system image is wrong: {why}: import or fetch the image again"
    )
