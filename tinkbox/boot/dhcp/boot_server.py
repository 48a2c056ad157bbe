"""The boot server on port 4011 (PXE 2.1 §2.2.3): for firmware that asks there for its boot file, having an address."""

import asyncio
import logging
import socket
from typing import NoReturn

from tinkbox.boot.dhcp.rate_limit import RateLimit
from tinkbox.boot.dhcp.reply_sending import Replies
from tinkbox.boot.dhcp.reporting import DhcpReporter
from tinkbox.boot.dhcp.server import MAX_DATAGRAM, Planner
from tinkbox.boot.network.datagrams import drained, reading
from tinkbox.boot.network.refused_replies import Refusals
from tinkbox.model.boot import Silence
from tinkbox.wire.dhcp.clients import identify
from tinkbox.wire.dhcp.packets import MalformedPacket, Op, decode
from tinkbox.wire.dhcp.pxe import BootService, answer_boot_server

_MAC = slice(28, 34)
_log = logging.getLogger(__name__)


class BootServer:
    """Answers on a socket made by `sockets.bind_udp(interface=…, address=ours, port=4011)`; one for each interface."""

    def __init__(
        self,
        listening: socket.socket,
        interface: str,
        planner: Planner,
        service: BootService,
        rate_limit: RateLimit,
        refusals: Refusals | None = None,
    ) -> None:
        self._socket = listening
        self._interface = interface
        self._planner = planner
        self._service = service
        self._rate_limit = rate_limit
        self._replies = Replies(listening, interface, refusals)
        self._reporter = DhcpReporter(planner, service, rate_limit.monotonic)
        self.malformed = 0
        self.throttled = 0

    async def serve(self) -> NoReturn:
        """Answer until cancelled."""
        with reading(self._socket, self._drain):
            while True:
                await asyncio.Event().wait()

    def _drain(self) -> None:
        for datagram, peer in drained(self._socket.recvfrom, MAX_DATAGRAM):
            self._receive(datagram, peer)

    def _receive(self, datagram: bytes, peer: tuple[str, int]) -> None:
        if len(datagram) >= _MAC.stop and not self._rate_limit.admits(datagram[_MAC], peer[0].encode()):
            self.throttled += 1
            return
        try:
            request = decode(datagram)
        except MalformedPacket as error:
            self.malformed += 1
            _log.debug("dropped: %s", error, extra={"action": "boot-server.malformed"})
            return
        if request.op is not Op.REQUEST:
            return
        client = identify(request)
        plan = self._planner.plan_for(client, self._interface)
        if plan is None:
            self._reporter.unanswered(request, client, self._planner.silence(client, self._interface))
            return
        reply = answer_boot_server(request, client, plan, self._service)
        if isinstance(reply, Silence):
            self._reporter.unanswered(request, client, reply)
            return
        # It has its address, and listens where it asked from.
        if self._replies.send_back(request, reply, peer):
            self._reporter.boot_server_answered(client, reply)
