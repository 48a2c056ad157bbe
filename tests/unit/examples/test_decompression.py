import bz2
import gzip
import lzma
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from decompression import compression, decompressed, peek
from failure import Failure

CONTENT = os.urandom(300_000) + b"\0" * 3_000_000 + b"end"


def zstd(content: bytes) -> bytes:
    return subprocess.run(["zstd", "-c", "-q"], input=content, stdout=subprocess.PIPE, check=True).stdout


PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
    "zstd": zstd,
    "lzma": lambda content: lzma.compress(content, lzma.FORMAT_ALONE),
}


def pieces(data: bytes, size: int = 65_536) -> Iterator[bytes]:
    return (data[place : place + size] for place in range(0, len(data), size))


def unpacked(data: bytes, size: int = 65_536) -> bytes:
    kind, chunks = peek(pieces(data, size))
    return b"".join(decompressed(kind, chunks))


@pytest.mark.parametrize("kind", PACK)
def test_every_compression_is_known_by_its_first_bytes(kind: str) -> None:
    assert compression(PACK[kind](CONTENT)) == kind


@pytest.mark.parametrize(
    "start", [b"", b"\x1f", b"BZh9 but no block", b"\x33\xc0\x8e\xd0 a boot sector", b"]\0\0\x80 more bytes"]
)
def test_what_only_looks_alike_is_a_plain_image(start: bytes) -> None:
    assert compression(start) == ""


@pytest.mark.parametrize("kind", PACK)
def test_the_content_comes_out_as_it_went_in(kind: str) -> None:
    assert unpacked(PACK[kind](CONTENT)) == CONTENT


@pytest.mark.parametrize("kind", PACK)
def test_streams_joined_end_to_end_are_one_image(kind: str) -> None:
    assert unpacked(PACK[kind](b"first ") + PACK[kind](b"second")) == b"first second"


def test_the_first_bytes_may_come_one_by_one() -> None:
    assert unpacked(gzip.compress(b"content"), size=1) == b"content"


def test_a_plain_image_is_left_as_it_is() -> None:
    assert unpacked(CONTENT) == CONTENT


@pytest.mark.parametrize("kind", PACK)
def test_blocks_are_bounded_however_well_it_was_packed(kind: str) -> None:
    packed = PACK[kind](b"\0" * 50_000_000)
    assert max(len(block) for block in decompressed(kind, pieces(packed))) <= 1 << 20


@pytest.mark.parametrize("kind", PACK)
def test_a_stream_that_ends_too_early_is_refused(kind: str) -> None:
    with pytest.raises(Failure) as failure:
        unpacked(PACK[kind](CONTENT)[:-9])
    assert failure.value.reason == "ImageDamaged"


@pytest.mark.parametrize("kind", PACK)
def test_a_damaged_stream_is_refused(kind: str) -> None:
    packed = bytearray(PACK[kind](CONTENT))
    packed[100_000:100_064] = bytes(64)
    with pytest.raises(Failure) as failure:
        unpacked(bytes(packed))
    assert failure.value.reason == "ImageDamaged"


@pytest.mark.parametrize("kind", PACK)
def test_a_download_that_fails_is_told_as_such(kind: str) -> None:
    def breaks() -> Iterator[bytes]:
        yield PACK[kind](CONTENT)[:50_000]
        raise Failure("DownloadFailed", "the server is gone")

    with pytest.raises(Failure) as failure:
        list(decompressed(kind, breaks()))
    assert failure.value.reason == "DownloadFailed"


def test_a_consumer_that_stops_leaves_no_program_behind() -> None:
    blocks = decompressed("zstd", pieces(zstd(CONTENT)))
    next(blocks)
    blocks.close()  # type: ignore[attr-defined]
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()
    assert not [pid for pid in children if "zstd" in Path(f"/proc/{pid}/comm").read_text()]
