"""How a machine boots when its hardware document says more of that than whether it may."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from tinkbox.model.errors import Invalid
from tinkbox.model.text import can_be_shown, spelled

MAX_SCRIPT_BYTES: Final = 64 * 1024
MAX_URL_BYTES: Final = 1024
MAX_OPTION_BYTES: Final = 253
# Linux takes 2,048 bytes on x86 (COMMAND_LINE_SIZE), and 512 are ours.
MAX_KERNEL_BYTES: Final = 1536
# Ours by the names that Tinkerbell has for its own (smee's binaries), and by our own.
PROGRAMS: Final[Mapping[str, str]] = {
    "undionly.kpxe": "undionly.kpxe",
    "ipxe.efi": "ipxe.efi",
    "snp-x86_64.efi": "snponly.efi",
    "snponly.efi": "snponly.efi",
    "snp-arm64.efi": "ipxe-arm64.efi",
    "ipxe-arm64.efi": "ipxe-arm64.efi",
}
_FIRST_LINE: Final = re.compile(r"#!ipxe[ \t]*(?:\n|\Z)")
_URL: Final = re.compile(r"(?:https?|tftp)://[^/?#\s][^\s]*\Z", re.IGNORECASE)
# What iPXE, GRUB between quotation marks, PXELINUX and the kernel all take for nothing but itself; to iPXE a semicolon that
# stands alone ends the command.
_KERNEL_WORD: Final = re.compile(r'(?!;\Z)[A-Za-z0-9.,:/=_@+()?%!*;~^<>"\[\]-]+\Z')


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnOsie:
    """An OSIE that is not the appliance's: the URLs of its kernel and of its ramdisk."""

    kernel: str
    initramfs: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Netboot:
    """What a document says of one interface; all of it is empty where it says nothing.

    `script` are commands for iPXE, without a first line; `script_url` is where a script is, and beats `script`.
    `program` is the loader, by our own name.  `server_name` and `file` are DHCP's options 66 and 67, which lead away from us.
    """

    script: str = ""
    script_url: str = ""
    osie: OwnOsie | None = None
    kernel_parameters: tuple[str, ...] = ()
    program: str = ""
    server_name: str = ""
    file: str = ""

    @property
    def has_script(self) -> bool:
        """Whether the machine has a script of its own."""
        return bool(self.script or self.script_url)

    @property
    def needs_our_osie(self) -> bool:
        """Whether nothing boots without an OSIE of the appliance's."""
        return not (self.has_script or self.osie or self.elsewhere)

    @property
    def elsewhere(self) -> bool:
        """Whether the machine boots from another server, so that nothing here boots it."""
        return bool(self.server_name or self.file)


BY_THE_APPLIANCE: Final = Netboot()


def script_of(value: Any) -> str:
    """The commands of a script for iPXE, without its first line; raises Invalid for what can be none."""
    if not isinstance(value, str):
        raise Invalid(f"expected the text of a script for iPXE, not {value!r:.40}")
    text = value.replace("\r\n", "\n").replace("\r", "\n")
    if len(text.encode(errors="replace")) > MAX_SCRIPT_BYTES:
        raise Invalid(f"expected at most {MAX_SCRIPT_BYTES // 1024} KiB: serve the script yourself, and give its url")
    if wrong := next((each for each in text if not (each.isprintable() or each in "\n\t")), ""):
        raise Invalid(f"expected printable text, and there is {wrong!r} in it")
    commands = _FIRST_LINE.sub("", text.lstrip(), count=1).strip("\n")
    return f"{commands}\n" if commands.strip() else ""


def url_of(value: Any) -> str:
    """A URL from which iPXE can load; raises Invalid for another one."""
    if not isinstance(value, str) or not can_be_shown(value) or not _URL.match(value):
        raise Invalid(f"expected a URL of http, https or tftp, not {spelled(str(value), 80)}")
    if len(value.encode(errors="replace")) > MAX_URL_BYTES:
        raise Invalid(f"expected a URL of at most {MAX_URL_BYTES} bytes")
    return value


def path_of(value: Any) -> str:
    """The name of a file below a URL; raises Invalid for what is none."""
    if not isinstance(value, str) or not can_be_shown(value) or len(value.encode(errors="replace")) > MAX_OPTION_BYTES:
        raise Invalid(f"expected the name of a file, of at most {MAX_OPTION_BYTES} bytes")
    return value.strip("/ ")


def option_of(value: Any) -> str:
    """A text for a DHCP option (RFC 2132 §9.4 and §9.5); raises Invalid for what is none."""
    if not isinstance(value, str) or not (value.isascii() and value.isprintable()) or len(value) > MAX_OPTION_BYTES:
        raise Invalid(f"expected at most {MAX_OPTION_BYTES} letters of ASCII")
    return value.strip()


def kernel_parameters_of(value: Any) -> tuple[tuple[str, ...], ...]:
    """Words for a kernel's command line, those of each text of a list; raises Invalid for one that a boot loader could take for something else."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise Invalid("expected a list of words for the kernel, like console=ttyS1,115200")
    several = tuple(tuple(each.split()) for each in value)
    words = tuple(chain.from_iterable(several))
    if wrong := next((each for each in words if not _KERNEL_WORD.match(each)), ""):
        raise Invalid(f"{spelled(wrong, 80)} has what a boot loader takes for its own, such as $ ' \\ & | #")
    if (size := len(" ".join(words))) > MAX_KERNEL_BYTES:
        raise Invalid(f"{size} bytes: at most {MAX_KERNEL_BYTES}, for the kernel takes 2048 with tinkbox's own")
    return several
