"""The bytes of a planned ext4 file system, from its begin to its end."""

import struct
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.wire.ext4 import records
from tinkbox.wire.ext4.attributes import block_of_attributes, own_attributes
from tinkbox.wire.ext4.planning import Placed, Plan, Run, backups, is_short_link
from tinkbox.wire.ext4.records import BLOCK, INODE, PER_GROUP, Group, Identity, Inode
from tinkbox.wire.ext4.tree import Kind, Node

# So many zeros, or bytes.
Piece = bytes | int
# `read(place, length)` gives bytes of what the tree's segments lie in.
Read = Callable[[int, int], bytes]
_AT_ONCE: Final = (1 << 20) // BLOCK


def pieces(plan: Plan, identity: Identity, read: Read) -> Iterator[Piece]:
    """The whole file system.  Raises Invalid where `read` gives less than a segment has."""
    return _Writing(plan, identity, read).pieces()


class _Writing:
    def __init__(self, plan: Plan, identity: Identity, read: Read) -> None:
        self._plan = plan
        self._geometry = plan.geometry
        self._identity = identity
        self._read = read
        self._journal = _journal_inode(plan)
        self._groups = [self._group(number) for number in range(self._geometry.groups)]
        self._free = sum(each.free_blocks for each in self._groups), sum(each.free_inodes for each in self._groups)

    def pieces(self) -> Iterator[Piece]:
        runs = iter(self._plan.runs)
        run = next(runs, None)
        for group in self._groups:
            yield from self._begin_of(group)
            place = group.number * PER_GROUP + self._geometry.overhead(group.number)
            end = group.number * PER_GROUP + self._geometry.length(group.number)
            while run is not None and run.place < end:
                yield from self._content(run)
                place = run.place + run.length
                run = next(runs, None)
            if end > place:
                yield (end - place) * BLOCK

    def _group(self, number: int) -> Group:
        geometry, begin = self._geometry, number * PER_GROUP
        length, end = geometry.length(number), self._plan.ends[number] - begin
        first = number * geometry.inodes_per_group
        used = min(max(records.FIRST - 1 + len(self._plan.placed) - first, 0), geometry.inodes_per_group)
        return Group(
            number=number,
            begin=begin + geometry.copies(number),
            free_blocks=length - end,
            free_inodes=geometry.inodes_per_group - used,
            folders=self._plan.folders[number],
            unused=geometry.inodes_per_group - used,
            block_bitmap=_bitmap(end, length),
            inode_bitmap=_bitmap(used, geometry.inodes_per_group),
        )

    def _begin_of(self, group: Group) -> Iterator[Piece]:
        geometry = self._geometry
        if records.has_superblock(group.number):
            found = records.superblock(
                geometry, self._identity, group=group.number, free=self._free, journal=_journal_copy(self._journal)
            )
            yield (bytes(1024) + found if group.number == 0 else found).ljust(BLOCK, b"\0")
            described = b"".join(records.descriptor(each, geometry, self._identity) for each in self._groups)
            yield described.ljust(geometry.descriptor_blocks * BLOCK, b"\0")
            if group.number == 0:
                for number in range(geometry.reserved):
                    yield self._reserved(1 + geometry.descriptor_blocks + number)
            else:
                yield geometry.reserved * BLOCK
        yield group.block_bitmap
        yield group.inode_bitmap
        yield from self._inodes(group)

    def _reserved(self, place: int) -> bytes:
        """A block for descriptors to come: until then it tells where its copies are."""
        copies = [group * PER_GROUP + place for group in backups(self._geometry)]
        return struct.pack(f"<{len(copies)}I", *copies).ljust(BLOCK, b"\0")

    def _inodes(self, group: Group) -> Iterator[Piece]:
        count = self._geometry.inodes_per_group
        first, used = group.number * count + 1, count - group.free_inodes
        held = bytearray()
        for number in range(first, first + used):
            held += self._inode(number)
            if len(held) >= _AT_ONCE * BLOCK:
                yield bytes(held)
                held.clear()
        if held:
            yield bytes(held)
        yield (count - used) * INODE

    def _inode(self, number: int) -> bytes:
        if number == records.ROOT:
            return records.inode(self._of(self._plan.root), number, self._identity)
        if number == records.RESIZE:
            return records.inode(self._resizing(), number, self._identity)
        if number == records.JOURNAL:
            return records.inode(self._journal, number, self._identity)
        if number < records.FIRST:
            return bytes(INODE)
        return records.inode(self._of(self._plan.placed[number - records.FIRST]), number, self._identity)

    def _of(self, one: Placed) -> Inode:
        node = one.node
        flags, body, size, names = 0, b"", node.size, node.names
        if node.kind is Kind.FOLDER:
            size = sum(each.length for each in one.extents) * BLOCK
            names = 2 + one.subfolders
            if names >= records.MOST_NAMES:
                names = 1  # so many that they are not counted
        elif node.kind is Kind.LINK:
            size = len(node.content)
        if node.kind in (Kind.CHARACTER_DEVICE, Kind.BLOCK_DEVICE):
            body = records.device_body(*node.device)
        elif is_short_link(node):
            body = node.content
        elif node.kind in (Kind.FILE, Kind.FOLDER, Kind.LINK):
            flags, body = records.EXTENTS_FLAG, records.extent_body(one.extents, one.leaves, one.branches)
        own = (own_attributes(node.attributes) or b"") if node.attributes else b""
        return Inode(
            mode=node.kind << 12 | node.permissions & 0o7777,
            user=node.user,
            group=node.group,
            size=size,
            names=names,
            blocks=one.blocks,
            modified=node.modified,
            flags=flags,
            body=body,
            attribute_block=one.attribute_block,
            attributes=own,
        )

    def _resizing(self) -> Inode:
        """The inode by which the blocks for descriptors to come are found."""
        words = BLOCK // 4
        blocks = 1 + self._geometry.reserved * (1 + len(backups(self._geometry)))
        return Inode(
            mode=Kind.FILE << 12 | 0o600,
            size=(words * words + words + 12) * BLOCK,
            blocks=blocks,
            modified=self._identity.moment,
            body=struct.pack("<15I", *([0] * 13), self._plan.resizing, 0),
        )

    def _resizing_block(self) -> bytes:
        words, first = [0] * (BLOCK // 4), self._geometry.descriptor_blocks
        for number in range(self._geometry.reserved):
            words[(first + number) % len(words)] = 1 + first + number
        return struct.pack(f"<{len(words)}I", *words)

    def _content(self, run: Run) -> Iterator[Piece]:
        if run.role == "resizing":
            yield self._resizing_block()
        elif run.role == "journal":
            if run.first == 0:
                yield records.journal_begin(sum(each.length for each in self._plan.journal), self._identity)
            yield (run.length - (run.first == 0)) * BLOCK
        else:
            assert run.placed is not None
            yield from self._content_of(run, run.placed)

    def _content_of(self, run: Run, one: Placed) -> Iterator[Piece]:
        if run.role == "attributes":
            found = block_of_attributes(one.node.attributes, run.place, self._identity)
            assert found is not None
            yield found
        elif run.role == "extents":
            part = one.extents[run.first : run.first + records.IN_BLOCK]
            yield records.extent_block(part, one.number, self._identity)
        elif run.role == "leaves":
            leaves = one.leaves[run.first : run.first + records.IN_BLOCK]
            yield records.leaf_block(leaves, one.number, self._identity)
        elif run.role == "folder":
            children = one.node.children
            entries = [(name, self._plan.numbers[id(node)], node.kind) for name, node in sorted(children.items())]
            made = list(records.folder_content(entries, one.number, one.parent, self._identity))
            yield b"".join(made[run.first : run.first + run.length])
        else:
            for place in range(0, run.length, _AT_ONCE):
                blocks = min(_AT_ONCE, run.length - place)
                yield self._part(one.node, (run.first + place) * BLOCK, blocks * BLOCK)

    def _part(self, node: Node, begin: int, length: int) -> bytes:
        if node.content:
            return node.content[begin : begin + length].ljust(length, b"\0")
        found = bytearray(length)
        place = bisect_right(node.segments, begin, key=lambda each: each.end)
        while place < len(node.segments) and node.segments[place].at < begin + length:
            each, place = node.segments[place], place + 1
            first, end = max(each.at, begin), min(each.end, begin + length)
            content = self._read(each.place + first - each.at, end - first)
            if len(content) < end - first:
                raise Invalid(f"it is truncated: it ends at byte {each.place + first - each.at + len(content)}")
            found[first - begin : end - begin] = content
        return bytes(found)


def _journal_inode(plan: Plan) -> Inode:
    blocks = sum(each.length for each in plan.journal)
    return Inode(
        mode=Kind.FILE << 12 | 0o600,
        size=blocks * BLOCK,
        blocks=blocks,
        flags=records.EXTENTS_FLAG,
        body=records.extent_body(plan.journal, (), ()),
    )


def _journal_copy(journal: Inode) -> bytes:
    return journal.body.ljust(records.BODY, b"\0") + struct.pack("<II", journal.size >> 32, journal.size & 0xFFFFFFFF)


def _bitmap(used: int, of: int) -> bytes:
    """One block: the first bits are used, and those behind the last are not there, which is the same."""
    bits = (1 << used) - 1 | ((1 << PER_GROUP) - 1) >> of << of
    return bits.to_bytes(BLOCK, "little")
