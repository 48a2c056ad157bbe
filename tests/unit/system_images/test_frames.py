"""Frames: each by itself is a part of the disk, all together are the disk."""

import hashlib
import random
from collections.abc import Sequence

import pytest
import zstandard

from tinkbox.model.errors import TooLarge
from tinkbox.model.images.system_image import FRAME, BlockMap
from tinkbox.system_images.frames import Frames, Piece

NOISE = random.Random(5).randbytes(1 << 20)


def packed(pieces: Sequence[Piece], max_disk: int = 1 << 40) -> tuple[BlockMap, bytes, int]:
    blob = bytearray()
    with Frames(blob.extend, workers=2, max_disk=max_disk) as frames:
        block_map = frames.take(pieces)
    return block_map, bytes(blob), frames.filled


@pytest.mark.parametrize(
    ("pieces", "listed"),
    [
        ([NOISE], [0]),
        ([3 * FRAME, NOISE, 2 * FRAME], [3]),
        ([b"x", FRAME - 1, FRAME, b"y"], [0, 2]),
        ([FRAME - 1, b"xy", 5 * FRAME - 3], [0, 1]),
        ([b"x" * 100, bytes(2 * FRAME), NOISE * 9, 700], [0, 2, 3, 4]),
        ([FRAME + 512], []),
        ([FRAME, bytes(511), b"x"], [1]),
        ([b""], []),
    ],
    ids=range(8),
)
def test_the_frames_are_the_disk(pieces: Sequence[Piece], listed: Sequence[int]) -> None:
    raw = b"".join(bytes(each) if isinstance(each, int) else each for each in pieces)
    block_map, blob, filled = packed(pieces)
    assert (block_map.raw.size, block_map.raw.digest) == (len(raw), f"sha256:{hashlib.sha256(raw).hexdigest()}")
    assert [each.index for each in block_map.frames] == listed
    whole = zstandard.ZstdDecompressor().stream_reader(blob, read_across_frames=True).read()
    assert whole == raw
    for each in block_map.frames:
        part = zstandard.decompress(blob[each.offset : each.offset + each.length])
        assert part == raw[each.index * FRAME : (each.index + 1) * FRAME]
        assert hashlib.sha256(part).hexdigest() == each.digest
    assert filled >= len(raw) - raw.count(0)


def test_zeros_of_a_terabyte_cost_a_few_bytes_a_frame() -> None:
    block_map, blob, _ = packed([100 * FRAME])
    assert (len(block_map.frames), len(blob) < 100 * 200) == (0, True)


@pytest.mark.parametrize("pieces", [[NOISE, 1 << 60], [1 << 60], [NOISE] * 9], ids=["zeros", "only zeros", "data"])
def test_more_than_a_disk_may_have_is_refused(pieces: Sequence[Piece]) -> None:
    with pytest.raises(TooLarge, match="more than 8MiB: `--max-size`"):
        packed(pieces, 8 << 20)


def test_a_full_disk_ends_it() -> None:
    def full(_: bytes) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"), Frames(full, workers=2, max_disk=1 << 40) as frames:
        frames.take([NOISE] * 100)
