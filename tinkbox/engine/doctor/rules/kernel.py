"""The doctor's rules about what a machine's kernel says while an action runs.

Whoever is root on the machine can write into its kernel's log, and any host can send syslog in a machine's name.  So its words
stand in quotes and are bounded, and of a workflow that is over they are suspect at most: its worker told how it ended.  What they
are worth while it runs is `Rule.by_syslog`.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from tinkbox.engine.doctor.case import Case, Finding, moment
from tinkbox.engine.timeline.kernel_words import HARDWARE, HUNG, PANIC, THERMAL, failing_disk, firmware_wanted
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.sightings import Line
from tinkbox.model.text import counted, quoted
from tinkbox.model.workflow import FINAL
from tinkbox.wire.kernel_log import killed_for_memory

KERNEL: Final = "kernel"
MOST_LINES: Final = 3
SENT_BY: Final = "as its syslog said, which any host on the network can send in its name"
_LONGEST: Final = 160
MOST_DISKS: Final = 3
_PARTITION: Final = re.compile(r"p?\d+$")
_NAMESPACE: Final = re.compile(r"n\d+$")


def out_of_memory(case: Case) -> Iterator[Finding]:
    """Memory that ran out, of the whole machine or of a container that has a limit."""
    lines = [each for each in _lines(case) if killed_for_memory(each.text)]
    if not lines:
        return
    # What the cause names stands in the evidence: earlier lines may be of another process, of which the machine had room again.
    newest = lines[-MOST_LINES:]
    victims = [found for each in newest if (found := killed_for_memory(each.text)) and found.program]
    killed = f" The kernel killed {quoted(victims[-1].program, 20)}" if victims else " The kernel killed a process"
    held = f", which held {victims[-1].resident >> 20} MiB." if victims and victims[-1].resident else "."
    limited = bool(victims) and victims[-1].limited
    whose = "a container with a limit" if limited else "the machine"
    yield Finding(
        gravity=_gravity(case),
        cause=f"Memory ran out {_while(case)}, that of {whose}.{killed}{held}",
        evidence=_said(lines),
        remedy="Raise the container's limit."
        if limited
        else "Give the machine more memory, or let the action write to a disk: in the OSIE all that is not written to a disk lives "
        "in memory, images and /workflow too.",
        subject=KERNEL,
    )


def disk_errors(case: Case) -> Iterator[Finding]:
    """A disk that does not read or write; those that the machine is known to have come first, for any name can be sent."""
    found: dict[str, list[Line]] = {}
    for each in _lines(case):
        if disk := failing_disk(each.text):
            found.setdefault(disk, []).append(each)
    own = _disks(case)
    told = sorted(found, key=lambda disk: own.isdisjoint((disk, _PARTITION.sub("", disk))))[:MOST_DISKS]
    others = (f"and errors of {counted(len(found) - len(told), 'other disk')}",) if len(found) > len(told) else ()
    for disk in told:
        lines = found[disk]
        yield Finding(
            gravity=_gravity(case),
            cause=f"The disk {disk} has errors {_while(case)}: {counted(len(lines), 'line')} of the kernel say so.",
            evidence=(*(others if disk == told[-1] else ()), *_said(lines)),
            remedy="See to its cable, its slot and its power, and read its SMART values (smartctl -a); a disk that goes on like "
            "this has to be replaced.",
            subject=disk,
        )


def firmware_asked_for(case: Case) -> Iterator[Finding]:
    """A driver that asks in vain for firmware while an action runs."""
    wanted = [(each, asked) for each in _lines(case) if (asked := firmware_wanted(each.text))]
    if not wanted:
        return
    driver, file = wanted[0][1]
    yield Finding(
        gravity=Gravity.SUSPECT,
        cause=f"The driver {quoted(driver, 30)} asked {_while(case)} for firmware that is not in the OSIE: {quoted(file)}.",
        evidence=_said((each for each, _ in wanted), named=wanted[0][0]),
        remedy="`tinkbox osie build` puts firmware of Debian's packages into the OSIE; then boot the machine again.",
        subject=KERNEL,
    )


def too_hot(case: Case) -> Iterator[Finding]:
    """A processor that is slowed down, or a machine that is about to switch itself off, for heat."""
    if lines := [each for each in _lines(case) if THERMAL.search(each.text)]:
        yield Finding(
            gravity=Gravity.SUSPECT,
            cause=f"The machine is too hot {_while(case)}, so its processor is slowed down.",
            evidence=_said(lines),
            remedy="See to its fans, its airflow and the room's temperature.",
            subject=KERNEL,
        )


def hardware_error(case: Case) -> Iterator[Finding]:
    """What processor, memory or bus report of themselves."""
    if lines := [each for each in _lines(case) if HARDWARE.search(each.text)]:
        yield Finding(
            gravity=_gravity(case),
            cause=f"The machine's hardware reports errors {_while(case)}: processor, memory or bus.",
            evidence=_said(lines),
            remedy="Read its management controller's event log, and test its memory; what these lines name has to be replaced.",
            subject=KERNEL,
        )


def hung_task(case: Case) -> Iterator[Finding]:
    """A process that waits in the kernel for minutes."""
    matches = [(each, match) for each in _lines(case) if (match := HUNG.search(each.text))]
    if matches:
        last = matches[-1][1]
        yield Finding(
            gravity=Gravity.SUSPECT,
            cause=f"A process on the machine, {quoted(last['task'], 40)}, stands still {_while(case)}, for more than {last['seconds']} s: "
            "mostly a disk or a network file system does not answer.",
            evidence=_said(each for each, _ in matches),
            remedy="See to the disk that the action uses; lines about it stand in `tinkbox hardware get MACHINE`.",
            subject=KERNEL,
        )


def kernel_panic(case: Case) -> Iterator[Finding]:
    """A kernel that gave up; only the first of its words get out, if any."""
    if lines := [each for each in _lines(case) if PANIC.search(each.text)]:
        yield Finding(
            gravity=_gravity(case),
            cause=f"The machine's kernel crashed {_while(case)}. It boots again after 30 seconds.",
            evidence=_said(lines),
            remedy="Look at its console for the rest. Memory that ran out and faulty hardware are likelier than the kernel.",
            subject=KERNEL,
        )


def _disks(case: Case) -> set[str]:
    """What the kernel calls the disks of the machine's inventory, and the controllers of those with NVMe."""
    names = {each.device.removeprefix("/dev/") for each in case.inventory.disks} if case.inventory else set()
    return names | {_NAMESPACE.sub("", each) for each in names}


def _lines(case: Case) -> Iterator[Line]:
    """What the kernel said since the action began."""
    return (each for each in (case.work.kernel if case.work else ()) if each.program == KERNEL)


def _said(lines: Iterable[Line], named: Line | None = None) -> tuple[str, ...]:
    """The newest of them as evidence, before them the one by which something is `named`, and what such lines are worth."""
    every = list(lines)
    shown = every[-MOST_LINES:]
    if named is not None and named not in shown:
        shown = [named, *shown[1:]]
    more = (f"and {len(every) - MOST_LINES} such lines before",) if len(every) > MOST_LINES else ()
    told = (f"{moment(each.at)} the kernel: {quoted(each.text, _LONGEST)}" for each in shown)
    return (*more, *told, SENT_BY)


def _gravity(case: Case) -> Gravity:
    """A fault while the workflow is under way."""
    return Gravity.SUSPECT if case.work is not None and case.work.state in FINAL else Gravity.FAULT


def _while(case: Case) -> str:
    return f"while {case.work.action} ran" if case.work and case.work.action else "on the machine"
