"""A tree of files with what a file system keeps of each, whoever owns it and whatever it is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType
from typing import Any, Final, cast

MAX_NAME: Final = 255
MAX_FILE: Final = (1 << 44) - 4096
MAX_TARGET: Final = 4095
_MOST_LINKS: Final = 40
# One for all nodes that have none: there are hundreds of thousands of them.
_NOTHING: Final[Mapping[Any, Any]] = MappingProxyType({})


class Kind(IntEnum):
    """What a node is, by the upper four bits of its mode."""

    PIPE = 0o01
    CHARACTER_DEVICE = 0o02
    FOLDER = 0o04
    BLOCK_DEVICE = 0o06
    FILE = 0o10
    LINK = 0o12


@dataclass(frozen=True, slots=True)
class Segment:
    """Where `length` bytes of a file, from its byte `at` on, lie in what is read; between segments are zeros."""

    at: int
    place: int
    length: int

    @property
    def end(self) -> int:
        return self.at + self.length


@dataclass(slots=True, eq=False, kw_only=True)
class Node:
    """One file, folder, link or device.  A file has `size` bytes, in `segments` ascending or else in `content`.

    `content` of a link is its target; only what `folder` makes can have children.  `permissions` are the twelve lower bits of the mode, `modified` is in seconds.
    """

    kind: Kind
    permissions: int = 0o755
    user: int = 0
    group: int = 0
    modified: int = 0
    size: int = 0
    segments: Sequence[Segment] = ()
    content: bytes = b""
    device: tuple[int, int] = (0, 0)
    attributes: Mapping[bytes, bytes] = field(default_factory=lambda: _NOTHING)
    children: "dict[bytes, Node]" = field(default_factory=lambda: cast("dict[bytes, Node]", _NOTHING))
    names: int = 0


def folder(permissions: int = 0o755, modified: int = 0) -> Node:
    return Node(kind=Kind.FOLDER, permissions=permissions, modified=modified, children={})


def file(content: bytes, permissions: int = 0o644, modified: int = 0) -> Node:
    """A file whose content is known."""
    return Node(kind=Kind.FILE, permissions=permissions, modified=modified, size=len(content), content=content)


def put(parent: Node, name: bytes, node: Node) -> None:
    """Give a node a name in a folder; what had it before loses it."""
    before = parent.children.get(name)
    if before is not None:
        before.names -= 1
    parent.children[name] = node
    node.names += 1


def find(root: Node, path: str) -> Node | None:
    """What a path leads to, over links, which never lead out of the tree; None for what is not there."""
    found = locate(root, path)
    return found[1] if found else None


def locate(root: Node, path: str) -> tuple[str, Node] | None:
    """The same, with the path on which no link lies."""
    stack, names = [root], list[bytes]()
    waiting = _parts(path.encode("utf-8", "surrogateescape"))[::-1]
    links = 0
    while waiting:
        name = waiting.pop()
        if name == b"..":
            if names:
                stack.pop()
                names.pop()
            continue
        node = stack[-1].children.get(name)
        if node is None:
            return None
        if node.kind is not Kind.LINK:
            stack.append(node)
            names.append(name)
            continue
        links += 1
        if links > _MOST_LINKS:
            return None
        if node.content.startswith(b"/"):
            stack, names = [root], []
        waiting += _parts(node.content)[::-1]
    return "/" + b"/".join(names).decode("utf-8", "surrogateescape"), stack[-1]


def everything(root: Node) -> Iterator[tuple[Node, Node]]:
    """Each folder's children with that folder, folders before what is in them; a node with several names comes several times."""
    waiting = [root]
    while waiting:
        parent = waiting.pop()
        for name in sorted(parent.children):
            node = parent.children[name]
            yield parent, node
            if node.kind is Kind.FOLDER:
                waiting.append(node)


def _parts(path: bytes) -> list[bytes]:
    return [part for part in path.split(b"/") if part not in (b"", b".")]
