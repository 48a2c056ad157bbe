"""A machine as the program looks at it: its interfaces, and what people call it.

What was told about it is a document, which is kept as it was given (`documents.hardware` reads it).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Interface
from typing import Any

from tinkbox.model.documents.kubernetes import DEFAULT_NAMESPACE
from tinkbox.model.errors import Invalid, Remarks
from tinkbox.model.labels import Labels
from tinkbox.model.netboot import BY_THE_APPLIANCE, Netboot

DEFAULT_LEASE_SECONDS = 86_400
DEFAULT_ARCHITECTURE = "x86_64"
# As documents have it, as Windows, as switches, and as UEFI's boot menu.
_MAC = re.compile(r"(?:(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}|[0-9a-f]{12})\Z")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class MacAddress(str):
    """A hardware address, normalised when made: lower case, colons.

    Raises Invalid for anything that is not six octets.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> "MacAddress":
        lowered = text.strip().lower()
        if not _MAC.match(lowered):
            raise Invalid(f"invalid mac: {text[:40]!r} (expected six octets, like 08:00:27:00:00:01)")
        return super().__new__(cls, bytes.fromhex(re.sub("[:.-]", "", lowered)).hex(":"))

    @classmethod
    def from_bytes(cls, octets: bytes) -> "MacAddress":
        """Make one from the first six octets of a packet's `chaddr`."""
        # Of every packet that is heard, so without a look at what cannot be otherwise.
        return super().__new__(cls, octets[:6].hex(":")) if len(octets) >= 6 else cls(octets.hex(":"))

    @property
    def octets(self) -> bytes:
        """The six octets, as they stand on the wire."""
        return bytes.fromhex(self.replace(":", ""))


def is_mac(text: str) -> bool:
    """Whether a text is a MAC, in any usual spelling."""
    return _MAC.match(text.strip().lower()) is not None


def spelled_address(text: str) -> str:
    """What a machine is addressed by, as it is compared: a MAC and an id in their one spelling, anything else as it is."""
    if is_mac(text):
        return MacAddress(text)
    lowered = text.lower()
    return lowered if _UUID.fullmatch(lowered) else text


def is_of_card(mac: MacAddress) -> bool:
    """Whether a network card can have it: it is neither a group's nor none (IEEE 802)."""
    return not mac.octets[0] & 1 and any(mac.octets)


def check_card(mac: MacAddress) -> MacAddress:
    """The same MAC; raises Invalid for one that no network card has (`is_of_card`)."""
    if not is_of_card(mac):
        raise Invalid(f"invalid mac: {mac} is the address of no network card: give the one on its label")
    return mac


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """How to reach a network that is not one's own."""

    network: IPv4Network
    router: IPv4Address


class Form(StrEnum):
    """Which of Tinkerbell's forms a machine's document has: they call some fields otherwise (`model.documents.field_names`)."""

    OF_2020 = "2020"
    V1ALPHA1 = "v1alpha1"
    V1ALPHA2 = "v1alpha2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """One network interface of a machine: its reservation and what it may boot; without `dhcp` it is not answered.

    Without `allow_pxe` it boots nothing, without `allow_workflow` nothing for a workflow.  `pxe_told` tells whether the document says that,
    and `form` is that of the document.

    `vlan_id` is the tagged network on which the machine goes on after its firmware; None, it has none.  Without
    `architecture_told` the document names no architecture that is known, and what is here stands for it.
    An `address` may lack its `netmask`.  `address6` and `gateway6` are IPv6's, which only the installed system is told;
    `name_servers` may be of either, and `time_servers` are addresses or names.  `netboot` is how it boots where the document
    says that.  `place` is where the document lists it.
    """

    mac: MacAddress
    place: int = field(default=0, compare=False)
    address: IPv4Address | None = None
    netmask: IPv4Address | None = None
    gateway: IPv4Address | None = None
    address6: IPv6Interface | None = None
    gateway6: IPv6Address | None = None
    hostname: str = ""
    domain_name: str = ""
    lease_seconds: int = DEFAULT_LEASE_SECONDS
    name_servers: tuple[IPv4Address | IPv6Address, ...] = ()
    time_servers: tuple[IPv4Address | IPv6Address | str, ...] = ()
    architecture: str = DEFAULT_ARCHITECTURE
    architecture_told: bool = field(default=True, compare=False)
    allow_pxe: bool = True
    pxe_told: bool = field(default=True, compare=False)
    form: Form = field(default=Form.OF_2020, compare=False)
    allow_workflow: bool = True
    dhcp: bool = True
    vlan_id: int | None = None
    routes: tuple[Route, ...] = ()
    netboot: Netboot = field(default=BY_THE_APPLIANCE, hash=False)  # long, and hashed for every packet


@dataclass(frozen=True, slots=True, kw_only=True)
class WithoutMac:
    """An interface of which the document tells no MAC of its own: no packet can be told to be its, so no question of it is answered."""

    hostname: str = ""
    address: IPv4Address | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """A machine, identified by `id` (a UUID, lower case).

    `interfaces` are those with a MAC, and may be empty: such a machine cannot boot by the network, but a worker that somebody
    starts on it works.  `without_mac` are the others.  `name` and `agent_id` are those of a `kind: Hardware`, else empty; an
    `agent_id` that is a MAC or a UUID has the one spelling of these (`spelled_address`).
    `labels` are what people gave it, whatever its document says.  `remarks` are about a document that was given.
    """

    id: str
    interfaces: tuple[Interface, ...]
    document: Mapping[str, Any]
    without_mac: tuple[WithoutMac, ...] = ()
    name: str = ""
    agent_id: str = ""
    labels: Labels = field(default_factory=dict)
    remarks: Remarks = field(default=Remarks(), compare=False)

    @property
    def addresses(self) -> list[IPv4Address]:
        """Every IPv4 address that is reserved for it."""
        return [each.address for each in self._all if each.address is not None]

    @property
    def hostnames(self) -> list[str]:
        """The host names of its interfaces, those with a MAC first."""
        return [each.hostname for each in self._all if each.hostname]

    @property
    def _all(self) -> list[Interface | WithoutMac]:
        return [*self.interfaces, *self.without_mac]

    def interface(self, address: str) -> Interface | None:
        """The interface that has this MAC or IPv4 address, or None."""
        for interface in self.interfaces:
            if address.lower() == interface.mac or address == str(interface.address):
                return interface
        return None


def addressed_by(hardware: Hardware) -> list[str]:
    """All by which the worker of a task may mean a machine, as `spelled_address` has it: no other machine may have any of it."""
    macs = (str(each.mac) for each in hardware.interfaces)
    found = [*macs, *map(str, hardware.addresses), hardware.agent_id, hardware.id]
    return [each for each in dict.fromkeys(found) if each]


def called(hardware: Hardware | None, otherwise: str = "") -> str:
    """What people call a machine (`name_of`); where it has no name, `otherwise` or its id."""
    if hardware is None:
        return otherwise
    return name_of(hardware) or otherwise or hardware.id


def names_of(hardware: Hardware) -> list[str]:
    """All that a machine is called: its name, and the host names of its interfaces."""
    return [each for each in dict.fromkeys([hardware.name, *hardware.hostnames]) if each]


def name_of(hardware: Hardware) -> str:
    """What people call a machine: its name, else the host name of the interface it is shown by, else of another; or empty."""
    shown = primary(hardware)
    return hardware.name or (shown.hostname if shown else "") or next(iter(hardware.hostnames), "")


def namespace_of(hardware: Hardware) -> str:
    """The namespace that its document names, else the default one."""
    metadata = hardware.document.get("metadata") if hardware.document.get("kind") == "Hardware" else None
    return str((metadata or {}).get("namespace") or DEFAULT_NAMESPACE)


def told_namespace(hardware: Hardware) -> str:
    """What people are told of where a machine is: a document of 2020 has no namespace."""
    return f"namespace {namespace_of(hardware)}" if hardware.name else "no namespace"


def primary(hardware: Hardware) -> Interface | None:
    """The interface a machine is shown by: the first that netboots, else the first with a MAC; None: there is none."""
    return next((each for each in hardware.interfaces if each.allow_pxe), next(iter(hardware.interfaces), None))


def mac_of(hardware: Hardware) -> str:
    """The MAC that a machine is shown by; empty: its document tells none."""
    shown = primary(hardware)
    return str(shown.mac) if shown else ""


def address_of(hardware: Hardware) -> IPv4Address | None:
    """The IPv4 address that a machine is shown with; None: none is reserved for that interface."""
    shown = primary(hardware)
    return shown.address if shown else next(iter(hardware.addresses), None)


def hostname_of(hardware: Hardware) -> str:
    """The host name of the interface that a machine is shown by; without one that of any; empty: it has none there."""
    shown = primary(hardware)
    return shown.hostname if shown else next(iter(hardware.hostnames), "")


def worker_of(hardware: Hardware) -> str:
    """What a template names a machine by: the MAC that it is shown by, without one its agent id, else its id."""
    return mac_of(hardware) or hardware.agent_id or hardware.id
