"""Networks that machines are on, and the addresses lent to them: RFC 2131 §3 and §4.3."""

from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network
from typing import Final

from tinkbox.model.hardware import MacAddress

GIVES_ADDRESSES: Final = ("reservation", "pool")  # the modes in which machines have their addresses of us


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTerms:
    """What is lent on one network, and what machines are told with an address.

    `pool` is the first and the last address to lend, None: only what is reserved.
    """

    pool: tuple[IPv4Address, IPv4Address] | None = None
    gateway: IPv4Address | None = None
    name_servers: tuple[IPv4Address, ...] = ()
    domain_name: str = ""
    lease_seconds: int = 3600

    def on(self, network: IPv4Network) -> "Subnet":
        """The network on these terms, not yet on one of our interfaces."""
        return Subnet(network=network, **{each.name: getattr(self, each.name) for each in fields(LeaseTerms)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Subnet(LeaseTerms):
    """A network that machines are on: on one of our interfaces, or, with an empty `interface`, behind a relay."""

    network: IPv4Network
    interface: str = ""

    @property
    def never_lent(self) -> frozenset[IPv4Address]:
        """What no pool of this network lends, whoever the appliance and its machines are."""
        gateway = () if self.gateway is None else (self.gateway,)
        return frozenset((self.network.network_address, self.network.broadcast_address, *gateway, *self.name_servers))


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimant:
    """A host, by its MAC, that answers ARP for more `addresses` of a network's pool than any host has.

    The pool has `size` of them, and so many of its answers are `believed`.  Without a MAC it is all who answer, together.
    The last of the answers came so many `seconds_ago`.
    """

    mac: str
    network: IPv4Network
    size: int
    addresses: int
    believed: int
    seconds_ago: float = 0.0


class LeaseState(StrEnum):
    OFFERED = "offered"
    BOUND = "bound"
    RELEASED = "released"
    DECLINED = "declined"  # the machine found that somebody else uses it
    TAKEN = "taken"  # we did, before it was lent
    EXPIRED = "expired"  # what is shown of one that was bound, and is over


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """An address of a pool, lent to a machine for `seconds`, `until` then; `proven`: nobody else answers there.

    `port` is where a relay said that the machine is plugged in when it first asked; empty when none did.
    """

    address: IPv4Address
    mac: MacAddress
    state: LeaseState
    until: datetime
    seconds: int
    client_id: bytes = b""
    hostname: str = ""
    proven: bool = False
    port: bytes = b""
