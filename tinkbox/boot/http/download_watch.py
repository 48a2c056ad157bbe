"""How far a download comes, by what the machine acknowledged: what the kernel holds for it may never get there."""

import asyncio
import errno
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tinkbox.door.connections.tcp_info import TcpInfo, tcp_info, untaken
from tinkbox.model.boot import DownloadTrouble
from tinkbox.short_turns import connection_of

# Seconds: among a thousand machines, and with a packet lost now and then, the first of a file is there by then.
STUCK_AFTER: Final = 20.0
# Seconds that the rest of a file, and the files that follow, may take at the rate of now: a boot that waits longer is taken for one that stands still.
SLOW_FROM: Final = 300.0
# Bytes a second, more than 10 Mbit/s: while all machines together are sent that much, one that gets little waits for the others.
SHARED_FROM: Final = 2 << 20
# A look sees what the other downloads took before their own last looks alone, and a short pause makes a low rate.
_SLOW_LOOKS: Final = 2
_ANY: Final = 1200  # bytes: more than what probes of a full window carry, less than a whole packet
_TAIL: Final = (
    64 << 10
)  # bytes: firmware that has everything may reset the connection before it acknowledges the last of it
_SILENT_FOR: Final = 5_000  # milliseconds: longer than a machine that is there leaves an acknowledgement out
_ENDS: Final = {
    errno.ECONNRESET: DownloadTrouble.HUNG_UP,
    errno.EPIPE: DownloadTrouble.HUNG_UP,
    errno.ETIMEDOUT: DownloadTrouble.SILENCE,
    errno.EHOSTUNREACH: DownloadTrouble.UNREACHABLE,
    errno.ENETUNREACH: DownloadTrouble.UNREACHABLE,
}
# Seconds between two looks at the end of a file.
# Of what is sent encrypted, the file's own bytes are so much at least (RFC 8446 §5.2, RFC 5288 §3: 29 octets of a record).
_PLAIN_SHARE: Final = 16384 / (16384 + 29)
_SOON, _LATER = 0.001, 1.0


@dataclass(slots=True)
class Traffic:
    """How many bytes all downloads of a door took together, as far as they were looked at."""

    taken: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What is wrong with a download that stands at byte `at` of a file of `size` bytes; `rate` is in bytes a second, 0: not known.

    `to_come` are the bytes of other files that a boot needs after this one.
    """

    what: DownloadTrouble
    at: int
    size: int
    rate: int = 0
    to_come: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Listeners:
    """Who hears of a download: that more of it was taken, that nothing of it ever was, and what trouble it has.

    `stuck` hears it once, `trouble` of each kind once.  `traffic` is of the same door.  It is looked at every `look_every` seconds.
    `to_come` are the bytes of other files that the boot needs after this one.
    """

    moves: Callable[[], None] = lambda: None
    stuck: Callable[[], None] = lambda: None
    trouble: Callable[[Trouble], None] = lambda _: None
    traffic: Traffic = field(default_factory=Traffic)
    look_every: float = STUCK_AFTER
    slow_from: float = SLOW_FROM
    to_come: int = 0


class DownloadWatch:
    """Looks again and again what of `length` bytes, from `offset` of a file of `size` on, was taken.

    On a slow way a single piece may last longer than a boot may stand still.  It begins when the head of the answer was sent, and nothing of the file.
    """

    def __init__(
        self, transport: asyncio.WriteTransport, listeners: Listeners, offset: int, length: int, size: int
    ) -> None:
        self._transport = transport
        self._connection: socket.socket | None = transport.get_extra_info("socket")
        self._told = listeners
        self._offset, self._length, self._size = offset, length, size
        self._taken = self._looked_at = self._slow_looks = 0
        self._all_looked_at = listeners.traffic.taken
        self._found_stuck = False
        self._found: set[DownloadTrouble] = set()
        self._loop = asyncio.get_running_loop()
        self._next_look: asyncio.TimerHandle | None = None
        self._encrypted = transport.get_extra_info("sslcontext") is not None
        self._begin = self._beginning()

    def __enter__(self) -> "DownloadWatch":
        self._look_later()
        return self

    def __exit__(self, *_: object) -> None:
        self._count()
        self._told.traffic.taken += self._taken - self._looked_at
        if self._next_look is not None:
            self._next_look.cancel()

    async def until_taken(self) -> None:
        """Wait until everything was acknowledged, or nobody can tell; raises the OSError that ended the connection before."""
        pause, reads = _SOON, isinstance(self._transport, asyncio.ReadTransport) and self._transport.is_reading()
        if reads:
            self._transport.pause_reading()  # type: ignore[attr-defined]  # else it is closed for a FIN before we look
        try:
            while self._count() is not None and self._taken < self._length and not self._nothing_waits():
                if (lost := self.lost()) is not None:
                    if lost.errno == errno.ECONNRESET and self._length - self._taken <= _TAIL:
                        return
                    raise lost
                await asyncio.sleep(pause)
                pause = min(pause * 1.25, _LATER)
        finally:
            if reads and not self._transport.is_closing():
                self._transport.resume_reading()  # type: ignore[attr-defined]

    def lost(self) -> OSError | None:
        """What ended the connection, while it is still open here; None: nothing did.

        Where the kernel told the error already, it is guessed by how long nothing was heard.
        """
        info = tcp_info(self._connection)
        if info is None or self._connection is None or not info.is_reset:
            return None
        told = self._connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        number = told or (errno.ETIMEDOUT if info.heard > _SILENT_FOR else errno.ECONNRESET)
        return OSError(number, "the download broke off")

    def broke_off(self, error: OSError) -> None:
        """Tell that the connection ended before everything was taken.  Not where it was never taken at all, and that was told."""
        self._count()
        ended = _ENDS.get(error.errno or 0)
        if ended is not None and not (self._found_stuck and self._taken < _ANY):
            self._tell(ended)

    def _beginning(self) -> int | None:
        """How much was acknowledged when the head is, and whatever was sent before; None where the kernel cannot tell."""
        info = tcp_info(self._connection)
        if info is None or self._connection is None:
            return None
        try:
            return info.taken + untaken(self._connection) + self._buffered()
        except OSError:
            return None

    def _count(self) -> TcpInfo | None:
        info = tcp_info(self._connection)
        if info is None or self._begin is None:
            return None
        taken = info.taken - self._begin
        if self._encrypted:  # how much of it are records, nobody counted
            taken = int(taken * _PLAIN_SHARE)
        self._taken = min(max(self._taken, taken), self._length)
        return info

    def _buffered(self) -> int:
        """What waits in this process: before the encryption, where there is one, and behind it."""
        connection = connection_of(self._transport) if self._encrypted else None
        behind = connection.get_write_buffer_size() if connection is not None else 0
        return self._transport.get_write_buffer_size() + behind

    def _nothing_waits(self) -> bool:
        """Whether all that was sent encrypted was acknowledged."""
        if not self._encrypted or self._connection is None:
            return False
        try:
            if self._buffered() or untaken(self._connection):
                return False
        except OSError:
            return False
        self._taken = self._length
        return True

    def _look_later(self) -> None:
        self._next_look = self._loop.call_later(self._told.look_every, self._look)

    def _look(self) -> None:
        if self._count() is None:
            return
        lately, all_lately = self._taken - self._looked_at, self._told.traffic.taken - self._all_looked_at
        self._looked_at = self._taken
        self._told.traffic.taken += lately
        self._all_looked_at = self._told.traffic.taken
        if lately >= _ANY:
            self._told.moves()
            self._see_rate(lately, all_lately)
        elif self._taken < _ANY:
            if not self._found_stuck:
                self._found_stuck = True
                self._told.stuck()
        elif self._taken < self._length:
            self._tell(DownloadTrouble.STILL)
        self._look_later()

    def _see_rate(self, lately: int, all_lately: int) -> None:
        rate, all_rate = lately / self._told.look_every, all_lately / self._told.look_every
        left = self._length - self._taken + self._told.to_come
        is_slow = left > rate * self._told.slow_from and all_rate < SHARED_FROM
        self._slow_looks = self._slow_looks + 1 if is_slow else 0
        if self._slow_looks >= _SLOW_LOOKS:
            self._tell(DownloadTrouble.SLOW, round(rate))

    def _tell(self, what: DownloadTrouble, rate: int = 0) -> None:
        if what not in self._found:
            self._found.add(what)
            at, to_come = self._offset + self._taken, self._told.to_come
            self._told.trouble(Trouble(what=what, at=at, size=self._size, rate=rate, to_come=to_come))
