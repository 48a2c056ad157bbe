"""Extended attributes as ext4 has them: in the inode where there is room, else in a block; access control lists in a form of their own."""

import struct
from collections.abc import Iterator, Mapping
from typing import Final

from tinkbox.wire.ext4.checksums import crc32c
from tinkbox.wire.ext4.records import BLOCK, OWN_ATTRIBUTES, Identity, padded

_MAGIC: Final = 0xEA020000
_HEADER: Final = 32
_PREFIXES: Final[Mapping[bytes, int]] = {b"user.": 1, b"trusted.": 4, b"security.": 6}
# Access control lists have whole names of their own, and a form of their own on the disk.
_LISTS: Final[Mapping[bytes, int]] = {b"system.posix_acl_access": 2, b"system.posix_acl_default": 3}
_LIST_VERSION, _OWN_LIST_VERSION = 2, 1
_NAMED_IN_LISTS: Final = (0x02, 0x08)  # a user, a group


def known_attributes(attributes: Mapping[bytes, bytes]) -> Mapping[bytes, bytes]:
    """Those that can be kept."""
    return {name: value for name, value in attributes.items() if _parted(name, value)}


def _parted(name: bytes, value: bytes) -> tuple[int, bytes, bytes] | None:
    """The number of its prefix, the rest of its name, and its value on the disk."""
    if name in _LISTS:
        entries = _list(value)
        return (_LISTS[name], b"", entries) if entries else None
    for prefix, index in _PREFIXES.items():
        if name.startswith(prefix) and 0 < len(name) - len(prefix) < 256:
            return index, name[len(prefix) :], value
    return None


def _list(value: bytes) -> bytes:
    """An access control list as ext4 has it, of what setxattr(2) takes; empty where that is none."""
    if len(value) % 8 != 4 or value[:4] != struct.pack("<I", _LIST_VERSION):
        return b""
    made = struct.pack("<I", _OWN_LIST_VERSION)
    for tag, right, whose in struct.iter_unpack("<HHI", value[4:]):
        made += struct.pack("<HH", tag, right) + (struct.pack("<I", whose) if tag in _NAMED_IN_LISTS else b"")
    return made


def own_attributes(attributes: Mapping[bytes, bytes]) -> bytes | None:
    """As an inode has them behind its fields; None where they need a block of their own."""
    content = _entries(attributes, OWN_ATTRIBUTES - 4, 0)
    return None if content is None else struct.pack("<I", _MAGIC) + content


def attributes_fit(attributes: Mapping[bytes, bytes]) -> bool:
    """Whether a block can keep them."""
    return _entries(attributes, BLOCK - _HEADER, _HEADER) is not None


def block_of_attributes(attributes: Mapping[bytes, bytes], place: int, identity: Identity) -> bytes | None:
    """As a block at this place; None where even that is too small."""
    content = _entries(attributes, BLOCK - _HEADER, _HEADER)
    if content is None:
        return None
    total = 0
    for value in _hashes(attributes):
        total = _rotated(total, 16) ^ value
    header = struct.pack("<IIIII12s", _MAGIC, 1, 1, total, 0, b"")
    checksum = crc32c(struct.pack("<Q", place) + header + content, identity.seed)
    return header[:16] + struct.pack("<I", checksum) + header[20:] + content


def _ordered(attributes: Mapping[bytes, bytes]) -> list[tuple[int, bytes, bytes]]:
    parted = (_parted(name, value) for name, value in attributes.items())
    return sorted((each for each in parted if each), key=lambda each: (each[0], len(each[1]), each[1]))


def _entries(attributes: Mapping[bytes, bytes], room: int, shift: int) -> bytes | None:
    """Entries from the begin on, values from the end; `shift` is what places of values count from before the entries."""
    ordered = _ordered(attributes)
    if sum(16 + padded(len(name)) + padded(len(value)) for _, name, value in ordered) + 4 > room:
        return None
    entries, values = b"", b""
    for (index, name, value), known in zip(ordered, _hashes(attributes), strict=True):
        values = value + bytes(-len(value) % 4) + values
        at = shift + room - len(values) if value else 0
        entries += struct.pack("<BBHIII", len(name), index, at, 0, len(value), known) + name + bytes(-len(name) % 4)
    return entries.ljust(room - len(values), b"\0") + values


def _hashes(attributes: Mapping[bytes, bytes]) -> Iterator[int]:
    for _, name, value in _ordered(attributes):
        total = 0
        for byte in name:
            total = _rotated(total, 5) ^ byte
        for (word,) in struct.iter_unpack("<I", value + bytes(-len(value) % 4)):
            total = _rotated(total, 16) ^ word
        yield total


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> 32 - bits) & 0xFFFFFFFF
