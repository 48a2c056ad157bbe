"""Writes a small FAT12 file system: the same bytes for the same files."""

import hashlib
import struct
from collections.abc import Mapping
from typing import Any

from failure import Failure

CLUSTER = 4096
_ROOT_ENTRIES = 512
_MOST_CLUSTERS = 4084  # with more it would be FAT16
_END = 0xFFF
_DAY = 0x0021  # the first that there is: 1980-01-01
_DIRECTORY, _LABEL, _LONG_NAME = 0x10, 0x08, 0x0F
Tree = dict[str, Any]


def file_system(files: Mapping[str, bytes], *, label: str, size: int, sector: int, hidden: int) -> bytes:
    """A file system of `size` bytes with these files, whose names may have folders in them.

    `hidden` is how many sectors come before it on the disk.  Raises Failure when the files are too large.
    """
    return _Writer(label, size, sector, hidden).written(files)


class _Writer:
    def __init__(self, label: str, size: int, sector: int, hidden: int) -> None:
        self._label = label.encode("ascii").ljust(11)
        self._sector = sector
        self._hidden = hidden
        self._total = size // sector
        root = _ROOT_ENTRIES * 32 // sector
        self._table_sectors = -(-(size // CLUSTER + 2) * 3 // 2 // sector) + 1
        self._data_at = (1 + 2 * self._table_sectors + root) * sector
        self._clusters = min((size - self._data_at) // CLUSTER, _MOST_CLUSTERS)
        self._table = [0xFF8, _END]
        self._data: list[bytes] = []

    def written(self, files: Mapping[str, bytes]) -> bytes:
        tree: Tree = {}
        for path, content in files.items():
            *folders, name = path.split("/")
            place = tree
            for folder in folders:
                place = place.setdefault(folder, {})
            place[name] = content
        root = self._label_entry() + self._entries(tree, 0)
        identity = hashlib.sha256(b"".join([self._label, root, *self._data])).digest()[:4]
        image = bytearray(self._total * self._sector)
        image[:512] = self._boot_sector(identity)
        packed = self._packed_table()
        for copy in range(2):
            start = (1 + copy * self._table_sectors) * self._sector
            image[start : start + len(packed)] = packed
        start = (1 + 2 * self._table_sectors) * self._sector
        image[start : start + len(root)] = root
        data = b"".join(self._data)
        image[self._data_at : self._data_at + len(data)] = data
        return bytes(image)

    def _boot_sector(self, identity: bytes) -> bytes:
        start = struct.pack(
            "<3s8sHBHBHHBHHHIIBBB4s11s8s", b"\xeb\x3c\x90", b"TINKBOX ", self._sector, CLUSTER // self._sector, 1, 2,
            _ROOT_ENTRIES, self._total, 0xF8, self._table_sectors, 63, 255, self._hidden, 0, 0x80, 0, 0x29, identity,
            self._label, b"FAT12   ",
        )  # fmt: skip
        return start.ljust(510, b"\0") + b"\x55\xaa"

    def _packed_table(self) -> bytes:
        entries = [*self._table, 0] if len(self._table) % 2 else self._table
        pairs = zip(entries[::2], entries[1::2], strict=True)
        return b"".join((one | other << 12).to_bytes(3, "little") for one, other in pairs)

    def _allocated(self, content: bytes) -> int:
        """The first cluster of the content; none for no content."""
        count = -(-len(content) // CLUSTER)
        if not count:
            return 0
        first = len(self._table)
        if first - 2 + count > self._clusters:
            raise Failure("SeedTooLarge", "the configuration of the machine does not fit into the seed partition")
        self._table += [*range(first + 1, first + count), _END]
        self._data.append(content.ljust(count * CLUSTER, b"\0"))
        return first

    def _entries(self, tree: Tree, own: int) -> bytes:
        """The entries of a folder; `own` is its cluster."""
        packed = b""
        for number, (name, content) in enumerate(sorted(tree.items()), 1):
            if isinstance(content, dict):
                cluster, length, kind = self._folder(content, own), 0, _DIRECTORY
            else:
                cluster, length, kind = self._allocated(content), len(content), 0x20
            packed += _named(name, number, kind, cluster, length)
        return packed

    def _folder(self, tree: Tree, parent: int) -> int:
        cluster = self._allocated(b"\0")
        place = len(self._data) - 1
        dots = _entry(b".".ljust(11), _DIRECTORY, cluster, 0) + _entry(b"..".ljust(11), _DIRECTORY, parent, 0)
        self._data[place] = (dots + self._entries(tree, cluster)).ljust(CLUSTER, b"\0")
        return cluster

    def _label_entry(self) -> bytes:
        return _entry(self._label, _LABEL, 0, 0)


def _entry(short: bytes, kind: int, cluster: int, length: int) -> bytes:
    return struct.pack("<11sBBBHHHHHHHI", short, kind, 0, 0, 0, _DAY, _DAY, 0, 0, _DAY, cluster, length)


def _named(name: str, number: int, kind: int, cluster: int, length: int) -> bytes:
    """A long name, and before its file's entry a short one that no other file of the folder has."""
    letters = "".join(letter for letter in name.upper().partition(".")[0] if letter.isalnum())[:5]
    short = f"{letters}~{number}".encode("ascii").ljust(8) + b"   "
    checksum = 0
    for byte in short:
        checksum = ((checksum >> 1) + ((checksum & 1) << 7) + byte) & 0xFF
    units = name.encode("utf-16-le")
    if len(units) % 26:
        units += b"\0\0"
        units += b"\xff" * (-len(units) % 26)
    parts = [units[place : place + 26] for place in range(0, len(units), 26)]
    packed = b""
    for order, part in reversed(list(enumerate(parts, 1))):
        last = 0x40 if order == len(parts) else 0
        packed += struct.pack(
            "<B10sBBB12sH4s", order | last, part[:10], _LONG_NAME, 0, checksum, part[10:22], 0, part[22:]
        )
    return packed + _entry(short, kind, cluster, length)
