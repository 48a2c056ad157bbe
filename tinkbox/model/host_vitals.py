"""What the appliance measures of this host and of its neighbours on the provisioning networks, beside its own parts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import IPv4Address, IPv4Network
from typing import Final

from tinkbox.model.hardware import MacAddress

MOST_APPLIANCES: Final = 16  # that are kept of each interface, and the newest one beyond them


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSettings:
    """A provisioning interface: the `networks` of the addresses that it has now, the bytes of its largest packet (0: not told), and its MAC."""

    interface: str
    networks: frozenset[IPv4Network]
    mtu: int = 0
    mac: MacAddress | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenAddress:
    """Another host, with this MAC, answered ARP for our own address on an interface."""

    interface: str
    address: IPv4Address
    mac: MacAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldAddress:
    """The `address` of a machine that this host itself has, on whichever of its interfaces; `prefix` is the length that it has there."""

    interface: str
    address: IPv4Address
    prefix: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedReplies:
    """So many replies to machines on an interface were not sent from `since` to `until` (None: since then alone): `error` is the kernel's word, `to` the newest target.

    `what` is what replies so, such as DHCP.  `targets` are a few of the newest targets, each once.  `no_port`: there was no port to send them from.
    """

    interface: str
    what: str
    times: int
    since: datetime
    error: str
    to: str
    targets: tuple[str, ...] = ()
    no_port: bool = False
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StrayRoute:
    """What we send to an `address` of a network, from `ours` on its interface, leaves `through` another one, or (empty) nowhere.

    `why` is the kernel's word where it goes nowhere, `route` the line of `ip route` by which it goes, empty where the kernel does not
    tell.  `among` are the networks of all addresses that routes and rules treat like it.  `twin`: the other interface has an address in the same network.  `refused`: this host drops what comes from there on the
    interface, by reverse path filtering.
    """

    interface: str
    ours: IPv4Address
    network: IPv4Network
    address: IPv4Address
    among: frozenset[IPv4Network]
    through: str = ""
    route: str = ""
    why: str = ""
    twin: bool = False
    refused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UnroutedNetwork:
    """Machines of a `network` behind a relay are at `addresses` to which this host has no route; `why` is the kernel's word.

    `whole`: it has none to any of those that were asked for.  `filtering` are our interfaces that drop what comes from where no route leads
    (rp_filter).
    """

    network: IPv4Network
    addresses: tuple[IPv4Address, ...]
    why: str
    whole: bool = True
    filtering: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherAppliance:
    """Another tinkbox, by its own address and MAC, which was heard on an interface at `at`.

    `unanswered` is when it did not answer our question; None: it answered, or was not asked since.
    """

    interface: str
    address: IPv4Address
    mac: MacAddress
    at: datetime
    unanswered: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedInterfaces:
    """The same question came in on two provisioning `interfaces`: one of the machine `mac` at `at`, or our own, sent on one of them, at `own_at`.

    Each is None where nothing like it was heard.
    """

    interfaces: tuple[str, str]
    at: datetime | None = None
    mac: MacAddress | None = None
    own_at: datetime | None = None

    @property
    def newest(self) -> datetime:
        """When it was heard last."""
        return max(each for each in (self.at, self.own_at) if each is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class LostDatabase:
    """The database's `path` leads to no file (or, where `replaced`, to another one): what is open has no name any more.

    `open_files` are paths of the open file and of its log under /proc, by the endings of their names.
    """

    path: str
    replaced: bool
    open_files: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HostVitals:
    """All of it together; `unexamined` says what was not looked at, each with its reason."""

    links: tuple[LinkSettings, ...] = ()
    taken: tuple[TakenAddress, ...] = ()
    refused_replies: tuple[RefusedReplies, ...] = ()
    appliances: tuple[OtherAppliance, ...] = ()
    database: LostDatabase | None = None
    stray_routes: tuple[StrayRoute, ...] = ()
    joined: tuple[JoinedInterfaces, ...] = ()
    unrouted: tuple[UnroutedNetwork, ...] = ()
    held: tuple[HeldAddress, ...] = ()
    unexamined: Mapping[str, str] = field(default_factory=dict)
