"""What ext4 has on the disk, each record as bytes: little-endian, with its checksum."""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final
from uuid import UUID

from tinkbox.wire.ext4.checksums import crc32c
from tinkbox.wire.ext4.tree import Kind

BLOCK: Final = 4096
INODE: Final = 256
DESCRIPTOR: Final = 64
PER_GROUP: Final = 8 * BLOCK  # blocks, as many as one block's bitmap can tell
ROOT, RESIZE, JOURNAL, FIRST = 2, 7, 8, 11
# From 65,000 names on, a folder's number of them is not counted.
MOST_NAMES: Final = 65_000
MAX_EXTENT: Final = 32_768
IN_INODE: Final = 4
IN_BLOCK: Final = (BLOCK - 12 - 4) // 12
# has_journal ext_attr resize_inode dir_index; filetype extents 64bit flex_bg; sparse_super large_file huge_file dir_nlink
# extra_isize metadata_csum
_COMPATIBLE, _INCOMPATIBLE, _READ_ONLY = 0x3C, 0x2C2, 0x46B
_SIGNED_HASH: Final = 1
_TAIL: Final = 12
_EXTRA: Final = 32
BODY: Final = 60
OWN_ATTRIBUTES: Final = INODE - 128 - _EXTRA
_ENTRY_KINDS: Final[Mapping[Kind, int]] = {
    Kind.FILE: 1,
    Kind.FOLDER: 2,
    Kind.CHARACTER_DEVICE: 3,
    Kind.BLOCK_DEVICE: 4,
    Kind.PIPE: 5,
    Kind.LINK: 7,
}
EXTENTS_FLAG: Final = 0x80000


@dataclass(frozen=True, slots=True)
class Extent:
    """`length` blocks of a file, from its block `first` on, lie at `place` on the disk."""

    first: int
    place: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometry:
    """How large a file system is, and how it is divided."""

    blocks: int
    inodes_per_group: int
    reserved: int  # blocks behind the descriptors, for those of a larger file system

    @property
    def groups(self) -> int:
        return -(-self.blocks // PER_GROUP)

    @property
    def descriptor_blocks(self) -> int:
        return -(-self.groups * DESCRIPTOR // BLOCK)

    @property
    def inode_blocks(self) -> int:
        return self.inodes_per_group * INODE // BLOCK

    def length(self, group: int) -> int:
        return min(PER_GROUP, self.blocks - group * PER_GROUP)

    def copies(self, group: int) -> int:
        """Blocks at the group's begin with the superblock, the descriptors and room for more of them."""
        return 1 + self.descriptor_blocks + self.reserved if has_superblock(group) else 0

    def overhead(self, group: int) -> int:
        """Blocks at the group's begin that no file can have."""
        return self.copies(group) + 2 + self.inode_blocks


def has_superblock(group: int) -> bool:
    """The first groups, and the powers of 3, 5 and 7 (sparse_super)."""
    return group <= 1 or any(_is_power(group, base) for base in (3, 5, 7))


def _is_power(number: int, base: int) -> bool:
    while number % base == 0:
        number //= base
    return number == 1


@cache
def _seed(uuid: bytes) -> int:
    return crc32c(uuid)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What makes a file system this one; `moment` is when it was made, in seconds."""

    uuid: UUID
    hash_seed: UUID
    label: bytes = b""
    moment: int = 0

    @property
    def seed(self) -> int:
        """Of every checksum but the superblock's."""
        return _seed(self.uuid.bytes)

    def of_inode(self, number: int) -> int:
        return crc32c(struct.pack("<II", number, 0), self.seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What a group's descriptor tells."""

    number: int
    begin: int  # the block of its own first bitmap
    free_blocks: int
    free_inodes: int
    folders: int
    unused: int
    block_bitmap: bytes
    inode_bitmap: bytes


def superblock(geometry: Geometry, identity: Identity, *, group: int, free: tuple[int, int], journal: bytes) -> bytes:
    """1,024 bytes; `free` are blocks and inodes, `journal` is what its inode has of extents and size."""
    made = bytearray(1024)
    inodes = geometry.groups * geometry.inodes_per_group

    def at(place: int, form: str, *values: object) -> None:
        struct.pack_into(f"<{form}", made, place, *values)

    at(0, "IIIIIII", inodes, geometry.blocks, geometry.blocks // 20, *free, 0, 2)
    at(0x1C, "IIIIII", 2, PER_GROUP, PER_GROUP, geometry.inodes_per_group, 0, identity.moment)
    at(0x34, "HHHHHHIIII", 0, 0xFFFF, 0xEF53, 1, 1, 0, identity.moment, 0, 0, 1)
    at(0x54, "IHH", FIRST, INODE, group)
    at(0x5C, "III16s16s", _COMPATIBLE, _INCOMPATIBLE, _READ_ONLY, identity.uuid.bytes, identity.label[:16])
    at(0xCE, "H", geometry.reserved)
    at(0xE0, "I", JOURNAL)
    at(0xEC, "16sBBH", identity.hash_seed.bytes, 1, 1, DESCRIPTOR)
    at(0x100, "I", 0x0C)  # acl, user_xattr
    at(0x108, "I68s", identity.moment, journal)
    at(0x15C, "HHI", _EXTRA, _EXTRA, _SIGNED_HASH)
    at(0x174, "BB", 4, 1)  # groups that a larger file system lays together, as a power of two; CRC-32C
    at(0x3FC, "I", crc32c(bytes(made[:0x3FC])))
    return bytes(made)


def descriptor(group: Group, geometry: Geometry, identity: Identity) -> bytes:
    blocks = crc32c(group.block_bitmap, identity.seed)
    inodes = crc32c(group.inode_bitmap[: geometry.inodes_per_group // 8], identity.seed)
    begin = group.begin
    made = bytearray(
        struct.pack(
            "<IIIHHHHIHHHH",
            *(begin, begin + 1, begin + 2, group.free_blocks & 0xFFFF, group.free_inodes, group.folders),
            *(0x4, 0, blocks & 0xFFFF, inodes & 0xFFFF, group.unused, 0),  # its inode table is zeroed
        ).ljust(DESCRIPTOR, b"\0")
    )
    struct.pack_into("<HH", made, 0x38, blocks >> 16, inodes >> 16)
    struct.pack_into("<H", made, 0x1E, crc32c(struct.pack("<I", group.number) + made, identity.seed) & 0xFFFF)
    return bytes(made)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inode:
    """An inode but for its number; `blocks` are all that it has, `body` its BODY bytes, `attributes` what is kept in it."""

    mode: int
    user: int = 0
    group: int = 0
    size: int = 0
    names: int = 1
    blocks: int = 0
    modified: int = 0
    flags: int = 0
    body: bytes = b""
    attribute_block: int = 0
    attributes: bytes = b""


def inode(one: Inode, number: int, identity: Identity) -> bytes:
    """Raises ValueError for a body that has no room in it."""
    if len(one.body) > BODY:
        raise ValueError(f"inode {number} has {len(one.body)} bytes, and room for {BODY}")
    moment, later = one.modified & 0xFFFFFFFF, (one.modified + (1 << 31) >> 32) & 3
    sectors = one.blocks * (BLOCK // 512)
    made = bytearray(INODE)
    struct.pack_into(
        f"<HHIIIIIHHIII{BODY}sIIIIHHHHHH",
        made,
        0,
        *(one.mode, one.user & 0xFFFF, one.size & 0xFFFFFFFF, moment, moment, moment, 0),
        *(one.group & 0xFFFF, one.names, sectors & 0xFFFFFFFF, one.flags, 0, one.body),
        *(0, one.attribute_block & 0xFFFFFFFF, one.size >> 32, 0),
        *(sectors >> 32, one.attribute_block >> 32, one.user >> 16, one.group >> 16, 0, 0),
    )
    struct.pack_into("<HHIIIIIII", made, 0x80, _EXTRA, 0, later, later, later, moment, later, 0, 0)
    made[-OWN_ATTRIBUTES:] = one.attributes.ljust(OWN_ATTRIBUTES, b"\0")
    checksum = crc32c(bytes(made), identity.of_inode(number))
    struct.pack_into("<H", made, 0x7C, checksum & 0xFFFF)
    struct.pack_into("<H", made, 0x82, checksum >> 16)
    return bytes(made)


def device_body(major: int, minor: int) -> bytes:
    if major < 256 and minor < 256:
        return struct.pack("<I", major << 8 | minor)
    return struct.pack("<II", 0, minor & 0xFF | major << 8 | (minor & ~0xFF) << 12)


def extent_body(
    extents: Sequence[Extent], leaves: Sequence[tuple[int, int]], branches: Sequence[tuple[int, int]]
) -> bytes:
    """What an inode has of its extents: themselves, or (first block of the file, place) of each block that leads to them."""
    if branches:
        return _indices(branches, IN_INODE, 2)
    return _indices(leaves, IN_INODE, 1) if leaves else _extents(extents, IN_INODE)


def extent_block(extents: Sequence[Extent], number: int, identity: Identity) -> bytes:
    """A block of the extents of this inode."""
    return _sealed(_extents(extents, IN_BLOCK), number, identity)


def leaf_block(leaves: Sequence[tuple[int, int]], number: int, identity: Identity) -> bytes:
    """A block that leads to blocks of the extents of this inode."""
    return _sealed(_indices(leaves, IN_BLOCK, 1), number, identity)


def _sealed(entries: bytes, number: int, identity: Identity) -> bytes:
    made = entries.ljust(BLOCK - 4, b"\0")
    return made + struct.pack("<I", crc32c(made, identity.of_inode(number)))


def _indices(below: Sequence[tuple[int, int]], most: int, depth: int) -> bytes:
    entries = (struct.pack("<IIHH", first, place & 0xFFFFFFFF, place >> 32, 0) for first, place in below)
    return struct.pack("<HHHHI", 0xF30A, len(below), most, depth, 0) + b"".join(entries)


def _extents(extents: Sequence[Extent], most: int) -> bytes:
    entries = (
        struct.pack("<IHHI", each.first, each.length, each.place >> 32, each.place & 0xFFFFFFFF) for each in extents
    )
    return struct.pack("<HHHHI", 0xF30A, len(extents), most, 0, 0) + b"".join(entries)


def padded(length: int) -> int:
    """The same as whole words."""
    return length + 3 & ~3


def folder_blocks(names: Sequence[bytes]) -> int:
    """How many blocks a folder with these names needs."""
    return sum(1 for _ in _shared_out(names))


def _shared_out(names: Sequence[bytes]) -> Iterator[Sequence[int]]:
    """Which names, by their numbers, each block has; "." and ".." stand before all others."""
    room, held = BLOCK - _TAIL - 24, list[int]()
    for number, name in enumerate(names):
        needed = 8 + padded(len(name))
        if needed > room:
            yield held
            room, held = BLOCK - _TAIL, []
        room -= needed
        held.append(number)
    yield held


def folder_content(
    entries: Sequence[tuple[bytes, int, Kind]], number: int, parent: int, identity: Identity
) -> Iterator[bytes]:
    """The blocks of the folder with this inode; entries are names with inode and kind."""
    seed = identity.of_inode(number)
    first = [(b".", number, Kind.FOLDER), (b"..", parent, Kind.FOLDER)]
    for block in _shared_out([name for name, _, _ in entries]):
        here = [*first, *(entries[place] for place in block)]
        first = []
        made = bytearray()
        for place, (name, inode_number, kind) in enumerate(here):
            length = 8 + padded(len(name))
            if place == len(here) - 1:
                length = BLOCK - _TAIL - len(made)
            made += struct.pack("<IHBB", inode_number, length, len(name), _ENTRY_KINDS[kind]) + name
            made += bytes(-len(made) % 4 if place < len(here) - 1 else BLOCK - _TAIL - len(made))
        yield bytes(made) + struct.pack("<IHBBI", 0, _TAIL, 0, 0xDE, crc32c(bytes(made), seed))


def journal_begin(blocks: int, identity: Identity) -> bytes:
    """The first block of an empty journal (big-endian)."""
    front = struct.pack(">IIIIIIII", 0xC03B3998, 4, 0, BLOCK, blocks, 1, 1, 0)
    return (front.ljust(0x30, b"\0") + identity.uuid.bytes + struct.pack(">I", 1)).ljust(BLOCK, b"\0")
