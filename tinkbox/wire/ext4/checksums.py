"""Checksums of ext4's metadata: CRC-32C without the final inversion.

Most of what is summed up ends with zeros, which are taken at once: what so many of them make of a checksum is linear in its bits.
"""

from collections.abc import Sequence
from typing import Final

_POLYNOMIAL: Final = 0x82F63B78
BEGIN: Final = 0xFFFFFFFF


def _entry(value: int) -> int:
    for _ in range(8):
        value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
    return value


_TABLE: Final = tuple(_entry(value) for value in range(256))


def _applied(rows: Sequence[int], crc: int) -> int:
    found = 0
    for row in rows:
        if crc & 1:
            found ^= row
        crc >>= 1
    return found


def _of_zeros() -> tuple[tuple[tuple[int, ...], ...], ...]:
    """What each of a checksum's four bytes becomes behind 1, 2, 4, … zeros."""
    found = []
    rows = [_TABLE[1 << bit & 0xFF] ^ 1 << bit >> 8 for bit in range(32)]
    for _ in range(20):
        found.append(tuple(tuple(_applied(rows[at : at + 8], byte) for byte in range(256)) for at in (0, 8, 16, 24)))
        rows = [_applied(rows, row) for row in rows]
    return tuple(found)


_ZEROS: Final = _of_zeros()


def crc32c(content: bytes, before: int = BEGIN) -> int:
    """Of content, of at most a megabyte, that goes on where `before` ended."""
    table, crc = _TABLE, before
    filled = content.rstrip(b"\0")
    for byte in filled:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    left = len(content) - len(filled)
    for first, second, third, fourth in _ZEROS[: left.bit_length()]:
        if left & 1:
            crc = first[crc & 0xFF] ^ second[crc >> 8 & 0xFF] ^ third[crc >> 16 & 0xFF] ^ fourth[crc >> 24]
        left >>= 1
    return crc
