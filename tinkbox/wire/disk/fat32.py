"""Makes a FAT32 file system with files in it, such as an EFI system partition: the same bytes for the same files.

Names are of the form 8.3, with each half in capitals or each in small letters.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

SECTOR: Final = 512
_RESERVED: Final = 32
_COPIES: Final = 2
_INFO, _BACKUP = 1, 6
_ROOT: Final = 2
_END: Final = 0x0FFFFFFF
# With fewer it would be FAT16 (Microsoft's specification of 2000, "FAT type determination").
_LEAST_CLUSTERS: Final = 65_525
_FOLDER, _FILE, _LABEL = 0x10, 0x20, 0x08
_SMALL_BASE, _SMALL_EXTENSION = 0x08, 0x10
_DAY: Final = 1 << 5 | 1  # 1 January 1980, before which there is none


@dataclass(slots=True)
class _Folder:
    cluster: int
    parent: int
    entries: bytearray = field(default_factory=bytearray)
    folders: "dict[str, _Folder]" = field(default_factory=dict)


def file_system(sectors: int, files: Mapping[str, bytes], *, serial: int, label: str) -> Iterator[bytes | int]:
    """The bytes of a partition of so many sectors; a number stands for so many zeros.

    `files` are by their paths, such as `EFI/BOOT/BOOTX64.EFI`.  A cluster is one sector.  Raises ValueError where they do not fit.
    """
    length = -(-(sectors - _RESERVED + 2) * 4 // SECTOR)
    clusters = sectors - _RESERVED - _COPIES * length
    if clusters < _LEAST_CLUSTERS:
        raise ValueError(f"{sectors} sectors are too few for FAT32")
    table, data = _laid_out(files, label)
    if len(table) - 2 > clusters:
        raise ValueError(f"{len(table) - 2} clusters of files do not fit into {clusters}")
    first = _boot_sector(sectors, length, serial, label)
    info = (
        struct.pack("<4s480s4sII12s", b"RRaA", b"", b"rrAa", clusters - (len(table) - 2), len(table), b"")
        + b"\0\0\x55\xaa"
    )
    begin = first + info + bytes(SECTOR * (_BACKUP - 2)) + first + info
    yield begin.ljust(_RESERVED * SECTOR, b"\0")
    chains = struct.pack(f"<{len(table)}I", *table)
    for _ in range(_COPIES):
        yield chains
        yield length * SECTOR - len(chains)
    yield bytes(data)
    yield clusters * SECTOR - len(data)


def _laid_out(files: Mapping[str, bytes], label: str) -> tuple[list[int], bytearray]:
    """The chains of clusters, and what is in these from the root's on."""
    root = _Folder(_ROOT, 0, bytearray(_entry(_label(label), _LABEL, 0)))
    folders = [root]
    table, contents = [0x0FFFFFF8, _END], list[bytes]()

    def allotted(length: int) -> int:
        first, count = len(table), max(1, -(-length // SECTOR))
        table.extend([*range(first + 1, first + count), _END])
        return first

    # Folders first: each has a cluster, which holds more entries than anybody puts into one.
    allotted(SECTOR)
    places = []
    for path in files:
        *above, name = path.split("/")
        here = root
        for part in above:
            if part not in here.folders:
                made = _Folder(allotted(SECTOR), 0 if here is root else here.cluster)
                made.entries += _entry(b".".ljust(11), _FOLDER, made.cluster)
                made.entries += _entry(b"..".ljust(11), _FOLDER, made.parent)
                here.folders[part] = made
                here.entries += _named(part, _FOLDER, made.cluster)
                folders.append(made)
            here = here.folders[part]
        places.append((here, name))
    for (here, name), content in zip(places, files.values(), strict=True):
        cluster = allotted(len(content)) if content else 0
        here.entries += _named(name, _FILE, cluster, len(content))
        if content:
            contents.append(content + bytes(-len(content) % SECTOR))
    for each in folders:
        if len(each.entries) > SECTOR:
            raise ValueError("a folder has more files than one cluster can name")
    data = bytearray(b"".join(bytes(each.entries).ljust(SECTOR, b"\0") for each in folders))
    return table, data + b"".join(contents)


def _entry(name: bytes, kind: int, cluster: int, size: int = 0, case: int = 0) -> bytes:
    high, low = cluster >> 16, cluster & 0xFFFF
    return struct.pack("<11sBBBHHHHHHHI", name, kind, case, 0, 0, _DAY, _DAY, high, 0, _DAY, low, size)


def _named(name: str, kind: int, cluster: int, size: int = 0) -> bytes:
    """An entry with a name of the form 8.3, and what is small of it."""
    base, _, extension = name.partition(".")
    if not (0 < len(base) <= 8 and len(extension) <= 3 and name.isascii()):
        raise ValueError(f"{name!r} is no name of the form 8.3")
    case = (_SMALL_BASE if base.islower() else 0) | (_SMALL_EXTENSION if extension.islower() else 0)
    return _entry(base.upper().encode().ljust(8) + extension.upper().encode().ljust(3), kind, cluster, size, case)


def _boot_sector(sectors: int, length: int, serial: int, label: str) -> bytes:
    front = struct.pack("<3s8sHBHBHHBHHHII", b"\xeb\x58\x90", b"tinkbox ", SECTOR, 1, _RESERVED, _COPIES, 0, 0, 0xF8, 0, 63, 255, 0, sectors)  # fmt: skip
    own = struct.pack("<IHHIHH12sBBBI11s8s", length, 0, 0, _ROOT, _INFO, _BACKUP, b"", 0x80, 0, 0x29, serial, _label(label), b"FAT32   ")  # fmt: skip
    return (front + own).ljust(SECTOR - 2, b"\0") + b"\x55\xaa"


def _label(label: str) -> bytes:
    return label.encode("ascii").ljust(11)[:11]
