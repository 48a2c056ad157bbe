"""What is seen of machines whose workers fell silent: whether they answer ARP, who is silent beside them, and our own interface.

Few are asked at a time, and none again for a while.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from tinkbox.engine.doctor.case import Case, Way, Work, of, text
from tinkbox.engine.doctor.rules.document import misses_way, refused_at
from tinkbox.engine.doctor.rules.network import declined_address, hears_nothing, misses_transfers, unheard_relay
from tinkbox.engine.doctor.rules.silence import silent_since
from tinkbox.engine.timeline.sighting_rules import ended_at
from tinkbox.engine.timeline.stalls import stalled
from tinkbox.model.boot import Stage
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.model.vitals import Attachment, StaticPort, Vitals

REMEMBERED: Final = timedelta(seconds=8)
# A switch that dies silences hundreds: those beyond this wait for their turn, and count as not asked until then.
AT_ONCE: Final = 8
KEPT: Final = 4096
# Who is looked at every few seconds, and was not for so long, is not silent any more, or over.
LOOKED_AT_WITHIN: Final = timedelta(seconds=30)
MOST_BESIDE: Final = 20
# What one cut keeps silent falls silent at once, but for when each was to ask next.
TOGETHER_WITHIN: Final = timedelta(seconds=15)
# A survey of many failed workflows takes no longer than for these addresses, each asked once in a while.
NEIGHBOURS: Final = 16
NEIGHBOURS_KEPT: Final = timedelta(minutes=1)
MOST_NAME_SERVERS: Final = 3  # as the C library takes (resolv.conf(5))
_Question = Callable[[IPv4Address], Awaitable[bool | None]]


@dataclass(frozen=True, slots=True)
class _Silent:
    """A machine that was found silent `at` a time: `since` when, what it is called, and the relay or the network that it is behind.

    One that answers ARP is reached, so it tells nothing of the way.
    """

    at: datetime
    since: datetime
    called: str
    behind: str
    reached: bool


@dataclass(frozen=True, slots=True)
class _Unused:
    """A static entry whose port is unused `since` then, as of when it was looked at last."""

    entry: StaticPort
    since: datetime
    looked_at: datetime


class Presence:
    """`ask` tells whether a machine answers at an address, `ask_anybody` whether anybody does, `ask_relay` whether a relay does.

    Each takes up to a second, and answers None where nobody can be asked.  `forwards` tells of an own address whether what comes in there for
    others is passed on, and None of every other address.  `static_port` is the static entry that a bridge of this host has for a MAC;
    None where none has.  `learned_port` is the port behind which a bridge of this host heard a MAC, empty where none did.  `static_neighbour` tells of an address on which interface of this host an entry stands
    for it that no ARP changes, and the MAC in it; None where none does.  `listening_at` has the addresses at which a port is listened on that was asked for at
    an own address, and None of every other address.
    """

    def __init__(
        self,
        *,
        ask: Callable[[IPv4Address, MacAddress], Awaitable[bool | None]],
        ask_anybody: Callable[[IPv4Address], Awaitable[bool | None]],
        ask_relay: Callable[[IPv4Address], Awaitable[bool | None]],
        forwards: Callable[[IPv4Address], bool | None],
        static_port: Callable[[MacAddress], StaticPort | None],
        learned_port: Callable[[MacAddress], str],
        static_neighbour: Callable[[IPv4Address], tuple[str, MacAddress] | None],
        listening_at: Callable[[IPv4Address, int], frozenset[IPv4Address | IPv6Address] | None],
        clock: Callable[[], datetime],
    ) -> None:
        self._ask = ask
        self._forwards = forwards
        self._static_port = static_port
        self._learned_port = learned_port
        self._static_neighbour = static_neighbour
        self._listening_at = listening_at
        self._ask_anybody = ask_anybody
        self._ask_relay = ask_relay
        self._clock = clock
        self._told: dict[MacAddress, tuple[datetime, IPv4Address, bool | None]] = {}
        self._neighbours: dict[tuple[_Question, IPv4Address], tuple[datetime, bool | None]] = {}
        self._asking = 0
        self._silent: dict[MacAddress, _Silent] = {}
        self._unused: dict[MacAddress, _Unused] = {}

    async def examined(self, case: Case, vitals: Vitals) -> Case:
        """The case of a machine with what else is seen of it, if its worker is silent; `vitals` are the appliance's."""
        work, mac = case.work, case.mac or (case.work.machine if case.work else None)
        if work is None or mac is None:
            return case
        since = silent_since(work, case.since, case.now)
        if since is None:
            self._silent.pop(mac, None)
            return case
        address = _address(case)
        behind = _behind(case, address)
        answers = await self.answers(mac, address) if address is not None else None
        self._silent[mac] = _Silent(case.now, since, work.called or mac, behind, reached=answers is True)
        # One that a question of a person found meanwhile may be newer than this case.
        self._silent = {each: kept for each, kept in self._silent.items() if abs(case.now - kept.at) < LOOKED_AT_WITHIN}
        beside = sorted(
            kept.called
            for each, kept in self._silent.items()
            if each != mac and behind and kept.behind == behind and not kept.reached
            if abs(kept.since - since) <= work.polls + TOGETHER_WITHIN
        )
        link = _link(vitals, case, address, since + work.polls + TOGETHER_WITHIN)
        return replace(case, work=replace(work, answers=answers, silent_beside=tuple(beside[:MOST_BESIDE]), link=link))

    async def with_way(self, work: Work, interface: Interface | None) -> Work:
        """A workflow with what its machine's document names on the way to others, if its action may have failed for that."""
        refused, lacks = refused_at(work), misses_way(work)
        if interface is None or not (lacks or refused):
            return work
        servers = tuple(each for each in interface.name_servers if isinstance(each, IPv4Address))[:MOST_NAME_SERVERS]
        named = dict.fromkeys(each for each in (interface.gateway, *servers) if lacks and each is not None)
        silent = frozenset([each for each in named if await self._once(self._ask_anybody, each) is False])
        reserved = interface.address is not None
        forwards = None if interface.gateway is None else self._forwards(interface.gateway)
        found = self._listening_at(*refused) if refused else None
        way = Way(
            refused=(*refused, found) if refused and found is not None else None,
            gateway=interface.gateway,
            name_servers=servers,
            silent=silent,
            reserved=reserved,
            forwards=forwards,
        )
        return replace(work, way=way)

    async def with_relay(self, case: Case) -> Case:
        """The case of a machine whose relay is asked, if nothing that it is offered seems to get there."""
        relay = unheard_relay(case)
        return replace(case, relay_answers=await self._once(self._ask_relay, relay)) if relay is not None else case

    async def with_conflict(self, case: Case) -> Case:
        """The case of a machine in whose name an address was given back as in use, with whether another host answers there."""
        address = declined_address(case)
        if address is None or case.mac is None:
            return case
        found = await self._once(self._ask_anybody, address)
        if found and await self.answers(case.mac, address) is not False:
            found = None  # it may be the machine itself
        return replace(case, conflict=found)

    def with_bridge(self, case: Case) -> Case:
        """The case of a machine that stands still and seems to hear nothing, with where this host and its bridges send what is for it.

        Where a fault of the appliance is one of a bridge's port, also the case of each other machine, with the port behind which it is.
        """
        mac = case.mac
        if mac is not None and any(each.stops.behind for each in case.faults):
            case = replace(case, behind=self._learned_port(mac))
        unheard = hears_nothing(case)
        if mac is None or not (unheard or misses_transfers(case)):
            return case
        stands = bool(stalled(case.last[-1], case.now))
        if stands or misses_transfers(case):
            case = replace(case, static_neighbour=self._other_neighbour(mac, _address(case)))
        return replace(case, static_port=self._static_entry(mac, case)) if stands and unheard else case

    def _static_entry(self, mac: MacAddress, case: Case) -> StaticPort | None:
        """A bridge's static entry for a machine; its port is said to be unused where the machine was heard while nothing came in there.

        The port may be newer than what was heard of the machine before.
        """
        entry, before = self._static_port(mac), self._unused.pop(mac, None)
        if entry is None or not entry.unused:
            return entry
        if before is None or before.entry != entry or not timedelta() <= case.now - before.looked_at < LOOKED_AT_WITHIN:
            before = _Unused(entry, since=case.now, looked_at=case.now)
        if len(self._unused) >= KEPT:
            self._unused.clear()
        self._unused[mac] = replace(before, looked_at=case.now)
        return entry if max(map(ended_at, case.last)) > before.since else replace(entry, unused="")

    def _other_neighbour(
        self, mac: MacAddress, address: IPv4Address | None
    ) -> tuple[IPv4Address, str, MacAddress] | None:
        """Where this host sends what is for a machine's address, if an entry of its ARP table says so that names another MAC."""
        entry = self._static_neighbour(address) if address is not None else None
        return (address, *entry) if address is not None and entry is not None and entry[1] != mac else None

    async def _once(self, ask: _Question, address: IPv4Address) -> bool | None:
        """What one is told who asks this now, or was told lately."""
        now = self._clock()
        kept = self._neighbours
        for each in [each for each, told in kept.items() if not timedelta() <= now - told[0] < NEIGHBOURS_KEPT]:
            del kept[each]
        if (ask, address) not in kept:
            if len(kept) >= NEIGHBOURS:
                return None
            kept[ask, address] = now, None
            kept[ask, address] = now, await ask(address)
        return kept[ask, address][1]

    async def answers(self, mac: MacAddress, address: IPv4Address) -> bool | None:
        """Whether a machine answers at its address, as of a few seconds ago at most; None: that is not known."""
        before = self._told.get(mac)
        if before is not None and before[1] == address and timedelta() <= self._clock() - before[0] < REMEMBERED:
            return before[2]
        if self._asking >= AT_ONCE:
            return None
        self._asking += 1
        try:
            found = await self._ask(address, mac)
        finally:
            self._asking -= 1
        if len(self._told) >= KEPT:
            self._told.clear()
        self._told[mac] = self._clock(), address, found
        return found


def _address(case: Case) -> IPv4Address | None:
    """The address that the machine took last, else the one that is reserved for it."""
    taken = next((found for each in reversed(of(case.sightings, Stage.LEASED)) if (found := text(each, "address"))), "")
    if taken:
        return IPv4Address(taken)
    return case.interface.address if case.interface else None


def _behind(case: Case, address: IPv4Address | None) -> str:
    """The relay that its last questions came by, else the network that its address is in; empty: neither is known."""
    if case.relay:
        return case.relay
    return next((str(each.network) for each in case.subnets if address is not None and address in each.network), "")


def _link(vitals: Vitals, case: Case, address: IPv4Address | None, by: datetime) -> str:
    """What is wrong with the appliance's interface on the machine's network, and began by then; empty: nothing is known to be."""
    later = {each.stops.interface for each in case.faults if each.stops.since is not None and each.stops.since > by}
    names = {each.interface for each in case.subnets if address is not None and address in each.network} - later
    for each in vitals.attachments:
        if each.interface in names and (trouble := _trouble(each)):
            return f"the appliance's interface {each.interface} {trouble}"
    return ""


def _trouble(attachment: Attachment) -> str:
    if not attachment.present:
        return "is gone"
    if not attachment.up:
        return "is down"
    if attachment.master:
        return f"is a port of {attachment.master}"
    return "has no link" if attachment.carrier is False else ""
