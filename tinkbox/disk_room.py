"""The room on the disk of a folder, also while that folder is gone."""

import shutil
from pathlib import Path


def free_in(folder: Path) -> int:
    """The bytes that are free where a folder is, or where it would be if it was moved away; 0 where no disk tells."""
    for place in (folder, *folder.parents):
        try:
            return shutil.disk_usage(place).free
        except OSError:  # gone, or its disk does not answer
            continue
    return 0
