"""Streams of every kind: whole, one after the other, cut off, damaged, and made to fill a memory."""

import bz2
import gzip
import io
import lzma
import random
import struct
from collections.abc import Callable, Mapping

import pytest
import zstandard

from tinkbox.model.errors import Invalid
from tinkbox.model.images.system_image import Compression
from tinkbox.system_images.decompression import PIECE, decompressed

PLAIN = random.Random(3).randbytes(200_000) + bytes(2 * PIECE)
PACKERS: Mapping[Compression, Callable[[bytes], bytes]] = {
    Compression.GZIP: gzip.compress,
    Compression.XZ: lzma.compress,
    Compression.BZIP2: bz2.compress,
    Compression.ZSTD: zstandard.compress,
}
KINDS = pytest.mark.parametrize("kind", PACKERS)


def content(packed: bytes, kind: Compression) -> bytes:
    return b"".join(decompressed(io.BytesIO(packed).read, kind))


@KINDS
def test_all_streams_of_a_file_are_read(kind: Compression) -> None:
    packed = PACKERS[kind](PLAIN)
    assert content(packed, kind) == PLAIN
    assert content(packed + PACKERS[kind](b"more") + PACKERS[kind](b""), kind) == PLAIN + b"more"


@pytest.mark.parametrize("kind", [Compression.GZIP, Compression.XZ])
def test_zeros_between_streams_and_behind_them_are_padding(kind: Compression) -> None:
    packed = PACKERS[kind](PLAIN)
    assert content(packed + bytes(8) + packed + bytes(100_000), kind) == PLAIN * 2


def test_frames_of_zstd_that_hold_nothing_are_skipped() -> None:
    skipped = struct.pack("<II", 0x184D2A50, 10) + b"0123456789"
    packed = zstandard.compress(PLAIN)
    assert content(skipped + packed + skipped, Compression.ZSTD) == PLAIN


@KINDS
def test_a_stream_that_ends_early_is_truncated(kind: Compression) -> None:
    packed = PACKERS[kind](PLAIN)
    for length in (len(packed) - 1, len(packed) // 2, 8):
        with pytest.raises(Invalid, match=f"it is truncated: its {kind} stream ends after"):
            content(packed[:length], kind)


@KINDS
def test_damage_is_told_with_its_place(kind: Compression) -> None:
    packed = bytearray(PACKERS[kind](PLAIN))
    packed[100_000:100_020] = b"twenty bytes of noise"
    packed = packed[:-1] + b"\x00\xff"
    with pytest.raises(Invalid, match=f"(damaged|truncated): its {kind} stream"):
        content(bytes(packed) + b"garbage", kind)


@KINDS
def test_no_piece_of_a_bomb_is_large(kind: Compression) -> None:
    size = (64 if kind is Compression.ZSTD else 8) << 20
    bomb = PACKERS[kind](bytes(size))
    longest = total = 0
    for piece in decompressed(io.BytesIO(bomb).read, kind):
        longest, total = max(longest, len(piece)), total + len(piece)
    assert (total, longest <= (32 * PIECE if kind is Compression.ZSTD else PIECE)) == (size, True)


def test_windows_that_need_much_memory_are_refused() -> None:
    noise = random.Random(4).randbytes(1000)
    parameters = zstandard.ZstdCompressionParameters(window_log=30)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    with pytest.raises(Invalid, match="compress it with a smaller window"):
        content(packer.compress(noise) + packer.flush(), Compression.ZSTD)
