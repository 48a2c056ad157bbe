"""Grows the file system of a partition that has grown, before anything else can see either."""

import os
import subprocess
import tempfile
from pathlib import Path

from disk import Disk
from failure import Failure
from layout import Area
from sizes import GIB, MIB, size

LAZY = Path("/sys/fs/ext4/features/lazy_itable_init")
# Inode tables take a 64th part; those of a large file system are better left to a kernel that fills them later.
_LARGE = 128 * GIB
_BLOCK = 4 * MIB
_SIGNATURES = (
    (1024 + 56, b"\x53\xef", "ext4"),
    (0, b"XFSB", "xfs"),
    (0x10040, b"_BHRfS_M", "btrfs"),
    (0x400, b"\x10\x20\xf5\xf2", "f2fs"),
    (0, b"LUKS\xba\xbe", "LUKS"),
    (0x218, b"LVM2 001", "LVM"),
    (0, b"hsqs", "squashfs"),
)


def grow(disk: Disk, area: Area, *, lazy: Path = LAZY) -> str:
    """Grow what the partition holds; returns what was done, or who will do it.  Raises Failure with GrowFailed."""
    kind = _kind(disk, area)
    if kind != "ext4":
        return f"the partition grew to {size(area.length)}; its content ({kind or 'unknown'}) is left to its own system"
    if area.length > _LARGE and not lazy.exists():
        return f"the partition grew to {size(area.length)}; its file system is left to its own system, which is quicker"
    if not disk.is_device:
        return _grown_in_file(disk, area)
    with disk.lent():
        return _grown(f"{disk.path}?offset={area.place}", area)


def _grown_in_file(disk: Disk, area: Area) -> str:
    """Resize2fs cuts a file off where it thinks that the file system ends: it gets one of its own."""
    with tempfile.NamedTemporaryFile(dir=disk.path.parent) as copy:
        copy.truncate(area.length)
        for place in range(0, area.length, _BLOCK):
            content = disk.read(area.place + place, min(_BLOCK, area.length - place))
            if content != bytes(len(content)):
                os.pwrite(copy.fileno(), content, place)
        said = _grown(copy.name, area)
        for place in range(0, area.length, _BLOCK):
            content = os.pread(copy.fileno(), min(_BLOCK, area.length - place), place)
            disk.write_sparsely(content, area.place + place)
    return said


def _grown(place: str, area: Area) -> str:
    checked = _run("e2fsck", "-f", "-p", place)
    if checked.returncode > 1:
        return (
            f"the partition grew to {size(area.length)}; its file system did not, for e2fsck does not like it "
            f"({_last_line(checked)}): its own system may grow it"
        )
    grown = _run("resize2fs", "-f", place, f"{area.length // 512}s")
    if grown.returncode == 0:
        return f"the last partition and its file system grew to {size(area.length)}"
    if _run("e2fsck", "-f", "-n", place).returncode > 1:
        raise Failure(
            "GrowFailed",
            f"resize2fs left the file system of {place} damaged ({_last_line(grown)}): "
            "try again, with GROW=false when it fails again",
        )
    return f"the partition grew to {size(area.length)}; its file system did not: {_last_line(grown)}"


def _kind(disk: Disk, area: Area) -> str:
    start = disk.read(area.place, min(area.length, 0x11000))
    return next((name for place, magic, name in _SIGNATURES if start[place : place + len(magic)] == magic), "")


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in f"{done.stdout}\n{done.stderr}".splitlines() if line.strip()]
    return lines[-1][:200] if lines else f"exit status {done.returncode}"
