"""PXELINUX's configuration, which U-Boot's `pxe` command reads as well, built from tokens.

U-Boot knows a part of it: one file per INITRD, no CONFIG, and it skips what it does not know.
"""

import re
from dataclasses import dataclass
from typing import Final

from tinkbox.model.boot import Boot, Plan

WAITING_SECONDS: Final = 5
ASKS_AGAIN_SECONDS: Final = 30
_UNSAFE = re.compile(r"[^A-Za-z0-9 .,:;/=_@+()?-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class PxelinuxFiles:
    """Where a machine's files are below the TFTP server's root, and what goes onto the kernel's command line."""

    configuration: str
    kernel: str
    initramfs: tuple[str, ...]
    arguments: tuple[str, ...] = ()


def configuration(plan: Plan, files: PxelinuxFiles, version: str) -> str:
    """The configuration for a machine, by what was decided about it."""
    named = plan.interface.hostname or plan.hardware_id or "a new machine"
    heading = f"tinkbox {version}: {named} ({plan.interface.mac})"
    match plan.boot:
        case Boot.OSIE | Boot.DISCOVERY:
            return _text(heading, "booting the OSIE", 0, *_osie(files))
        case Boot.WAITING:
            return _again(heading, f"waiting for the services of its workflow: {plan.reason}", WAITING_SECONDS, files)
        case Boot.PARKED:
            return _again(heading, f"this machine is parked: {plan.reason}", ASKS_AGAIN_SECONDS, files)
        case Boot.WORKFLOW:
            why = "its workflow supplies a boot script for iPXE, which this loader cannot run"
            return _again(heading, why, ASKS_AGAIN_SECONDS, files)
        case _:
            # The firmware's next boot device; U-Boot runs what its variable `localcmd` says.
            return _text(heading, "nothing to install: booting the local disk", 0, "LOCALBOOT -1")


def _osie(files: PxelinuxFiles) -> list[str]:
    initramfs = ",".join(f"/{_word(each).replace(',', '_')}" for each in files.initramfs)
    return [f"KERNEL /{_word(files.kernel)}", f"INITRD {initramfs}", f"APPEND {' '.join(map(_word, files.arguments))}"]


def _again(heading: str, why: str, seconds: int, files: PxelinuxFiles) -> str:
    return _text(heading, why, seconds, f"CONFIG /{_word(files.configuration)}")


def _text(heading: str, why: str, seconds: int, *entry: str) -> str:
    """One entry, which is taken by itself after so many seconds."""
    # Without a prompt a time limit would be none: nobody is asked, and the entry is taken at once.
    head = [
        "DEFAULT tinkbox",
        f"PROMPT {int(seconds > 0)}",
        f"TIMEOUT {seconds * 10}",
        f"SAY {_plain(heading)}",
        f"SAY {_plain(why)}",
    ]
    return "".join(f"{line}\n" for line in [*head, "LABEL tinkbox", *(f"  {line}" for line in entry)])


def _plain(text: str) -> str:
    return _UNSAFE.sub("_", text)


def _word(text: str) -> str:
    return _plain(text).replace(" ", "_")
