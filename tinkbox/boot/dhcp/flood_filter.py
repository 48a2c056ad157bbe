"""Keeps a flood out of a socket's queue, where it would crowd out the machines that boot.

What we leave unread still has to be taken from the queue, and a queue into which more comes than we can take loses
packets of everybody.  So under a flood the kernel is told whom to let in: the machines that we know, and of all others,
as of known ones that are part of the flood, a small share.  A flood is what is left unread so often, or what keeps the
queue full, as it does as soon as we have other things to do.  It is over when the kernel keeps little out: known machines
are heard again at once, strangers when it stays so, for floods come in pulses.
"""

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import Callable, Collection
from math import inf
from typing import Final

from tinkbox.boot.network import packet_filter
from tinkbox.boot.network.datagrams import kept_out, room_taken
from tinkbox.model.hardware import MacAddress

ENOUGH: Final = 1000
FULL: Final = 0.75  # of the queue
WINDOW: Final = 0.25
SETTLING: Final = 2.0  # until what waited in the queue before the filter is read
LOOK_EVERY: Final = 1.0  # whether it is over
CALM: Final = 250  # packets that are kept out meanwhile
CALM_LOOKS: Final = 5  # one after the other, until strangers are heard as well
SILENT_LOOKS: Final = 3  # in which nothing was let in of a machine, until it is part of the flood no more
SAME: Final = 5.0  # seconds after the end of a flood, in which another one is the same
NOISY: Final = 10  # packets of a known machine that are left unread within SETTLING
SHARE: Final = 64
MAX_KNOWN: Final = 3800  # a filter has at most 4,096 instructions
_LOAD, _JUMP, _JUMP_EQUAL, _AND, _RETURN = 0x20, 0x05, 0x15, 0x54, 0x06
_RANDOM = 0xFFFFF000 + 56  # to be loaded as if it stood in the packet
_LAST_OF_MAC = 8 + 28 + 2  # behind the UDP header, the last four octets of `chaddr`
_WHOLE, _NOTHING = 0xFFFF, 0
_LEAP = 200  # a jump goes over at most 255 instructions
_log = logging.getLogger(__name__)


class FloodFilter:
    """Of the socket `line`; `known` gives the machines that we know, `monotonic` is a clock in seconds."""

    def __init__(
        self, line: socket.socket, known: Callable[[], Collection[MacAddress]], monotonic: Callable[[], float]
    ) -> None:
        self._line = line
        self._known = known
        self._monotonic = monotonic
        self._since = 0.0
        self._unread = 0  # since then
        self._full_since = inf
        self._counted_since = 0.0
        self._dropped: Counter[bytes] = Counter()  # since then
        self._noisy: dict[bytes, int] = {}  # and for how many looks nothing was let in of it
        self._looking: asyncio.TimerHandle | None = None
        self._kept_out = 0
        self._calm = 0  # looks
        self._lifted = -inf

    @property
    def stands(self) -> bool:
        """Whether strangers are kept out now."""
        return self._looking is not None

    def dropped(self, mac: bytes) -> None:
        """A packet with these six octets as its MAC was taken from the queue and left unread."""
        now = self._monotonic()
        if now - self._since > WINDOW:
            self._since, self._unread = now, 0
        if now - self._counted_since > SETTLING:
            self._counted_since = now
            self._dropped.clear()
        self._dropped[mac] += 1
        self._unread += 1
        if self._unread >= ENOUGH:
            self._begin()

    def heard(self, mac: bytes) -> None:
        """A packet with these six octets as its MAC was let in."""
        if mac in self._noisy:
            self._noisy[mac] = 0

    def look(self) -> None:
        """We have read as much as we may for now: see how full the queue still is."""
        now = self._monotonic()
        if room_taken(self._line) < FULL:
            self._full_since = inf
        elif self._full_since == inf:
            self._full_since = now
        elif now - self._full_since > WINDOW:
            self._begin()

    def lift(self) -> None:
        """Let everybody in again."""
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
            self._lifted = self._monotonic()
            self._noisy.clear()
            packet_filter.detach(self._line)

    def _begin(self) -> None:
        known = self._known()
        self._noisy |= {each.octets: 0 for each in known if self._dropped[each.octets] >= NOISY}
        self._dropped.clear()
        self._unread = 0
        self._full_since = self._monotonic() + SETTLING
        self._let_in(known)
        if self._looking is not None:
            return
        if self._monotonic() - self._lifted > SAME:
            extra = {"action": "dhcp.flood"}
            _log.warning("a flood of packets: few strangers are heard until it is over", extra=extra)
        self._calm = 0
        self._look_again()

    def _let_in(self, known: Collection[MacAddress]) -> None:
        quiet = [each.octets for each in known if each.octets not in self._noisy]
        packet_filter.attach(self._line, program(quiet[:MAX_KNOWN]))

    def _look_again(self) -> None:
        self._kept_out = kept_out(self._line)
        self._looking = asyncio.get_running_loop().call_later(LOOK_EVERY, self._see_whether_it_is_over)

    def _see_whether_it_is_over(self) -> None:
        self._calm = self._calm + 1 if kept_out(self._line, self._kept_out) < CALM else 0
        if self._calm == CALM_LOOKS:
            self.lift()
            return
        left = {} if self._calm else {mac: looks + 1 for mac, looks in self._noisy.items() if looks < SILENT_LOOKS}
        fewer, self._noisy = len(left) < len(self._noisy), left
        if fewer:
            self._let_in(self._known())
        self._look_again()


def program(let_in: Collection[bytes], before: int = 0) -> list[tuple[int, int, int, int]]:
    """Instructions that let packets of these MACs in, and one of 64 of the others; so many octets stand `before` the UDP header.

    Only a MAC's last four octets are compared: whoever wants to be taken for another can have all six.
    """
    instructions = [(_LOAD, 0, 0, before + _LAST_OF_MAC)]
    octets = list(let_in)
    for first in range(0, len(octets), _LEAP):
        group = octets[first : first + _LEAP]
        for at, mac in enumerate(group):
            instructions.append((_JUMP_EQUAL, len(group) - at, 0, int.from_bytes(mac[2:], "big")))
        # Whoever comes here by no jump goes on behind the return.
        instructions += [(_JUMP, 0, 0, 1), (_RETURN, 0, 0, _WHOLE)]
    instructions += [(_LOAD, 0, 0, _RANDOM), (_AND, 0, 0, SHARE - 1), (_JUMP_EQUAL, 0, 1, 0)]
    instructions += [(_RETURN, 0, 0, _WHOLE), (_RETURN, 0, 0, _NOTHING)]
    return instructions
