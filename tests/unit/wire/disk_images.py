"""Disks in memory, with what is on them written where each format has it."""

import uuid
import zlib

from tinkbox.wire.disk.signatures import Read

DISK_ID = uuid.UUID("11223344-5566-7788-99aa-bbccddeeff00")
LINUX = uuid.UUID("0fc63daf-8483-4772-8e79-3d69d8477de4")


class Image:
    """A disk of `size` bytes; only what is written takes room."""

    def __init__(self, size: int = 64 << 20) -> None:
        self.size = size
        self._bytes = bytearray(size)

    def write(self, at: int, content: bytes) -> "Image":
        self._bytes[at : at + len(content)] = content
        return self

    @property
    def content(self) -> bytes:
        return bytes(self._bytes)

    @property
    def read(self) -> Read:
        return lambda offset, length: bytes(self._bytes[max(0, offset) : max(0, offset) + length])

    def gpt(
        self, *partitions: tuple[int, int], sector: int = 512, primary: bool = True, backup: bool = True
    ) -> "Image":
        """A table with partitions from one sector to another, the last included, and its protective MBR."""
        entries = b"".join(
            LINUX.bytes_le + uuid.UUID(int=number + 1).bytes_le + first.to_bytes(8, "little") + last.to_bytes(8, "little")
            + bytes(80)
            for number, (first, last) in enumerate(partitions)
        ).ljust(128 * 128, b"\0")  # fmt: skip
        last = self.size // sector - 1
        spread = len(entries) // sector
        for wanted, own, other, table in ((primary, 1, last, 2), (backup, last, 1, last - spread)):
            header = (
                b"EFI PART" + bytes.fromhex("00000100") + (92).to_bytes(4, "little") + bytes(8)
                + own.to_bytes(8, "little") + other.to_bytes(8, "little") + (2 + spread).to_bytes(8, "little")
                + (last - spread - 1).to_bytes(8, "little") + DISK_ID.bytes_le + table.to_bytes(8, "little")
                + (128).to_bytes(4, "little") + (128).to_bytes(4, "little") + zlib.crc32(entries).to_bytes(4, "little")
            )  # fmt: skip
            header = header[:16] + zlib.crc32(header).to_bytes(4, "little") + header[20:]
            if wanted:
                self.write(own * sector, header).write(table * sector, entries)
        if primary:
            self.mbr((0xEE, 1, last), serial=0)
        return self

    def mbr(self, *entries: tuple[int, int, int], serial: int = 0x0BADCAFE, at: int = 0) -> "Image":
        """A table of partitions by type, first sector and length; `at` is the sector of one in a chain."""
        self.write(at * 512 + 440, serial.to_bytes(4, "little"))
        for number, (kind, begin, length) in enumerate(entries):
            slot = bytes((0, 0, 2, 0, kind, 0, 0, 0)) + begin.to_bytes(4, "little") + length.to_bytes(4, "little")
            self.write(at * 512 + 446 + 16 * number, slot)
        return self.write(at * 512 + 510, b"\x55\xaa")
