"""Reads a qcow2 file, versions 2 and 3, as QEMU's docs/interop/qcow2.txt has it: what the disk holds, from its beginning to its end.

It follows no name: a backing file or a data file is refused.  Every table and cluster must lie in the file, and what is done is
bounded by the size of the disk, whatever the tables say.
"""

import io
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Final

import zstandard

from tinkbox.model.errors import Invalid
from tinkbox.model.sizes import show_size
from tinkbox.model.text import quoted

Read = Callable[[int, int], bytes]
Piece = bytes | int
"""Bytes of the disk, or so many zeros."""

MAX_SIZE: Final = 64 << 40
MAX_L1: Final = 32 << 20  # bytes; QEMU's own limit
PIECE: Final = 1 << 20
_HEADER: Final = struct.Struct(">4sIQIIQIIQQIIQ")
_FEATURES: Final = struct.Struct(">QQQII")
_DIRTY, _CORRUPT, _DATA_FILE, _COMPRESSION_TYPE, _EXTENDED = 1, 2, 4, 8, 16
_KNOWN: Final = _DIRTY | _CORRUPT | _DATA_FILE | _COMPRESSION_TYPE | _EXTENDED
_OFFSET: Final = 0x00FF_FFFF_FFFF_FE00
_COMPRESSED: Final = 1 << 62
_ZERO: Final = 1
_SUBCLUSTERS: Final = 32
_FLATTEN: Final = "flatten it with `qemu-img convert -O qcow2 FILE disk.qcow2` where it was made, and import that"


class Qcow2:
    """A qcow2 file of `length` bytes; `read(offset, length)` gives bytes of it, fewer where it ends.

    Raises Invalid for one that is damaged, or needs what is not read here.
    """

    def __init__(self, read: Read, length: int) -> None:
        self._read = read
        self._length = length
        start = read(0, 512)
        if len(start) < 104:
            raise Invalid("it is truncated within the header of a qcow2")
        (magic, version, backing_at, backing_size, bits, self.size, encryption, l1_size, self._l1_at, *_) = (
            _HEADER.unpack_from(start)
        )
        if magic != b"QFI\xfb" or version not in (2, 3):
            raise Invalid(f"it is a qcow of version {version}: only qcow2, versions 2 and 3, is read; {_FLATTEN}")
        if backing_at:
            name = self._read(backing_at, min(backing_size, 1023)).decode(errors="replace")
            raise Invalid(f"it is a layer on top of another file, {quoted(name)}, which is not read: {_FLATTEN}")
        if encryption:
            raise Invalid(f"its content is encrypted: {_FLATTEN}")
        self._zstd = False
        self._extended = False
        if version == 3:
            self._take_features(start)
        if not 9 <= bits <= 21 or (self._extended and bits < 14):
            raise Invalid(f"its header is damaged: clusters of 2^{bits} bytes")
        if not 0 < self.size <= MAX_SIZE:
            raise Invalid(f"its header is damaged: a disk of {show_size(self.size)}")
        self._bits = bits
        self._cluster = 1 << bits
        self._entries = self._cluster // (16 if self._extended else 8)
        self._span = self._cluster * self._entries
        self._l1_needed = -(-self.size // self._span)
        if l1_size < self._l1_needed or l1_size * 8 > MAX_L1:
            raise Invalid(f"its header is damaged: {l1_size} tables for a disk of {show_size(self.size)}")

    def _take_features(self, start: bytes) -> None:
        features, _, _, _, header_length = _FEATURES.unpack_from(start, 72)
        if features & ~_KNOWN:
            raise Invalid(f"it uses features that are not known here ({features & ~_KNOWN:#x}): {_FLATTEN}")
        if features & _DATA_FILE:
            raise Invalid(f"its content is in another file, which is not read: {_FLATTEN}")
        if features & _CORRUPT:
            raise Invalid("it is marked as damaged: repair it with `qemu-img check -r all FILE`, or download it again")
        if header_length > self._length:
            raise Invalid(
                f"it is truncated or damaged: its header has {header_length} bytes, and the file has {self._length}"
            )
        kind = start[104] if header_length > 104 else 0
        if bool(features & _COMPRESSION_TYPE) != bool(kind) or kind > 1:
            raise Invalid(f"it is compressed in a way that is not known here ({kind}): {_FLATTEN}")
        self._zstd = kind == 1
        self._extended = bool(features & _EXTENDED)

    def pieces(self) -> Iterator[Piece]:
        """The whole disk."""
        done = 0
        for number, entry in enumerate(self._table(self._l1_at, self._l1_needed, "its first table")):
            room = min(self._span, self.size - done)
            place = entry & _OFFSET
            if place:
                yield from self._below(place, number, done, room)
            else:
                yield room
            done += room

    def _below(self, place: int, number: int, done: int, room: int) -> Iterator[Piece]:
        """What one second-level table leads to; of neighbours in the file as much at once as PIECE."""
        begin = end = 0
        for kind, at, length in self._extents(place, number, done, room):
            if kind == "data" and at == end and end - begin + length <= PIECE:
                end += length
                continue
            if end > begin:
                yield self._data(begin, end - begin, done)
            begin = end = 0
            if kind == "data":
                begin, end = at, at + length
            elif kind == "zero":
                yield length
            else:
                yield self._inflated(at)[:length]
        if end > begin:
            yield self._data(begin, end - begin, done)

    def _extents(self, place: int, number: int, done: int, room: int) -> Iterator[tuple[str, int, int]]:
        """(data, where in the file, length), (zero, 0, length) or (compressed, its entry, length), in the disk's order."""
        count = -(-room // self._cluster)
        values = self._table(place, count * (2 if self._extended else 1), f"table {number}")
        for which in range(count):
            entry = values[2 * which if self._extended else which]
            length = min(self._cluster, room - which * self._cluster)
            at = entry & _OFFSET
            if entry & _COMPRESSED:
                yield "compressed", entry, length
            elif at & (self._cluster - 1):
                raise Invalid(f"it is damaged: the cluster at {self._where(done + which * self._cluster)} lies askew")
            elif self._extended:
                yield from self._subclusters(at, values[2 * which + 1], length, done + which * self._cluster)
            elif at and not entry & _ZERO:
                yield "data", at, length
            else:
                yield "zero", 0, length

    def _subclusters(self, at: int, bitmap: int, length: int, done: int) -> Iterator[tuple[str, int, int]]:
        size = self._cluster // _SUBCLUSTERS
        allocated, zero = bitmap & 0xFFFF_FFFF, bitmap >> 32
        if allocated & zero or (allocated and not at):
            raise Invalid(f"it is damaged: the cluster at {self._where(done)} is there and not there")
        for which in range(-(-length // size)):
            part = min(size, length - which * size)
            if allocated >> which & 1:
                yield "data", at + which * size, part
            else:
                yield "zero", 0, part

    def _table(self, at: int, entries: int, what: str) -> tuple[int, ...]:
        if at & 511 or at + entries * 8 > self._length:
            raise Invalid(f"it is truncated or damaged: {what} lies at byte {at}, and the file has {self._length}")
        content = self._read(at, entries * 8)
        if len(content) < entries * 8:
            raise Invalid(f"it is truncated: it ends within {what}, at byte {at + len(content)}")
        return struct.unpack(f">{entries}Q", content)

    def _data(self, at: int, length: int, done: int) -> bytes:
        content = self._read(at, length) if at + length <= self._length else b""
        if len(content) < length:
            raise Invalid(
                f"it is truncated or damaged: what the disk has near {self._where(done)} lies at byte {at}, "
                f"and the file has {self._length}"
            )
        return content

    def _inflated(self, entry: int) -> bytes:
        """A compressed cluster; never more than its size comes of it."""
        split = 62 - (self._bits - 8)
        at = entry & ((1 << split) - 1)
        sectors = (entry & (_COMPRESSED - 1)) >> split
        content = self._read(at, (sectors + 1) * 512 - (at & 511))
        try:
            if self._zstd:
                reader = zstandard.ZstdDecompressor(max_window_size=8 << 20).stream_reader(io.BytesIO(content))
                found = reader.read(self._cluster)
            else:
                found = zlib.decompressobj(-15).decompress(content, self._cluster)
        except (zlib.error, zstandard.ZstdError) as error:
            raise Invalid(f"it is damaged: the compressed cluster at byte {at} cannot be read ({error})") from None
        if len(found) < self._cluster:
            raise Invalid(f"it is truncated or damaged: the compressed cluster at byte {at} ends early")
        return found

    def _where(self, place: int) -> str:
        return f"byte {place} of the disk"
