"""The appliance of a data folder on this host, as far as a caller that it does not answer can see what it does.  Linux."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from tinkbox.wire.operator_door import LOCK

_LOCKS: Final = Path("/proc/locks")
_PROCESSES: Final = Path("/proc")
_NAME: Final = "tinkbox"


class LocalAppliance(NamedTuple):
    """The process that has a data folder locked; `state` is its letter in proc_pid_stat(5), empty where that is not told."""

    pid: int
    state: str

    @property
    def is_stopped(self) -> bool:
        """Whether a signal or a debugger has stopped it."""
        return self.state in ("T", "t")

    def __str__(self) -> str:
        """What it does, where that may keep it from answering; else empty."""
        if self.is_stopped:
            return f"its process {self.pid} is stopped (state {self.state}): `kill -CONT {self.pid}` has it go on"
        if self.state == "D":
            return f"its process {self.pid} waits for a disk (state D): `dmesg` tells whether that fails"
        return ""


def local_appliance(data: Path) -> LocalAppliance | None:
    """Who serves a data folder; None where nobody does, or where that cannot be seen."""
    try:
        found = (data / LOCK).stat()
        lines = _LOCKS.read_text().splitlines()
    except OSError:
        return None
    device = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}"
    for pid, place, number in _holders(lines):
        # Some file systems (btrfs) tell of another device there than of the file.
        if number == str(found.st_ino) and (place == device or _name(pid).startswith(_NAME)):
            return LocalAppliance(pid, _state(pid))
    return None


def _holders(lines: list[str]) -> Iterator[tuple[int, str, str]]:
    """Of each lock of a whole file (flock(2)): who holds it, and the device and number of the file."""
    for line in lines:
        fields = line.split()
        # A line with an arrow is one who waits; a pid that is not positive is in a place that we do not see.
        if len(fields) > 5 and fields[1] == "FLOCK" and fields[4].isdecimal() and fields[4] != "0":
            device, _, number = fields[5].rpartition(":")
            yield int(fields[4]), device, number


def _name(pid: int) -> str:
    with suppress(OSError):
        return (_PROCESSES / str(pid) / "comm").read_text().strip()
    return ""


def _state(pid: int) -> str:
    with suppress(OSError):
        # The name of the program stands before it in brackets, and may have any letters.
        return (_PROCESSES / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    return ""
