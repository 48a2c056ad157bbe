"""Hears the DHCP questions that come in tagged for a VLAN, which the interface itself does not take (IEEE 802.1Q)."""

import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final, NoReturn

from tinkbox.boot.network import packet_filter
from tinkbox.model.boot import Asker, Client
from tinkbox.model.hardware import MacAddress
from tinkbox.model.vitals import TaggedQuestion
from tinkbox.wire.dhcp.clients import identify
from tinkbox.wire.dhcp.packets import SERVER_PORT, MalformedPacket, Op
from tinkbox.wire.dhcp.packets import decode as decode_packet
from tinkbox.wire.dhcp.udp_frames import decode

EVERY: Final = 3.0  # seconds
_MOST: Final = 64  # frames that are read at a look
_KEPT: Final = 256  # questions
_ROOM: Final = 1 << 17
_LONGEST: Final = 2048
_AUXDATA: Final = struct.Struct("=IIIHHHH")
_TAG_IS_TOLD: Final = 1 << 4  # TP_STATUS_VLAN_VALID
_NUMBER: Final = 0xFFF
_TAG_IS_PRESENT: Final = 0xFFFFF000 + 48  # <linux/filter.h>: SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT
# Keeps whole IPv4 UDP for port 67 that had a tag, without options of IP; a leap is to the last line: drop.
_PROGRAM: Final = (
    (0x20, 0, 0, _TAG_IS_PRESENT),
    (0x15, 11, 0, 0),
    (0x28, 0, 0, 12),  # ldh [12]: type
    (0x15, 0, 9, 0x0800),
    *packet_filter.whole_udp(SERVER_PORT, _LONGEST),
)


class TaggedQuestions:
    """Those that come in on an interface; `clock` is in UTC."""

    def __init__(self, interface: str, clock: Callable[[], datetime]) -> None:
        self._interface = interface
        self._clock = clock
        self._of: dict[tuple[MacAddress, bool], TaggedQuestion] = {}

    @property
    def found(self) -> Sequence[TaggedQuestion]:
        """The newest of each machine's firmware and boot loaders, and the newest of its system."""
        return [*self._of.values()]

    async def run(self) -> NoReturn:
        """Look every few seconds, for ever."""
        await packet_filter.look_again_and_again(self.watching, self.look, EVERY)

    def watching(self) -> socket.socket:
        """What keeps frames for a look; raises OSError where there is no right to it."""
        return packet_filter.arriving(self._interface, _PROGRAM, _ROOM)

    def look(self, watching: socket.socket) -> None:
        """Take note of what came in; `watching` is what `watching` gave."""
        for vlan_id, asking in _read(watching):
            mac, by_system = asking.mac, asking.asker is Asker.SYSTEM
            self._of.pop((mac, by_system), None)  # so that the oldest comes first
            self._of[mac, by_system] = TaggedQuestion(
                mac=mac, interface=self._interface, vlan_id=vlan_id, at=self._clock(), by_system=by_system
            )
            if len(self._of) > _KEPT:
                del self._of[next(iter(self._of))]


def _read(watching: socket.socket) -> Iterator[tuple[int, Client]]:
    """The VLAN of each question, and who asks it."""
    for _ in range(_MOST):
        try:
            octets, told, _, _ = watching.recvmsg(_LONGEST, 128, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        vlan_id = next(
            (
                _vlan_id(data)
                for level, kind, data in told
                if (level, kind) == (packet_filter.SOL_PACKET, packet_filter.PACKET_AUXDATA)
            ),
            0,
        )
        frame = decode(octets)
        if not vlan_id or frame is None:  # 0 is no VLAN, but a priority
            continue
        with suppress(MalformedPacket):
            question = decode_packet(frame.payload)
            if question.op is Op.REQUEST and question.message_type is not None:
                yield vlan_id, identify(question)


def _vlan_id(auxiliary: bytes) -> int:
    status, *_, tag, _ = _AUXDATA.unpack_from(auxiliary)
    return tag & _NUMBER if status & _TAG_IS_TOLD else 0
