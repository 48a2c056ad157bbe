"""A GUID partition table, both copies, as bytes."""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

SECTOR = 512
ENTRIES = 128
ENTRY_SIZE = 128
TABLE_SECTORS = ENTRIES * ENTRY_SIZE // SECTOR
# Behind the last partition lies the second copy: the table, then its header.
TAIL_SECTORS = TABLE_SECTORS + 1
BIOS_BOOT = UUID("21686148-6449-6e6f-744e-656564454649")
EFI_SYSTEM = UUID("c12a7328-f81f-11d2-ba4b-00a0c93ec93b")
LINUX_ROOT_X86_64 = UUID("4f68bce3-e8cd-4db1-96e7-fbcaf984b709")


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """`number` is its place in the table, which need not be its place on the disk; sectors count from 0."""

    number: int
    kind: UUID
    identity: UUID
    first: int
    sectors: int

    @property
    def last(self) -> int:
        return self.first + self.sectors - 1


def table(partitions: Sequence[Partition], *, disk: UUID, sectors: int) -> tuple[bytes, bytes]:
    """What stands at the disk's begin (from sector 0) and at its end (its last TAIL_SECTORS sectors)."""
    entries = bytearray(ENTRIES * ENTRY_SIZE)
    for each in partitions:
        entry = struct.pack("<16s16sQQQ72s", each.kind.bytes_le, each.identity.bytes_le, each.first, each.last, 0, b"")
        entries[(each.number - 1) * ENTRY_SIZE : each.number * ENTRY_SIZE] = entry
    last = sectors - 1

    def header(own: int, other: int, entries_at: int) -> bytes:
        usable = (2 + TABLE_SECTORS, last - TAIL_SECTORS)

        def packed(checksum: int) -> bytes:
            front = struct.pack("<8sIIIIQQQQ", b"EFI PART", 0x10000, 92, checksum, 0, own, other, *usable)
            return front + struct.pack("<16sQIII", disk.bytes_le, entries_at, ENTRIES, ENTRY_SIZE, zlib.crc32(entries))

        return packed(zlib.crc32(packed(0))).ljust(SECTOR, b"\0")

    begin = _protective(sectors) + header(1, last, 2) + entries
    return begin, bytes(entries) + header(last, 1, last - TABLE_SECTORS)


def _protective(sectors: int) -> bytes:
    """An MBR with one partition over everything, so that those who know no GPT see no free disk."""
    size = min(sectors - 1, 0xFFFFFFFF)
    entry = struct.pack("<B3sB3sII", 0, b"\x00\x02\x00", 0xEE, b"\xff\xff\xff", 1, size)
    return bytes(446) + entry.ljust(64, b"\0") + b"\x55\xaa"
