"""Partition tables in the master boot record: read, changed and written as bytes.  Logical partitions stay as they are."""

import dataclasses
import struct
from dataclasses import dataclass

from partitions import NoPartitionFree, Partition, TableDamaged

_TABLE = 446
_ENTRY = struct.Struct("<B3sB3sII")
_EXTENDED = {0x05, 0x0F, 0x85}
_FIXED = dict.fromkeys(_EXTENDED, "it holds logical partitions") | {
    0x82: "it is a swap partition",
    0xEF: "it is the EFI system partition",
    0xEE: "it stands for a GPT",
}
_FAT16_LBA = 0x0E
# What cannot be told in cylinders, heads and sectors.
_BEYOND = b"\xfe\xff\xff"
_MOST = 0xFFFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Mbr:
    """The table does not tell its `sector`: that is the disk's."""

    sector: int
    sectors: int
    entries: tuple[bytes, ...]

    @property
    def partitions(self) -> tuple[Partition, ...]:
        found = []
        for number, entry in enumerate(self.entries, 1):
            _, _, kind, _, first, count = _ENTRY.unpack(entry)
            if kind and count:
                found.append(Partition(number=number, first=first, last=first + count - 1, fixed=_FIXED.get(kind, "")))
        return tuple(found)

    @property
    def first_free(self) -> int:
        return 1

    @property
    def end(self) -> int:
        return min(self.sectors, _MOST)

    def fitted(self, sectors: int) -> "Mbr":
        return dataclasses.replace(self, sectors=sectors)

    def grown(self, number: int, last: int) -> "Mbr":
        status, begin, kind, _, first, _ = _ENTRY.unpack(self.entries[number - 1])
        return self._with(number, _ENTRY.pack(status, begin, kind, _BEYOND, first, last - first + 1))

    def with_seed(self, first: int, last: int, name: str, identity: bytes) -> "Mbr":  # noqa: ARG002
        taken = {partition.number for partition in self.partitions}
        free = next((number for number in range(1, 5) if number not in taken), 0)
        if not free:
            raise NoPartitionFree("all four primary partitions of its table are taken")
        return self._with(free, _ENTRY.pack(0, _BEYOND, _FAT16_LBA, _BEYOND, first, last - first + 1))

    def head(self, head: bytes) -> bytes:
        return head[:_TABLE] + b"".join(self.entries) + head[_TABLE + 64 :]

    def tail(self) -> bytes:
        return b""

    def _with(self, number: int, entry: bytes) -> "Mbr":
        entries = list(self.entries)
        entries[number - 1] = entry
        return dataclasses.replace(self, entries=tuple(entries))


def parse_mbr(head: bytes, sector: int, sectors: int) -> Mbr | None:
    """The table of an image with so many sectors that begins so; None when it has none.  Raises TableDamaged.

    The boot sector of a file system has the same last two bytes, and no partitions.
    """
    if head[510:512] != b"\x55\xaa":
        return None
    entries = tuple(head[place : place + 16] for place in range(_TABLE, _TABLE + 64, 16))
    table = Mbr(sector=sector, sectors=sectors, entries=entries)
    if any(entry[0] not in {0, 0x80} for entry in entries) or not table.partitions:
        return None
    for partition in table.partitions:
        if partition.first == 0 or partition.last >= sectors:
            raise TableDamaged(f"partition {partition.number} of its MBR lies outside the image")
    return table
