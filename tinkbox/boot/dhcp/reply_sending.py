"""Sends DHCP replies, also to machines that have no address yet."""

import fcntl
import logging
import socket
import struct
from dataclasses import dataclass
from functools import partial
from typing import Literal

from tinkbox.boot.network.refused_replies import Refusals
from tinkbox.boot.network.send_buffer import SendBuffer
from tinkbox.model.hardware import MacAddress
from tinkbox.model.limits import worth_telling
from tinkbox.wire.dhcp.packets import EVERYBODY, Packet, destination, encode

_SIOCSARP = 0x8955
_ARPHRD_ETHER = 1
_ATF_COM = 2
_EVERYBODY = str(EVERYBODY)
_WHAT = "DHCP"
_log = logging.getLogger(__name__)


_BEFORE_XID, _BEHIND_XID = slice(0, 4), slice(8, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sendable:
    """A reply as bytes, but for its `xid`, and where it goes.

    `introduction` tells the kernel the hardware address of a machine that has none to be asked for: an `arpreq` (arp(7)).
    """

    before: bytes
    behind: bytes
    to: tuple[str, int]
    introduction: bytes | None


class Replies:
    """Sends from `line`, a socket bound to `interface`.

    A network that does not take a reply is logged, of which every first, second, fourth, eighth, … time: where a reply
    goes is written in the question, by anybody.
    """

    def __init__(self, line: socket.socket, interface: str, refusals: Refusals | None = None) -> None:
        self._socket = line
        self._interface = interface
        self._refusals = refusals
        self._buffer = SendBuffer(line)
        self.failed = 0

    def made(self, request: Packet, reply: Packet) -> Sendable:
        """A reply that is ready to go to where RFC 2131 §4.1 says."""
        to = destination(request, reply)
        octets = encode(reply, request.longest_answer)
        return Sendable(
            before=octets[_BEFORE_XID],
            behind=octets[_BEHIND_XID],
            to=(str(to.address), to.port),
            introduction=None if to.mac is None else self._introduction(to.mac, to.address.packed),
        )

    def send(self, reply: Sendable, xid: bytes) -> bool:
        """Send a reply to a question with this `xid`; whether the network took it."""
        to, flags = reply.to, 0
        # The machine does not answer ARP for an address it does not have yet, so the kernel is told
        # its hardware address; where that is not allowed, everybody hears it (RFC 2131 §4.1 permits it).
        if reply.introduction is not None:
            # It is on this link, also where its network is another than ours: no router is to have this.
            flags = socket.MSG_DONTROUTE
            if not self._introduce(reply.introduction):
                to = _EVERYBODY, to[1]
        return self._send(reply.before + xid + reply.behind, flags, to)

    def send_back(self, request: Packet, reply: Packet, peer: tuple[str, int]) -> bool:
        """Send a reply to where the question came from; whether the network took it."""
        return self._send(encode(reply, request.longest_answer), 0, peer)

    def _send(self, datagram: bytes, flags: int, to: tuple[str, int]) -> bool:
        if not self._buffer.has_room_for(to[0]):
            return self._fails(to[0], "replies to hosts that do not answer ARP wait already")
        try:
            self._socket.sendto(datagram, flags, to)
        except OSError as error:
            if self._refusals is not None:
                again = partial(self._socket.sendto, datagram, flags, to)
                self._refusals.note(self._interface, _WHAT, error, to[0], again)
            return self._fails(to[0], error)
        if self._refusals is not None:
            self._refusals.sent(self._interface, _WHAT)
        return True

    def _fails(self, address: str, why: object) -> Literal[False]:
        self.failed += 1
        if worth_telling(self.failed):
            extra = {"action": "dhcp.send-failed"}
            _log.warning("reply to %s failed: %s (%d until now)", address, why, self.failed, extra=extra)
        return False

    def _introduction(self, mac: MacAddress, address: bytes) -> bytes:
        return struct.pack(
            "HH4s8xH6s8xi16x16s",
            socket.AF_INET,
            0,
            address,
            _ARPHRD_ETHER,
            mac.octets,
            _ATF_COM,
            self._interface.encode(),
        )

    def _introduce(self, introduction: bytes) -> bool:
        try:
            fcntl.ioctl(self._socket, _SIOCSARP, introduction)
        except OSError:
            return False
        return True
