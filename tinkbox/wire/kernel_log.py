"""What the kernel's log says of firmware that it did not find, and of memory that ran out.

A record is `6,339,5140900,-;text`, and lines that begin with a blank and say what it is about (Documentation/ABI/testing/dev-kmsg).
Whoever is root on the machine can write there as well, so what is read is bounded and stripped.
"""

import re
from dataclasses import dataclass, replace
from typing import Final

from tinkbox.model.text import one_line

# All of it fits many times into the message about what the machine is made of.
MOST_PLACES: Final = 32
MOST_FILES: Final = 16
MOST_SAID: Final = 200  # characters of a line that is handed on
# `driver place: `, then what Linux says since 3.12, or Debian's kernels; -2 is ENOENT.
_MISSING: Final = re.compile(
    r"(?P<driver>[\w.-]{1,64}) (?P<place>[\w.:-]{1,64}): "
    r"(?:Direct firmware load for (?P<file>[^\s;]{1,128}) failed with error -2"
    r"|firmware: failed to load (?P<other>[^\s;]{1,128}) \(-2\))"
)


@dataclass(frozen=True, slots=True)
class MissingFirmware:
    """The files that a driver asked for in vain."""

    driver: str
    files: tuple[str, ...]


def missing_firmware(log: str) -> dict[str, MissingFirmware]:
    """By the place of the device, in the order in which they were asked for; each file once."""
    found: dict[str, MissingFirmware] = {}
    for line in log.splitlines():
        if line[:1].isspace():
            continue
        match = _MISSING.match(line.partition(";")[2])
        if match is None:
            continue
        place, name = match["place"], match["file"] or match["other"]
        if not name.isprintable() or (place not in found and len(found) >= MOST_PLACES):
            continue
        before = found.get(place, MissingFirmware(match["driver"], ()))
        if name not in before.files and len(before.files) < MOST_FILES:
            found[place] = MissingFirmware(before.driver, (*before.files, name))
    return found


# What the kernel says of it (mm/oom_kill.c): who wanted memory, of which group, what was killed for it.
_MEMORY: Final = re.compile(r"\binvoked oom-killer: |\boom-kill:|[Oo]ut of memory")
_KILLED: Final = re.compile(r"Kill(?:ed)? process \d{1,10} \((?P<program>[^)]{0,32})\)")
_RESIDENT: Final = re.compile(r"anon-rss:(?P<resident>\d{1,15})kB")
# Of a container that may only have so much, not of the whole machine.
_OF_A_LIMIT: Final = re.compile(r"Memory cgroup|CONSTRAINT_MEMCG")
# Which group's limit it was, and which one what was killed was in (Linux 5.0 and newer).
_LIMITED_KILL: Final = re.compile(
    r"^oom-kill:constraint=CONSTRAINT_MEMCG,.{0,4096}?oom_memcg=(?P<limit>[^,]*),task_memcg=(?P<group>[^,]*),task=(?P<program>[^,]{0,32}),pid=(?P<pid>\d{1,10})"
)
_ENGINE: Final = frozenset({"dockerd", "containerd", "containerd-shim"})
_MOST_OF_A_GROUP: Final = 120


@dataclass(frozen=True, slots=True)
class OutOfMemory:
    """What a line of the kernel's log tells of memory that ran out: `program` is what was killed for it, with so many bytes; or empty.

    `limited` tells that it was the memory that a container may have, and not the machine's.
    """

    program: str
    resident: int
    limited: bool


def killed_for_memory(line: str) -> OutOfMemory | None:
    """What a line tells of memory that ran out; None: it is about something else."""
    if _MEMORY.search(line) is None:
        return None
    killed, resident = _KILLED.search(line), _RESIDENT.search(line)
    return OutOfMemory(
        program=killed["program"] if killed else "",
        resident=int(resident["resident"]) << 10 if resident else 0,
        limited=_OF_A_LIMIT.search(line) is not None,
    )


@dataclass(frozen=True, slots=True)
class LimitedKill:
    """`line` tells what the kernel killed because the control group `limit` had no memory left of what it may have.

    `of_engine`: that was the container engine or a part of it, and not the container.
    """

    line: str
    limit: str
    of_engine: bool = False


def group_ran_out(log: str, since: float, container: str) -> LimitedKill | None:
    """The newest that was killed since then, as in `machine_ran_out`, in a container or of its engine; None: nothing was.

    The limit may be that of any group above, such as a slice that has the engine and its containers.
    """
    newest, pid = None, ""
    for record in log.splitlines():
        head, _, text = record.partition(";")
        if newest is not None and f"Killed process {pid} (" in text:
            newest = replace(newest, line=one_line(text, MOST_SAID))  # says more, and comes behind
        fields, found = head.split(","), _LIMITED_KILL.search(text)
        if record[:1].isspace() or found is None or len(fields) < 3:
            continue
        if not (fields[2].isascii() and fields[2].isdecimal() and int(fields[2]) >= since * 1e6):
            continue
        inside, of_engine = bool(container) and container in found["group"], found["program"] in _ENGINE
        if inside or of_engine:
            limit = one_line(found["limit"], _MOST_OF_A_GROUP)
            newest = LimitedKill(line=one_line(text, MOST_SAID), limit=limit, of_engine=not inside)
            pid = found["pid"]
    return newest


def machine_ran_out(log: str, since: float) -> str:
    """The newest line that tells what was killed since then for lack of the machine's memory; empty: nothing was.

    `since` is in seconds of the kernel's clock, as CLOCK_MONOTONIC has it.
    """
    newest = ""
    for record in log.splitlines():
        head, _, text = record.partition(";")
        if record[:1].isspace() or "Kill" not in text:
            continue
        told, fields = killed_for_memory(text), head.split(",")
        if told is None or not told.program or told.limited or len(fields) < 3:
            continue
        if fields[2].isascii() and fields[2].isdecimal() and int(fields[2]) >= since * 1e6:
            newest = text
    return one_line(newest, MOST_SAID)
