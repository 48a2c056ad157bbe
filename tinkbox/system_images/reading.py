"""The confined process that takes a disk image apart: its file is standard input, and what it holds goes to standard output.

It says CONFINED, or REFUSED and the reason (`confinement.giving_up`), then records: a letter, a number, and as many bytes where
the letter says so.  First comes SIZE, which is 0 where the end shows it; of a tar, FOUND behind it says what disk its file system
is for.  `reading_process` starts it and believes none of it.
"""

import errno
import os
import struct
from collections.abc import Iterator
from typing import BinaryIO, Final
from uuid import UUID

from tinkbox.confinement.giving_up import CONFINED, REFUSED, confine
from tinkbox.model.errors import Invalid
from tinkbox.model.images.system_image import Compression, Format
from tinkbox.system_images.decompression import decompressed
from tinkbox.system_images.found import encode_found
from tinkbox.system_images.qcow2 import PIECE, Piece, Qcow2
from tinkbox.system_images.root_tar import root_file_system

CPU_SECONDS: Final = 2 * 3600
MEMORY_BYTES: Final = 512 << 20

RECORD: Final = struct.Struct(">cQ")
SIZE: Final = b"S"
FOUND: Final = b"F"  # so many bytes follow: `found.encode_found`
DATA: Final = b"D"  # so many bytes follow
ZEROS: Final = b"Z"
WRONG: Final = b"W"  # so many bytes of text follow: what is wrong with the file
END: Final = b"E"
KINDS: Final = (*Format, *(each for each in Compression if each is not Compression.NONE))
MAX_TEXT: Final = 4096


def answer(kind: str, file: int, sink: BinaryIO) -> None:
    """Write what is in the open `file`, which is of this kind (KINDS), to `sink`.

    Behind the kind TAR stands, after a colon, the UUID of which the disk's are made.
    """
    kind, _, identity = kind.partition(":")
    if kind not in KINDS:
        raise Invalid(f"{kind!r} is no kind of disk image: {', '.join(KINDS)}")
    try:
        confine(cpu_seconds=CPU_SECONDS, memory=MEMORY_BYTES)
    except OSError as error:
        sink.write(REFUSED + str(error.strerror).encode())
        return
    sink.write(CONFINED)
    ballast = bytearray(1 << 20)
    try:
        size, pieces, found = _opened(kind, file, identity)
        sink.write(RECORD.pack(SIZE, size))
        if found:
            sink.write(RECORD.pack(FOUND, len(found)) + found)
        sink.flush()
        _tell(pieces, sink)
        sink.write(RECORD.pack(END, 0))
    except Invalid as error:
        _complain(str(error), sink)
    except MemoryError:
        del ballast  # so that there is room to say that there was none
        _complain("it needs more memory to be read than a disk image may", sink)
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        _complain(f"it cannot be read: {error.strerror}", sink)
    except Exception as error:
        _complain(f"it is damaged, or tinkbox has a fault: it cannot be read ({error!r})", sink)
    sink.flush()


def _opened(kind: str, file: int, identity: str) -> tuple[int, Iterator[Piece], bytes]:
    """Its size, its pieces, and what else is found of it."""
    length = os.lseek(file, 0, os.SEEK_END)
    os.lseek(file, 0, os.SEEK_SET)
    if kind == Format.RAW:
        return length, _raw(file, length), b""
    if kind == Format.QCOW2:
        disk = Qcow2(lambda offset, number: _read_at(file, offset, number), length)
        return disk.size, disk.pieces(), b""
    if kind == Format.TAR:
        root = root_file_system(lambda place, number: _read_at(file, place, number), length, UUID(identity))
        return root.size, root.pieces, encode_found(root.found)
    return 0, decompressed(lambda number: os.read(file, number), Compression(kind)), b""


def _raw(file: int, length: int) -> Iterator[Piece]:
    """A raw disk; where the file has holes, nothing is read."""
    place = 0
    while place < length:
        begin = _seek(file, place, os.SEEK_DATA, length)
        if begin > place:
            yield begin - place
        end = _seek(file, begin, os.SEEK_HOLE, length) if begin < length else length
        os.lseek(file, begin, os.SEEK_SET)
        while begin < end:
            piece = os.read(file, min(PIECE, end - begin))
            if not piece:
                raise Invalid(f"it became shorter while it was read: it ends at byte {begin}")
            begin += len(piece)
            yield piece
        place = max(begin, end)


def _seek(file: int, place: int, what: int, length: int) -> int:
    try:
        return min(os.lseek(file, place, what), length)
    except OSError as error:
        if error.errno == errno.ENXIO:  # nothing but a hole until the end
            return length
        return place if what == os.SEEK_DATA else length  # a file system without holes


def _read_at(file: int, offset: int, number: int) -> bytes:
    os.lseek(file, offset, os.SEEK_SET)
    found = bytearray()
    while len(found) < number and (piece := os.read(file, number - len(found))):
        found += piece
    return bytes(found)


def _tell(pieces: Iterator[Piece], sink: BinaryIO) -> None:
    zeros = 0
    for piece in pieces:
        if isinstance(piece, int):
            zeros += piece
            continue
        if zeros:
            sink.write(RECORD.pack(ZEROS, zeros))
            zeros = 0
        for place in range(0, len(piece), PIECE):
            part = piece[place : place + PIECE] if len(piece) > PIECE else piece
            sink.write(RECORD.pack(DATA, len(part)))
            sink.write(part)
    if zeros:
        sink.write(RECORD.pack(ZEROS, zeros))


def _complain(text: str, sink: BinaryIO) -> None:
    content = text.encode(errors="replace")[:MAX_TEXT]
    sink.write(RECORD.pack(WRONG, len(content)))
    sink.write(content)
