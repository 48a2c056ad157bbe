"""Tells what was seen of a machine's DHCP: to its timeline, and to the log."""

import logging
from typing import Protocol

from tinkbox.model.boot import Asker, Client, Plan, Silence, Stage
from tinkbox.model.hardware import MacAddress
from tinkbox.model.sightings import Fact
from tinkbox.wire.dhcp.packets import NOWHERE, MessageType, Option, Packet
from tinkbox.wire.dhcp.pxe import BootService

_OSIE = b"tinkbox-osie"
_STAGES = {MessageType.OFFER: Stage.OFFERED, MessageType.ACK: Stage.LEASED}
_log = logging.getLogger(__name__)


class Timeline(Protocol):
    """Whoever keeps what is seen of machines."""

    def booted(self, mac: MacAddress) -> None: ...
    def saw(self, mac: MacAddress, stage: Stage, detail: str = "", **facts: Fact) -> None: ...


class DhcpReporter:
    """Of the machines on one interface."""

    def __init__(self, timeline: Timeline, service: BootService) -> None:
        self._timeline = timeline
        self._service = service

    def arrived(self, request: Packet, client: Client) -> None:
        """A packet came that is worth an answer, whoever sent it."""
        if client.netboots or _begins(request):
            self._timeline.booted(client.mac)
        if client.netboots and request.message_type is MessageType.DISCOVER:
            self._timeline.saw(client.mac, Stage.DISCOVER, who(client), **_asking(request, client))

    def answered(self, request: Packet, client: Client, plan: Plan, reply: Packet) -> None:
        """The machine was told something."""
        kind = reply.message_type
        level = logging.INFO if client.netboots or kind is MessageType.NAK else logging.DEBUG
        told = f": {reply.file}" if reply.file else ""
        name = kind.name if kind else ""
        extra = {"action": "dhcp.reply", "mac": client.mac}
        _log.log(level, "%s to %s (%s), %s%s", name, client.mac, who(client), reply.yiaddr, told, extra=extra)
        if kind is MessageType.NAK:
            wanted = str(client.wanted or NOWHERE)
            self._timeline.saw(client.mac, Stage.REFUSED, f"{wanted}, {who(client)}", wanted=wanted)
        elif not client.netboots:
            self._system_asked(request, client, str(reply.yiaddr))
        elif kind is not None and request.message_type is not MessageType.INFORM:
            self._granted(client, plan, reply, kind)

    def unanswered(self, request: Packet, client: Client, why: Silence) -> None:
        """The machine was told nothing."""
        _log.debug("%s: %s", client.mac, why, extra={"action": "dhcp.silence", "mac": client.mac})
        if not client.netboots:
            # Another server gives a known machine its address.
            if why is Silence.NO_ADDRESS:
                self._system_asked(request, client)
            return
        if why is Silence.NOTHING_TO_SAY:
            return
        if why is not Silence.OTHER_SERVER:
            self._timeline.saw(client.mac, Stage.IGNORED, f"{why} ({who(client)})", why=why.value)
            return
        server, address = request.address(Option.SERVER_ID) or NOWHERE, client.wanted or NOWHERE
        detail = f"{address} of {server}, {who(client)}"
        self._timeline.saw(client.mac, Stage.OTHER_SERVER, detail, server=str(server), address=str(address))

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

    def boot_server_answered(self, client: Client, reply: Packet) -> None:
        """The machine was told its boot file on port 4011."""
        extra = {"action": "dhcp.boot-server", "mac": client.mac}
        _log.info("boot file of %s (%s): %s", client.mac, who(client), reply.file, extra=extra)
        self._timeline.saw(client.mac, Stage.BOOT_SERVER, f"{reply.file}, {who(client)}", file=reply.file)

    def _granted(self, client: Client, plan: Plan, reply: Packet, kind: MessageType) -> None:
        mode = "proxy" if self._service.proxy else "pool" if plan.lease is not None else "reservation"
        address = "" if reply.yiaddr == NOWHERE else str(reply.yiaddr)
        server = str(reply.address(Option.SERVER_ID) or NOWHERE)
        facts: dict[str, Fact] = {"address": address, "server": server, "boot": plan.boot.value}
        facts |= {"file": reply.file, "mode": mode}
        detail = f"{address or 'boot file only'}, {who(client)}"
        if kind is MessageType.ACK:
            self._timeline.saw(client.mac, Stage.REQUESTED, detail, **facts)
        # A proxy gives no address, so there is none that the machine could be said to have.
        if kind is MessageType.OFFER or address:
            self._timeline.saw(client.mac, _STAGES[kind], detail, **facts)

    def _system_asked(self, request: Packet, client: Client, address: str = "") -> None:
        if _begins(request):
            detail = ", ".join(each for each in (address, client.vendor_class) if each)
            facts = {"vendor_class": client.vendor_class, "hostname": client.hostname}
            self._timeline.saw(client.mac, Stage.DISK_BOOTED, detail, address=address, **facts)


def who(client: Client) -> str:
    """What asks, for people."""
    known = client.asker in (Asker.SYSTEM, Asker.IPXE) or client.architecture is None
    return client.asker if known else f"{client.asker}, architecture {client.architecture}"


def _asking(request: Packet, client: Client) -> dict[str, Fact]:
    facts: dict[str, Fact] = {"asker": client.asker.value, "xid": request.xid, "secs": request.secs}
    if client.architecture is not None:
        facts["architecture"] = client.architecture
    if client.relay != NOWHERE:
        facts["relay"] = str(client.relay)
    texts = {"vendor_class": client.vendor_class, "circuit": client.circuit}
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
