"""The disks of this machine, as /sys tells of them.  Nothing is opened for it but files of /sys, /dev/disk and /proc."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from tinkbox.model.disks.choice import Candidate, Outside
from tinkbox.worker.host.disk_names import Names, links_of
from tinkbox.worker.host.sys_files import clean, entries, number, octets, text

SYS: Final = Path("/sys")
DEV: Final = Path("/dev")
MOUNTS: Final = Path("/proc/self/mountinfo")
SECTOR: Final = 512  # what /sys counts in, whatever the disk does
# Made by the kernel, or of other disks, or a drive for media; those of an MMC hold its loader.
_NO_DISK: Final = re.compile(
    r"(loop|ram|zram|dm-|md|fd|sr|nbd|mtdblock|zd)[0-9]|mmcblk[0-9]+(boot[0-9]+|rpmb|gp[0-9]+)\Z"
)
_CD_DRIVE: Final = "5"  # SPC-4 §6.6.2
_TRANSPORTS: Final = (
    (re.compile(r"/usb[0-9]+/"), "usb"),
    (re.compile(r"/nvme(-subsystem)?/"), "nvme"),
    (re.compile(r"/mmc_host/"), "mmc"),
    (re.compile(r"/ata[0-9]+/"), "sata"),
    (re.compile(r"/end_device-"), "sas"),
    (re.compile(r"/rport-"), "fc"),
    (re.compile(r"/session[0-9]+/"), "iscsi"),
    (re.compile(r"/vbd-"), "xen"),
    (re.compile(r"/virtio[0-9]+/(?!host)"), "virtio"),
    (re.compile(r"/target[0-9]+:"), "scsi"),
)


def candidates(sys: Path = SYS, dev: Path = DEV, mounts: Path = MOUNTS) -> tuple[Candidate, ...]:
    """Every disk, in the order of their names; also those that only their path can choose."""
    known, mounted = _known_links(dev), _mounted(mounts)
    return tuple(_candidate(block, known, mounted) for block in entries(sys / "block") if _is_disk(block))


def _is_disk(block: Path) -> bool:
    # A path to a disk that the kernel shows once for all of its paths is hidden.
    return not _NO_DISK.match(block.name) and text(block / "hidden") != "1" and text(block / "device/type") != _CD_DRIVE


def _candidate(block: Path, known: Mapping[str, list[str]], mounted: Mapping[str, str]) -> Candidate:
    place = str(block.resolve())
    path = f"/dev/{block.name.replace('!', '/')}"
    transport = next((name for pattern, name in _TRANSPORTS if pattern.search(f"{place}/")), "")
    names = Names.of(block, place, transport)
    size = number(block / "size") * SECTOR
    return Candidate(
        path=path,
        size=size,
        models=names.models,
        serials=names.serials,
        wwn=names.wwn,
        rotational=text(block / "queue/rotational") == "1",
        transport=transport,
        links=tuple(dict.fromkeys((*known.get(path, ()), *links_of(block, place, names)))),
        outside=_outside(block, size, transport),
        used=_used(block, mounted),
    )


def _outside(block: Path, size: int, transport: str) -> Outside | None:
    if not size:
        return Outside.NO_MEDIUM
    if text(block / "removable") == "1" or text(block / "device/type") == "SD":
        return Outside.REMOVABLE
    if text(block / "ro") == "1":
        return Outside.READ_ONLY
    return Outside.USB if transport == "usb" else None


def _used(block: Path, mounted: Mapping[str, str]) -> str:
    parts = [block, *(each for each in entries(block) if (each / "partition").exists())]
    for part in parts:
        if (where := mounted.get(text(part / "dev"))) is not None:
            return f"mounted at {where}"
    holders = [holder.name for part in parts for holder in entries(part / "holders")]
    return f"part of {holders[0]}" if holders else ""


def _mounted(mounts: Path) -> dict[str, str]:
    """Where file systems of block devices are mounted, by their numbers (proc_pid_mountinfo(5))."""
    # Of several places the first, as a device that is mounted once and bound elsewhere has it.
    fields = (line.split(" ") for line in reversed(octets(mounts).decode(errors="replace").splitlines()))
    return {each[2]: clean(each[4].encode()) for each in fields if len(each) > 4 and not each[2].startswith("0:")}


def _known_links(dev: Path) -> dict[str, list[str]]:
    """What udev calls the disks, where it is; the OSIE has none."""
    found: dict[str, list[str]] = {}
    for link in _links(dev / "disk"):
        target = link.resolve()
        if target.parent == dev.resolve():
            found.setdefault(f"/dev/{target.name}", []).append(f"/dev/disk/{link.parent.name}/{link.name}")
    return found


def _links(disk: Path) -> Iterator[Path]:
    for kind in ("by-id", "by-path"):
        yield from (each for each in entries(disk / kind) if each.is_symlink())
