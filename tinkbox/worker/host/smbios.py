"""The tables that a machine's firmware keeps of itself: DMTF DSP0134 (SMBIOS), as /sys/firmware/dmi/tables/DMI has them."""

from collections.abc import Iterator

MEMORY_DEVICE = 17
END = 127
_SIZE, _LARGE_SIZE = 0x0C, 0x1C
_UNKNOWN, _SEE_LARGE = 0xFFFF, 0x7FFF


def installed_memory(tables: bytes) -> int:
    """The bytes of all memory devices together (§7.18), 0 when the tables name none."""
    return sum(_size(structure) for kind, structure in _structures(tables) if kind == MEMORY_DEVICE)


def _size(structure: bytes) -> int:
    size = int.from_bytes(structure[_SIZE : _SIZE + 2], "little")
    if size == _UNKNOWN:
        return 0
    if size == _SEE_LARGE:
        return (int.from_bytes(structure[_LARGE_SIZE : _LARGE_SIZE + 4], "little") & 0x7FFF_FFFF) * 2**20
    return (size & 0x7FFF) * (2**10 if size & 0x8000 else 2**20)


def _structures(tables: bytes) -> Iterator[tuple[int, bytes]]:
    """Type and formatted part of each; what follows is its texts, closed by two zeros (§6.1)."""
    at = 0
    while at + 4 <= len(tables):
        kind, length = tables[at], tables[at + 1]
        if kind == END or length < 4:
            return
        yield kind, tables[at : at + length]
        closing = tables.find(b"\0\0", at + length)
        if closing < 0:
            return
        at = closing + 2
