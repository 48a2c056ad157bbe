"""From what a template says of a disk (`model.disk_selection`) to the block device that is meant on this machine, now."""

import asyncio
import re
import stat
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from tinkbox.model.disks.choice import choose, listed
from tinkbox.model.disks.disks import Refused
from tinkbox.model.disks.selection import Selection, parse_selection
from tinkbox.model.errors import Invalid
from tinkbox.model.reasons import Reason
from tinkbox.worker.host.disk_candidates import DEV, SYS, candidates
from tinkbox.worker.host.sys_files import entries

# What says nothing for so long does not answer at all.
PATIENCE: Final = 60.0
STILL_APPEARING: Final = 60.0  # seconds after boot
LOOK_AGAIN = 1.0
_LINKS: Final = "/dev/disk/"
_MADE_HERE: Final = ("/dev/disk/by-id/", "/dev/disk/by-path/")
_PARTITION: Final = re.compile(r"(.+)-part([0-9]{1,4})\Z")


def seconds_since_boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


async def find_disk(text: str, sys: Path = SYS, dev: Path = DEV, patience: float = PATIENCE) -> str | Refused:
    """The block device that a selection means, or why there is none."""
    await all_there([text], sys)
    try:
        async with asyncio.timeout(patience):
            device = await asyncio.to_thread(device_of, text, sys, dev)
    except TimeoutError:
        message = f"this machine did not tell within {patience:g} seconds which disks it has"
        return Refused(reason=Reason.DISK_UNREADABLE, message=message)
    if isinstance(device, str) and not _is_block_device(device):
        return _none(device, sys, dev)
    return device


async def all_there(
    selections: Sequence[str], sys: Path = SYS, uptime: Callable[[], float] = seconds_since_boot
) -> None:
    """Wait until no more disks appear: of the first that the kernel finds, another may be the smallest.

    Nothing is waited for where each selection is a path, nor once the machine has been up for a minute.
    """
    if all(each.startswith("/") for each in selections):
        return
    while uptime() < STILL_APPEARING:
        before = entries(sys / "block")
        await asyncio.sleep(LOOK_AGAIN)
        if before and entries(sys / "block") == before:
            return


def device_of(text: str, sys: Path = SYS, dev: Path = DEV) -> str | Refused:
    """The same, but for a plain path, which is not looked at."""
    if text.startswith("/") and not text.startswith(_LINKS):
        return text
    try:
        selection = parse_selection(text)
    except Invalid as error:
        # A template is read by the appliance, which may be newer.
        message = (
            f"this worker does not understand {error}. Build the OSIE of the appliance's version: tinkbox osie build"
        )
        return Refused(reason=Reason.NO_SUCH_DISK, message=message)
    if selection.path.startswith(_LINKS):
        return _linked(selection, sys, dev)
    chosen = choose(selection, candidates(sys, dev))
    return chosen if isinstance(chosen, Refused) else chosen.path


def _linked(selection: Selection, sys: Path, dev: Path) -> str | Refused:
    """What is meant by a name that udev makes, where there is a udev or not."""
    here = dev / selection.path.removeprefix("/dev/")
    if here.exists():
        place, root = here.resolve(), dev.resolve()
        return f"/dev/{place.relative_to(root)}" if place.is_relative_to(root) else str(here)
    if not selection.path.startswith(_MADE_HERE):
        message = (
            f"there is no {selection.path} on this machine: without udev only names below /dev/disk/by-id and "
            f"/dev/disk/by-path are known; it has {listed(candidates(sys, dev))}"
        )
        return Refused(reason=Reason.NO_SUCH_DISK, message=message)
    there = candidates(sys, dev)
    chosen = choose(selection, there)
    part = _PARTITION.match(selection.path)
    if isinstance(chosen, Refused) and part is not None:
        whole = choose(replace(selection, path=part[1]), there)
        return (
            whole if isinstance(whole, Refused) else f"{whole.path}{'p' if whole.path[-1].isdigit() else ''}{part[2]}"
        )
    return chosen if isinstance(chosen, Refused) else chosen.path


def _is_block_device(path: str) -> bool:
    try:
        return stat.S_ISBLK(Path(path).stat().st_mode)
    except OSError:
        return False


def _none(path: str, sys: Path, dev: Path) -> Refused:
    message = f"there is no disk {path} on this machine: it has {listed(candidates(sys, dev))}"
    return Refused(reason=Reason.NO_SUCH_DISK, message=message)
