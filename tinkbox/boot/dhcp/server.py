"""The DHCP server: receives, asks what to say, sends.  All decisions are in `wire.dhcp.pxe` and the engine.

A question is read once and an answer is made once: both are kept, the answer for as long as the plan that it was made of
is the machine's.  The one way of a datagram is `_receive`, `_handle`, `_answer`, `_say`, whether it was asked before or not.

Nothing here waits for a disk or a network but three things, each beside the others: the acknowledgement of an address of a
pool, until that is written down; the first offer of one, until it is known that nobody else has it; and the end of a lease
that was given back, until it is known that its machine does not use the address (`giving_back`).
"""

import asyncio
import logging
import socket
from collections.abc import Collection
from contextlib import suppress
from ipaddress import IPv4Address
from math import inf
from typing import NoReturn, Protocol

from tinkbox.boot.dhcp import giving_back
from tinkbox.boot.dhcp.flood_filter import FloodFilter
from tinkbox.boot.dhcp.giving_back import GivingBack
from tinkbox.boot.dhcp.joined_networks import JoinedNetworks
from tinkbox.boot.dhcp.other_appliances import Asker, OtherAppliances, asker_of
from tinkbox.boot.dhcp.other_servers import answer_in_kind
from tinkbox.boot.dhcp.questions import MAC, SECS, XID, Answer, Question, Questions, question_of
from tinkbox.boot.dhcp.rate_limit import RateLimit
from tinkbox.boot.dhcp.reply_sending import Replies
from tinkbox.boot.dhcp.reporting import DhcpReporter, Timeline
from tinkbox.boot.network.datagrams import DRAIN, drained, kept_out, reading
from tinkbox.boot.network.refused_replies import Refusals
from tinkbox.model.boot import OF_STRANGERS, Client, Plan, Silence
from tinkbox.model.hardware import MacAddress
from tinkbox.model.leases import Lease, Subnet
from tinkbox.model.limits import Room
from tinkbox.wire.dhcp.packets import NOWHERE, MalformedPacket, MessageType, Op, Packet, decode
from tinkbox.wire.dhcp.pxe import BootService, answer, is_for, refusal
from tinkbox.wire.dhcp.relay_agent import relay_port

GATHERED = (
    0.01  # seconds from one writing of leases to the next, so that under load each is of many; the first waits for none
)
MAX_DATAGRAM = 2048
# Octets, of which the kernel counts two for each: what fifteen hundred machines ask at once.  In a longer queue a flood has
# whoever is let in wait longer for nothing, as it loses no fewer packets.
QUEUE = 1 << 20
SHARE = 0.25  # of the loop's time, before other things: a queue that is full of a flood loses what machines ask
PROBES = 4
MOST_HEARD = 4096  # MACs from one look at what came in to the next (`unheard`)
ANSWERED_EVERY = 0.5  # seconds: other appliances
_GIADDR = slice(24, 28)
_LINK = bytes(4)
_MAC_OCTETS = 6
_log = logging.getLogger(__name__)


class Planner(Timeline, Protocol):
    """Whoever can tell a machine on an interface what to do, from memory.

    No plan means silence, and `silence` tells why.  A plan is the same object for as long as what was made of it may be
    told again.  `subnet_of` is the network that the machine is on.  `known` are the MACs of those that are let in
    whatever comes, and `knows` tells whether a MAC is one of them.
    """

    def known(self) -> Collection[MacAddress]: ...
    def knows(self, mac: MacAddress) -> bool: ...
    def plan_for(self, client: Client, interface: str) -> Plan | None: ...
    def silence(self, client: Client, interface: str) -> Silence: ...
    def subnet_of(self, client: Client, interface: str) -> Subnet | None: ...


class Lender(giving_back.Lender, Protocol):
    """Whoever lends the addresses of pools.

    `confirm` gives None for an address that the machine may not have.  `committed` waits until those confirmed are on
    disk, and returns the addresses that can be kept.  `proven` is told that nobody uses an address, `taken` who does;
    it returns whether the address is lent all the same.
    """

    def confirm(self, client: Client, address: IPv4Address, subnet: Subnet) -> Lease | None: ...
    async def committed(self, addresses: Collection[IPv4Address]) -> set[IPv4Address]: ...
    def proven(self, lease: Lease) -> None: ...
    def taken(self, address: IPv4Address, by: str) -> bool: ...


class Prober(giving_back.Prober, Protocol):
    """Whoever finds out who but `asker` has an address, before a machine asks again: its MAC, if that shows; None: nobody."""

    async def occupant(self, address: IPv4Address, interface: str, asker: MacAddress | None = None) -> str | None: ...


class DhcpServer:
    """Answers on a socket made by `sockets.bind_udp(interface=…, address="", port=67)`; one for each interface.

    `probes` is room for so many addresses that are asked for at a time, by the MAC of the machine.  What the kernel refuses to
    send is noted among `refusals`, other appliances that ask who else answers among `others`, and what comes in on several interfaces
    by `joined`, which knows our addresses on all of them.
    """

    def __init__(
        self,
        listening: socket.socket,
        interface: str,
        planner: Planner,
        leases: Lender,
        prober: Prober,
        service: BootService,
        rate_limit: RateLimit,
        probes: Room,
        refusals: Refusals | None = None,
        others: OtherAppliances | None = None,
        joined: JoinedNetworks | None = None,
    ) -> None:
        self._others = others
        self._joined = joined
        self._answered_at = -inf
        self._socket = listening
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, QUEUE)
        self._interface = interface
        self._planner = planner
        self._leases = leases
        self._prober = prober
        self._service = service
        self._rate_limit = rate_limit
        self._probes = probes
        self._replies = Replies(listening, interface, refusals)
        is_own = joined.is_own if joined is not None else lambda _: False
        self._reporter = DhcpReporter(planner, service, rate_limit.monotonic, is_own)
        self._questions = Questions()
        self._flood_filter = FloodFilter(listening, planner.known, rate_limit.monotonic)
        self._tasks = asyncio.TaskGroup()
        self._giving_back = GivingBack(leases, prober, self._reporter, self._tasks.create_task)
        self._proving: dict[MacAddress, tuple[Question, bytes]] = {}
        self._confirmed: list[tuple[Answer, bytes]] = []
        self._confirming = asyncio.Event()
        self._heard: set[bytes] = set()
        self.malformed = 0
        self.throttled = 0

    async def serve(self) -> NoReturn:
        """Answer until cancelled."""
        async with self._tasks:
            try:
                with reading(self._socket, self._drain, SHARE):
                    await self._acknowledge()
            finally:
                self._flood_filter.lift()

    @property
    def kept_out(self) -> int:
        """The datagrams that came as far as the socket, and were not read."""
        return kept_out(self._socket)

    def take_heard(self) -> Collection[bytes] | None:
        """The MACs that datagrams named that were read since this was asked last; None: more than MOST_HEARD did."""
        heard, self._heard = self._heard, set()
        return heard if len(heard) <= MOST_HEARD else None

    def _drain(self) -> None:
        for datagram in drained(self._socket.recv, MAX_DATAGRAM):
            self._receive(datagram)
        self._flood_filter.look()

    def _receive(self, datagram: bytes) -> None:
        # Whoever is on the link itself is stopped before anything is parsed; a relay's packets say more of where from.
        mac, relayed = datagram[MAC], datagram[_GIADDR] != _LINK
        self._flood_filter.heard(mac)
        if len(self._heard) <= MOST_HEARD:
            self._heard.add(mac)
        if len(mac) == _MAC_OCTETS and (
            (self._flood_filter.stands and not self._rate_limit.bears(mac))
            or (not relayed and not self._rate_limit.admits(mac))
        ):
            self._drop(mac)
            return
        question = self._questions.find(mac, datagram)
        if question is not None:
            if relayed and not self._rate_limit.admits(mac, question.port):
                self._drop(mac)
                return
        else:
            request = self._request(datagram)
            if request is None:
                return
            port = relay_port(request)
            if relayed and not self._rate_limit.admits(mac, port):
                self._drop(mac)
                return
            question = question_of(request, port, self._service)
            if self._planner.knows(request.mac):
                self._questions.keep(mac, datagram, question)
        self._handle(question, datagram[XID], datagram[SECS])

    def _request(self, datagram: bytes) -> Packet | None:
        try:
            request = decode(datagram)
        except MalformedPacket as error:
            self.malformed += 1
            _log.debug("dropped: %s", error, extra={"action": "dhcp.malformed"})
            return None
        asker = asker_of(request)
        if asker is not None:
            self._hear(asker, request)
            return None
        return request if request.op is Op.REQUEST else None

    def _hear(self, asker: Asker, question: Packet) -> None:
        """Another appliance asks, or answers: it is no machine, and learns of us."""
        if self._others is None:
            return
        if not self._others.hear(asker, self._interface):
            if self._joined is not None:
                self._joined.hear_own(asker, question.xid, self._interface)
            return
        if question.op is not Op.REQUEST:
            return
        now = self._rate_limit.monotonic()
        if now - self._answered_at < ANSWERED_EVERY:
            return
        self._answered_at = now
        with suppress(OSError):  # it asks again
            answer_in_kind(self._interface, question, self._service.address)

    def _drop(self, mac: bytes) -> None:
        """Leave a packet of whoever asks too often; of which every first, second, fourth, eighth, … is told."""
        self.throttled += 1
        self._flood_filter.dropped(mac)
        if self.throttled & (self.throttled - 1) == 0:
            self._reporter.too_often(MacAddress.from_bytes(mac), self.throttled)

    def _handle(self, question: Question, xid: bytes, secs: bytes) -> None:
        request, client = question.request, question.client
        self._reporter.arrived(client.mac, question.arrival, xid, secs)
        if self._joined is not None and request.message_type is MessageType.DISCOVER and client.relay == NOWHERE:
            self._joined.hear(client.mac, xid, self._interface)
        if question.gives_back:
            self._given_back(request, client)
            return
        if question.for_another:
            self._reporter.unanswered(request, client, Silence.OTHER_SERVER)
            return
        plan = self._planner.plan_for(client, self._interface)
        if plan is None:
            self._not_answered(request, client, self._planner.silence(client, self._interface))
        else:
            self._answer(question, plan, xid)

    def _not_answered(self, request: Packet, client: Client, why: Silence) -> None:
        self._reporter.unanswered(request, client, why, self._planner.subnet_of(client, self._interface))

    def _answer(self, question: Question, plan: Plan, xid: bytes) -> None:
        chosen = question.answer
        if chosen is None or chosen.plan is not plan:
            reply = answer(question.request, question.client, plan, self._service)
            if isinstance(reply, Silence):
                self._not_answered(question.request, question.client, reply)
                return
            chosen = question.answer = self._made(question, plan, reply)
        if plan.lease is None or not chosen.lends:
            self._say(chosen, xid)
        elif not plan.lease.proven:  # also one that a machine remembers, and we do not
            self._prove(question, xid)
        elif chosen.acknowledges:
            self._confirm(question, chosen, xid)
        else:
            self._say(chosen, xid)

    def _made(self, question: Question, plan: Plan, reply: Packet) -> Answer:
        request, client, said = question.request, question.client, reply.message_type
        return Answer(
            plan=plan,
            address=reply.yiaddr,
            lends=request.message_type is not MessageType.INFORM and said is not MessageType.NAK,
            acknowledges=said is MessageType.ACK,
            sendable=self._replies.made(request, reply),
            told=self._reporter.telling(request, client, plan, reply),
        )

    def _say(self, chosen: Answer, xid: bytes) -> None:
        if self._replies.send(chosen.sendable, xid):
            self._reporter.answered(chosen.told)

    def _given_back(self, request: Packet, client: Client) -> None:
        """RELEASE and DECLINE, which have no answer."""
        if self._service.proxy or client.wanted is None or not is_for(request, self._service):
            return
        if request.message_type is MessageType.RELEASE:
            self._giving_back.released(client, client.wanted)
        else:
            stranger = self._planner.silence(client, self._interface) in OF_STRANGERS
            self._giving_back.declined(client, client.wanted, stranger=stranger)

    def _confirm(self, question: Question, chosen: Answer, xid: bytes) -> None:
        """Lend the address; the acknowledgement follows when that is on disk."""
        client = question.client
        subnet = self._planner.subnet_of(client, self._interface)
        if subnet is None or self._leases.confirm(client, chosen.address, subnet) is None:
            reply = refusal(question.request, self._service, "this address is not lent to you")
            self._say(self._made(question, chosen.plan, reply), xid)
            return
        self._confirmed.append((chosen, xid))
        self._confirming.set()

    async def _acknowledge(self) -> NoReturn:
        """Acknowledge what is on disk, for ever: leases that wait are written together."""
        while True:
            await self._confirming.wait()
            self._confirming.clear()
            confirmed, self._confirmed = self._confirmed, []
            kept = await self._leases.committed([each.address for each, _ in confirmed])
            for number, (each, xid) in enumerate(confirmed, 1):
                if each.address in kept:
                    self._say(each, xid)  # the others ask again
                if number % DRAIN == 0:
                    await asyncio.sleep(0)  # others have their turn
            await asyncio.sleep(GATHERED)

    def _prove(self, question: Question, xid: bytes) -> None:
        """Find out whether anybody has the address, and answer then to the newest that the machine said."""
        mac = question.client.mac
        asked_before = mac in self._proving
        if not asked_before and not self._probes.take(mac):
            return  # it asks again
        self._proving[mac] = question, xid
        if not asked_before:
            self._tasks.create_task(self._answer_proven(mac))

    async def _answer_proven(self, mac: MacAddress) -> None:
        try:
            found = await self._find_free(mac)
        finally:
            question, xid = self._proving.pop(mac)
            self._probes.give_back(mac)
        plan = self._planner.plan_for(question.client, self._interface) if found else None
        if plan is not None and (plan.lease is None or plan.lease.proven):
            self._answer(question, plan, xid)
        else:
            self._not_answered(question.request, question.client, Silence.NO_ADDRESS)

    async def _find_free(self, mac: MacAddress) -> bool:
        """Whether the address that the planner has for a machine is proven now; taken ones it replaces by others."""
        for _ in range(PROBES):
            question, _ = self._proving[mac]
            plan = self._planner.plan_for(question.client, self._interface)
            if plan is None or plan.lease is None or plan.lease.proven:
                return plan is not None
            address = plan.lease.address
            occupant = await self._prober.occupant(address, self._interface, mac)
            if occupant is None:
                self._leases.proven(plan.lease)
                return True
            if self._leases.taken(address, occupant):
                return True
            extra = {"action": "dhcp.conflict", "mac": mac}
            _log.warning("%s is not lent to %s: another machine uses it", address, mac, extra=extra)
        return False
