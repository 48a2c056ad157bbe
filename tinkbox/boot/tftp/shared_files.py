"""Large files that many transfers read at once: each is opened once, and read piece by piece where it is wanted."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

_Key = tuple[int, int, int, int]


class SharedFiles:
    """Hands out open files; those who read the same file share its descriptor, which is closed with the last of them.

    A file that was replaced meanwhile is another one: who reads the old one goes on reading the old one.
    """

    def __init__(self) -> None:
        self._open: dict[_Key, SharedFile] = {}

    def __len__(self) -> int:
        return len(self._open)

    def open(self, path: Path) -> "SharedFile":
        """Raises OSError as opening does.  Whoever gets it releases it once."""
        shared = self._open.get(_key(path.stat()))
        if shared is None:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            found = os.fstat(descriptor)
            shared = SharedFile(descriptor, found.st_size, lambda: self._open.pop(_key(found)))
            self._open[_key(found)] = shared
        shared.readers += 1
        return shared


class SharedFile:
    """One open file: `len` is its size when it was opened, a slice of it reads these bytes."""

    def __init__(self, descriptor: int, size: int, forget: Callable[[], object]) -> None:
        self._descriptor = descriptor
        self._size = size
        self._forget = forget
        self.readers = 0

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, piece: slice) -> bytes:
        """Raises OSError, also when the file has become shorter."""
        start, stop, _ = piece.indices(self._size)
        wanted = max(stop - start, 0)
        read = os.pread(self._descriptor, wanted, start)
        if len(read) < wanted:
            raise OSError(errno.EIO, "the file has become shorter while it was read")
        return read

    def release(self) -> None:
        """One reader has finished."""
        self.readers -= 1
        if self.readers == 0:
            self._forget()
            os.close(self._descriptor)


def _key(found: os.stat_result) -> _Key:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
