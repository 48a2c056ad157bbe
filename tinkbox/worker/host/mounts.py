"""Mounting, which Python has no call for."""

import ctypes
import os
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)
_MNT_DETACH = 2


def mount_tmpfs(folder: Path, options: str) -> None:
    """Mount a new tmpfs (`options` as in tmpfs(5)) on a folder; raises OSError."""
    _checked(_libc.mount(b"tinkbox", bytes(folder), b"tmpfs", 0, options.encode()), folder)


def unmount(place: Path) -> None:
    """Take off what is mounted there, though it may be in use; raises OSError."""
    _checked(_libc.umount2(bytes(place), _MNT_DETACH), place)


def _checked(result: int, place: Path) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(place))
