"""Hears which machines ask by ARP who has our address, again and again: one that gets our answer asks no more (RFC 826)."""

import socket
import struct
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from ipaddress import IPv4Address
from typing import Final, NoReturn

from tinkbox.boot.network import packet_filter
from tinkbox.model.hardware import MacAddress
from tinkbox.model.vitals import MOST_TIMES, ArpQuestions
from tinkbox.wire.dhcp.packets import NOWHERE

EVERY: Final = 3.0  # seconds
_MOST: Final = 256  # frames that are read at a look
_MOST_MACS: Final = 1024
_ROOM: Final = 1 << 18
_LONGEST: Final = 64
_REQUEST: Final = struct.Struct("!6s6sHHHBBH6s4s6s4s")  # Ethernet, and ARP for IPv4
_ARP, _ETHERNET, _IPV4, _ASKS = 0x0806, 1, 0x0800, 1
# <asm-generic/socket.h>: SO_TIMESTAMPNS, seconds and nanoseconds of the host's clock
_TIMESTAMP: Final = 35
_TIME: Final = struct.Struct("@ll")
# <linux/filter.h>: SKF_AD_OFF + SKF_AD_VLAN_TAG
_TAG: Final = 0xFFFFF000 + 44
_VLAN: Final = 0xFFF


class ArpAsked:
    """Of each machine on an interface how often it asked there who has `address`, which is ours."""

    def __init__(self, interface: str, address: IPv4Address) -> None:
        self._interface = interface
        self._address = address
        self._of: dict[MacAddress, ArpQuestions] = {}

    @property
    def found(self) -> Sequence[ArpQuestions]:
        """The newest questions of each machine that does not know our MAC yet."""
        return [*self._of.values()]

    async def run(self) -> NoReturn:
        """Look every few seconds, for ever."""
        await packet_filter.look_again_and_again(self.watching, self.look, EVERY)

    def watching(self) -> socket.socket:
        """What keeps frames for a look; raises OSError where there is no right to it."""
        frames = packet_filter.arriving(self._interface, _program(self._address), _ROOM)
        frames.setsockopt(socket.SOL_SOCKET, _TIMESTAMP, 1)
        return frames

    def look(self, watching: socket.socket) -> None:
        """Take note of what came in; `watching` is what `watching` gave."""
        for mac, asker, at, is_to_all in _read(watching):
            before = self._of.pop(mac, None)  # so that the oldest comes first
            if not is_to_all:
                continue  # it sent the question to our MAC, so it has had an answer
            times = before.times if before is not None and before.asker == asker else ()
            self._of[mac] = ArpQuestions(
                mac=mac,
                interface=self._interface,
                address=self._address,
                asker=asker,
                times=(*times, at)[-MOST_TIMES:],
            )
            if len(self._of) > _MOST_MACS:
                del self._of[next(iter(self._of))]


def _read(watching: socket.socket) -> Iterator[tuple[MacAddress, IPv4Address, datetime, bool]]:
    """(who asks, from which address, when, whether it asked all) of each question by a host that has an address other than ours."""
    for _ in range(_MOST):
        try:
            octets, told, _, (_, _, sent_to, *_) = watching.recvmsg(_LONGEST, 256, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        if len(octets) < _REQUEST.size or sent_to not in (socket.PACKET_BROADCAST, socket.PACKET_HOST):
            continue
        _, sender, _, hardware, protocol, _, _, _, mac, source, _, target = _REQUEST.unpack_from(octets)
        asker = IPv4Address(source)
        # A probe asks whether the address is free, and an announcement asks nothing (RFC 5227).
        if (hardware, protocol) != (_ETHERNET, _IPV4) or mac != sender or asker in (NOWHERE, IPv4Address(target)):
            continue
        at = next(
            (_TIME.unpack_from(data) for level, kind, data in told if (level, kind) == (socket.SOL_SOCKET, _TIMESTAMP)),
            None,
        )
        if at is not None:
            when = datetime.fromtimestamp(at[0] + at[1] / 1e9, UTC)
            yield MacAddress.from_bytes(mac), asker, when, sent_to == socket.PACKET_BROADCAST


def _program(address: IPv4Address) -> list[tuple[int, int, int, int]]:
    """Keeps untagged ARP requests for an address."""
    return [
        (0x20, 0, 0, _TAG),
        (0x45, 7, 0, _VLAN),  # leaps are to the last line: drop
        (0x28, 0, 0, 12),  # ldh [12]: type
        (0x15, 0, 5, _ARP),
        (0x28, 0, 0, 20),  # ldh [20]: operation
        (0x15, 0, 3, _ASKS),
        (0x20, 0, 0, 38),  # ld [38]: the address that is asked for
        (0x15, 0, 1, int(address)),
        (0x06, 0, 0, _LONGEST),
        (0x06, 0, 0, 0),
    ]
