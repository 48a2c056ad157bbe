"""Room on the disk, asked for before it is needed; and a file that is there wholly or not at all."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from tinkbox.model.errors import NotFound, Unavailable
from tinkbox.model.sizes import show_size

_SPARE: Final = 16 << 20
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def require(folder: Path, amount: int) -> None:
    """Raise Unavailable where a folder's file system has no room for about so much."""
    free = shutil.disk_usage(folder).free
    if free < amount + _SPARE:
        raise Unavailable(
            f"no room: {folder} has {show_size(free)} left, and packing needs about {show_size(amount + _SPARE)}: "
            "make room, or name another folder with `--scratch`"
        )


@contextmanager
def room_needed(folder: Path) -> Iterator[None]:
    """Turns a full disk into Unavailable."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise Unavailable(
            f"no room: the disk of {folder} is full: make room, or name another folder with `--scratch`"
        ) from None


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file that has its name when all went well, and is gone otherwise."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as scratch:
        made = Path(scratch, path.name)
        with made.open("x+b") as file, room_needed(path.parent):
            yield file
            file.flush()
            os.fsync(file.fileno())
        made.replace(path)


def require_folder(folder: Path) -> None:
    """Raise NotFound for what is no folder that can be written into."""
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise NotFound(f"no folder {folder} that can be written into: make it, or name another")
