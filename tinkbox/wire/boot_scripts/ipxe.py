"""Boot scripts for iPXE, built from tokens: no text from outside can become a command.

A card's boot ROM may be iPXE of its own, and older than the one that we send: nothing newer than January 2019 is used here.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from tinkbox.model.boot import Boot, Plan, Step
from tinkbox.model.firmware_traits import LocalBoot
from tinkbox.model.text import printable
from tinkbox.wire.boot_scripts.failed_steps import DRIVES
from tinkbox.wire.boot_scripts.script_text import ASKS_AGAIN_SECONDS, argument, behalf, heading, plain, word

RETRIES: Final = 3
WAITING_SECONDS: Final = 2
# For the request that tells of a step that failed: the network may be what failed.
TELLING_SECONDS: Final = 5
# What iPXE is asked to say of its machine with the script's URL.  Of text it tells the bytes: `uristring` turns what is
# no ASCII into nonsense, and an ampersand comes through as one.
MACHINE_FACTS: Final = (
    "?platform=${platform}&manufacturer=${manufacturer:hexraw}&product=${product:hexraw}&serial=${serial:hexraw}"
    # SMBIOS §7.20, of the first range of memory the last KiB: iPXE has no setting of its own for that.
    "&memory=${smbios/19.8.4:hexraw}"
)
_PLATFORMS: Final = frozenset({"efi", "pcbios"})
_FOUR_BYTES = re.compile(r"[0-9a-f]{8}")
_TEXTS: Final = ("manufacturer", "product", "serial")
MAX_FACT: Final = 64
_NO_OSIE: Final = "the OSIE could not be loaded: is it built for this architecture (tinkbox osie list)?"
# What stays as it is in the URL that a workflow or a hardware document gave; `&&` would be read as one of iPXE's own words.
_NOT_OF_A_URL = re.compile(r"&(?=&)|[^A-Za-z0-9.,:;/=_@+()?%&~*'!-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class BootFiles:
    """Where a machine's files are: URLs, and what goes onto the kernel's command line.

    `failed` is where its script tells of a step that failed.
    `server` is the node door's URL, below `loaders` are the boot loaders.  `dns` is the address that answers for the names
    of workflows, empty: whatever server the network has.  `firmware` is the second ramdisk, empty: it is not sent.  `syslog` is where to log to, HOST[:PORT], empty: nowhere.
    """

    script: str
    kernel: str
    initramfs: str
    credential: str
    server: str
    failed: str
    firmware: str = ""
    loaders: str = ""
    dns: str = ""
    syslog: str = ""
    arguments: tuple[str, ...] = ()


def script(plan: Plan, files: BootFiles, version: str) -> str:
    """The script for a machine, by what was decided about it."""
    lines = [
        ["#!ipxe"],
        ["echo"],
        ["echo", heading(plan, version)],
    ]
    if files.syslog and ":" not in files.syslog:  # iPXE knows of no other port
        lines.append(["set", "syslog", word(files.syslog), "||"])
    match plan.boot:
        case Boot.OSIE:
            lines += _osie(files, f"booting the OSIE on behalf of workflow {behalf(plan)}")
        case Boot.DISCOVERY:
            lines += _osie(files, "booting the OSIE to tell what this machine is")
        case Boot.OWN_OSIE:
            why = f"booting the OSIE of its hardware document on behalf of workflow {behalf(plan)}"
            lines += _osie(files, why, "the OSIE of the hardware document could not be loaded: look at netboot.osie")
        case Boot.OWN_SCRIPT:
            return _text(lines + _own_script(plan, files)) + _own_commands(plan)
        case Boot.PARKED:
            lines += _parked(plan, files)
        case Boot.WORKFLOW:
            lines += _supplied(plan, files)
        case Boot.WAITING:
            lines += _waiting(plan, files)
        case _:
            lines += _local_disk(plan.local_boot, files)
    return _text(lines)


def come_by_https(plan: Plan, files: BootFiles, url: str, version: str) -> str:
    """The script for a machine that boots by HTTPS alone and asked by plain HTTP: it only leads to `url`, its script there.

    An empty one stands for an appliance that has no HTTPS: the machine waits.
    """
    lines = [["#!ipxe"], ["echo"], ["echo", heading(plan, version)], ["echo", "this machine boots by HTTPS alone"]]
    if not url:
        return _text([*lines, *_asking_again(files, "the appliance has no HTTPS now")])
    failed = "HTTPS failed: tinkbox doctor on the appliance says why"
    return _text([*lines, *_chained(files, f"{word(url)}{MACHINE_FACTS}", failed, Step.HTTPS, ready=True)])


def _text(lines: list[list[str]]) -> str:
    return "".join(f"{_line(line)}\n" for line in lines)


def machine_facts(query: Mapping[str, str]) -> dict[str, str | int]:
    """What a machine said with MACHINE_FACTS: bounded text, and `memory` in MiB, of what it said at all."""
    told: dict[str, str | int] = {name: _from_bytes(query.get(name, "")) for name in _TEXTS}
    platform = query.get("platform", "")
    if platform in _PLATFORMS:
        told["platform"] = platform
    told["memory"] = _mebibytes(query.get("memory", ""))
    return {name: fact for name, fact in told.items() if fact}


def _mebibytes(text: str) -> int:
    """Of a range that ends with the KiB of this number, in hexadecimal bytes, the lowest first; 0 for anything else."""
    if not _FOUR_BYTES.fullmatch(text) or text == "ffffffff":  # SMBIOS: it does not fit here
        return 0
    return (int.from_bytes(bytes.fromhex(text), "little") + 1) >> 10


def _from_bytes(text: str) -> str:
    """Text out of hexadecimal bytes; what is none is taken as it is."""
    with suppress(ValueError):
        text = bytes.fromhex(text).decode(errors="replace")
    return printable(text).strip()[:MAX_FACT]


def _osie(files: BootFiles, why: str, failed: str = _NO_OSIE) -> list[list[str]]:
    firmware = [("firmware", files.firmware)] if files.firmware else []
    ramdisks = [("initramfs", files.initramfs), *firmware, ("credential.cpio", files.credential)]
    steps = {"initramfs": Step.RAMDISK, "firmware": Step.FIRMWARE, "credential.cpio": Step.CREDENTIAL}
    return [
        ["echo", why],
        # Of another type, such as the default's text, iPXE cannot increment it.
        ["set", "tries:int32", "0"],
        [":again"],
        _step(Step.KERNEL),
        # `initrd=` names are what the kernel asks the EFI loader for; BIOS iPXE joins them in order.
        [
            "kernel",
            _url(files.kernel),
            *map(argument, files.arguments),
            *(f"initrd={name}" for name, _ in ramdisks),
            "||",
            "goto",
            "failed",
        ],
        *(
            words
            for name, url in ramdisks
            for words in (_step(steps[name]), ["initrd", "--name", name, _url(url), "||", "goto", "failed"])
        ),
        _step(Step.BOOT),
        ["boot", "||", "goto", "failed"],
        [":failed"],
        _tell(files, "${step}", _ERROR),
        ["echo", failed],
        ["imgfree"],
        *_again_or_give_up(),
    ]


def _supplied(plan: Plan, files: BootFiles) -> list[list[str]]:
    """Hand over to the script of a service, with all that it needs to boot the OSIE, should it want that."""
    # What is set in no scope beats what DHCP gave, and the resolver hears of it at once.
    names = [
        ["iseq", "${dns}", word(files.dns), "||", "set", "upstream-dns", "${dns}", "||"],
        ["set", "dns", word(files.dns)],
        # A server that a router announced over IPv6 would be asked alone.  It cannot be taken back; but what is here beats
        # it as well, and one octet is no address.
        ["isset", "${dns6}", "&&", "set", "dns6:hex", "00", "||"],
    ]
    return [
        ["echo", f"booting what workflow {behalf(plan)} supplies"],
        *_settings(files, with_credential=True),
        *(names if files.dns else [["set", "upstream-dns", "${dns}", "||"]]),
        *_chained(files, plan.script, "the boot script of the workflow could not be loaded: see tinkbox service logs"),
    ]


def _own_script(plan: Plan, files: BootFiles) -> list[list[str]]:
    """Hand over to the script of the hardware document, which may boot the OSIE as one of a service may."""
    url = plan.interface.netboot.script_url
    failed = "the boot script of the hardware document could not be loaded: look at netboot.ipxe.url"
    return [
        ["echo", "booting the script of its hardware document"],
        *_settings(files, with_credential=plan.ticket),
        *(_chained(files, url, failed) if url else []),
    ]


def _own_commands(plan: Plan) -> str:
    """The person's own commands, as they are: the one text of a document that iPXE takes for commands."""
    own = plan.interface.netboot
    return "" if own.script_url else own.script


def _settings(files: BootFiles, *, with_credential: bool) -> list[list[str]]:
    """What a script that is not ours needs to boot the OSIE."""
    return [
        ["set", "tinkbox-server", word(files.server)],
        ["set", "tinkbox-arguments", *map(argument, files.arguments)],
        *([["set", "tinkbox-credential", word(files.credential)]] if with_credential else []),
        *([["set", "tinkbox-firmware", word(files.firmware)]] if files.firmware else []),
    ]


def _chained(
    files: BootFiles, url: str, failed: str, step: Step = Step.SCRIPT, *, ready: bool = False
) -> list[list[str]]:
    """Go on with the script at a URL, which is iPXE's own text where it is `ready`."""
    return [
        ["set", "tries:int32", "0"],
        [":again"],
        ["chain", "--replace", "--autofree", url if ready else _url(url), "||", "goto", "failed"],
        [":failed"],
        _tell(files, _name(step), _ERROR),
        ["echo", failed],
        *_again_or_give_up(),
    ]


def _again_or_give_up() -> list[list[str]]:
    return [
        ["inc", "tries:int32"],
        ["iseq", "${tries:int32}", str(RETRIES), "&&", "goto", "given-up", "||"],
        ["sleep", "5"],
        ["goto", "again"],
        [":given-up"],
        ["echo", "giving up, trying the next boot device"],
        ["sleep", "5"],
        ["exit", "1"],
    ]


def _waiting(plan: Plan, files: BootFiles) -> list[list[str]]:
    return [
        ["echo", f"waiting on behalf of workflow {behalf(plan)}: {plan.reason}"],
        [":wait"],
        ["sleep", str(WAITING_SECONDS)],
        ["chain", "--replace", "--autofree", word(files.script), "||", "goto", "wait"],
    ]


def _parked(plan: Plan, files: BootFiles) -> list[list[str]]:
    return _asking_again(files, f"this machine is parked: {plan.reason}")


def _asking_again(files: BootFiles, why: str) -> list[list[str]]:
    return [
        ["echo", why],
        ["echo", f"it asks again every {ASKS_AGAIN_SECONDS} seconds"],
        [":wait"],
        ["sleep", str(ASKS_AGAIN_SECONDS)],
        ["chain", "--replace", "--autofree", word(files.script), "||", "goto", "wait"],
    ]


def _local_disk(way: LocalBoot | None, files: BootFiles) -> list[list[str]]:
    match way:
        case None:
            # UEFI firmware goes on to its next boot option; a BIOS boot ROM must start the disk itself,
            # for many a BIOS does not come back to its boot order.
            how = [["iseq", "${platform}", "efi", "&&", "exit", "1", "||"], *_sanboot(files), _EXIT]
        case LocalBoot.SANBOOT:
            how = [*_sanboot(files), _EXIT]
        case LocalBoot.GRUB:
            how = [
                ["chain", "--autofree", f"{word(files.loaders)}/grubx64.efi", "||"],
                _tell(files, _name(Step.LOADER), _ERROR),  # also of one that ran, and ended
                _EXIT,
            ]
        case _:
            how = [_EXIT]
    return [["echo", "nothing to install: booting the local disk"], *how]


def _sanboot(files: BootFiles) -> list[list[str]]:
    """The first disk that has a boot sector, in the order of the BIOS."""
    errors = [f"error{0x80 + disk:x}" for disk in range(DRIVES)]
    return [
        *(
            ["sanboot", "--no-describe", "--drive", f"0x{each[-2:]}", "||", "set", each, _ERROR, "||"]
            for each in errors
        ),
        _tell(files, _name(Step.DISK), ".".join(f"${{{each}}}" for each in errors)),
    ]


def _step(step: Step) -> list[str]:
    return ["set", "step", _name(step)]


def _name(step: Step) -> str:
    return step.name.lower()


def _tell(files: BootFiles, step: str, error: str) -> list[str]:
    """Tell which step failed; whether that arrives or not, the script goes on."""
    url = f"{word(files.failed)}?step={step}&error={error}"
    fetch = ["imgfetch", "--timeout", str(TELLING_SECONDS * 1000), "--name", "told", url]
    return [*fetch, "&&", "imgfree", "told", "||"]


# The error of the command that failed last, in eight digits.
_ERROR: Final = "${errno:hexraw}"
_EXIT: Final = ["exit", "1"]


def _url(text: str) -> str:
    """The URL that a workflow or a hardware document gave, as one word: it says what is no part of one in hexadecimal (RFC 3986 §2.1)."""
    return _NOT_OF_A_URL.sub(
        lambda found: "".join(f"%{octet:02X}" for octet in found[0].encode(errors="replace")), text
    )


def _line(words: list[str]) -> str:
    if words[0] == "echo":
        # iPXE expands ${…} and reads && and || everywhere, so a text for people keeps plain characters only.
        return " ".join(["echo", *map(plain, words[1:])])
    return " ".join(words)
