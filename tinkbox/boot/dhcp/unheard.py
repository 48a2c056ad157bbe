"""Finds out whether this host drops what machines ask by DHCP: questions come in, and our socket gets nothing.

It needs no right to read the rules of a firewall, which a service has seldom, and it finds whatever else may drop them.  What the kernel
drops of itself counts for nothing, whoever sends it: a damaged packet, and one from an address that cannot be where it came in.
"""

import asyncio
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import datetime
from ipaddress import IPv4Address, IPv4Network
from typing import Final, NoReturn

from tinkbox.boot.network import packet_filter
from tinkbox.model.vitals import Unheard
from tinkbox.vitals.routes import takes
from tinkbox.wire.dhcp.packets import EVERYBODY, NOWHERE, SERVER_PORT, MalformedPacket, Op
from tinkbox.wire.dhcp.packets import decode as decode_packet
from tinkbox.wire.dhcp.udp_frames import ETHERTYPE, UdpFrame, decode, is_sound

# Fewer may be chance, and so may be what comes all at once.
_FEW: Final = 3
_LOOKS: Final = 2  # between the first and the last of them, so that they are more than EVERY apart
EVERY: Final = 3.0  # seconds
_MOST: Final = 256  # frames that are read at a look
_MOST_SOURCES: Final = 16  # of which the kernel is asked at a look
_ROOM: Final = 1 << 17
_LONGEST: Final = 2048
_SOL_PACKET, _PACKET_AUXDATA = 263, 8  # <linux/if_packet.h>
_STATUS: Final = struct.Struct("=I")
_LEFT_TO_CARD: Final = 1 << 3  # <linux/if_packet.h>: TP_STATUS_CSUMNOTREADY
_OUTGOING, _OF_ANOTHER_HOST = 4, 3  # <linux/if_packet.h>: packet types
_PACKET_TYPE: Final = 0xFFFFF000 + 4  # <linux/filter.h>: SKF_AD_OFF + SKF_AD_PKTTYPE


@dataclass(frozen=True, slots=True)
class _Look:
    """What came in until a look, the `number`th: the questions, as they stood in their packets."""

    number: int
    at: datetime
    questions: tuple[bytes, ...]


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
        self._number = self._missed = 0
        self._first: _Look | None = None
        self._last: _Look | None = None  # of those that are counted
        self._fresh: _Look | None = None
        self._differ = False
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
        """What keeps frames for a look; raises OSError where there is no right to it."""
        return _watching(self._interface, *self._at)

    def look(self, watching: socket.socket) -> Unheard | None:
        """The questions that came in since something was delivered, if nothing was until now; `watching` is what `watching` gave.

        They are several different ones over more than EVERY seconds.  Those of the last look are not counted: their datagrams may
        still wait in the socket.
        """
        came = [*_read(watching, self._at[0])]
        self._number += 1
        delivered = self._delivered()
        if delivered != self._before:
            self._before, self._missed, self._differ = delivered, 0, False
            self._first = self._last = self._fresh = None
            return None
        if self._fresh is not None:
            self._count(self._fresh)
        own = watching.getsockname()[4]
        questions = tuple(self._questions([each for each in came if each.source_mac != own]))
        self._fresh = _Look(self._number, self._clock(), questions) if questions else None
        if self._first is None or self._last is None:
            return None
        if self._missed < _FEW or not self._differ or self._last.number - self._first.number < _LOOKS:
            return None
        return Unheard(
            interface=self._interface,
            port=SERVER_PORT,
            frames=self._missed,
            since=self._first.at,
            until=self._last.at,
        )

    def _count(self, look: _Look) -> None:
        self._first = self._first or look
        self._last = look
        self._missed += len(look.questions)
        self._differ = self._differ or any(each != self._first.questions[0] for each in look.questions)

    def _questions(self, frames: list[UdpFrame]) -> Iterator[bytes]:
        """Of these frames the questions that the kernel takes on the interface."""
        taken: dict[tuple[IPv4Address, IPv4Address], bool] = {}
        for each in frames:
            if not _is_question(each.payload):
                continue
            way = each.source, each.target
            if way not in taken:
                if len(taken) >= _MOST_SOURCES:
                    continue
                # Who has no address yet asks everybody (RFC 1122 §3.2.1.3).
                taken[way] = each.target == EVERYBODY if each.source == NOWHERE else takes(*way, self._interface)
            if taken[way]:
                yield each.payload


def _is_question(datagram: bytes) -> bool:
    try:
        packet = decode_packet(datagram)
    except MalformedPacket:
        return False
    return packet.op is Op.REQUEST and packet.message_type is not None


def _read(watching: socket.socket, own: IPv4Address) -> Iterator[UdpFrame]:
    """The frames that came in, as far as the kernel does not drop them for being damaged."""
    for _ in range(_MOST):
        try:
            octets, told, _, (_, _, sent_to, *_) = watching.recvmsg(_LONGEST, 128, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        left = any(
            level == _SOL_PACKET and kind == _PACKET_AUXDATA and _STATUS.unpack_from(data)[0] & _LEFT_TO_CARD
            for level, kind, data in told
        )
        frame = decode(octets)
        if frame is None or not is_sound(octets, summed=not left):
            continue
        # One that goes to all on the wire, and to one address: some hosts drop it (ip-sysctl.rst, drop_unicast_in_l2_multicast).
        if sent_to == socket.PACKET_HOST or frame.target != own:
            yield frame


def _watching(interface: str, address: IPv4Address, network: IPv4Network) -> socket.socket:
    frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_CLOEXEC)
    try:
        frames.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _ROOM)
        frames.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
        packet_filter.attach(frames, _program(address, network))
        frames.bind((interface, ETHERTYPE))
    except OSError:
        frames.close()
        raise
    return frames


def _program(address: IPv4Address, network: IPv4Network) -> list[tuple[int, int, int, int]]:
    """Keeps whole IPv4 UDP for port 67 that is for this host, without options of IP."""
    return [
        (0x20, 0, 0, _PACKET_TYPE),
        (0x15, 14, 0, _OUTGOING),  # leaps are to the last line: drop
        (0x15, 13, 0, _OF_ANOTHER_HOST),
        (0x20, 0, 0, 30),  # ld [30]: destination
        (0x15, 2, 0, int(EVERYBODY)),
        (0x15, 1, 0, int(address)),
        (0x15, 0, 9, int(network.broadcast_address)),
        *packet_filter.whole_udp(SERVER_PORT, _LONGEST),
    ]
