"""Decides where everything of an ext4 file system lies: files one after the other, each group's own blocks at its begin."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.wire.ext4 import records
from tinkbox.wire.ext4.attributes import own_attributes
from tinkbox.wire.ext4.records import BLOCK, PER_GROUP, Extent, Geometry, has_superblock
from tinkbox.wire.ext4.tree import Kind, Node, everything, folder, put

MIB: Final = (1 << 20) // BLOCK
# Room for the first boot, where the file system did not grow before it; all of it is zeros.
_SPARE_BLOCKS: Final = 256 * MIB
_JOURNAL_BLOCKS: Final = 64 * MIB
# As mke2fs has them: descriptors for a file system of 2 TiB, and an inode for each 16 KiB.
_RESERVED: Final = 255
_INODES_PER_GROUP: Final = 8192
_MOST_INODES_PER_GROUP: Final = 32_768
_LEAST_LAST_GROUP: Final = 2048
# Every part of a file costs memory: of one with more, the holes are filled.
_MOST_PARTS: Final = 2 * records.IN_BLOCK
MAX_BLOCKS: Final = 1 << 28  # 1 TiB


@dataclass(slots=True)
class Placed:
    """Where a node is: its inode's number, its folder's, and its blocks."""

    node: Node
    number: int
    parent: int
    extents: Sequence[Extent] = ()
    leaves: Sequence[tuple[int, int]] = ()  # (first block of the file, place) of each block of extents
    branches: Sequence[tuple[int, int]] = ()  # the same of each block of leaves
    attribute_block: int = 0
    subfolders: int = 0

    @property
    def blocks(self) -> int:
        above = len(self.leaves) + len(self.branches)
        return sum(each.length for each in self.extents) + above + bool(self.attribute_block)


@dataclass(frozen=True, slots=True)
class Run:
    """Blocks on the disk, and what is in them: a part of a node's content, or what `role` says."""

    place: int
    length: int
    role: str
    first: int = 0
    placed: Placed | None = None


@dataclass(slots=True, kw_only=True)
class Plan:
    """All of it; `runs` ascend, and `end` is the first block behind what is used in a group, for each group."""

    geometry: Geometry
    placed: Sequence[Placed]  # by number, from FIRST on; the root stands before them
    root: Placed
    numbers: dict[int, int]  # by the id() of a node
    runs: Sequence[Run]
    ends: Sequence[int]
    journal: Sequence[Extent]
    resizing: int  # the block from which the reserved blocks are known
    folders: Sequence[int] = field(default=())

    @property
    def size(self) -> int:
        return self.geometry.blocks * BLOCK


def plan(root: Node) -> Plan:
    """Where everything of a tree goes.  Raises Invalid for what no ext4 can have, and for more than 1 TiB."""
    if b"lost+found" not in root.children:
        put(root, b"lost+found", folder(0o700, root.modified))
    placed, numbers = _numbered(root)
    needed = sum(_most_blocks(each) for each in placed)
    needed += _JOURNAL_BLOCKS + 1
    geometry = _geometry(needed + needed // 10 + _SPARE_BLOCKS, records.FIRST + len(placed))
    allocating = _Allocating(geometry)
    resizing = allocating.one("resizing")
    journal = allocating.take(_JOURNAL_BLOCKS, "journal")
    for each in placed:
        _place(each, allocating)
    return Plan(
        geometry=geometry,
        placed=placed[1:],
        root=placed[0],
        numbers=numbers,
        runs=allocating.runs,
        ends=allocating.ends(),
        journal=journal,
        resizing=resizing,
        folders=_folders(placed, geometry),
    )


def content_blocks(node: Node) -> Sequence[tuple[int, int]]:
    """(first block, blocks) of a file where it is not zeros alone."""
    if node.content:
        return ((0, -(-len(node.content) // BLOCK)),)
    found: list[tuple[int, int]] = []
    for each in node.segments:
        if not each.length:
            continue
        first, end = each.at // BLOCK, -(-each.end // BLOCK)
        if found and first <= sum(found[-1]):
            found[-1] = (found[-1][0], end - found[-1][0])
        else:
            found.append((first, end - first))
    if len(found) > _MOST_PARTS:
        return ((0, -(-node.size // BLOCK)),)
    return found


def is_short_link(node: Node) -> bool:
    """Whether a link's target has room in its inode."""
    return node.kind is Kind.LINK and len(node.content) < records.BODY


def _numbered(root: Node) -> tuple[list[Placed], dict[int, int]]:
    placed = [Placed(root, records.ROOT, records.ROOT)]
    numbers, known = {id(root): records.ROOT}, {id(root): placed[0]}
    lost = root.children[b"lost+found"]
    for parent, node in _first(lost, root):
        above = known[id(parent)]
        above.subfolders += node.kind is Kind.FOLDER
        if id(node) in numbers:
            continue
        one = Placed(node, records.FIRST + len(placed) - 1, above.number)
        numbers[id(node)] = one.number
        placed.append(one)
        if node.kind is Kind.FOLDER:
            known[id(node)] = one
        elif node.names > records.MOST_NAMES:
            raise Invalid(f"a file in it has {node.names} names: a file system keeps {records.MOST_NAMES} of one")
    return placed, numbers


def _first(lost: Node, root: Node) -> Iterator[tuple[Node, Node]]:
    """lost+found comes first: its inode has a number of its own."""
    yield root, lost
    for parent, node in everything(root):
        if node is not lost:
            yield parent, node


def _most_blocks(one: Placed) -> int:
    """What a node may need, whatever becomes of it."""
    node = one.node
    attributes = 1 if node.attributes and own_attributes(node.attributes) is None else 0
    if node.kind is Kind.FOLDER:
        return attributes + records.folder_blocks(sorted(node.children))
    if node.kind is Kind.LINK:
        return attributes + (not is_short_link(node))
    if node.kind is not Kind.FILE:
        return attributes
    parts = content_blocks(node)
    blocks = sum(length for _, length in parts)
    if blocks > MAX_BLOCKS:
        raise Invalid("a file in it has more than a disk of 1 TiB can hold")
    extents = len(parts) + blocks // (PER_GROUP // 2) + 2
    leaves = len(_begins(extents))
    return attributes + blocks + leaves + len(_begins(leaves))


def _geometry(needed: int, inodes: int) -> Geometry:
    """So many blocks for files and their like, and a quarter more inodes than are used."""
    per_group, wanted = _INODES_PER_GROUP, inodes + inodes // 4
    blocks = max(needed, MIB)
    while True:
        if blocks > MAX_BLOCKS:
            raise Invalid("what is in it needs a disk of more than 1 TiB")
        groups = -(-blocks // PER_GROUP)
        while groups * per_group < wanted and per_group < _MOST_INODES_PER_GROUP:
            per_group *= 2
        made = Geometry(blocks=blocks, inodes_per_group=per_group, reserved=_RESERVED)
        last = made.length(groups - 1) - made.overhead(groups - 1)
        short = needed - sum(made.length(group) - made.overhead(group) for group in range(groups))
        if last < _LEAST_LAST_GROUP:
            blocks += _LEAST_LAST_GROUP - last
        elif short > 0:
            blocks += short
        elif groups * per_group < wanted:
            blocks += PER_GROUP
        elif blocks % MIB:
            blocks += MIB - blocks % MIB
        else:
            return made


class _Allocating:
    """Gives blocks away, from the begin of the disk on."""

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        self._group = 0
        self._next = geometry.overhead(0)
        self.runs: list[Run] = []

    def one(self, role: str, placed: Placed | None = None, first: int = 0) -> int:
        ((extent),) = self.take(1, role, placed, first)
        return extent.place

    def take(self, blocks: int, role: str, placed: Placed | None = None, first: int = 0) -> list[Extent]:
        """So many blocks, in as many extents as it takes."""
        found = []
        while blocks:
            end = self._group * PER_GROUP + self._geometry.length(self._group)
            if self._next == end:
                self._group += 1
                self._next = self._group * PER_GROUP + self._geometry.overhead(self._group)
                continue
            length = min(blocks, end - self._next, records.MAX_EXTENT)
            found.append(Extent(first, self._next, length))
            self.runs.append(Run(self._next, length, role, first, placed))
            self._next += length
            first += length
            blocks -= length
        return found

    def ends(self) -> list[int]:
        geometry = self._geometry
        full = [group * PER_GROUP + geometry.length(group) for group in range(self._group)]
        empty = [group * PER_GROUP + geometry.overhead(group) for group in range(self._group + 1, geometry.groups)]
        return [*full, self._next, *empty]


def _place(one: Placed, allocating: _Allocating) -> None:
    node = one.node
    if node.attributes and own_attributes(node.attributes) is None:
        one.attribute_block = allocating.one("attributes", one)
    if node.kind is Kind.FOLDER:
        one.extents = allocating.take(records.folder_blocks(sorted(node.children)), "folder", one)
    elif node.kind is Kind.LINK and not is_short_link(node):
        one.extents = allocating.take(1, "content", one)
    elif node.kind is Kind.FILE:
        one.extents = tuple(
            extent
            for first, length in content_blocks(node)
            for extent in allocating.take(length, "content", one, first)
        )
    one.leaves = tuple(
        (one.extents[place].first, allocating.one("extents", one, place)) for place in _begins(len(one.extents))
    )
    one.branches = tuple(
        (one.leaves[place][0], allocating.one("leaves", one, place)) for place in _begins(len(one.leaves))
    )


def _begins(entries: int) -> range:
    """The first entry of each block that so many need; none where an inode has room for all."""
    return range(0, entries if entries > records.IN_INODE else 0, records.IN_BLOCK)


def _folders(placed: Sequence[Placed], geometry: Geometry) -> list[int]:
    """How many folders each group has."""
    counted = [0] * geometry.groups
    for each in placed:
        if each.node.kind is Kind.FOLDER:
            counted[(each.number - 1) // geometry.inodes_per_group] += 1
    return counted


def backups(geometry: Geometry) -> list[int]:
    """The groups with a copy of the first one's superblock."""
    return [group for group in range(1, geometry.groups) if has_superblock(group)]
