"""Tells what was seen of a machine's DHCP: to its timeline, and to the log."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from math import inf
from typing import Final, Protocol

from tinkbox.model.boot import Asker, Client, Plan, Silence, Stage
from tinkbox.model.hardware import MacAddress
from tinkbox.model.leases import Subnet
from tinkbox.model.limits import worth_telling
from tinkbox.model.sightings import OTHER_HOST, SENT_ALONE, UNSEEN, Fact, Note
from tinkbox.model.text import quoted
from tinkbox.wire.dhcp.packets import NOWHERE, MessageType, Option, Packet, destination
from tinkbox.wire.dhcp.pxe import BootService

Again = Callable[[], bool]
LOGGED_EVERY: Final = 1.0
_OSIE = b"tinkbox-osie"
_STAGES = {MessageType.OFFER: Stage.OFFERED, MessageType.ACK: Stage.LEASED}
_log = logging.getLogger(__name__)


class Timeline(Protocol):
    """Whoever keeps what is seen of machines.

    `note` may return a way to note the same once more, in a fraction of the time; that returns False when it is to be noted
    in full, because something has changed.
    """

    def booted(self, mac: MacAddress) -> None: ...
    def saw(self, mac: MacAddress, stage: Stage, detail: str = "", **facts: Fact) -> None: ...
    def note(self, mac: MacAddress, notes: Sequence[Note]) -> Again | None: ...


@dataclass(slots=True, kw_only=True)
class Told:
    """What is told of an answer whenever it is given: `line` in the log, at most once a second; `notes` every time.

    `again` notes them once more.
    """

    mac: MacAddress
    level: int
    line: str
    notes: tuple[Note, ...]
    again: Again | None = None
    logged: float = -inf
    unlogged: int = 0


@dataclass(slots=True, kw_only=True)
class Arrival:
    """What is told of a question whenever it is asked: whether a boot begins, and who asks, where that is noted."""

    begins: bool
    note: Note | None
    again: Again | None = None


class DhcpReporter:
    """Of the machines on one interface; `monotonic` is a clock in seconds, and `is_own` tells our addresses on all interfaces."""

    def __init__(
        self,
        timeline: Timeline,
        service: BootService,
        monotonic: Callable[[], float],
        is_own: Callable[[IPv4Address], bool] = lambda _: False,
    ) -> None:
        self._is_own = is_own
        self._timeline = timeline
        self._service = service
        self._monotonic = monotonic
        self._not_given_back = 0

    def arrived(self, mac: MacAddress, arrival: Arrival, xid: bytes, secs: bytes) -> None:
        """A packet came that is worth an answer, whoever sent it."""
        if arrival.begins:
            self._timeline.booted(mac)
        note = arrival.note
        if note is not None and not (arrival.again and arrival.again()):
            own: dict[str, Fact] = {"asker": "", "xid": int.from_bytes(xid, "big"), "secs": int.from_bytes(secs, "big")}
            arrival.again = self._timeline.note(mac, (replace(note, facts={**own, **note.facts}),))

    def answered(self, told: Told) -> None:
        """The machine was told something."""
        if _log.isEnabledFor(told.level):
            self._log(told)
        if told.notes and not (told.again and told.again()):
            told.again = self._timeline.note(told.mac, told.notes)

    def telling(self, request: Packet, client: Client, plan: Plan, reply: Packet) -> Told:
        """What is to be told of an answer."""
        kind = reply.message_type
        file = f": {reply.file}" if reply.file else ""
        name = kind.name if kind else ""
        return Told(
            mac=client.mac,
            level=logging.INFO if client.netboots or kind is MessageType.NAK else logging.DEBUG,
            line=f"{name} to {client.mac} ({who(client)}), {reply.yiaddr}{file}",
            notes=self._notes(request, client, plan, reply),
        )

    def _log(self, told: Told) -> None:
        """A machine that asks in a loop does not fill the log with it."""
        now = self._monotonic()
        if now - told.logged < LOGGED_EVERY:
            told.unlogged += 1
            return
        extra = {"action": "dhcp.reply", "mac": told.mac}
        if told.unlogged:
            _log.log(told.level, "%s (and %d times before that)", told.line, told.unlogged, extra=extra)
        else:
            _log.log(told.level, "%s", told.line, extra=extra)
        told.logged, told.unlogged = now, 0

    def _notes(self, request: Packet, client: Client, plan: Plan, reply: Packet) -> tuple[Note, ...]:
        kind = reply.message_type
        if kind is MessageType.NAK:
            wanted = str(client.wanted or NOWHERE)
            return (Note(stage=Stage.REFUSED, detail=f"{wanted}, {who(client)}", facts={"wanted": wanted}),)
        if not client.netboots:
            return _system_asked(request, client, _told(reply.yiaddr))
        if kind is not None and request.message_type is not MessageType.INFORM:
            return self._granted(client, plan, reply, kind, alone=destination(request, reply).mac is not None)
        return ()

    def unanswered(self, request: Packet, client: Client, why: Silence, subnet: Subnet | None = None) -> None:
        """The machine, which asks on a network where that is known, was told nothing."""
        _log.debug("%s: %s", client.mac, why, extra={"action": "dhcp.silence", "mac": client.mac})
        if not client.netboots:
            # Another server gives a known machine its address.
            if why is Silence.NO_ADDRESS:
                for note in _system_asked(request, client):
                    self._timeline.note(client.mac, (note,))
            return
        if why is Silence.NOTHING_TO_SAY:
            return
        if why is not Silence.OTHER_SERVER:
            network = {"network": str(subnet.network)} if subnet is not None else {}
            self._timeline.saw(client.mac, Stage.IGNORED, f"{why} ({who(client)})", why=why.value, **network)
            return
        server = request.address(Option.SERVER_ID) or NOWHERE
        if self._is_own(server):
            return  # it chose what we offered by another interface, which hears this as well
        address = _told(client.wanted)
        # A proxy DHCP offers none, and some clients choose that.
        chosen = address or ("no address" if client.wanted == NOWHERE else "an address")
        detail = f"{chosen} of {server}, {who(client)}"
        self._timeline.saw(client.mac, Stage.OTHER_SERVER, detail, server=str(server), address=address)

    def too_often(self, mac: MacAddress, dropped: int) -> None:
        """A packet of this machine was dropped unread, as were so many of anybody's up to now."""
        extra = {"action": "dhcp.throttled", "mac": mac}
        _log.warning("%s asks too often, or somebody with invented MACs: %d packets dropped", mac, dropped, extra=extra)
        self._timeline.saw(mac, Stage.IGNORED, Silence.TOO_OFTEN.value, why=Silence.TOO_OFTEN.value)

    def declined(self, client: Client) -> None:
        """The machine found that somebody else uses the address that it was given."""
        address = str(client.wanted or NOWHERE)
        extra = {"action": "dhcp.declined", "mac": client.mac}
        _log.warning("%s found %s in use: another machine has that address", client.mac, address, extra=extra)
        self._timeline.saw(client.mac, Stage.DECLINED, address, address=address)

    def not_given_back(self, client: Client, address: IPv4Address, *, declined: bool) -> None:
        """The machine answers at an address that a RELEASE or DECLINE in its name gave back."""
        kind = (MessageType.DECLINE if declined else MessageType.RELEASE).name
        self._not_given_back += 1
        if worth_telling(self._not_given_back):
            extra = {"action": "dhcp.not-given-back", "mac": client.mac, "times": self._not_given_back}
            _log.warning(
                "%s of %s in the name of %s is not believed: that machine still uses the address",
                *(kind, address, client.mac),
                extra=extra,
            )
        facts: dict[str, Fact] = {"address": str(address), "kind": kind, OTHER_HOST: UNSEEN}
        self._timeline.saw(client.mac, Stage.ADDRESS_KEPT, f"{address}, by {kind}", **facts)

    def boot_server_answered(self, client: Client, reply: Packet) -> None:
        """The machine was told its boot file on port 4011."""
        extra = {"action": "dhcp.boot-server", "mac": client.mac}
        _log.info("boot file of %s (%s): %s", client.mac, who(client), reply.file, extra=extra)
        self._timeline.saw(client.mac, Stage.BOOT_SERVER, f"{reply.file}, {who(client)}", file=reply.file)

    def _granted(
        self, client: Client, plan: Plan, reply: Packet, kind: MessageType, *, alone: bool
    ) -> tuple[Note, ...]:
        mode = "proxy" if self._service.proxy else "pool" if plan.lease is not None else "reservation"
        address = _told(reply.yiaddr)
        server = str(reply.address(Option.SERVER_ID) or NOWHERE)
        facts: dict[str, Fact] = {"address": address, "server": server, "boot": plan.boot.value}
        facts |= {"file": reply.file, "mode": mode}
        if alone:
            facts[SENT_ALONE] = 1
        detail = f"{address or 'boot file only'}, {who(client)}"
        stages = [Stage.REQUESTED] if kind is MessageType.ACK else []
        # A proxy gives no address, so there is none that the machine could be said to have.
        if kind is MessageType.OFFER or address:
            stages.append(_STAGES[kind])
        return tuple(Note(stage=stage, detail=detail, facts=facts) for stage in stages)


def _told(address: IPv4Address | None) -> str:
    """An address, empty where a packet names none: 0.0.0.0 is none that a machine can have."""
    return "" if address is None or address == NOWHERE else str(address)


def who(client: Client) -> str:
    """What asks, for people."""
    known = client.asker in (Asker.SYSTEM, Asker.IPXE) or client.architecture is None
    return client.asker if known else f"{client.asker}, architecture {client.architecture}"


def arrival(request: Packet, client: Client) -> Arrival:
    """What is to be told of a question."""
    asks = client.netboots and request.message_type is MessageType.DISCOVER
    return Arrival(
        begins=client.netboots or _begins(request),
        note=Note(stage=Stage.DISCOVER, detail=who(client), facts=_asking(client)) if asks else None,
    )


def _system_asked(request: Packet, client: Client, address: str = "") -> tuple[Note, ...]:
    if not _begins(request):
        return ()
    # Systems have no option 93: it is firmware, which does not say that it wants a program.
    if client.architecture is not None:
        detail = f"without option 60 (PXEClient), architecture {client.architecture}"
        return (Note(stage=Stage.DISCOVER, detail=detail, facts={**_asking(client), "address": address}),)
    vendor = quoted(client.vendor_class) if client.vendor_class else ""
    detail = ", ".join(each for each in (address, vendor) if each)
    facts = {"address": address, "vendor_class": client.vendor_class, "hostname": client.hostname}
    return (Note(stage=Stage.DISK_BOOTED, detail=detail, facts=facts),)


def _asking(client: Client) -> dict[str, Fact]:
    facts: dict[str, Fact] = {"asker": client.asker.value}
    if client.architecture is not None:
        facts["architecture"] = client.architecture
    if client.relay != NOWHERE:
        facts["relay"] = str(client.relay)
    texts = {"vendor_class": client.vendor_class, "circuit": client.circuit, "uuid": client.uuid}
    return {**facts, **{key: text for key, text in texts.items() if text}}


def _begins(request: Packet) -> bool:
    """Whether a system that was installed has just begun: by a DISCOVER, or by asking for the address that it had.

    One that runs renews its lease.  The OSIE's client may be started again while it runs; of its boot the worker tells.
    """
    if request.options.get(Option.CLASS_ID) == _OSIE:
        return False
    if request.message_type is MessageType.REQUEST:
        return request.ciaddr == NOWHERE and Option.SERVER_ID not in request.options  # INIT-REBOOT, RFC 2131 §3.2
    return request.message_type is MessageType.DISCOVER
