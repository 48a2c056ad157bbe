"""The registry's folders have to be on one file system: what comes is renamed from one into another."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from tinkbox.model.errors import Unavailable
from tinkbox.model.images.references import ALGORITHMS

_FOLDERS: Final = ("incoming", "blobs", *(f"blobs/{each}" for each in ALGORITHMS), "repositories")
_MOUNT: Final = "mnt_id:"


def refuse_other_file_systems(root: Path) -> None:
    """Raise Unavailable where one of the registry's folders is on another file system than `root`, by a link or a mount.

    What is missing is made where it belongs.  What cannot be reached is left to those who read it.
    """
    with suppress(OSError):
        own = _file_system(root)
        for folder in (root / each for each in _FOLDERS):
            with suppress(OSError):
                if _file_system(folder) != own:
                    raise Unavailable(
                        f"{folder} is on another file system than {root}, so nothing could be pushed or loaded: have all of "
                        f"it on one. To keep images on another disk, move the whole folder {root} there, and make {root} "
                        "itself a link to it, or mount the disk there"
                    )


def _file_system(folder: Path) -> Sequence[str]:
    """What two folders have in common where rename(2) works between them; raises OSError.

    It fails with EXDEV also between two mounts of one file system, and between two subvolumes of Btrfs.
    """
    place = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # proc_pid_fdinfo(5); os.stat does not tell the mount.
        told = Path(f"/proc/self/fdinfo/{place}").read_text("ascii").splitlines()
        return [str(os.fstat(place).st_dev), *(each for each in told if each.startswith(_MOUNT))]
    finally:
        os.close(place)
