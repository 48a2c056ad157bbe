"""Boot scripts for iPXE, built from tokens: no text from outside can become a command.

Debian's iPXE is of January 2019, so nothing newer is used here.
"""

import re
from dataclasses import dataclass
from typing import Final

from tinkbox.model.boot import Boot, Plan

RETRIES: Final = 3
PARKED_SECONDS: Final = 30
_UNSAFE = re.compile(r"[^A-Za-z0-9 .,:;/=_@+()?-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class BootFiles:
    """Where a machine's files are: URLs, and what goes onto the kernel's command line."""

    script: str
    kernel: str
    initramfs: str
    credential: str
    arguments: tuple[str, ...] = ()


def script(plan: Plan, files: BootFiles, version: str) -> str:
    """The script for a machine, by what was decided about it."""
    named = plan.interface.hostname or plan.hardware_id
    lines = [
        ["#!ipxe"],
        ["echo"],
        ["echo", f"tinkbox {version}: {named} ({plan.interface.mac})"],
    ]
    match plan.boot:
        case Boot.OSIE:
            lines += _osie(plan, files)
        case Boot.PARKED:
            lines += _parked(plan, files)
        case _:
            lines += _local_disk()
    return "\n".join(_line(line) for line in lines) + "\n"


def _osie(plan: Plan, files: BootFiles) -> list[list[str]]:
    return [
        ["echo", f"booting the OSIE on behalf of workflow {plan.workflow or plan.hardware_id}"],
        # Of another type, such as the default's text, iPXE cannot increment it.
        ["set", "tries:int32", "0"],
        [":again"],
        # `initrd=` names are what the kernel asks the EFI loader for; BIOS iPXE joins them in order.
        [
            "kernel",
            _word(files.kernel),
            *map(_word, files.arguments),
            "initrd=initramfs",
            "initrd=credential.cpio",
            "||",
            "goto",
            "failed",
        ],
        ["initrd", "--name", "initramfs", _word(files.initramfs), "||", "goto", "failed"],
        ["initrd", "--name", "credential.cpio", _word(files.credential), "||", "goto", "failed"],
        ["boot", "||", "goto", "failed"],
        [":failed"],
        ["echo", "the OSIE could not be loaded: is it built for this architecture (tinkbox osie list)?"],
        ["imgfree"],
        ["inc", "tries:int32"],
        ["iseq", "${tries:int32}", str(RETRIES), "&&", "goto", "given-up", "||"],
        ["sleep", "5"],
        ["goto", "again"],
        [":given-up"],
        ["echo", "giving up, trying the next boot device"],
        ["sleep", "5"],
        ["exit", "1"],
    ]


def _parked(plan: Plan, files: BootFiles) -> list[list[str]]:
    return [
        ["echo", f"this machine is parked: {plan.reason}"],
        ["echo", f"it asks again every {PARKED_SECONDS} seconds"],
        [":wait"],
        ["sleep", str(PARKED_SECONDS)],
        ["chain", "--replace", "--autofree", _word(files.script), "||", "goto", "wait"],
    ]


def _local_disk() -> list[list[str]]:
    return [
        ["echo", "nothing to install: booting the local disk"],
        # UEFI firmware goes on to its next boot option; a BIOS boot ROM must start the disk itself,
        # for many a BIOS does not come back to its boot order.
        ["iseq", "${platform}", "efi", "&&", "exit", "1", "||"],
        ["sanboot", "--no-describe", "--drive", "0x80", "||", "exit", "1"],
    ]


def _word(text: str) -> str:
    """One word of a command: a URL or an argument, in which a hardware document has its say."""
    return _UNSAFE.sub("_", text).replace(" ", "_")


def _line(words: list[str]) -> str:
    if words[0] == "echo":
        # iPXE expands ${…} and reads && and || everywhere, so a text for people keeps plain characters only.
        return " ".join(["echo", *(_UNSAFE.sub("_", word) for word in words[1:])])
    return " ".join(words)
