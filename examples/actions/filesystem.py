"""A file system of one of the machine's disks, and paths that stay inside it."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from failure import Failure

BUSYBOX = "/bin/busybox"
PARTITIONS = Path("/proc/partitions")


@contextlib.contextmanager
def mounted(disk: str, fs_type: str, *, writable: bool = False) -> Iterator[Path]:
    """The file system, mounted for the time of the block; on leaving, everything is on the disk.

    Raises Failure with DiskNotFound, MountFailed or UnmountFailed.
    """
    if not Path(disk).exists():
        raise Failure("DiskNotFound", absent(disk, devices(PARTITIONS.read_text())))
    options = f"nosuid,nodev,noexec,{'rw' if writable else 'ro'}"
    with tempfile.TemporaryDirectory(prefix="mounted-") as folder:
        _busybox("MountFailed", "mount", "-t", fs_type, "-o", options, disk, folder)
        try:
            yield Path(folder)
        finally:
            _busybox("UnmountFailed", "umount", folder)


def devices(partitions: str) -> list[str]:
    """The disks and partitions of `partitions`, which is as /proc/partitions (proc(5)), without those that only are in memory."""
    names = (fields[3] for fields in map(str.split, partitions.splitlines()[1:]) if len(fields) == 4)
    return [f"/dev/{each}" for each in names if not each.startswith(("loop", "ram", "zram"))]


def absent(disk: str, there: Sequence[str]) -> str:
    """What to say of a disk or partition that has no file, where the machine has those that are `there`."""
    if disk in there:
        return f'{disk} is not in this container: the action needs `volumes: ["/dev:/dev"]`'
    return f"this machine has no {disk}; it has {', '.join(there) or 'no disk'}"


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
