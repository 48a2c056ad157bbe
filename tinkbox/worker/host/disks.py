"""Looking at a disk before an action wipes it: which one it is, and what is on it.  Nothing is written, or opened for it."""

import asyncio
import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from tinkbox.model.disks.disks import Disk, Refused
from tinkbox.model.reasons import Reason
from tinkbox.wire.disk.partitions import contents
from tinkbox.wire.messages.disks import MAX_CONTENTS
from tinkbox.worker.host.chosen_disk import all_there, device_of

SYS: Final = Path("/sys")
# A disk that answers at all answers sooner; a worker must not wait for a broken one for ever.
PATIENCE: Final = 60.0
# Where drivers tell what is printed on a disk, below its folder in /sys; the first that says something counts.
SERIALS: Final = ("wwid", "serial", "device/wwid", "device/serial", "device/cid", "dm/uuid", "md/uuid")
# What makes no sense to name among a machine's disks.
_NO_DISKS: Final = ("loop", "ram", "zram", "fd", "sr", "dm-", "nbd")


async def look(selections: Sequence[str], sys: Path = SYS, patience: float = PATIENCE) -> tuple[Disk, ...]:
    """Each of these disks as it is now; one that cannot be chosen or looked at has a `problem` instead.

    So has one that does not answer within `patience` seconds.
    """
    await all_there(selections, sys)
    return tuple([await _within(patience, each, sys) for each in selections])


async def _within(patience: float, path: str, sys: Path) -> Disk:
    try:
        async with asyncio.timeout(patience):
            return await asyncio.to_thread(look_at, path, sys)
    except TimeoutError:
        problem = f"{path} did not answer within {patience:g} seconds, so nobody knows what is on it"
        return Disk(path=path, reason=Reason.DISK_UNREADABLE, problem=problem)


def look_at(selection: str, sys: Path = SYS) -> Disk:
    """One of them."""
    device = device_of(selection, sys)
    if isinstance(device, Refused):
        return Disk(path=selection, reason=device.reason, problem=device.message)
    seen = _look_at(device, sys)
    return seen if device == selection else replace(seen, path=selection, device=device)


def _look_at(path: str, sys: Path) -> Disk:
    try:
        device = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        return _problem(path, error, sys)
    try:
        found = os.fstat(device)
        if not stat.S_ISBLK(found.st_mode):
            return Disk(path=path, reason=Reason.NO_SUCH_DISK, problem=f"{path} is no disk: {_there(sys)}")
        size = os.lseek(device, 0, os.SEEK_END)
        if not size:
            return Disk(
                path=path, reason=Reason.DISK_UNREADABLE, problem=f"{path} has no medium in it, or one of no size"
            )
        seen = contents(lambda offset, length: os.pread(device, length, offset), size)[:MAX_CONTENTS]
        return Disk(path=path, name=_name(found.st_rdev, sys) or path, size=size, contents=seen)
    except OSError as error:
        return _problem(path, error, sys)
    finally:
        os.close(device)


def _problem(path: str, error: OSError, sys: Path) -> Disk:
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.ENODEV):
        return Disk(path=path, reason=Reason.NO_SUCH_DISK, problem=f"there is no {path} on this machine: {_there(sys)}")
    problem = f"{path} cannot be read ({error.strerror}), so nobody knows what is on it"
    return Disk(path=path, reason=Reason.DISK_UNREADABLE, problem=problem)


def _there(sys: Path) -> str:
    try:
        disks = sorted(path.name for path in (sys / "block").iterdir() if not path.name.startswith(_NO_DISKS))
    except OSError:
        disks = []
    return f"it has {', '.join(f'/dev/{disk}' for disk in disks)}" if disks else "it has none that the OSIE knows"


def _name(number: int, sys: Path) -> str:
    """By what a disk is known: its serial, else where it is plugged in; a partition is one of such a disk."""
    try:
        place = (sys / "dev" / "block" / f"{os.major(number)}:{os.minor(number)}").resolve(strict=True)
    except OSError:
        return ""
    partition = _read(place / "partition")
    disk = place.parent if partition else place
    serial = next(filter(None, (_read(disk / name) for name in SERIALS)), "")
    # Names such as sda are given in the order in which disks are found; a disk made of others has nothing better.
    plugged = str(disk).partition("/devices/")[2].partition("/block/")[0]
    if plugged in ("", "virtual"):
        plugged = disk.name
    return (serial or plugged) + (f" partition {partition}" if partition else "")


def _read(path: Path) -> str:
    try:
        return " ".join(path.read_text(errors="replace").replace("\0", "").split())
    except OSError:
        return ""
