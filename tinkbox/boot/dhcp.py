"""The DHCP server: receives, asks what to say, sends.  All decisions are in `wire.pxe` and the engine."""

import asyncio
import fcntl
import logging
import socket
import struct
from typing import NoReturn, Protocol

from tinkbox.model.boot import Client, Plan, Stage
from tinkbox.model.hardware import MacAddress
from tinkbox.wire.dhcp import (
    EVERYBODY,
    Destination,
    MalformedPacket,
    MessageType,
    Op,
    Packet,
    decode,
    destination,
    encode,
)
from tinkbox.wire.pxe import BootService, answer, identify

DRAIN = 64
MAX_DATAGRAM = 2048
_SIOCSARP = 0x8955
_ARPHRD_ETHER = 1
_ATF_COM = 2
_VENDOR_CLASS = 60  # RFC 2132 §9.13
_OSIE = b"tinkbox-osie"
_log = logging.getLogger(__name__)


class Planner(Protocol):
    """Whoever can tell a booting machine what to do, from memory; None means stay silent."""

    def boot_plan(self, client: Client) -> Plan | None: ...
    def booted(self, mac: MacAddress) -> None: ...
    def saw(self, mac: MacAddress, stage: Stage, detail: str = "") -> None: ...


class DhcpServer:
    """Answers on a socket made by `sockets.bind_udp(interface=…, address="", port=67)`."""

    def __init__(self, listening: socket.socket, interface: str, planner: Planner, service: BootService) -> None:
        self._socket = listening
        self._interface = interface
        self._planner = planner
        self._service = service
        self.malformed = 0

    async def serve(self) -> NoReturn:
        """Answer until cancelled."""
        loop = asyncio.get_running_loop()
        loop.add_reader(self._socket, self._drain)
        try:
            while True:
                await asyncio.Event().wait()
        finally:
            loop.remove_reader(self._socket)

    def _drain(self) -> None:
        for _ in range(DRAIN):
            try:
                datagram = self._socket.recv(MAX_DATAGRAM)
            except BlockingIOError:
                return
            except OSError as error:  # such as a machine's ICMP answer to an earlier reply
                _log.debug("receive: %s", error, extra={"action": "dhcp.receive-failed"})
                continue
            self._handle(datagram)

    def _handle(self, datagram: bytes) -> None:
        try:
            request = decode(datagram)
        except MalformedPacket as error:
            self.malformed += 1
            _log.debug("dropped: %s", error, extra={"action": "dhcp.malformed"})
            return
        if request.op is not Op.REQUEST:
            return
        client = identify(request)
        if client.netboots and request.message_type is MessageType.DISCOVER:
            self._planner.saw(client.mac, Stage.DISCOVER, _who(client))
        if client.netboots or _begins(request):
            self._planner.booted(client.mac)
        plan = self._planner.boot_plan(client)
        reply = answer(request, client, plan, self._service) if plan else None
        if reply is None:
            _log.debug("%s is not answered", client.mac, extra={"action": "dhcp.silence", "mac": client.mac})
            return
        self._send(encode(reply), destination(request, reply))
        self._note(client, reply)

    def _note(self, client: Client, reply: Packet) -> None:
        kind = reply.message_type
        level = logging.INFO if client.netboots or kind is MessageType.NAK else logging.DEBUG
        told = f": {reply.file}" if reply.file else ""
        _log.log(
            level,
            "%s to %s (%s), %s%s",
            kind.name if kind else "",
            client.mac,
            _who(client),
            reply.yiaddr,
            told,
            extra={"action": "dhcp.reply", "mac": client.mac},
        )
        if client.netboots and kind is MessageType.ACK:
            self._planner.saw(client.mac, Stage.LEASED, f"{reply.yiaddr}, {_who(client)}")

    def _send(self, datagram: bytes, to: Destination) -> None:
        address = to.address
        # The machine does not answer ARP for an address it does not have yet, so the kernel is told
        # its hardware address; where that is not allowed, everybody hears it (RFC 2131 §4.1 permits it).
        if to.mac is not None and not self._introduce(to.mac, address.packed):
            address = EVERYBODY
        try:
            self._socket.sendto(datagram, (str(address), to.port))
        except OSError as error:
            _log.warning("reply to %s failed: %s", to.address, error, extra={"action": "dhcp.send-failed"})

    def _introduce(self, mac: MacAddress, address: bytes) -> bool:
        request = struct.pack(
            "HH4s8xH6s8xi16x16s",
            socket.AF_INET,
            0,
            address,
            _ARPHRD_ETHER,
            mac.octets,
            _ATF_COM,
            self._interface.encode(),
        )
        try:
            fcntl.ioctl(self._socket, _SIOCSARP, request)
        except OSError:
            return False
        return True


def _begins(request: Packet) -> bool:
    """Whether a system that was installed has just begun: one that runs renews its lease by a REQUEST.

    The OSIE's client may be started again while it runs; of its boot the worker tells.
    """
    return request.message_type is MessageType.DISCOVER and request.options.get(_VENDOR_CLASS) != _OSIE


def _who(client: Client) -> str:
    if client.ipxe:
        return "iPXE"
    if not client.netboots:
        return "an installed system"
    kind = "HTTP boot" if client.http else "PXE"
    return f"{kind}, architecture {client.architecture}"
