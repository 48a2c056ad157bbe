"""Reads which files a FAT file system has, FAT12, FAT16 or FAT32; what it says is not trusted."""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

MOST_ENTRIES = 4096
MOST_FOLDERS = 64
_END = {12: 0xFF8, 16: 0xFFF8, 32: 0x0FFFFFF8}
_LONG_NAME, _LABEL, _DIRECTORY = 0x0F, 0x08, 0x10
# Reads so many bytes from this place of the file system on; there may be fewer.
Read = Callable[[int, int], bytes]


class NotFat(Exception):
    """This is no FAT file system, or a damaged one; the text says why."""


@dataclass(frozen=True, slots=True)
class _Node:
    name: str
    is_folder: bool
    cluster: int


def files(read: Read, folder: str) -> list[str]:
    """The paths of all files below a folder of the root, such as `EFI`; raises NotFat."""
    fat = _Fat(read)
    found: list[str] = []
    waiting = [("", node) for node in fat.root() if node.is_folder and node.name.lower() == folder.lower()]
    seen = 0
    while waiting:
        path, node = waiting.pop()
        seen += 1
        if seen > MOST_FOLDERS:
            raise NotFat(f"it has more than {MOST_FOLDERS} folders")
        place = f"{path}/{node.name}"
        for child in fat.folder(node.cluster):
            if child.is_folder:
                waiting.append((place, child))
            else:
                found.append(f"{place}/{child.name}")
    return sorted(found)


class _Fat:
    def __init__(self, read: Read) -> None:
        self._read = read
        boot = read(0, 512)
        if len(boot) < 512 or boot[510:] != b"\x55\xaa":
            raise NotFat("it has no boot sector")
        (sector, self._per_cluster, reserved, tables, self._root_entries, short_total, _, short_size) = (
            struct.unpack_from("<HBHBHHBH", boot, 11)
        )
        long_total, long_size = struct.unpack_from("<II", boot, 32)
        table_sectors, total = short_size or long_size, short_total or long_total
        if (
            sector not in {512, 1024, 2048, 4096}
            or not self._per_cluster
            or not reserved
            or not tables
            or not table_sectors
        ):
            raise NotFat("its boot sector makes no sense")
        self._table_at = reserved * sector
        self._root_at = (reserved + tables * table_sectors) * sector
        self._data_at = self._root_at + -(-self._root_entries * 32 // sector) * sector
        self._cluster = self._per_cluster * sector
        self._clusters = (total * sector - self._data_at) // self._cluster
        if self._clusters < 1:
            raise NotFat("it has no clusters")
        self._bits = 12 if self._clusters < 4085 else 16 if self._clusters < 65525 else 32
        self._root_cluster = struct.unpack_from("<I", boot, 44)[0] if self._bits == 32 else 0

    def root(self) -> Iterator[_Node]:
        if self._bits == 32:
            return self.folder(self._root_cluster)
        return _nodes(iter([self._read(self._root_at, self._root_entries * 32)]))

    def folder(self, cluster: int) -> Iterator[_Node]:
        return _nodes(self._chain(cluster))

    def _chain(self, cluster: int) -> Iterator[bytes]:
        for _ in range(MOST_ENTRIES * 32 // min(self._cluster, MOST_ENTRIES * 32) + 1):
            if not 2 <= cluster < self._clusters + 2:
                raise NotFat(f"a folder leads to cluster {cluster}")
            yield self._read(self._data_at + (cluster - 2) * self._cluster, self._cluster)
            cluster = self._next(cluster)
            if cluster >= _END[self._bits]:
                return
        raise NotFat(f"a folder has more than {MOST_ENTRIES} entries")

    def _next(self, cluster: int) -> int:
        if self._bits == 12:
            pair = int.from_bytes(self._read(self._table_at + cluster * 3 // 2, 2), "little")
            return pair >> 4 if cluster % 2 else pair & 0xFFF
        width = self._bits // 8
        entry = int.from_bytes(self._read(self._table_at + cluster * width, width), "little")
        return entry & 0x0FFFFFFF


def _nodes(blocks: Iterator[bytes]) -> Iterator[_Node]:
    long_name: dict[int, bytes] = {}
    for block in blocks:
        for place in range(0, len(block) - 31, 32):
            entry = block[place : place + 32]
            if not entry[0]:
                return
            kind = entry[11]
            if entry[0] == 0xE5:
                long_name.clear()
            elif kind == _LONG_NAME:
                long_name[entry[0] & 0x3F] = entry[1:11] + entry[14:26] + entry[28:32]
            else:
                units = b"".join(long_name[order] for order in sorted(long_name))
                name = units.decode("utf-16-le", "replace").partition("\0")[0] or _short(entry)
                long_name.clear()
                if not kind & _LABEL and name not in {".", ".."}:
                    high, low = struct.unpack_from("<H4xH", entry, 20)
                    yield _Node(name, bool(kind & _DIRECTORY), high << 16 | low)


def _short(entry: bytes) -> str:
    name, suffix = (part.decode("ascii", "replace").rstrip() for part in (entry[:8], entry[8:11]))
    # Windows keeps in these bits that a short name is meant in small letters.
    name = name.lower() if entry[12] & 0x08 else name
    suffix = suffix.lower() if entry[12] & 0x10 else suffix
    return f"{name}.{suffix}" if suffix else name
