"""The room on the disk of a folder, also while that folder is gone."""

import os
import shutil
from pathlib import Path

from tinkbox.model.vitals import Inodes


def free_in(folder: Path) -> int:
    """The bytes that are free where a folder is, or where it would be if it was moved away; 0 where no disk tells."""
    return _room(folder)[1]


def size_in(folder: Path) -> int:
    """The bytes that files may take there, those that are free included, likewise; what a disk keeps for root is not among them."""
    return sum(_room(folder))


def _room(folder: Path) -> tuple[int, int]:
    """The bytes that are used, and those that are free."""
    for place in (folder, *folder.parents):
        try:
            found = shutil.disk_usage(place)
        except OSError:  # gone, or its disk does not answer
            continue
        return found.used, found.free
    return 0, 0


def mounted_at(folder: Path) -> Path:
    """Where the file system is mounted in which a folder is."""
    return next((each for each in (folder, *folder.parents) if os.path.ismount(each)), Path("/"))


def inodes_in(folder: Path) -> Inodes | None:
    """The inodes of the file system where a folder is; None where it has no fixed number of them, or does not tell."""
    try:
        told = os.statvfs(folder)
    except OSError:
        return None
    return Inodes(total=told.f_files, free=told.f_favail) if told.f_files else None
