"""What machines send to our ports and what we reply, and whether a rule's condition matches it.  Pure."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from ipaddress import IPv4Address, IPv4Network
from typing import Final

EVERYBODY: Final = IPv4Address("255.255.255.255")
_NO_ADDRESS: Final = IPv4Address(0)
_CLIENT: Final = 68  # where DHCP clients hear replies
# What each kind of reply has as long as this at least: a whole piece of a file, and the shortest packet of DHCP.
_NEEDED: Final = {"HTTP": 1500, "HTTPS": 1500, "TFTP": 1500, "DHCP": 328, "PXE": 328}
_LONGEST: Final = 1500
_LONGEST_OF_TCP: Final = 65535  # rules see many segments as one packet


class Match(IntEnum):
    """Whether the packets of a flow match: none, some or perhaps some, all."""

    NO = 0
    MAYBE = 1
    YES = 2


def all_of(*matches: Match) -> Match:
    """Whether packets match all of several conditions."""
    return min(matches, default=Match.YES)


def any_of(*matches: Match) -> Match:
    """Whether packets match one of several conditions at least."""
    return max(matches, default=Match.NO)


def negated(match: Match) -> Match:
    """Whether packets do not match."""
    return Match(2 - match)


def how_many(matching: int, of: int) -> Match:
    """Whether all, some or none of so many match."""
    return Match.NO if not matching else Match.YES if matching == of else Match.MAYBE


def surely(is_so: bool) -> Match:
    """All or none."""
    return Match.YES if is_so else Match.NO


def above(sizes: tuple[int, int] | None) -> int:
    """The longest packet that is let through where those of these sizes are not; 0: none."""
    return max(sizes[0] - 1, 0) if sizes is not None else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """A port of ours that machines have to reach on an interface, at our address there; `what` is asked there.

    Where it is `direct`, machines ask for their addresses without a relay between, so that they have none yet.  `followed`: the kernel may
    know that what TFTP sends belongs to a question.
    """

    interface: str
    address: IPv4Address
    network: IPv4Network
    port: int
    protocol: str
    what: str
    direct: bool = False
    followed: bool = False

    @property
    def targets(self) -> frozenset[IPv4Address]:
        """The addresses to which machines send."""
        broadcast = {EVERYBODY, self.network.broadcast_address} if self.what == "DHCP" else set[IPv4Address]()
        return frozenset({self.address, *broadcast})

    @property
    def replies(self) -> bool:
        """Whether machines wait for an answer."""
        return self.what != "syslog"

    @property
    def replies_from(self) -> int | None:
        """The port that replies come from; None: another one for each machine."""
        return None if self.what == "TFTP" else self.port

    def needed_sizes(self, lengths: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Each of these lengths with that of the longest reply, the shortest first, where no machine boots without replies so long."""
        longest = _LONGEST_OF_TCP if self.protocol == "tcp" else _LONGEST
        return ((each, longest) for each in sorted({*lengths}) if each <= _NEEDED.get(self.what, 0))


class Way(StrEnum):
    """To our port, or from it."""

    IN = "in"
    OUT = "out"


# What connection tracking calls the packets of which a flow is judged.  The first packet of a flow to us opens it.  DHCP replies go to
# another address than that which was asked, and what TFTP sends comes from another port: neither belongs to the question.
_NEW: Final = frozenset({"new"})
_ESTABLISHED: Final = frozenset({"established"})
_FOLLOWED: Final = frozenset({"new", "related"})  # the latter where the kernel's helper for TFTP follows it


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """What machines on an interface send to one of our ports, or what we send them from there.

    `devices` is where a table sees it: our interface, or below a bridge all ports of that, or one of them.  `sizes` are the least and
    the most bytes of its packets with their IP headers; None: any.  `framed` is how many bytes before these a table counts as well.
    """

    port: Port
    way: Way
    devices: frozenset[str]
    sizes: tuple[int, int] | None = None
    framed: int = 0

    @property
    def opens(self) -> bool:
        """Whether connection tracking takes it for the beginning of something, of which alone tables of `nat` see a packet."""
        return self.is_in_state(_NEW) is not Match.NO

    def passes(self, names: Iterable[str], wildcard: str, way: Way) -> Match:
        """Whether it comes in, or goes out, by an interface of these names; what ends with the wildcard is the beginning of one."""
        if way is not self.way:  # there is none, and a rule may ask for that
            return Match.MAYBE
        exact = {*names}
        begin = tuple(each.removesuffix(wildcard) for each in exact if wildcard and each.endswith(wildcard))
        return how_many(sum(each in exact or each.startswith(begin) for each in self.devices), len(self.devices))

    def is_to_port(self, low: int, high: int) -> Match:
        """Whether its destination port is one of these."""
        if self.way is Way.OUT and self.port.what != "DHCP":
            return surely((low, high) == (0, 65535)) or Match.MAYBE
        return surely(low <= (self.port.port if self.way is Way.IN else _CLIENT) <= high)

    def is_from_port(self, low: int, high: int) -> Match:
        """Whether its source port is one of these."""
        known = self.port.replies_from if self.way is Way.OUT else _CLIENT if self._has_no_address else None
        return (surely((low, high) == (0, 65535)) or Match.MAYBE) if known is None else surely(low <= known <= high)

    def is_to(self, first: IPv4Address, last: IPv4Address) -> Match:
        """Whether it goes to one of these addresses."""
        if self.way is Way.IN:
            inside = [first <= each <= last for each in self.port.targets]
            return how_many(sum(inside), len(inside))
        lowest, highest = self.port.network.network_address, self.port.network.broadcast_address
        if self.port.what == "DHCP":
            highest = EVERYBODY
        if first <= lowest and highest <= last:
            return Match.YES
        return surely(first <= highest and lowest <= last) and Match.MAYBE

    def is_from(self, first: IPv4Address, last: IPv4Address) -> Match:
        """Whether it comes from one of these addresses."""
        if self.way is Way.OUT and first <= self.port.address <= last:
            return Match.YES
        if self._has_no_address:
            return surely(first == _NO_ADDRESS)
        return surely((first, last) == (_NO_ADDRESS, EVERYBODY)) or Match.MAYBE

    def is_from_kind(self, kinds: Sequence[str]) -> Match:
        """Whether it comes from one of these kinds of addresses (`ip route` has their names), in small letters."""
        return surely("broadcast" in kinds) if self._has_no_address else Match.MAYBE

    @property
    def _has_no_address(self) -> bool:
        """Whether it is the question of a machine that has no address yet: the kernel takes 0.0.0.0 for a broadcast address."""
        return self.way is Way.IN and self.port.what == "DHCP" and self.port.direct

    def has_length(self, low: int, high: int, before: int = 0) -> Match:
        """Whether its packets are so long, counted from so many bytes before the IP header."""
        if self.sizes is None:
            return Match.MAYBE
        least, most = (min(each + before, _LONGEST_OF_TCP) for each in self.sizes)
        return Match.YES if low <= least and most <= high else surely(low <= most and least <= high) and Match.MAYBE

    def is_of_type(self, kinds: Collection[str]) -> Match:
        """Whether frames carry it to one of these: host, broadcast, multicast or other, in small letters."""
        if self._has_no_address:
            return surely("broadcast" in kinds)
        is_for_us = self.way is Way.IN and self.port.what != "DHCP"
        return Match.NO if is_for_us and {*kinds} <= {"broadcast", "multicast"} else Match.MAYBE

    def is_in_state(self, states: Collection[str]) -> Match:
        """Whether connection tracking has it in one of these states, in small letters."""
        if "untracked" in states:
            return Match.MAYBE
        if self.way is Way.IN or self.port.what == "DHCP":
            mine = _NEW
        else:
            follows = _FOLLOWED if self.port.followed else _NEW
            mine = follows if self.port.what == "TFTP" else _ESTABLISHED
        return how_many(len(mine & {*states}), len(mine))

    def is_to_kind(self, kinds: Sequence[str]) -> Match:
        """Whether it goes to one of these kinds of addresses (`ip route` has their names), in small letters."""
        if self.way is Way.OUT:
            return Match.MAYBE
        mine = ["broadcast" if self._is_broadcast(each) else "local" for each in self.port.targets]
        return how_many(sum(each in kinds for each in mine), len(mine))

    def may_arrive_at(self, to: str) -> bool:
        """Whether our port gets it, perhaps, where it is diverted to an address, a colon and a port; what is empty stays as it was."""
        address, _, port = to.partition(":")
        low, _, high = port.partition("-")
        if low.isdigit() and (high or low).isdigit() and not int(low) <= self.port.port <= int(high or low):
            return False  # else it is ours, or counts from another port
        return not address or self._is_ours_among(address)

    def _is_ours_among(self, addresses: str) -> bool:
        first, _, last = addresses.partition("-")
        try:
            return IPv4Address(first) <= self.port.address <= IPv4Address(last or first)
        except ValueError:
            return False

    def _is_broadcast(self, address: IPv4Address) -> bool:
        return address in (EVERYBODY, self.port.network.broadcast_address)
