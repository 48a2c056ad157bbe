"""Finds out whether this host drops what machines ask by DHCP: questions come in, and our socket gets nothing, or nothing of some machines.

It needs no right to read the rules of a firewall, which a service has seldom, and it finds whatever else may drop them.  What the kernel
drops of itself counts for nothing, whoever sends it: a damaged packet, and one from an address that cannot be where it came in.
"""

import socket
import struct
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv4Network
from typing import Final, NoReturn, Protocol

from tinkbox.boot.dhcp.flood_filter import MAX_KNOWN, program
from tinkbox.boot.dhcp.questions import MAC
from tinkbox.boot.network import packet_filter
from tinkbox.model.hardware import MacAddress
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
_MOST_LEFT: Final = 4096  # frames beside these that may still wait then, and are left unread
_NARROW: Final = 20  # looks with known machines alone, after more than _MOST frames came in
_BEFORE_UDP: Final = 34  # octets of a frame: Ethernet, and IPv4 without options
_MOST_MACS: Final = 1024  # of which is kept what they asked
_TOLD_FOR: Final = timedelta(minutes=10)
_MOST_SOURCES: Final = 16  # of which the kernel is asked at a look
_ROOM: Final = 1 << 17
_LONGEST: Final = 2048
_STATUS: Final = struct.Struct("=I")
_LEFT_TO_CARD: Final = 1 << 3  # <linux/if_packet.h>: TP_STATUS_CSUMNOTREADY
_OF_ANOTHER_HOST: Final = 3  # <linux/if_packet.h>: a packet type
# <linux/filter.h>: SKF_AD_OFF + SKF_AD_PKTTYPE, SKF_AD_VLAN_TAG
_PACKET_TYPE, _TAG = 0xFFFFF000 + 4, 0xFFFFF000 + 44
_VLAN: Final = 0xFFF  # the bits of a tag that name one; 0 is none, but a priority


@dataclass(slots=True)
class _Missed:
    """What one MAC asked, none of which was delivered: the first of it came in until the look with this `number`, the last until the `newest`."""

    number: int
    newest: int
    since: datetime
    until: datetime
    question: bytes
    frames: int = 0
    differ: bool = False


@dataclass(frozen=True, slots=True)
class _Look:
    """What came in until a look, the `number`th: the questions, as they stood in their packets."""

    number: int
    at: datetime
    questions: tuple[bytes, ...]


class Delivered(Protocol):
    """What our socket for DHCP got.

    `take_heard` gives the MACs of whom it was since it was asked last, None where they are too many to be told; `kept_out` counts the datagrams
    that came as far as the socket, and were not read.
    """

    def take_heard(self) -> Collection[bytes] | None: ...
    @property
    def kept_out(self) -> int: ...


class DhcpArrivals:
    """`delivered` is what our socket for DHCP on an interface got; `clock` is in UTC.

    `known` are the machines that are looked at alone while more comes in than can be read.
    """

    def __init__(
        self,
        interface: str,
        address: IPv4Address,
        network: IPv4Network,
        delivered: Delivered,
        clock: Callable[[], datetime],
        known: Callable[[], Collection[MacAddress]] = tuple,
    ) -> None:
        self._interface = interface
        self._known = known
        self._narrow = 0  # looks that are left of those with known machines alone
        self._delivered = delivered
        self._clock = clock
        self._at = address, network
        self._kept_out = delivered.kept_out
        self._number = 0
        self._missed: dict[bytes, _Missed] = {}  # by MAC; who asked last is the last one
        self._fresh: _Look | None = None
        # The look, by its number and its time, that found last that something was delivered.
        self._heard: tuple[int, datetime] | None = None
        # The newest look, by its number and its time, that could not be compared.
        self._unclear: tuple[int, datetime] | None = None
        self.found: Unheard | None = None

    @property
    def unclear(self) -> str:
        """Why nothing can be said of some machines now; empty where it can."""
        if self._unclear is None or (self._number - self._unclear[0] > _LOOKS and not self._narrow):
            return ""
        alone = ": only what registered machines ask is" if self._narrow else ""
        at = f"{self._unclear[1]:%Y-%m-%d %H:%M:%S}"
        return f"more came in on {self._interface} than could be compared with what was delivered, the last time at {at}{alone}"

    async def run(self) -> NoReturn:
        """Look every few seconds, for ever; `found` is what came in and was not delivered."""

        def look(frames: socket.socket) -> None:
            self.found = self.look(frames)

        await packet_filter.look_again_and_again(self.watching, look, EVERY)

    def watching(self) -> socket.socket:
        """What keeps frames for a look; raises OSError where there is no right to it."""
        return packet_filter.arriving(self._interface, _program(*self._at), _ROOM)

    def look(self, watching: socket.socket) -> Unheard | None:
        """The questions that came in and were not delivered; `watching` is what `watching` gave.

        Where nothing was delivered since the first of them, they are several different ones over more than EVERY seconds.  Where what others
        asked was, that is true of each of the MACs that are told.  Those of the last look are not counted: their datagrams may
        still wait in the socket.
        """
        came = [*_read(watching, self._at[0])]
        is_crowded = len(came) >= _MOST
        is_read = not is_crowded or _drop_rest(watching)
        self._number += 1
        heard, kept_out = self._delivered.take_heard(), self._delivered.kept_out
        # Beside what is delivered nothing can be said of some machines, where not all is known of what comes in, or is delivered.
        if heard is None or kept_out != self._kept_out or (heard and not is_read):
            self._kept_out, self._missed, self._fresh, self._heard = kept_out, {}, None, None
            self._unclear = self._number, self._clock()
            return None
        if heard:
            self._heard = self._number, self._clock()
        for mac in heard:
            self._missed.pop(mac, None)
        if self._fresh is not None:
            self._count(self._fresh, heard)
        self._look_at_some(watching, is_crowded=bool(heard and is_crowded))
        if heard and is_crowded:
            # What is left unread may not come to the next look, by which time it would not be known that it was delivered.
            self._fresh = None
            return self._told()
        own = watching.getsockname()[4]
        questions = self._questions([each for each in came if each.source_mac != own])
        unheard = tuple(each for each in questions if each[MAC] not in heard)
        self._fresh = _Look(self._number, self._clock(), unheard) if unheard else None
        return self._told()

    def _look_at_some(self, watching: socket.socket, *, is_crowded: bool) -> None:
        """Have the kernel keep what unknown machines ask away from the looks that follow one that was crowded, and let it in again later."""
        if is_crowded:
            self._unclear = self._number, self._clock()
            known = [each.octets for each in self._known()][:MAX_KNOWN]
            if known and not self._narrow:
                packet_filter.attach(watching, _program(*self._at, known))
                self._narrow = _NARROW
        elif self._narrow:
            self._narrow -= 1
            if not self._narrow:
                packet_filter.attach(watching, _program(*self._at))

    def _count(self, look: _Look, heard: Collection[bytes]) -> None:
        for question in look.questions:
            mac = question[MAC]
            if mac in heard:
                continue
            missed = self._missed.pop(mac, None) or _Missed(look.number, look.number, look.at, look.at, question)
            missed.newest, missed.until = look.number, look.at
            missed.frames += 1
            missed.differ = missed.differ or question != missed.question
            self._missed[mac] = missed
            if len(self._missed) > _MOST_MACS:
                del self._missed[next(iter(self._missed))]

    def _told(self) -> Unheard | None:
        number = self._heard[0] if self._heard else 0
        # Of a machine that asks no more nothing is known in the end, where others are heard: the rule may be gone.
        old = [
            mac
            for mac, each in self._missed.items()
            if each.number <= number and self._clock() - each.until > _TOLD_FOR
        ]
        for mac in old:
            del self._missed[mac]
        since_then = {mac: each for mac, each in self._missed.items() if each.number > number}
        some = {mac: each for mac, each in self._missed.items() if _is_enough([each])}
        beside_others = any(each.number <= number for each in some.values())
        if _is_enough(since_then.values()) and (len(since_then) > 1 or not beside_others):
            return self._unheard(since_then, self._missed, None)
        return self._unheard(some, some, self._heard[1]) if self._heard and beside_others else None

    def _unheard(
        self, counted: Mapping[bytes, _Missed], macs: Mapping[bytes, _Missed], others_at: datetime | None
    ) -> Unheard:
        return Unheard(
            interface=self._interface,
            port=SERVER_PORT,
            frames=sum(each.frames for each in counted.values()),
            since=min(each.since for each in counted.values()),
            until=max(each.until for each in counted.values()),
            macs={MacAddress.from_bytes(mac): each.until for mac, each in macs.items()},
            others_at=others_at,
        )

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


def _is_enough(missed: Collection[_Missed]) -> bool:
    """Whether these are several different questions over more than EVERY seconds."""
    if not missed:
        return False
    looks = max(each.newest for each in missed) - min(each.number for each in missed)
    differ = len(missed) > 1 or any(each.differ for each in missed)
    return sum(each.frames for each in missed) >= _FEW and differ and looks >= _LOOKS


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
            (level, kind) == (packet_filter.SOL_PACKET, packet_filter.PACKET_AUXDATA)
            and _STATUS.unpack_from(data)[0] & _LEFT_TO_CARD
            for level, kind, data in told
        )
        frame = decode(octets)
        if frame is None or not is_sound(octets, summed=not left):
            continue
        # One that goes to all on the wire, and to one address: some hosts drop it (ip-sysctl.rst, drop_unicast_in_l2_multicast).
        if sent_to == socket.PACKET_HOST or frame.target != own:
            yield frame


def _drop_rest(watching: socket.socket) -> bool:
    """Leave the frames unread that still wait; whether those were all."""
    for _ in range(_MOST_LEFT):
        try:
            watching.recv(1, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return True
    return False


def _program(
    address: IPv4Address, network: IPv4Network, macs: Collection[bytes] = ()
) -> list[tuple[int, int, int, int]]:
    """Keeps whole IPv4 UDP for port 67 that is for this host, without options of IP; where there are `macs`, of these, and few others."""
    *checks, keep, drop = packet_filter.whole_udp(SERVER_PORT, _LONGEST)
    # Over the line that drops.
    end = [(0x05, 0, 0, 1), drop, *program(macs, _BEFORE_UDP)] if macs else [keep, drop]
    return [
        (0x20, 0, 0, _PACKET_TYPE),
        (0x15, 17, 0, _OF_ANOTHER_HOST),  # leaps are to the last line: drop
        (0x20, 0, 0, _TAG),
        (0x45, 15, 0, _VLAN),
        (0x28, 0, 0, 12),  # ldh [12]: type
        (0x15, 0, 13, ETHERTYPE),
        (0x20, 0, 0, 30),  # ld [30]: destination
        (0x15, 2, 0, int(EVERYBODY)),
        (0x15, 1, 0, int(address)),
        (0x15, 0, 9, int(network.broadcast_address)),
        *checks,
        *end,
    ]
