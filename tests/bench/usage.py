"""What a server used, as the kernel counts it: of the started process and of all that it started."""

import os
from pathlib import Path
from subprocess import Popen

_TICKS = os.sysconf("SC_CLK_TCK")


def peak_memory(server: Popen[bytes]) -> float:
    """The most memory (megabytes, 10^6 bytes) that one of its processes ever had resident."""
    return max(map(_high_water, _processes(server))) * 1024 / 1e6


def processor_seconds(server: Popen[bytes]) -> float:
    """What its processes have spent up to now, in themselves and in the kernel for them."""
    return sum(map(seconds_of, _processes(server)))


def seconds_of(process: Path) -> float:
    """What one process, a folder of /proc, has spent; none when it ended meanwhile."""
    try:
        return _ticks(process) / _TICKS
    except OSError:
        return 0.0


def _processes(server: Popen[bytes]) -> list[Path]:
    """Those of its session, which it leads (`examples.lab.processes.start`)."""
    return [each for each in Path("/proc").glob("[0-9]*") if _session(each) == server.pid]


def _session(process: Path) -> int:
    try:
        return os.getsid(int(process.name))
    except ProcessLookupError:
        return 0  # it ended meanwhile


def _high_water(process: Path) -> int:
    """In units of 1,024 bytes."""
    (line,) = (each for each in (process / "status").read_text().splitlines() if each.startswith("VmHWM:"))
    return int(line.split()[1])


def _ticks(process: Path) -> int:
    # The name, in parentheses, may hold anything; utime and stime are the 14th and 15th field (proc(5)).
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
