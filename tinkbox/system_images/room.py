"""Room on the disk, asked for before it is needed; folders for a while; and a file that is there wholly or not at all."""

import errno
import fcntl
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from tinkbox.model.errors import NotFound, Unavailable
from tinkbox.model.sizes import show_size

_SPARE: Final = 16 << 20
# In a scratch folder, locked for as long as a process uses that.
_LOCK: Final = ".tinkbox-lock"
# What tempfile puts behind a prefix.
_RANDOM: Final = r"[a-z0-9_]{8}"
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
def room_needed(folder: Path, otherwise: str = "name another folder with `--scratch`") -> Iterator[None]:
    """Turns a full disk into Unavailable; `otherwise` is what helps beside making room."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise Unavailable(f"no room: the disk of {folder} is full: make room, or {otherwise}") from None


@contextmanager
def scratch_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """A new folder whose name begins with `prefix`, gone at the end.  Raises OSError where none can be made.

    A process that is killed leaves its folder behind: the next call with that prefix removes it, where the file system has locks.
    """
    _remove_abandoned(parent, prefix)
    with tempfile.TemporaryDirectory(dir=parent, prefix=prefix) as name:
        folder = Path(name)
        made = folder / f"{_LOCK}.new"
        with made.open("x") as lock:
            with suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_EX)
                # It has its name only now: a lock file that is not locked is that of a process that has ended.
                made.rename(folder / _LOCK)
            yield folder


def _remove_abandoned(parent: Path, prefix: str) -> None:
    """Remove our user's scratch folders that no process uses; what has no lock file is none of ours."""
    name = re.compile(re.escape(prefix) + _RANDOM)
    with suppress(OSError):
        for folder in [each for each in parent.iterdir() if name.fullmatch(each.name)]:
            if _is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    try:
        # /var/tmp is everybody's: root must not remove what another user put there.
        seen = folder.lstat()
        if seen.st_uid != os.geteuid() or not stat.S_ISDIR(seen.st_mode):
            return False
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return stat.S_ISREG(os.fstat(descriptor).st_mode)
    except OSError:
        return False
    finally:
        os.close(descriptor)


@contextmanager
def whole_file(path: Path, *otherwise: str) -> Iterator[BinaryIO]:
    """A file that has its name when all went well, and is gone otherwise; `otherwise` is as for `room_needed`."""
    with scratch_folder(path.parent, f".{path.name}.") as scratch:
        made = scratch / path.name
        with made.open("x+b") as file, room_needed(path.parent, *otherwise):
            yield file
            file.flush()
            os.fsync(file.fileno())
        made.replace(path)


def require_folder(folder: Path) -> None:
    """Raise NotFound for what is no folder that can be written into."""
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise NotFound(f"no folder {folder} that can be written into: make it, or name another")
