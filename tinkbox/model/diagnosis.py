"""What the doctor hears, and what it says."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network
from typing import Final

from tinkbox.model.hardware import MacAddress

# The first octets of addresses that programs make up for virtual machines.
_VIRTUAL = {
    "52:54:00": "QEMU",
    "08:00:27": "VirtualBox",
    "00:50:56": "VMware",
    "00:0c:29": "VMware",
    "00:15:5d": "Hyper-V",
}
_NOBODY = IPv4Network("0.0.0.0/8")
SILENT_FOR: Final = "The worker is silent for"  # so begins the cause of a worker that fell silent
MAY_NOT_BOOT: Final = (
    "The machine is known, and may not boot now"  # so begins the cause of one that is kept from booting
)


class Gravity(StrEnum):
    """The gravest last."""

    HARMLESS = "harmless"  # it looks like trouble, and is none
    SUSPECT = "suspect"
    FAULT = "fault"

    @property
    def rank(self) -> int:
        """0 for the gravest."""
        return list(Gravity)[::-1].index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """One likely cause: `rule` is its stable CamelCase name, `machine` a MAC or empty for the whole appliance.

    `workflow` is the id of the one that it is about, empty otherwise.  `cause` is one sentence, `evidence` what it rests on,
    line by line, `remedy` what to do.  `since` is when it was found first, where it was kept (`engine.doctor.rounds`).
    `subject` tells several of one rule and machine apart, where the rule says so.  One that `leads` can say why its patient is where it
    is; another one stands beside that, and so does what is `past`, which explains nothing that is seen now.
    """

    rule: str
    gravity: Gravity
    cause: str
    evidence: tuple[str, ...]
    remedy: str
    machine: str = ""
    workflow: str = ""
    since: datetime | None = None
    subject: str = ""
    leads: bool = True
    past: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """A DHCP server that answered when it was asked on `interface`.

    `server` is what it calls itself (option 54), `mac` where its packet came from: its own, or a router's.  `offered`
    is the address that it would give, None for one that only says what to boot.  `boot_file` and `next_server` are
    what it would boot, empty and None when it says nothing of that.  `pxe` tells that it calls itself a boot server, which may name
    its file later.  `ipxe_file` is what it would boot iPXE, None where it was not asked that or did not answer.  `looped` tells that `mac` is one of the appliance's host.
    """

    interface: str
    server: IPv4Address
    mac: MacAddress
    offered: IPv4Address | None = None
    boot_file: str = ""
    next_server: IPv4Address | None = None
    pxe: bool = False
    ipxe_file: str | None = None
    looped: bool = False

    @property
    def impossible(self) -> bool:
        """Whether no host can have the address that it calls itself by."""
        return is_impossible(self.server)

    @property
    def names_boot(self) -> bool:
        """Whether it says what to boot, now or when it is asked for that."""
        return bool(self.boot_file) or self.pxe

    @property
    def virtual(self) -> str:
        """What made up its MAC, empty for a card of its own."""
        return _VIRTUAL.get(self.mac[:8], "")


def is_impossible(address: IPv4Address) -> bool:
    """Whether no host can have an address on a network (RFC 1122 §3.2.1.3, RFC 1112 §4)."""
    return address.is_loopback or address.is_multicast or address.is_reserved or address in _NOBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """The DHCP servers that answered; `unasked` says on which interfaces they were not asked for, and why, or is empty."""

    rivals: tuple[Rival, ...] = ()
    unasked: str = ""
