"""A file system of one of the machine's disks, and paths that stay inside it."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from failure import Failure

BUSYBOX = "/bin/busybox"


@contextlib.contextmanager
def mounted(disk: str, fs_type: str, *, writable: bool = False) -> Iterator[Path]:
    """The file system, mounted for the time of the block; on leaving, everything is on the disk.

    Raises Failure with MountFailed or UnmountFailed.
    """
    options = f"nosuid,nodev,noexec,{'rw' if writable else 'ro'}"
    with tempfile.TemporaryDirectory(prefix="mounted-") as folder:
        _busybox("MountFailed", "mount", "-t", fs_type, "-o", options, disk, folder)
        try:
            yield Path(folder)
        finally:
            _busybox("UnmountFailed", "umount", folder)


def _busybox(reason: str, *command: str) -> None:
    done = subprocess.run([BUSYBOX, *command], capture_output=True, text=True)
    if done.returncode:
        raise Failure(reason, f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")


@contextlib.contextmanager
def root_moved_to(root: Path) -> Iterator[None]:
    """Within the block `/` is `root`: the kernel resolves every path and link inside it."""
    outside, here = (os.open(path, os.O_RDONLY | os.O_DIRECTORY) for path in ("/", "."))
    try:
        os.chroot(root)
        os.chdir("/")
        try:
            yield
        finally:
            os.fchdir(outside)
            os.chroot(".")
            os.fchdir(here)
    finally:
        os.close(outside)
        os.close(here)
