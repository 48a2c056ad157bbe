"""The OSIE's files as one `newc` archive, the same bytes for the same content."""

import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tinkbox.wire.cpio import entry, trailer

_BLOCK = 512


class Tree:
    """What will be the machine's root file system, owned by root; folders above a file come by themselves."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[int, bytes | Path]] = {}

    def folder(self, path: str, mode: int = 0o755) -> None:
        self._add(path, stat.S_IFDIR | mode, b"")

    def file(self, path: str, content: bytes | Path, mode: int = 0o644) -> None:
        """`content`: bytes, or the file that holds them, which is read when the archive is written."""
        self._add(path, stat.S_IFREG | mode, content)

    def link(self, path: str, target: str) -> None:
        """A symbolic link."""
        self._add(path, stat.S_IFLNK | 0o777, target.encode())

    def files_below(self, source: Path, path: str) -> None:
        """Every regular file below the folder `source`, at the same place below `path`."""
        for found in sorted(source.rglob("*")):
            if found.is_file() and not found.is_symlink():
                self.file(f"{path}/{found.relative_to(source)}", found)

    def __contains__(self, path: str) -> bool:
        return path in self._entries

    @property
    def sources(self) -> tuple[Path, ...]:
        """The files that hold what is in it."""
        return tuple(content for _, content in self._entries.values() if isinstance(content, Path))

    def archive(self) -> Iterator[bytes]:
        """The archive in pieces; its length is a multiple of 512."""
        written = 0
        for number, path in enumerate(sorted(self._entries), start=1):
            mode, content = self._entries[path]
            piece = entry(path, mode, content if isinstance(content, bytes) else content.read_bytes(), number)
            written += len(piece)
            yield piece
        end = trailer()
        written += len(end)
        yield end + b"\0" * (-written % _BLOCK)

    def _add(self, path: str, mode: int, content: bytes | Path) -> None:
        for above in PurePosixPath(path).parents:
            if str(above) != ".":
                self._entries.setdefault(str(above), (stat.S_IFDIR | 0o755, b""))
        self._entries[path] = (mode, content)
