"""The DHCP server: receives, asks what to say, sends.  All decisions are in `wire.dhcp.pxe` and the engine.

Nothing here waits for a disk or a network but two things, each beside the others: the acknowledgement of an address of a
pool, until that is written down, and the first offer of one, until it is known that nobody else has it.
"""

import asyncio
import logging
import socket
from collections.abc import Collection
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from typing import NoReturn, Protocol

from tinkbox.boot.dhcp.flood_filter import FloodFilter
from tinkbox.boot.dhcp.rate_limit import RateLimit
from tinkbox.boot.dhcp.replies import Replies
from tinkbox.boot.dhcp.reporting import DhcpReporter, Timeline
from tinkbox.boot.network.datagrams import reading, received
from tinkbox.model.boot import Client, Plan, Silence
from tinkbox.model.hardware import MacAddress
from tinkbox.model.leases import Lease, Subnet
from tinkbox.wire.dhcp.clients import identify
from tinkbox.wire.dhcp.packets import MalformedPacket, MessageType, Op, Option, Packet, decode
from tinkbox.wire.dhcp.pxe import BootService, answer, is_for, refusal
from tinkbox.wire.dhcp.relay_agent import relay_agent

DRAIN = 64
MAX_DATAGRAM = 2048
MAX_PROVING = 256
PROBES = 4
_GIADDR, _MAC = slice(24, 28), slice(28, 34)
_LINK = bytes(4)
_log = logging.getLogger(__name__)


class Planner(Timeline, Protocol):
    """Whoever can tell a machine on an interface what to do, from memory.

    No plan means silence, and `silence` tells why.  `subnet_of` is the network that the machine is on.  `known` are the
    MACs of those that are let in whatever comes.
    """

    def known(self) -> Collection[MacAddress]: ...
    def boot_plan(self, client: Client, interface: str) -> Plan | None: ...
    def silence(self, client: Client, interface: str) -> Silence: ...
    def subnet_of(self, client: Client, interface: str) -> Subnet | None: ...


class Lender(Protocol):
    """Whoever lends the addresses of pools.

    `confirm` gives None for an address that the machine may not have.  `committed` waits until those confirmed are on
    disk, and returns the addresses that can be kept.  `proven` is told that nobody uses an address, `taken` that
    somebody does.
    """

    def confirm(self, client: Client, address: IPv4Address, subnet: Subnet) -> Lease | None: ...
    async def committed(self, addresses: Collection[IPv4Address]) -> set[IPv4Address]: ...
    def release(self, client: Client, address: IPv4Address) -> None: ...
    def decline(self, client: Client, address: IPv4Address) -> None: ...
    def proven(self, lease: Lease) -> None: ...
    def taken(self, address: IPv4Address) -> None: ...


class Prober(Protocol):
    """Whoever finds out whether nobody but `asker` has an address, before a machine asks again."""

    async def free(self, address: IPv4Address, interface: str, asker: MacAddress | None = None) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    request: Packet
    client: Client
    plan: Plan
    reply: Packet


class DhcpServer:
    """Answers on a socket made by `sockets.bind_udp(interface=…, address="", port=67)`; one for each interface."""

    def __init__(
        self,
        listening: socket.socket,
        interface: str,
        planner: Planner,
        leases: Lender,
        prober: Prober,
        service: BootService,
        rate_limit: RateLimit,
    ) -> None:
        self._socket = listening
        self._interface = interface
        self._planner = planner
        self._leases = leases
        self._prober = prober
        self._service = service
        self._rate_limit = rate_limit
        self._replies = Replies(listening, interface)
        self._reporter = DhcpReporter(planner, service)
        self._flood_filter = FloodFilter(listening, planner.known, rate_limit.monotonic)
        self._tasks = asyncio.TaskGroup()
        self._proving: dict[MacAddress, tuple[Packet, Client]] = {}
        self._confirmed: list[_Answer] = []
        self._confirming = asyncio.Event()
        self.malformed = 0
        self.throttled = 0

    async def serve(self) -> NoReturn:
        """Answer until cancelled."""
        async with self._tasks:
            try:
                with reading(self._socket, self._drain):
                    await self._acknowledge()
            finally:
                self._flood_filter.lift()

    def _drain(self) -> None:
        for datagram in received(DRAIN, self._socket.recv, MAX_DATAGRAM):
            self._receive(datagram)

    def _receive(self, datagram: bytes) -> None:
        # Whoever is on the link itself is stopped before anything is parsed; a relay's packets say more of where from.
        relayed = datagram[_GIADDR] != _LINK
        if len(datagram) >= _MAC.stop and not relayed and not self._rate_limit.admits(datagram[_MAC]):
            self._drop(datagram[_MAC])
            return
        try:
            request = decode(datagram)
        except MalformedPacket as error:
            self.malformed += 1
            _log.debug("dropped: %s", error, extra={"action": "dhcp.malformed"})
            return
        if request.op is not Op.REQUEST:
            return
        if relayed:
            mac, port = request.mac.octets, request.giaddr.packed + relay_agent(request).circuit
            if not self._rate_limit.admits(mac, port):
                self._drop(mac)
                return
        self._handle(request, identify(request))

    def _drop(self, mac: bytes) -> None:
        """Leave a packet of whoever asks too often; of which every first, second, fourth, eighth, … is told."""
        self.throttled += 1
        self._flood_filter.dropped(mac)
        if self.throttled & (self.throttled - 1) == 0:
            self._reporter.too_often(MacAddress.from_bytes(mac), self.throttled)

    def _handle(self, request: Packet, client: Client) -> None:
        self._reporter.arrived(request, client)
        if request.message_type in (MessageType.RELEASE, MessageType.DECLINE):
            self._given_back(request, client)
            return
        if _chose_another(request, self._service):
            self._reporter.unanswered(request, client, Silence.OTHER_SERVER)
            return
        plan = self._planner.boot_plan(client, self._interface)
        if plan is None:
            self._reporter.unanswered(request, client, self._planner.silence(client, self._interface))
        else:
            self._answer(request, client, plan)

    def _answer(self, request: Packet, client: Client, plan: Plan) -> None:
        reply = answer(request, client, plan, self._service)
        if isinstance(reply, Silence):
            self._reporter.unanswered(request, client, reply)
            return
        chosen = _Answer(request=request, client=client, plan=plan, reply=reply)
        asked, said = request.message_type, reply.message_type
        if plan.lease is None or asked is MessageType.INFORM or said is MessageType.NAK:
            self._say(chosen)
        elif not plan.lease.proven:  # also one that a machine remembers, and we do not
            self._prove(request, client)
        elif said is MessageType.ACK:
            self._confirm(chosen)
        else:
            self._say(chosen)

    def _say(self, chosen: _Answer) -> None:
        if self._replies.send(chosen.request, chosen.reply):
            self._reporter.answered(chosen.request, chosen.client, chosen.plan, chosen.reply)

    def _given_back(self, request: Packet, client: Client) -> None:
        """RELEASE and DECLINE: RFC 2131 §4.3.3 and §4.3.4.  Neither has an answer."""
        if self._service.proxy or client.wanted is None or not is_for(request, self._service):
            return
        if request.message_type is MessageType.RELEASE:
            self._leases.release(client, client.wanted)
            return
        self._leases.decline(client, client.wanted)
        # A stranger was given nothing: what it says of addresses is no conflict that anybody should look into.
        if self._planner.silence(client, self._interface) is not Silence.UNKNOWN:
            self._reporter.declined(client)

    def _confirm(self, chosen: _Answer) -> None:
        """Lend the address; the acknowledgement follows when that is on disk."""
        subnet = self._planner.subnet_of(chosen.client, self._interface)
        if subnet is None or self._leases.confirm(chosen.client, chosen.reply.yiaddr, subnet) is None:
            self._say(replace(chosen, reply=refusal(chosen.request, self._service, "this address is not lent to you")))
            return
        self._confirmed.append(chosen)
        self._confirming.set()

    async def _acknowledge(self) -> NoReturn:
        """Acknowledge what is on disk, for ever: leases that wait are written together."""
        while True:
            await self._confirming.wait()
            self._confirming.clear()
            confirmed, self._confirmed = self._confirmed, []
            kept = await self._leases.committed([each.reply.yiaddr for each in confirmed])
            for each in confirmed:
                if each.reply.yiaddr in kept:
                    self._say(each)  # the others ask again

    def _prove(self, request: Packet, client: Client) -> None:
        """Find out whether anybody has the address, and answer then to the newest that the machine said."""
        asked_before = client.mac in self._proving
        if not asked_before and len(self._proving) >= MAX_PROVING:
            return  # it asks again
        self._proving[client.mac] = request, client
        if not asked_before:
            self._tasks.create_task(self._answer_proven(client.mac))

    async def _answer_proven(self, mac: MacAddress) -> None:
        try:
            found = await self._find_free(mac)
        finally:
            request, client = self._proving.pop(mac)
        plan = self._planner.boot_plan(client, self._interface) if found else None
        if plan is not None and (plan.lease is None or plan.lease.proven):
            self._answer(request, client, plan)
        else:
            self._reporter.unanswered(request, client, Silence.NO_ADDRESS)

    async def _find_free(self, mac: MacAddress) -> bool:
        """Whether the address that the planner has for a machine is proven now; taken ones it replaces by others."""
        for _ in range(PROBES):
            _, client = self._proving[mac]
            plan = self._planner.boot_plan(client, self._interface)
            if plan is None or plan.lease is None or plan.lease.proven:
                return plan is not None
            address = plan.lease.address
            if await self._prober.free(address, self._interface, mac):
                self._leases.proven(plan.lease)
                return True
            extra = {"action": "dhcp.conflict", "mac": mac}
            _log.warning("%s is not lent to %s: another machine uses it", address, mac, extra=extra)
            self._leases.taken(address)
        return False


def _chose_another(request: Packet, service: BootService) -> bool:
    selecting = request.message_type is MessageType.REQUEST and Option.SERVER_ID in request.options
    return selecting and not is_for(request, service)
