"""Reads a tar as a tree of files, where it lies: nothing is unpacked, and no name of it ever reaches a file system of ours."""

import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import isnan
from typing import IO, Final, cast

from tinkbox.model.errors import Invalid
from tinkbox.model.text import quoted
from tinkbox.wire.ext4.attributes import attributes_fit, known_attributes, own_attributes
from tinkbox.wire.ext4.tree import MAX_FILE, MAX_NAME, MAX_TARGET, Kind, Node, Segment, folder, put

Read = Callable[[int, int], bytes]
MAX_ENTRIES: Final = 300_000
MAX_PATH: Final = 4096
_BLOCK: Final = 512
_ATTRIBUTE: Final = "SCHILY.xattr."
_SELINUX: Final = "RHT.security.selinux"
_ACL: Final = "SCHILY.acl."
_MOST_ID: Final = (1 << 32) - 2
_EARLIEST, _LATEST = -(1 << 31), (1 << 34) - (1 << 31) - 1
_MOST_DEVICE: Final = (1 << 12) - 1, (1 << 20) - 1
# What Python's reader of tars raises of damaged ones, whatever it is that is damaged.
_DAMAGE: Final = (tarfile.TarError, ValueError, ArithmeticError, LookupError, RecursionError)
_KINDS: Final = {
    tarfile.SYMTYPE: Kind.LINK,
    tarfile.CHRTYPE: Kind.CHARACTER_DEVICE,
    tarfile.BLKTYPE: Kind.BLOCK_DEVICE,
    tarfile.FIFOTYPE: Kind.PIPE,
}


@dataclass(slots=True)
class TarTree:
    """What a tar holds; `left_out` counts what an ext4 file system of ours cannot keep, by its name."""

    root: Node
    left_out: dict[str, int] = field(default_factory=dict)


def read_tree(read: Read, length: int) -> TarTree:
    """The tree of a tar of `length` bytes, of which `read(place, number)` gives bytes.

    Where a name comes twice, the last one counts.  Raises Invalid, which says where, for what is damaged or truncated, and for names
    that lead out of the tree.
    """
    return _Reading(read, length).tree()


class _Window:
    """A file as Python's reader of tars wants it."""

    def __init__(self, read: Read, length: int) -> None:
        self._read = read
        self._length = length
        self._place = 0

    def tell(self) -> int:
        return self._place

    def seek(self, place: int, whence: int = 0) -> int:
        if whence or not 0 <= place <= self._length:
            raise tarfile.ReadError(f"byte {place} is not in it")
        self._place = place
        return place

    def read(self, number: int = -1) -> bytes:
        if number < 0:
            raise tarfile.ReadError("an entry of negative length")
        content = self._read(self._place, min(number, self._length - self._place))
        self._place += len(content)
        return content


class _Reading:
    def __init__(self, read: Read, length: int) -> None:
        self._read = read
        self._length = length
        self._entries = 0
        self._tree = TarTree(folder())
        self._tree.root.names = 1

    def tree(self) -> TarTree:
        for info in self._infos():
            self._take(info)
        return self._tree

    def _infos(self) -> Iterator[tarfile.TarInfo]:
        place = 0
        try:
            archive = tarfile.open(  # noqa: SIM115  it has no file of its own to close
                fileobj=cast("IO[bytes]", _Window(self._read, self._length)),
                mode="r:",
                encoding="utf-8",
                errors="surrogateescape",
            )
            while (info := archive.next()) is not None:
                if archive.offset <= place:
                    raise Invalid(f"it is damaged: the entry at byte {place} leads back to byte {archive.offset}")
                place = archive.offset
                yield info
                archive.members = []  # type: ignore[attr-defined]  # it would keep all of them
        except _DAMAGE as error:
            # Of other errors the words are Python's.
            told = " ".join(str(error).split())[:120] if isinstance(error, tarfile.TarError) else ""
            reason = quoted(told or "an entry of it contradicts itself")
            raise Invalid(
                f"it is damaged or truncated: its tar cannot be read behind byte {place} ({reason})"
            ) from None
        end = self._read(archive.offset, _BLOCK)
        if len(end) < _BLOCK:
            raise Invalid(f"it is truncated: its tar ends at byte {archive.offset + len(end)} without its end")
        if any(end):
            raise Invalid(f"it is damaged: what is at byte {archive.offset} is no entry of a tar")

    def _take(self, info: tarfile.TarInfo) -> None:
        parts = _parts(info.name)
        if not parts:
            if not info.isdir():
                raise Invalid("it is damaged: an entry of it has no name")
            self._describe(self._tree.root, info)
            return
        parent = self._folder(parts[:-1])
        before = parent.children.get(parts[-1])
        if info.islnk():
            node = self._linked(info)
            if node is before:
                return
        elif info.isdir() and before is not None and before.kind is Kind.FOLDER:
            self._describe(before, info)
            return
        else:
            node = self._made(info)
        if before is not None and before.kind is Kind.FOLDER and before.children:
            raise Invalid(f"its entry {_shown(info.name)} takes the place of a folder that is not empty")
        put(parent, parts[-1], node)

    def _folder(self, parts: list[bytes]) -> Node:
        here = self._tree.root
        for part in parts:
            child = here.children.get(part)
            if child is None:
                child = folder()
                self._count()
                put(here, part, child)
            if child.kind is not Kind.FOLDER:
                raise Invalid(
                    f"its entry {_shown(b'/'.join(parts))} leads through {_shown(part)}, which is no folder in it"
                )
            here = child
        return here

    def _linked(self, info: tarfile.TarInfo) -> Node:
        here: Node | None = self._tree.root
        for part in _parts(info.linkname):
            here = here.children.get(part) if here is not None else None
        if here is None or here.kind is Kind.FOLDER:
            raise Invalid(
                f"its entry {_shown(info.name)} is a second name of {_shown(info.linkname)}, which it does not have"
            )
        return here

    def _made(self, info: tarfile.TarInfo) -> Node:
        self._count()
        if info.isreg():
            node = Node(kind=Kind.FILE, size=info.size, segments=self._segments(info))
        elif info.isdir():
            node = folder()
        elif info.type in _KINDS:
            node = Node(kind=_KINDS[info.type])
            if node.kind is Kind.LINK:
                node.content = _bytes(info.linkname)
                if not 0 < len(node.content) <= MAX_TARGET or b"\0" in node.content:
                    raise Invalid(f"its link {_shown(info.name)} leads to what no link can lead to")
            elif node.kind in (Kind.CHARACTER_DEVICE, Kind.BLOCK_DEVICE):
                node.device = (info.devmajor, info.devminor)
                if not all(0 <= value <= most for value, most in zip(node.device, _MOST_DEVICE, strict=True)):
                    raise Invalid(f"its device {_shown(info.name)} has the number {info.devmajor}:{info.devminor}")
        else:
            raise Invalid(f"its entry {_shown(info.name)} is of a kind that is not known here ({info.type!r})")
        self._describe(node, info)
        return node

    def _segments(self, info: tarfile.TarInfo) -> tuple[Segment, ...]:
        if not 0 <= info.size <= MAX_FILE:
            raise Invalid(f"it is damaged: {_shown(info.name)} has {info.size} bytes")
        sparse = cast("Sequence[tuple[int, int]] | None", info.sparse)
        pieces = sparse if sparse is not None else [(0, info.size)]
        found, place, end = [], info.offset_data, 0
        for at, length in pieces:
            if length <= 0:
                continue
            if at < end or at + length > info.size or place + length > self._length:
                raise Invalid(f"it is damaged or truncated: {_shown(info.name)} does not have its {info.size} bytes")
            found.append(Segment(at, place, length))
            place, end = place + length, at + length
        return tuple(found)

    def _describe(self, node: Node, info: tarfile.TarInfo) -> None:
        if not (0 <= info.uid <= _MOST_ID and 0 <= info.gid <= _MOST_ID):
            raise Invalid(f"its entry {_shown(info.name)} belongs to {info.uid}:{info.gid}, and there is no such user")
        if isnan(info.mtime):
            raise Invalid(f"it is damaged: the time of {_shown(info.name)} is no number")
        node.permissions = info.mode & 0o7777
        node.user, node.group = info.uid, info.gid
        node.modified = int(min(max(info.mtime, _EARLIEST), _LATEST))
        attributes = {}
        for key, value in info.pax_headers.items():
            if key.startswith(_ATTRIBUTE):
                attributes[_bytes(key.removeprefix(_ATTRIBUTE))] = _bytes(value)
            elif key == _SELINUX:
                attributes[b"security.selinux"] = _bytes(value) + b"\0"
            elif key.startswith(_ACL):
                self._left_out("access control list")
        node.attributes = _known(tuple(attributes.items()))
        for _ in range(len(attributes) - len(node.attributes)):
            self._left_out("extended attribute")
        if node.attributes and own_attributes(node.attributes) is None and not attributes_fit(node.attributes):
            raise Invalid(f"the extended attributes of {_shown(info.name)} are more than a file system keeps")

    def _left_out(self, what: str) -> None:
        self._tree.left_out[what] = self._tree.left_out.get(what, 0) + 1

    def _count(self) -> None:
        self._entries += 1
        if self._entries > MAX_ENTRIES:
            raise Invalid(f"it has more than {MAX_ENTRIES} files: install what is missing after the first boot")


@lru_cache(1024)
def _known(attributes: tuple[tuple[bytes, bytes], ...]) -> Mapping[bytes, bytes]:
    """Those that can be kept; files with equal ones share them."""
    return known_attributes(dict(attributes))


def _parts(path: str) -> list[bytes]:
    """The names of a path below the tree's root; one that begins with a slash counts from there as well."""
    name = _bytes(path)
    parts = [part for part in name.split(b"/") if part not in (b"", b".")]
    if len(name) > MAX_PATH or any(len(part) > MAX_NAME for part in parts):
        raise Invalid(f"its entry {_shown(name)} has a longer name than a file can have")
    if b".." in parts:
        raise Invalid(f"its entry {_shown(name)} leads out of it: it is no root file system, or hostile")
    if b"\0" in name:
        raise Invalid(f"its entry {_shown(name)} has a name that no file can have")
    return parts


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _shown(name: str | bytes) -> str:
    text = name if isinstance(name, str) else name.decode("utf-8", "surrogateescape")
    return quoted(text[:200])
