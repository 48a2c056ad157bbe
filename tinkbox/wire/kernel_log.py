"""What the kernel's log says of firmware that it did not find.

A record is `6,339,5140900,-;text`, and lines that begin with a blank and say what it is about (Documentation/ABI/testing/dev-kmsg).
Whoever is root on the machine can write there as well, so what is read is bounded and stripped.
"""

import re
from dataclasses import dataclass
from typing import Final

# All of it fits many times into the message about what the machine is made of.
MOST_PLACES: Final = 32
MOST_FILES: Final = 16
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
