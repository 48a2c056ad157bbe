"""The matrix of docs/firmware.md: every kind of firmware in every mode of DHCP, of which each run of `make test` takes some.

`python -m tests.machine.matrix` prints what `make` has to build for those beside the rest.
"""

import sys
from typing import Final, Literal

from examples.lab.firmware import FIRMWARES, Firmware
from tests import rotation

Mode = Literal["reservation", "pool", "proxy", "relay"]
MODES: Final[tuple[Mode, ...]] = ("reservation", "pool", "proxy", "relay")
# Neighbours differ in both, so that what a run takes has little in common.
CELLS: Final[tuple[tuple[Firmware, Mode], ...]] = tuple(
    (firmware, MODES[(place + shift) % len(MODES)])
    for shift in range(len(MODES))
    for place, firmware in enumerate(FIRMWARES)
)
A_RUN: Final = 1
# How a machine comes to its disk, or past its Secure Boot: each takes boots of its own, and a run takes one of them.
WAYS = SANBOOT, EXIT, FALLBACK, SIGNED_OSIE, SIGNED_DISK = (
    "sanboot", "exit", "exit, then grub", "signed, to the OSIE", "signed, to the disk",
)  # fmt: skip
# How a machine goes away and comes back by a boot of its own, beside the power cut that every run has.
RETURNS = BY_ACTION, AT_BREAKPOINT = ("reboot by an action", "power cut at a breakpoint")


def main() -> None:
    if any(firmware == "arm64" for firmware, _ in rotation.taken(CELLS, A_RUN, rotation.turn())):
        sys.stdout.write("osie-aarch64\n")


if __name__ == "__main__":
    main()
