"""The firmware's entry for the installed system, on machines with UEFI.  Whatever goes wrong here is only told."""

import os
import platform
import re
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from disk import Disk
from failure import Failure
from fat_reading import NotFat, Read, files
from filesystem import BUSYBOX
from gpt import EFI_SYSTEM, parse_gpt
from partitions import TableDamaged

FIRMWARE = Path("/sys/firmware/efi")
PREFIX = "tinkbox "
_ENTRY = re.compile(r"Boot([0-9A-Fa-f]{4})(\*?) ([^\t]*)\t?(.*)\Z")
_ORDER = re.compile(r"BootOrder: ([0-9A-Fa-f,]+)\Z")
_NETWORK = re.compile(r"\b(MAC|IPv4|IPv6)\(")
_PARTITION = re.compile(r"HD\(\d+,GPT,([0-9a-fA-F-]{36})")
_LOADERS = {"x86_64": ("shimx64.efi", "BOOTX64.EFI"), "aarch64": ("shimaa64.efi", "BOOTAA64.EFI")}
Programs = Callable[..., str]


@dataclass(frozen=True, slots=True)
class Entry:
    number: str
    label: str
    path: str

    @property
    def is_network(self) -> bool:
        return bool(_NETWORK.search(self.path))

    @property
    def partition(self) -> str:
        match = _PARTITION.search(self.path)
        return match[1].lower() if match else ""


def run(*command: str) -> str:
    """What a program prints; raises Failure."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure("BootEntryFailed", f"{command[0]}: {error}") from None
    if done.returncode:
        raise Failure("BootEntryFailed", f"{command[0]}: {(done.stderr or done.stdout).strip()[-200:]}")
    return done.stdout


def make(
    disk: Disk,
    head: bytes,
    image: str,
    former: frozenset[str],
    *,
    firmware: Path = FIRMWARE,
    machine: str = "",
    programs: Programs = run,
) -> str:
    """Make the entry; returns what became of it.  `former` are the GUIDs of the partitions that were on the disk."""
    if not firmware.exists():
        return "this machine boots by BIOS: no boot entry is needed"
    try:
        return _made(disk, head, image, former, firmware, machine or platform.machine(), programs)
    except Failure as failure:
        return f"warning: no boot entry was made, the firmware has to find the system by itself: {failure}"


def _made(
    disk: Disk, head: bytes, image: str, former: frozenset[str], firmware: Path, machine: str, programs: Programs
) -> str:
    number, place, identities = _efi_partition(head)
    device = os.path.realpath(disk.path)
    loader = _loader(lambda start, length: disk.read(place + start, length), machine)
    variables = firmware / "efivars"
    if not any(variables.iterdir() if variables.is_dir() else ()):
        programs(BUSYBOX, "mount", "-t", "efivarfs", "efivarfs", str(variables))
    entries, order = parse(programs("efibootmgr", "-v"))
    gone = [entry for entry in entries if is_stale(entry, former - identities)]
    for entry in gone:
        programs("efibootmgr", "-q", "-B", "-b", entry.number)
    label = PREFIX + re.sub(r"[^ -~]", "?", image)[:60]
    programs("efibootmgr", "-q", "-C", "-d", device, "-p", str(number), "-L", label, "-l", loader)
    now, _ = parse(programs("efibootmgr", "-v"))
    known = {entry.number for entry in entries} - {entry.number for entry in gone}
    new = [entry.number for entry in now if entry.number not in known and entry.label == label]
    if not new:
        raise Failure("BootEntryFailed", "efibootmgr made an entry that the firmware does not show")
    network = {entry.number for entry in now if entry.is_network}
    order = ordered([one for one in order if one in known], network, new[0])
    programs("efibootmgr", "-q", "-o", ",".join(order))
    return f"boot entry {new[0]} ({label}) starts {loader}; boot order {', '.join(order)}"


def parse(listing: str) -> tuple[list[Entry], list[str]]:
    """The entries and their order, as `efibootmgr -v` prints them."""
    entries: list[Entry] = []
    order: list[str] = []
    for line in listing.splitlines():
        if match := _ENTRY.match(line):
            entries.append(Entry(match[1].upper(), match[3], match[4]))
        elif match := _ORDER.match(line):
            order = match[1].upper().split(",")
    return entries, order


def is_stale(entry: Entry, gone: Iterable[str]) -> bool:
    """Whether it is one of ours, or leads to a partition that this installation has replaced."""
    return entry.label.startswith(PREFIX) or entry.partition in gone


def ordered(order: list[str], network: set[str], new: str) -> list[str]:
    """The new entry comes right behind the network's, where those are first, else first."""
    leading = 0
    while leading < len(order) and order[leading] in network:
        leading += 1
    rest = [one for one in order if one != new]
    return [*rest[:leading], new, *rest[leading:]]


def _efi_partition(head: bytes) -> tuple[int, int, frozenset[str]]:
    """Number and place of the EFI system partition, and the GUIDs of all partitions."""
    try:
        table = parse_gpt(head)
    except TableDamaged:
        table = None
    if table is not None:
        numbers = table.identities(EFI_SYSTEM)
        for partition in table.partitions:
            if partition.number in numbers:
                everyone = frozenset(map(str, table.identities().values()))
                return partition.number, partition.first * table.sector, everyone
    raise Failure("BootEntryFailed", "the image has no EFI system partition")


def _loader(read: Read, machine: str) -> str:
    """A distribution's own loader, or else the one for removable disks."""
    if machine not in _LOADERS:
        raise Failure("BootEntryFailed", f"no loader is known for {machine}")
    shim, fallback = _LOADERS[machine]
    try:
        found = files(read, "EFI")
    except NotFat as problem:
        raise Failure("BootEntryFailed", f"the EFI system partition cannot be read: {problem}") from None
    for name in (shim, fallback):
        for path in found:
            folder, _, file = path.rpartition("/")
            if file.lower() == name.lower() and (name == fallback or not folder.lower().endswith("/boot")):
                return path.replace("/", "\\")
    raise Failure("BootEntryFailed", f"the EFI system partition has neither {shim} nor {fallback}")
