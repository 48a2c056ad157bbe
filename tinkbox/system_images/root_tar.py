"""A tar of a root file system, read as an ext4 file system that boots; runs in the confined process."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from uuid import UUID, uuid5

from tinkbox.system_images.found import Found
from tinkbox.system_images.root_system import make_bootable
from tinkbox.system_images.tar_tree import read_tree
from tinkbox.wire.ext4.planning import plan
from tinkbox.wire.ext4.records import Identity
from tinkbox.wire.ext4.tree import Node, everything
from tinkbox.wire.ext4.writing import pieces

Read = Callable[[int, int], bytes]


@dataclass(frozen=True, slots=True)
class RootFileSystem:
    """An ext4 file system of `size` bytes, in pieces; a number stands for so many zeros."""

    size: int
    found: Found
    pieces: Iterator[bytes | int]


def root_file_system(read: Read, length: int, identity: UUID) -> RootFileSystem:
    """Of a tar of `length` bytes, of which `read(place, number)` gives bytes.  Raises Invalid."""
    tree = read_tree(read, length)

    def begin_of(node: Node, number: int) -> bytes:
        if node.content or not node.segments or node.segments[0].at:
            return node.content[:number]
        first = node.segments[0]
        return read(first.place, min(number, first.length))

    root = tree.root
    times = sorted(node.modified for _, node in everything(root))
    root.modified = times[len(times) // 2] if times else 0
    found = make_bootable(root, identity, begin_of)
    left_out = [f"{_so_many(count, what)} left out: they are not kept" for what, count in sorted(tree.left_out.items())]
    found = replace(found, warnings=[*left_out, *found.warnings])
    planned = plan(root)
    who = Identity(
        uuid=found.file_system,
        hash_seed=uuid5(identity, "directories"),
        label=found.label.encode(),
        moment=max(0, min(root.modified, (1 << 32) - 1)),
    )
    return RootFileSystem(planned.size, found, pieces(planned, who, read))


def _so_many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
