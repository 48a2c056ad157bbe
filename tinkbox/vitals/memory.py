"""The memory of this host, as proc(5) tells it."""

from pathlib import Path
from typing import Final

from tinkbox.model.vitals import Memory

_MEMINFO: Final = Path("/proc/meminfo")


def memory(meminfo: Path = _MEMINFO) -> Memory | None:
    """What there is, and what can be had; None where the kernel does not tell."""
    found: dict[str, int] = {}
    try:
        for line in meminfo.read_text().splitlines():
            name, _, value = line.partition(":")
            if name in ("MemTotal", "MemAvailable"):
                found[name] = int(value.split()[0]) * 1024
        return Memory(total=found["MemTotal"], available=found["MemAvailable"])
    except (OSError, ValueError, KeyError, IndexError):
        return None
