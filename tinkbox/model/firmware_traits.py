"""What was learned about a machine's firmware, and is remembered."""

from dataclasses import dataclass
from enum import StrEnum


class LocalBoot(StrEnum):
    """A way from our boot loader back to the machine's own disk."""

    EXIT = "exit"  # iPXE ends, and the firmware goes on with its next boot device
    SANBOOT = "sanboot"  # iPXE starts the first disk (BIOS)
    GRUB = "grub"  # GRUB looks for a boot loader on the disks and starts it
    NO_FILE = "no file"  # no boot file is offered at all; over HTTP, 404


@dataclass(frozen=True, slots=True, kw_only=True)
class FirmwareTraits:
    """`secure_boot`: it refused a program that is not signed.  `local_boot`: the way to its disk; None, not tried yet.

    `proven`: its disk's system was seen after that way.
    """

    secure_boot: bool = False
    local_boot: LocalBoot | None = None
    proven: bool = False
