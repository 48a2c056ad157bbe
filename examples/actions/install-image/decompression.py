"""Takes the compression off a stream of bytes; which one it is, the bytes themselves tell."""

import bz2
import contextlib
import gzip
import io
import itertools
import lzma
import subprocess
import threading
import zlib
from collections.abc import Iterator
from typing import BinaryIO, cast

from failure import Failure

BLOCK = 1 << 20
KINDS = ("gzip", "xz", "zstd", "bzip2", "lzma")
_LONGEST_MAGIC = 14


def compression(start: bytes) -> str:
    """Name the compression that a stream beginning like this has; empty for none."""
    if start.startswith(b"\x1f\x8b\x08"):
        return "gzip"
    if start.startswith(b"\xfd7zXZ\0"):
        return "xz"
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        return "zstd"
    if start.startswith(b"BZh") and start[4:10] == b"1AY&SY":
        return "bzip2"
    # The format of before xz has no magic of its own: the usual properties, a dictionary as its programs make them, the
    # length or that it is unknown, and the range coder's first byte, which is always zero.
    if len(start) >= _LONGEST_MAGIC and start[0] == 0x5D and start[13] == 0:
        dictionary, length = int.from_bytes(start[1:5], "little"), int.from_bytes(start[5:13], "little")
        if dictionary.bit_count() in {1, 2} and dictionary >= 4096 and (length < 1 << 48 or length == (1 << 64) - 1):
            return "lzma"
    return ""


def beginning(chunks: Iterator[bytes], size: int) -> tuple[bytes, Iterator[bytes]]:
    """The stream's first `size` bytes or more, if it has so many, and the stream again from its first byte."""
    start = b""
    while len(start) < size and (chunk := next(chunks, b"")):
        start += chunk
    return start, itertools.chain([start], chunks)


def peek(chunks: Iterator[bytes]) -> tuple[str, Iterator[bytes]]:
    """The stream's compression, and the stream again from its first byte."""
    start, chunks = beginning(chunks, _LONGEST_MAGIC)
    return compression(start), chunks


def decompressed(kind: str, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The content, in blocks of bounded size; raises Failure when it is damaged or ends too early."""
    if not kind:
        yield from chunks
    elif kind == "zstd":
        yield from _by_program(["zstd", "-d", "-c", "-q"], chunks)
    else:
        yield from _in_process(kind, chunks)


class _Stream(io.RawIOBase):
    """An iterator of bytes as a readable file."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def _in_process(kind: str, chunks: Iterator[bytes]) -> Iterator[bytes]:
    opened = {"gzip": gzip.open, "xz": lzma.open, "lzma": lzma.open, "bzip2": bz2.open}[kind]
    with cast("BinaryIO", opened(io.BufferedReader(_Stream(chunks), BLOCK))) as content:  # type: ignore[operator]
        try:
            while block := content.read(BLOCK):
                yield block
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            raise Failure("ImageDamaged", f"the image is no complete {kind} stream: {error}") from None


def _by_program(command: list[str], chunks: Iterator[bytes]) -> Iterator[bytes]:
    problems: list[BaseException] = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        sink = program.stdin

        def feed() -> None:
            try:
                for chunk in chunks:
                    sink.write(chunk)
            except BrokenPipeError:
                pass  # the program gave up, and its exit status says so
            except BaseException as error:
                problems.append(error)
                program.kill()
            finally:
                with contextlib.suppress(BrokenPipeError):
                    sink.close()

        feeder = threading.Thread(target=feed, daemon=True)
        feeder.start()
        try:
            while block := program.stdout.read(BLOCK):
                yield block
        except GeneratorExit:
            program.kill()
            raise
        feeder.join()
        if problems:
            raise problems[0]
        if program.wait() != 0:
            raise Failure("ImageDamaged", f"the image is no complete stream: {command[0]} ended with {program.wait()}")
