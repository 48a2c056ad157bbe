"""What a machine's kernel says of trouble: the patterns, with lines as kernels of today write them.  Pure."""

import re
from typing import Final

from tinkbox.wire.kernel_log import killed_for_memory

# No disk of a machine's: a floppy or an optical drive without a medium says so whenever it is looked at.
_DISK: Final = r"(?P<{}>(?!fd\d|sr\d)[a-z][\w!-]{{0,30}})"
_DISK_ERROR: Final = re.compile(
    rf"I/O error, dev {_DISK.format('a')}\b|Buffer I/O error on (?:dev|device) {_DISK.format('b')}\b"
    r"|(?P<c>nvme\d+)(?:n\d+)?: .{0,80}\b(?:timeout|controller is down)|(?P<d>ata\d+(?:\.\d+)?): (?:failed command|exception Emask)"
    rf"|\[{_DISK.format('e')}\] .{{0,80}}(?:Medium Error|Hardware Error|Unrecovered read error)"
)
_FIRMWARE: Final = re.compile(
    r"(?P<driver>[\w.-]{1,64}) [\w.:-]{1,64}: (?:Direct firmware load for |firmware: failed to load )(?P<file>[^\s;]{1,128})"
)
_HARMLESS_FIRMWARE: Final = ("regulatory.db",)  # asked for by wireless, which the OSIE does not use
THERMAL: Final = re.compile(
    r"temperature above threshold|clock throttled|critical temperature reached|thermal shutdown"
)
HARDWARE: Final = re.compile(
    r"\[Hardware Error\]|\bEDAC \S+: \d+ (?:CE|UE) |Machine [Cc]heck [Ee]xception|AER: .{0,40}(?:Uncorrected|Fatal)"
)
HUNG: Final = re.compile(r"task (?P<task>\S{1,40}):\d+ blocked for more than (?P<seconds>\d{1,6}) seconds")
PANIC: Final = re.compile(r"Kernel panic - not syncing|\bOops: |BUG: unable to handle|general protection fault")
_OTHERS: Final = {"heat": THERMAL, "hardware": HARDWARE, "hung": HUNG, "panic": PANIC}


def failing_disk(text: str) -> str:
    """The disk that a line says errors of; empty: it is about something else."""
    match = _DISK_ERROR.search(text)
    return next(filter(None, match.groups())) if match else ""


def firmware_wanted(text: str) -> tuple[str, str] | None:
    """The driver, and the file that it asked for in vain; None: a line is about something else, or the file is not needed."""
    match = _FIRMWARE.search(text)
    return (match["driver"], match["file"]) if match and not match["file"].startswith(_HARMLESS_FIRMWARE) else None


def kind_of(text: str) -> tuple[str, str] | None:
    """What trouble a line tells of, and the disk that it is about, or empty; None: of none that is known here."""
    if killed_for_memory(text) is not None:
        return "memory", ""
    if disk := failing_disk(text):
        return "disk", disk
    if firmware_wanted(text) is not None:
        return "firmware", ""
    return next(((kind, "") for kind, pattern in _OTHERS.items() if pattern.search(text)), None)
