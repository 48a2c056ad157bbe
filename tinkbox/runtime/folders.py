"""A folder that containers write to, as an archive.

What runs in them may change it while it is read, to have something else read or opened: whatever is looked at, read or
gone into is held by a descriptor (open(2), O_PATH) from before it is known what it is.
"""

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tinkbox.model.errors import Invalid, TooLarge
from tinkbox.wire.ephemeral_data import Entry, check_sizes, encode
from tinkbox.wire.ephemeral_limits import MAX_DATA_BYTES, MAX_DEPTH

MAX_FILES = 100_000  # more are not even counted
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR})


@dataclass(frozen=True, slots=True)
class _Found:
    """The descriptor is open until the next one is asked for."""

    path: str
    descriptor: int
    status: os.stat_result

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.status.st_mode)

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.status.st_mode)

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.status.st_mode)


def pack(folder: Path) -> bytes:
    """Its files as an archive, as `wire.ephemeral_data` has it; empty when there are none, or no such folder.

    What is neither file, folder nor link is left out.  Raises TooLarge, naming the largest files, or Invalid; nothing is
    read before it is known to be small enough.
    """
    with _readable():
        check_sizes({each.path: each.status.st_size if each.is_file else 0 for each in _kept(folder)})
        return encode(_entries(folder))


def mark(folder: Path) -> int:
    """What differs, as long as this process lives, when anything in it was changed; raises TooLarge or Invalid."""
    with _readable():
        return hash(tuple((each.path, *_trace(each.status)) for each in _kept(folder)))


def remove(folder: Path) -> None:
    """Remove it with all that is in it; nothing when there is none.  Raises OSError."""
    if folder.is_symlink() or not folder.is_dir():
        return
    pending = [folder]
    while pending:
        here = pending.pop()
        with os.scandir(here) as listing:
            entries = list(listing)
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                Path(entry.path).unlink()
            elif here == folder:
                pending.append(Path(entry.path))
            else:
                # Containers nest folders deeper than recursion goes and than paths may be long: made flat, they do not.
                pending.append(Path(entry.path).replace(tempfile.mkdtemp(dir=folder)))
        if here != folder:
            here.rmdir()
    folder.rmdir()


def _entries(folder: Path) -> Iterator[Entry]:
    left = MAX_DATA_BYTES
    for found in _kept(folder):
        content = _content(found, left + 1) if found.is_file else None
        left -= len(content or b"")
        if left < 0:
            raise TooLarge(
                f"the ephemeral data grew beyond {MAX_DATA_BYTES} bytes while it was read, with {found.path}"
            )
        yield Entry(
            path=found.path,
            mode=found.status.st_mode & 0o777,
            content=content,
            link=os.readlink("", dir_fd=found.descriptor) if found.is_link else None,
        )


def _content(found: _Found, limit: int) -> bytes:
    with Path(_again(found.descriptor)).open("rb") as file:
        return file.read(limit)


def _kept(folder: Path) -> Iterator[_Found]:
    """Everything in it that is kept, in order."""
    try:
        root = os.open(folder, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        yield from _below(root, "", [MAX_FILES])
    finally:
        os.close(root)


def _below(folder: int, prefix: str, left: list[int]) -> Iterator[_Found]:
    """What is in a folder; `left` is how many more files may be met."""
    if prefix.count("/") > MAX_DEPTH:
        raise TooLarge(f"the ephemeral data has folders nested more than {MAX_DEPTH} deep: {prefix[:100]}…")
    for name in _names(folder, left):
        try:
            descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        except OSError as error:
            if error.errno in _GONE:
                continue
            raise
        try:
            found = _Found(prefix + name, descriptor, os.fstat(descriptor))
            if found.is_file or found.is_link or found.is_folder:
                yield found
            if found.is_folder:
                yield from _below(descriptor, f"{found.path}/", left)
        finally:
            os.close(descriptor)


def _names(folder: int, left: list[int]) -> list[str]:
    names = []
    with os.scandir(_again(folder)) as listing:
        for entry in listing:
            left[0] -= 1
            if left[0] < 0:
                raise TooLarge(f"the ephemeral data has more than {MAX_FILES} files")
            names.append(entry.name)
    return sorted(names)


def _again(descriptor: int) -> str:
    """What a descriptor is of, as a path by which it can be read (proc(5), /proc/pid/fd)."""
    return f"/proc/self/fd/{descriptor}"


def _trace(status: os.stat_result) -> tuple[int, ...]:
    return status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Invalid(f"the workflow's data cannot be read: {error}") from None
