"""Which address of a pool a machine gets: RFC 2131 §4.3.1.  Pure: time is an argument, in seconds of a steady clock.

Rule 1: no two machines hold one address.
Rule 2: a machine keeps its address, also when its lease is over, for as long as others can be served otherwise.
Rule 3: unknown machines, whose MACs anybody can invent, hold a part of the addresses that can be lent, those behind one port
of a relay a part of that; and what one of them was only offered goes to a known machine that finds no other.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address
from math import inf

from tinkbox.engine.boot.conflicts import Conflicts
from tinkbox.engine.boot.unknown_share import UnknownShare
from tinkbox.model.hardware import MacAddress
from tinkbox.model.leases import Lease, LeaseState, Subnet

LOOK_AGAIN = 60.0
_SINCE_EVER = -inf
_HOLDING = (LeaseState.OFFERED, LeaseState.BOUND)
# Whatever machine a lease in one of these names, it is not at that address.
KEPT_OUT = (LeaseState.DECLINED, LeaseState.TAKEN)


@dataclass(slots=True, kw_only=True)  # nobody changes one; a frozen one takes twice as long to make
class Held:
    """A lease with the moment at which it ends."""

    lease: Lease
    ends: float


class Pool:
    """The addresses of one subnet's pool and who has them.

    `reserved` tells which of them are not to be lent, because they are somebody's, `known` which machines a hardware
    document names; both may change their minds.  `conflicts` are the addresses at which somebody else answers.
    """

    def __init__(
        self,
        subnet: Subnet,
        reserved: Callable[[IPv4Address], bool] = lambda _: False,
        known: Callable[[MacAddress], bool] = lambda _: True,
    ) -> None:
        first, last = subnet.pool or (IPv4Address(1), IPv4Address(0))
        self.subnet = subnet
        self._first, self._last = int(first), int(last)
        self._never_lent = self._first
        self._fixed = set(map(int, subnet.never_lent))
        self._reserved = reserved
        self._known = known
        size = self._last - self._first + 1
        self._of_unknown, self.conflicts = UnknownShare(size), Conflicts(size)
        # By number: an address itself takes its time as a key, and this is looked up a dozen times for each question.
        self._held: dict[int, Held] = {}
        self._address_of: dict[MacAddress, IPv4Address] = {}
        # When to look whether an address is free: a heap, and for each address which entry of it counts.
        self._looks: list[tuple[float, int]] = []
        self._next_look: dict[int, float] = {}

    def __contains__(self, address: IPv4Address) -> bool:
        return self._first <= int(address) <= self._last

    def held(self, address: IPv4Address) -> Held | None:
        """What was last put for an address, over or not."""
        return self._held.get(int(address))

    def everything(self) -> list[Held]:
        """What was last put for each address, over or not, in the order of the addresses."""
        return [self._held[number] for number in sorted(self._held)]

    def holder(self, address: IPv4Address, now: float) -> MacAddress | None:
        """The machine that was offered or lent an address, None: nobody now."""
        held = self._held.get(int(address))
        return held.lease.mac if held and held.ends > now and held.lease.state in _HOLDING else None

    def lent(self, address: IPv4Address, now: float) -> Lease | None:
        """The lease of an address that is lent, and not only offered; None: it is not now."""
        held = self._held.get(int(address))
        return held.lease if held and held.ends > now and held.lease.state is LeaseState.BOUND else None

    def is_reserved(self, address: IPv4Address) -> bool:
        """Whether an address is not to be lent, because it is somebody's."""
        return int(address) in self._fixed or self._reserved(address)

    def declined(self, mac: MacAddress, now: float) -> int:
        """How many addresses are kept out because this machine said that somebody else uses them."""
        kept_out = (each for each in self._held.values() if each.lease.state is LeaseState.DECLINED)
        return sum(each.lease.mac == mac and each.ends > now for each in kept_out)

    def address_of(self, mac: MacAddress) -> IPv4Address | None:
        """The address that a machine has or had, None: it had none that others do not have by now."""
        return self._address_of.get(mac)

    def choose(self, mac: MacAddress, wanted: IPv4Address | None, now: float, port: bytes = b"") -> IPv4Address | None:
        """The address to offer: the one it has or had, else what it wants, else the one free longest.

        `port` is where it is plugged in, as far as a relay says.  None: every address that it may have is held.
        """
        known, had = self._known(mac), self._address_of.get(mac)
        if had is not None and self.is_reserved(had):
            self._forget(had)
            had = None
        if had is not None and self.holder(had, now) == mac:
            return had
        if not known and not self._has_room_for_unknown(port, had, now):
            return None
        if had is not None:
            return had
        if wanted is not None and wanted in self and self._free(wanted, now):
            return wanted
        return self._fresh() or self._free_longest(now) or (self._only_offered() if known else None)

    def put(self, lease: Lease, ends: float) -> None:
        """From now on this is what is known of the address; who had it before has it no more."""
        number = int(lease.address)
        before = self._held.get(number)
        if before is not None and (before.lease.mac != lease.mac or lease.state in KEPT_OUT):
            self._forget(lease.address)
        self._held[number] = Held(lease=lease, ends=ends)
        if lease.state not in KEPT_OUT:
            self._address_of[lease.mac] = lease.address
        if self._known(lease.mac):
            self._of_unknown.discard(number)
        else:
            self._of_unknown.add(number, lease.port)
        self._look(number, ends)

    def port_is_full(self, port: bytes, now: float) -> bool:
        """Whether unknown machines behind a port hold as much as they may there, while others have room."""
        return not self.unknown_share_is_full(now) and not self._has_room_for_unknown(port, None, now)

    def unknown_share_is_full(self, now: float) -> bool:
        """Whether unknown machines hold or keep out as many addresses as they may in all."""
        return not self._has_room_for_unknown(b"", None, now)

    def _has_room_for_unknown(self, port: bytes, had: IPv4Address | None, now: float) -> bool:
        """Whether one more unknown machine behind a port may hold an address, or that which it had."""

        def counts(number: int) -> bool:
            held = self._held[number]
            return held.ends > now and not self._known(held.lease.mac)

        return self._of_unknown.has_room(port, int(had) if had is not None else None, counts)

    def _forget(self, address: IPv4Address) -> None:
        held = self._held.pop(int(address), None)
        if held is None:
            return
        self._of_unknown.discard(int(address))
        if self._address_of.get(held.lease.mac) == address:
            del self._address_of[held.lease.mac]

    def _free(self, address: IPv4Address, now: float) -> bool:
        held = self._held.get(int(address))
        return (held is None or held.ends <= now) and not self.is_reserved(address)

    def _only_offered(self) -> IPv4Address | None:
        """An address that an unknown machine was offered, and has not asked for."""
        for number in self._of_unknown:
            held = self._held[number]
            if held.lease.state is LeaseState.OFFERED and not self._known(held.lease.mac):
                address = IPv4Address(number)
                if not self.is_reserved(address):
                    return address
        return None

    def _fresh(self) -> IPv4Address | None:
        """The next one that was never lent."""
        while self._never_lent <= self._last:
            number = self._never_lent
            self._never_lent += 1
            address = IPv4Address(number)
            if number in self._held:
                continue  # somebody wanted just this one
            self._look(number, _SINCE_EVER)
            if not self.is_reserved(address):
                return address
        return None

    def _free_longest(self, now: float) -> IPv4Address | None:
        while self._looks and self._looks[0][0] <= now:
            when, number = heapq.heappop(self._looks)
            if self._next_look.get(number) != when:
                continue  # a sooner look was asked for meanwhile
            del self._next_look[number]
            address = IPv4Address(number)
            held = self._held.get(number)
            due = held.ends if held else when
            if self.is_reserved(address):
                due = max(due, now + LOOK_AGAIN)
            self._look(number, due)
            if due <= when:
                return address
        return None

    def _look(self, number: int, when: float) -> None:
        if when < self._next_look.get(number, inf):
            self._next_look[number] = when
            heapq.heappush(self._looks, (when, number))
