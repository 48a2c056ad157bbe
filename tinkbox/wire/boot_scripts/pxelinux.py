"""PXELINUX's configuration, which U-Boot's `pxe` command reads as well, built from tokens.

U-Boot knows a part of it: one file per INITRD, no CONFIG, and it skips what it does not know.
"""

from dataclasses import dataclass
from typing import Final

from tinkbox.model.boot import Boot, Plan
from tinkbox.wire.boot_scripts.script_text import ASKS_AGAIN_SECONDS, argument, heading, needs_ipxe, plain, word

WAITING_SECONDS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PxelinuxFiles:
    """Where a machine's files are below the TFTP server's root, and what goes onto the kernel's command line."""

    configuration: str
    kernel: str
    initramfs: tuple[str, ...]
    arguments: tuple[str, ...] = ()


def configuration(plan: Plan, files: PxelinuxFiles, version: str) -> str:
    """The configuration for a machine, by what was decided about it."""
    title = heading(plan, version)
    match plan.boot:
        case Boot.OSIE | Boot.DISCOVERY:
            return _text(title, "booting the OSIE", 0, *_osie(files))
        case Boot.WAITING:
            return _again(title, f"waiting for the services of its workflow: {plan.reason}", WAITING_SECONDS, files)
        case Boot.PARKED:
            return _again(title, f"this machine is parked: {plan.reason}", ASKS_AGAIN_SECONDS, files)
        case Boot.WORKFLOW | Boot.OWN_SCRIPT | Boot.OWN_OSIE:
            what, _ = needs_ipxe(plan)
            return _again(title, f"{what}, which this loader cannot run", ASKS_AGAIN_SECONDS, files)
        case _:
            # The firmware's next boot device; U-Boot runs what its variable `localcmd` says.
            return _text(title, "nothing to install: booting the local disk", 0, "LOCALBOOT -1")


def _osie(files: PxelinuxFiles) -> list[str]:
    initramfs = ",".join(f"/{word(each).replace(',', '_')}" for each in files.initramfs)
    return [
        f"KERNEL /{word(files.kernel)}",
        f"INITRD {initramfs}",
        f"APPEND {' '.join(map(argument, files.arguments))}",
    ]


def _again(title: str, why: str, seconds: int, files: PxelinuxFiles) -> str:
    return _text(title, why, seconds, f"CONFIG /{word(files.configuration)}")


def _text(title: str, why: str, seconds: int, *entry: str) -> str:
    """One entry, which is taken by itself after so many seconds."""
    # Without a prompt a time limit would be none: nobody is asked, and the entry is taken at once.
    head = [
        "DEFAULT tinkbox",
        f"PROMPT {int(seconds > 0)}",
        f"TIMEOUT {seconds * 10}",
        f"SAY {plain(title)}",
        f"SAY {plain(why)}",
    ]
    return "".join(f"{line}\n" for line in [*head, "LABEL tinkbox", *(f"  {line}" for line in entry)])
