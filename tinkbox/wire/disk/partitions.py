"""Partition tables, as far as it takes to know whose a disk is: GPT (UEFI specification §5) and the MBR of PCs.  Pure."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tinkbox.model.disks.disks import Content
from tinkbox.wire.disk.signatures import Read, file_systems

MAX_PARTITIONS: Final = 128
MAX_LOGICAL: Final = 60
_GPT: Final = b"EFI PART"
_BOOT_SIGNATURE: Final = b"\x55\xaa"
_SECTORS: Final = (512, 4096)
_PROTECTIVE: Final = 0xEE
_EXTENDED: Final = frozenset((0x05, 0x0F, 0x85))
# The first sector of these ends like an MBR.
_BOOT_SECTORS: Final = frozenset(("FAT", "exFAT", "NTFS", "ReFS", "BitLocker"))


@dataclass(frozen=True, slots=True)
class Partition:
    """From where to where, in bytes."""

    offset: int
    size: int


def contents(read: Read, size: int) -> tuple[Content, ...]:
    """All that is known of what is on a disk of `size` bytes, the partition table first; nothing: it counts as empty.

    `read(offset, length)` gives bytes of it, fewer where it ends.
    """
    whole = tuple(file_systems(read, 0, size))
    table, partitions = _table(read, size, whole)
    inside = (found for each in partitions for found in file_systems(read, each.offset, each.size))
    return (*table, *whole, *inside)


def _table(read: Read, size: int, whole: tuple[Content, ...]) -> tuple[tuple[Content, ...], tuple[Partition, ...]]:
    for sector in _SECTORS:
        for at in (sector, size - sector):
            header = read(at, 92) if at >= sector else b""
            if header.startswith(_GPT) and len(header) == 92:
                partitions = tuple(_gpt_partitions(read, header, sector, size))
                # The second table, at the end, speaks only where the first one is gone.
                place = 0 if at == sector else at
                found = Content(
                    kind="GPT", id=str(uuid.UUID(bytes_le=header[56:72])), label=_count(partitions), offset=place
                )
                return (found,), partitions
    first = read(0, 512)
    if first[510:512] != _BOOT_SIGNATURE or any(each.kind in _BOOT_SECTORS for each in whole):
        return (), ()
    entries = _entries(first)
    if any(first[446 + 16 * number] not in (0, 0x80) for number in range(4)):
        return (), ()  # boot code to its end: no table
    partitions = tuple(_mbr_partitions(read, entries, size))
    found = Content(kind="MBR", id=first[440:444][::-1].hex(), label=_count(partitions))
    return (found,), partitions


def _gpt_partitions(read: Read, header: bytes, sector: int, size: int) -> Iterator[Partition]:
    entries_at = int.from_bytes(header[72:80], "little") * sector
    count, length = int.from_bytes(header[80:84], "little"), int.from_bytes(header[84:88], "little")
    if not 128 <= length <= 4096 or entries_at >= size:
        return
    entries = read(entries_at, min(count, MAX_PARTITIONS) * length)
    for begin in range(0, len(entries) - 127, length):
        entry = entries[begin : begin + 48]
        if any(entry[:16]):
            first, last = (int.from_bytes(entry[place : place + 8], "little") for place in (32, 40))
            if 0 < first <= last and first * sector < size:
                yield Partition(first * sector, min((last + 1 - first) * sector, size - first * sector))


def _entries(sector: bytes) -> tuple[tuple[int, int, int], ...]:
    """The four entries of an MBR or of a link in the chain of an extended partition: type, begin and length in sectors."""
    slots = (sector[446 + 16 * number : 462 + 16 * number] for number in range(4))
    return tuple(
        (slot[4], int.from_bytes(slot[8:12], "little"), int.from_bytes(slot[12:16], "little")) for slot in slots
    )


def _mbr_partitions(read: Read, entries: tuple[tuple[int, int, int], ...], size: int) -> Iterator[Partition]:
    for kind, begin, length in entries:
        if kind in _EXTENDED and begin:
            yield from _logical(read, begin, size)
        elif kind not in (0, _PROTECTIVE) and length and 0 < begin * 512 < size:
            yield Partition(begin * 512, min(length * 512, size - begin * 512))


def _logical(read: Read, extended: int, size: int) -> Iterator[Partition]:
    """Those of a chain of tables, each with one partition and where the next one is; a chain that bites its tail ends."""
    link = extended
    for _ in range(MAX_LOGICAL):
        table = read(link * 512, 512) if link * 512 < size else b""
        if table[510:512] != _BOOT_SIGNATURE:
            return
        (_, begin, length), (_, following, _), *_ = _entries(table)
        if begin and length and (link + begin) * 512 < size:
            yield Partition((link + begin) * 512, min(length * 512, size - (link + begin) * 512))
        if not following:
            return
        link = extended + following


def _count(partitions: tuple[Partition, ...]) -> str:
    return {0: "no partitions", 1: "1 partition"}.get(len(partitions), f"{len(partitions)} partitions")
