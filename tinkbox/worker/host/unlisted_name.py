"""A folder that is reached by one name more, within itself, which nothing lists.

A mount needs an entry to lie on, and file systems list their entries.  An overlay that lies on its own upper folder keeps the
entry that something is mounted on, also when that folder has it no more: it is found, but neither listed nor removed (measured
on Linux 6.18, with ext4, tmpfs and ramfs below it).  The kernel promises nothing of an overlay whose folders change below it,
but that it neither crashes nor hangs: so that entry is all that is ever changed there, and where anything of this cannot be
had, the folder is what it was.
"""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from tinkbox.worker.host.mounts import bind, mount_overlay, unmount


def name_within(folder: Path, name: str, working: Path) -> None:
    """Have `folder` reached as `folder/name` too, unless it is already; `working` is a folder of ours beside it.

    Raises OSError, and then nothing is changed.
    """
    if os.path.ismount(folder):
        return
    below = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _make(name, below)
        try:
            _mount(folder, name, working)
        finally:
            os.rmdir(name, dir_fd=below)
    finally:
        os.close(below)


def forget_name(folder: Path, working: Path) -> None:
    """The folder as it was before; raises OSError."""
    if os.path.ismount(folder):
        unmount(folder)
    shutil.rmtree(working, ignore_errors=True)


def _make(name: str, folder: int) -> None:
    try:
        os.mkdir(name, dir_fd=folder)
    except FileExistsError:
        # Of one who was killed here; what has something in it is somebody's.
        found = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            with os.scandir(found) as listing:
                if any(listing):
                    raise
        finally:
            os.close(found)


def _mount(folder: Path, name: str, working: Path) -> None:
    lower, work = working / "lower", working / "work"
    for each in (lower, work):
        each.mkdir(parents=True, exist_ok=True)
    try:
        mount_overlay(folder, lower=lower, upper=folder, work=work)
        bind(folder, folder / name)
    except OSError:
        with suppress(OSError):
            forget_name(folder, working)
        raise
