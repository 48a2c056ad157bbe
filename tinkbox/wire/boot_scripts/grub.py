"""Boot scripts for GRUB, built from tokens: no text from outside can become a command.

Debian's signed GRUB 2.06 has no `http` module, so everything it is told to fetch comes by TFTP.  It can neither count nor
tell the firmware that it failed: when it ends, UEFI firmware takes that for success and shows its menu.  It tells the appliance
which step failed by asking for a file that is called so.

The first script is the same for all.  It asks for the machine's own, again and again for as long as that says so by
the variable `again`; what ended three times without it ends in a reset.
"""

import re
from dataclasses import dataclass
from typing import Final

from tinkbox.model.boot import Boot, Plan, Step
from tinkbox.model.card_firmware import VIRTUAL_MAKERS, VIRTUAL_PRODUCTS
from tinkbox.model.firmware_traits import LocalBoot
from tinkbox.wire.boot_scripts.failed_steps import GRUB_FOLDER
from tinkbox.wire.boot_scripts.script_text import ASKS_AGAIN_SECONDS, argument, behalf, heading, needs_ipxe, plain, word

FIRST: Final = "grub/grub.cfg"  # what that GRUB asks for
TURN: Final = "grub/turn.cfg"
WAITING_SECONDS: Final = 2
_AGAIN: Final = "again=yes"
# Where boot loaders are on the disks' EFI system partitions: those of a distribution first, for what lies in EFI/BOOT may
# only look for them; those with a shim before those without.
_OF: Final = ("debian", "ubuntu", "fedora", "redhat", "centos", "rocky", "almalinux", "opensuse", "sles")
DISK_LOADERS: Final = (
    *(f"/EFI/{name}/shimx64.efi" for name in _OF),
    "/EFI/Microsoft/Boot/bootmgfw.efi",
    "/EFI/systemd/systemd-bootx64.efi",
    "/EFI/BOOT/BOOTX64.EFI",
    *(f"/EFI/{name}/grubx64.efi" for name in _OF),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GrubFiles:
    """Where a machine's files are below the TFTP server's root, and what goes onto the kernel's command line.

    `firmware` is the second ramdisk, empty: it is not sent; with `unless_virtual` the machine looks itself whether it is
    virtual, and loads none then.
    """

    kernel: str
    initramfs: str
    credential: str
    firmware: str = ""
    unless_virtual: bool = False
    arguments: tuple[str, ...] = ()


def first_script(version: str) -> str:
    """What GRUB begins with, on any machine."""
    return _text(
        [
            ["echo", f"tinkbox {version}: GRUB for Secure Boot"],
            ["for try in 1 2 3; do"],
            [f"  set {_AGAIN}"],
            ['  while [ "$again" = yes ]; do'],
            ["    set again="],
            [f"    source /{TURN}"],  # which succeeds always, even where there is no such file
            ["  done"],
            ["  echo", "this did not work, trying again"],
            ["  sleep 5"],
            ["done"],
            ["echo", "giving up: the machine is reset"],
            ["sleep 5"],
            ["reboot"],
        ]
    )


def turn_script(plan: Plan, files: GrubFiles, version: str) -> str:
    """What a machine does next, by what was decided about it."""
    lines = [["echo", heading(plan, version)]]
    match plan.boot:
        case Boot.OSIE:
            lines += _osie(files, f"booting the OSIE on behalf of workflow {behalf(plan)}")
        case Boot.DISCOVERY:
            lines += _osie(files, "booting the OSIE to tell what this machine is")
        case Boot.WAITING:
            lines += _again(WAITING_SECONDS, f"waiting on behalf of workflow {behalf(plan)}: {plan.reason}")
        case Boot.PARKED:
            lines += _again(ASKS_AGAIN_SECONDS, f"this machine is parked: {plan.reason}", _ASKS)
        case Boot.WORKFLOW | Boot.OWN_SCRIPT | Boot.OWN_OSIE:
            what, instead = needs_ipxe(plan)
            lines += _again(
                ASKS_AGAIN_SECONDS,
                f"{what}, which Secure Boot does not let run",
                f"switch Secure Boot off in the firmware, or {instead}",
                _ASKS,
            )
        case _:
            lines += _local_disk(plan.local_boot)
    return _text(lines)


def way_taken(wanted: LocalBoot | None) -> LocalBoot:
    """The way to the disk that GRUB really takes when this one is wanted."""
    return LocalBoot.EXIT if wanted is LocalBoot.EXIT else LocalBoot.GRUB


def _beginning(*texts: str) -> str:
    """A regular expression, as GRUB's word, for text that begins with one of these."""
    each = (re.sub(r"[^A-Za-z0-9 ]", lambda found: f"[{found[0]}]", text) for text in texts)
    return f"'^({'|'.join(each)})'"


# SMBIOS §7.2: of its type 1 the strings at 4 and 5 are manufacturer and product.
_UNLESS_VIRTUAL: Final = [
    ["set maker=; set product="],
    ["smbios --type 1 --get-string 4 --set maker"],
    ["smbios --type 1 --get-string 5 --set product"],
    [f'if regexp {_beginning(*VIRTUAL_MAKERS)} "$maker"'],
    ["then set firmware="],
    [f'elif regexp {_beginning(*VIRTUAL_PRODUCTS)} "$product"'],
    ["then set firmware="],
    ["fi"],
]
_ASKS: Final = f"it asks again every {ASKS_AGAIN_SECONDS} seconds"


def _osie(files: GrubFiles, why: str) -> list[list[str]]:
    asks = files.firmware and files.unless_virtual
    # GRUB takes a variable that is empty for no word at all.
    firmware = ["$firmware"] if asks else [_quoted(files.firmware)] if files.firmware else []
    return [
        ["echo", why],
        *([["set", f"firmware={word(files.firmware)}"], *_UNLESS_VIRTUAL] if asks else ()),
        [_step(Step.KERNEL)],
        [" ".join(["if linux", _quoted(files.kernel), *(f"'{argument(each)}'" for each in files.arguments)])],
        [f"then {_step(Step.RAMDISK)}"],
        [" ".join(["if initrd", _quoted(files.initramfs), *firmware, _quoted(files.credential)])],
        [f"then {_step(Step.BOOT)}"],
        ["boot"],
        ["fi; fi"],
        [f"source /{GRUB_FOLDER}/$step"],  # nothing is there: to ask for it is to tell
        ["echo", "the OSIE could not be loaded: is it built for this architecture (tinkbox osie list)?"],
    ]


def _again(seconds: int, *why: str) -> list[list[str]]:
    return [*(["echo", each] for each in why), [f"sleep {seconds}"], [f"set {_AGAIN}"]]


def _local_disk(way: LocalBoot | None) -> list[list[str]]:
    if way_taken(way) is LocalBoot.EXIT:
        return [["echo", "nothing to install: on to the next boot device"], ["exit"]]
    return [
        ["echo", "nothing to install: booting the local disk"],
        ["set net=$root"],
        ["for file in", *DISK_LOADERS],
        # What it starts is told that it came from `root`, whatever device its own name says.
        ["do if search --no-floppy --file --set=root $file"],
        ["  then echo ($root)$file"],
        ["  if chainloader $file"],
        ["  then boot"],
        ["  fi; fi"],
        ["done"],
        [f"source ($net)/{GRUB_FOLDER}/{_name(Step.DISK)}"],
        ["echo", "no disk has a boot loader that starts: the machine is reset, to try another way"],
        ["sleep 5"],
        ["reboot"],
    ]


def _step(step: Step) -> str:
    return f"set step={_name(step)}"


def _name(step: Step) -> str:
    return step.name.lower()


def _text(lines: list[list[str]]) -> str:
    return "".join(" ".join([line[0], *map(_quoted, line[1:])]) + "\n" for line in lines)


def _quoted(text: str) -> str:
    """One word, of which GRUB takes every character as it is."""
    return f"'{plain(text)}'"
