"""Sends DHCP replies, also to machines that have no address yet."""

import fcntl
import logging
import socket
import struct

from tinkbox.model.hardware import MacAddress
from tinkbox.wire.dhcp.packets import EVERYBODY, Packet, destination, encode

_SIOCSARP = 0x8955
_ARPHRD_ETHER = 1
_ATF_COM = 2
_log = logging.getLogger(__name__)


class Replies:
    """Sends from `line`, a socket bound to `interface`.

    A network that does not take a reply is logged, of which every first, second, fourth, eighth, … time: where a reply
    goes is written in the question, by anybody.
    """

    def __init__(self, line: socket.socket, interface: str) -> None:
        self._socket = line
        self._interface = interface
        self.failed = 0

    def send(self, request: Packet, reply: Packet) -> bool:
        """Send a reply to where RFC 2131 §4.1 says; whether the network took it."""
        to = destination(request, reply)
        address, flags = to.address, 0
        # The machine does not answer ARP for an address it does not have yet, so the kernel is told
        # its hardware address; where that is not allowed, everybody hears it (RFC 2131 §4.1 permits it).
        if to.mac is not None:
            # It is on this link, also where its network is another than ours: no router is to have this.
            address, flags = (address if self._introduce(to.mac, address.packed) else EVERYBODY), socket.MSG_DONTROUTE
        return self._send(encode(reply, request.longest_answer), flags, (str(address), to.port))

    def send_back(self, request: Packet, reply: Packet, peer: tuple[str, int]) -> bool:
        """Send a reply to where the question came from; whether the network took it."""
        return self._send(encode(reply, request.longest_answer), 0, peer)

    def _send(self, datagram: bytes, flags: int, to: tuple[str, int]) -> bool:
        try:
            self._socket.sendto(datagram, flags, to)
        except OSError as error:
            self.failed += 1
            if self.failed & (self.failed - 1) == 0:
                extra = {"action": "dhcp.send-failed"}
                _log.warning("reply to %s failed: %s (%d until now)", to[0], error, self.failed, extra=extra)
            return False
        return True

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
