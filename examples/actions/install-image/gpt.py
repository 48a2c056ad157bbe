"""GUID partition tables (UEFI specification, chapter 5): read, changed and written as bytes."""

import dataclasses
import struct
import uuid
import zlib
from dataclasses import dataclass

from partitions import NoPartitionFree, Partition, TableDamaged

SIGNATURE = b"EFI PART"
SECTORS = (512, 4096)
BASIC_DATA = uuid.UUID("ebd0a0a2-b9e5-4433-87c0-68b6b72699c7").bytes_le
EFI_SYSTEM = uuid.UUID("c12a7328-f81f-11d2-ba4b-00a0c93ec93b").bytes_le
_BIOS_BOOT = uuid.UUID("21686148-6449-6e6f-744e-656564454649").bytes_le
_FIXED = {
    EFI_SYSTEM: "it is the EFI system partition",
    _BIOS_BOOT: "it is the BIOS boot partition",
    uuid.UUID("0657fd6d-a4ab-43c4-84e5-0933c84b4f4f").bytes_le: "it is a swap partition",
}
_HEADER = struct.Struct("<8sIIIIQQQQ16sQIII")
_ENTRY = struct.Struct("<16s16sQQQ72s")
_MOST_ENTRIES_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpt:
    """`sectors` is how many the disk has for which the table is; an empty entry is zeros."""

    sector: int
    sectors: int
    revision: int
    first_usable: int
    last_usable: int
    guid: bytes
    entries_at: int
    entry_size: int
    entries: tuple[bytes, ...]

    @property
    def partitions(self) -> tuple[Partition, ...]:
        found = []
        for number, entry in enumerate(self.entries, 1):
            kind, _, first, last, _, _ = _ENTRY.unpack_from(entry)
            if any(kind):
                found.append(Partition(number=number, first=first, last=last, fixed=_FIXED.get(kind, "")))
        return tuple(found)

    def identities(self, kind: bytes = b"") -> dict[int, uuid.UUID]:
        """The GUIDs of the partitions by number, of one kind or of all."""
        found = {}
        for number, entry in enumerate(self.entries, 1):
            if any(entry[:16]) and kind in {b"", entry[:16]}:
                found[number] = uuid.UUID(bytes_le=entry[16:32])
        return found

    @property
    def first_free(self) -> int:
        return self.first_usable

    @property
    def end(self) -> int:
        return self.last_usable + 1

    def fitted(self, sectors: int) -> "Gpt":
        return dataclasses.replace(self, sectors=sectors, last_usable=sectors - 2 - self._entries_sectors)

    def grown(self, number: int, last: int) -> "Gpt":
        kind, guid, first, _, attributes, name = _ENTRY.unpack_from(self.entries[number - 1])
        return self._with(number, _ENTRY.pack(kind, guid, first, last, attributes, name))

    def with_seed(self, first: int, last: int, name: str, identity: bytes) -> "Gpt":
        taken = {partition.number for partition in self.partitions}
        free = next((number for number in range(1, len(self.entries) + 1) if number not in taken), 0)
        if not free:
            raise NoPartitionFree(f"all {len(self.entries)} entries of its partition table are taken")
        guid = uuid.UUID(bytes=identity[:16], version=4).bytes_le
        return self._with(free, _ENTRY.pack(BASIC_DATA, guid, first, last, 0, name.encode("utf-16-le")))

    def head(self, head: bytes) -> bytes:
        changed = bytearray(head)
        changed[self.sector : 2 * self.sector] = self._header(1, self.sectors - 1, self.entries_at)
        start = self.entries_at * self.sector
        packed = b"".join(self.entries)
        changed[start : start + len(packed)] = packed
        for place in range(446, 510, 16):
            if changed[place + 4] == 0xEE:  # the protective entry covers the disk, as far as it can count
                first = int.from_bytes(changed[place + 8 : place + 12], "little")
                if first == 1:
                    count = min(self.sectors - 1, 0xFFFFFFFF)
                    changed[place + 12 : place + 16] = count.to_bytes(4, "little")
        return bytes(changed)

    def tail(self) -> bytes:
        packed = b"".join(self.entries)
        room = self._entries_sectors * self.sector
        header = self._header(self.sectors - 1, 1, self.sectors - 1 - self._entries_sectors)
        return packed.ljust(room, b"\0") + header

    @property
    def _entries_sectors(self) -> int:
        return -(-len(self.entries) * self.entry_size // self.sector)

    def _with(self, number: int, start: bytes) -> "Gpt":
        entries = list(self.entries)
        entries[number - 1] = start + entries[number - 1][_ENTRY.size :]
        return dataclasses.replace(self, entries=tuple(entries))

    def _header(self, here: int, there: int, entries_at: int) -> bytes:
        def packed(crc: int) -> bytes:
            return _HEADER.pack(
                SIGNATURE, self.revision, _HEADER.size, crc, 0, here, there, self.first_usable, self.last_usable,
                self.guid, entries_at, len(self.entries), self.entry_size, zlib.crc32(b"".join(self.entries)),
            )  # fmt: skip

        return packed(zlib.crc32(packed(0))).ljust(self.sector, b"\0")


def sector_size(head: bytes) -> int:
    """The size of a sector by where a disk that begins so has its GPT; 0 when it has none."""
    return next((size for size in SECTORS if head[size : size + 8] == SIGNATURE), 0)


def parse_gpt(head: bytes) -> Gpt | None:
    """The table of a disk that begins so; None when it has none.  Raises TableDamaged."""
    sector = sector_size(head)
    if not sector:
        return None
    header = head[sector : 2 * sector]
    if len(header) < sector:
        raise TableDamaged("the GPT is cut off")
    (
        _, revision, header_size, crc, _, here, there, first_usable, last_usable, guid, entries_at, count, entry_size,
        entries_crc,
    ) = _HEADER.unpack_from(header)  # fmt: skip
    if not _HEADER.size <= header_size <= sector:
        raise TableDamaged(f"the header of its GPT has {header_size} bytes")
    if zlib.crc32(header[:16] + bytes(4) + header[20:header_size]) != crc or here != 1:
        raise TableDamaged("the header of its GPT has a wrong checksum")
    if not _ENTRY.size <= entry_size <= 4096 or entry_size % 8 or not 0 < count * entry_size <= _MOST_ENTRIES_BYTES:
        raise TableDamaged(f"its GPT has {count} entries of {entry_size} bytes")
    start = entries_at * sector
    packed = head[start : start + count * entry_size]
    if entries_at < 2 or len(packed) < count * entry_size or zlib.crc32(packed) != entries_crc:
        raise TableDamaged("the entries of its GPT have a wrong checksum")
    entries = tuple(packed[place : place + entry_size] for place in range(0, len(packed), entry_size))
    if first_usable > last_usable or last_usable >= 1 << 60 or first_usable < entries_at:
        raise TableDamaged("its GPT leaves no sector for partitions")
    table = Gpt(
        sector=sector, sectors=max(there, last_usable) + 1, revision=revision, first_usable=first_usable,
        last_usable=last_usable, guid=guid, entries_at=entries_at, entry_size=entry_size, entries=entries,
    )  # fmt: skip
    for partition in table.partitions:
        if not first_usable <= partition.first <= partition.last <= last_usable:
            raise TableDamaged(f"partition {partition.number} of its GPT lies outside the disk")
    return table
