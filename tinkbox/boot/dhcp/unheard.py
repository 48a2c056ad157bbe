"""Finds out whether this host drops what machines ask by DHCP: frames with it come in, and our socket gets none of them.

It needs no right to read the rules of a firewall, which a service has seldom, and it finds whatever else may drop them.  The kernel
counts the frames, and copies none of them for us.
"""

import asyncio
import socket
import struct
from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import datetime
from ipaddress import IPv4Address, IPv4Network
from typing import Final, NoReturn

from tinkbox.boot.network import packet_filter
from tinkbox.model.vitals import Unheard
from tinkbox.wire.dhcp.packets import EVERYBODY, SERVER_PORT

# Fewer may be chance: a frame that was damaged on its way goes to no socket either.
_FEW: Final = 3
EVERY: Final = 3.0  # seconds
_IPV4: Final = 0x0800
_SOL_PACKET, _PACKET_STATISTICS = 263, 6  # <linux/if_packet.h>
_STATISTICS: Final = struct.Struct("=2I")  # how many, and how many of them found no room
_OUTGOING, _OF_ANOTHER_HOST = 4, 3  # <linux/if_packet.h>: packet types
_PACKET_TYPE: Final = 0xFFFFF000 + 4  # <linux/filter.h>: SKF_AD_OFF + SKF_AD_PKTTYPE


class DhcpArrivals:
    """`delivered` counts the datagrams that our socket for DHCP on an interface got; `clock` is in UTC."""

    def __init__(
        self,
        interface: str,
        address: IPv4Address,
        network: IPv4Network,
        delivered: Callable[[], int],
        clock: Callable[[], datetime],
    ) -> None:
        self._interface = interface
        self._delivered = delivered
        self._clock = clock
        self._at = address, network
        self._before = delivered()
        self._fresh = self._missed = 0
        self._since: datetime | None = None
        self.found: Unheard | None = None

    async def run(self) -> NoReturn:
        """Look every few seconds, for ever; `found` is what came in since something was delivered, if nothing was until now."""
        with ExitStack() as stack:
            frames: socket.socket | None = None
            with suppress(OSError):  # without the right to look nothing is found
                frames = stack.enter_context(self.watching())
            while True:
                await asyncio.sleep(EVERY)
                if frames is not None:
                    with suppress(OSError):  # the interface is gone
                        self.found = self.look(frames)

    def watching(self) -> socket.socket:
        """What counts frames; raises OSError where there is no right to it."""
        return _watching(self._interface, *self._at)

    def look(self, counting: socket.socket) -> Unheard | None:
        """What came in since something was delivered, if nothing was until now; `counting` is what `watching` gave.

        Frames of the last look are not counted: their datagrams may still wait in the socket.
        """
        told = counting.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, _STATISTICS.size)
        frames, _ = _STATISTICS.unpack(told)
        delivered = self._delivered()
        if delivered != self._before:
            self._before, self._fresh, self._missed, self._since = delivered, 0, 0, None
            return None
        self._missed += self._fresh
        self._fresh = frames
        if frames and self._since is None:
            self._since = self._clock()
        if self._missed < _FEW or self._since is None:
            return None
        return Unheard(interface=self._interface, port=SERVER_PORT, frames=self._missed, since=self._since)


def _watching(interface: str, address: IPv4Address, network: IPv4Network) -> socket.socket:
    frames = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    try:
        frames.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 0)  # as little as the kernel has
        packet_filter.attach(frames, _program(address, network))
        frames.bind((interface, _IPV4))
    except OSError:
        frames.close()
        raise
    return frames


def _program(address: IPv4Address, network: IPv4Network) -> list[tuple[int, int, int, int]]:
    """Keeps whole IPv4 UDP for port 67 that is for this host; packets begin with their IP header."""
    return [
        (0x20, 0, 0, _PACKET_TYPE),
        (0x15, 13, 0, _OUTGOING),  # leaps are to the last line: drop
        (0x15, 12, 0, _OF_ANOTHER_HOST),
        (0x20, 0, 0, 16),  # ld [16]: destination
        (0x15, 2, 0, int(EVERYBODY)),
        (0x15, 1, 0, int(address)),
        (0x15, 0, 8, int(network.broadcast_address)),
        (0x30, 0, 0, 9),  # ldb [9]: protocol
        (0x15, 0, 6, 17),
        (0x28, 0, 0, 6),  # ldh [6]: fragment
        (0x45, 4, 0, 0x1FFF),
        (0xB1, 0, 0, 0),  # ldx: length of the IP header
        (0x48, 0, 0, 2),  # ldh [x + 2]: destination port
        (0x15, 0, 1, SERVER_PORT),
        (0x06, 0, 0, 1),  # keep
        (0x06, 0, 0, 0),
    ]
