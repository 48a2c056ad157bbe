"""The lines of the audit, sent on after they are committed: into a file of JSON lines, and to a syslog server.

Each place is behind by what it does not take; nothing waits for it, and nothing is dropped: lines are read from the store again
until they are taken.  What was taken when the appliance ended may be sent twice: lines have numbers.

A stream says late that its peer is gone: what is written into a connection that was closed is lost without an error, and so is
what the peer's kernel acknowledged and its program had not read yet.  So after a connection that broke, all is sent again that was
not acknowledged SETTLED seconds before it was last seen to stand.
"""

import asyncio
import errno
import fcntl
import json
import logging
import os
import socket
import struct
import termios
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final, NoReturn, Protocol

from tinkbox.engine.audit.audit import Audit
from tinkbox.model.audit import Kind, Line
from tinkbox.model.audit_places import AuditPlaces, Delivery, SyslogServer
from tinkbox.model.errors import Unavailable
from tinkbox.wire.syslog import Severity, datagram, framed

AT_ONCE: Final = 200
# In seconds: how soon a place that took nothing is tried again, how long it may take, how often one without news is looked after.
RETRY: Final = 5.0
PATIENCE: Final = 10.0
LOOK_EVERY: Final = 60.0
# In seconds: how long a program may take to read what its kernel acknowledged.
SETTLED: Final = 5.0
# In milliseconds: after so long without an acknowledgement a connection is over (TCP_USER_TIMEOUT, RFC 5482).
_UNACKNOWLEDGED: Final = 30_000
_HEARD: Final = 4096
_NUMBER: Final = struct.Struct("=i")
_LAST_LINE: Final = 64 * 1024
_AUTHPRIV: Final = 10  # RFC 5424 §6.2.1: security and authorization messages
_WARNINGS: Final = (Kind.REFUSED, Kind.DAMAGED)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Taken:
    """The numbers of the last line that a place acknowledged, and of the last one that need never be sent again."""

    acknowledged: int = 0
    settled: int = 0


class Place(Protocol):
    """Where lines go; all methods block, and raise OSError."""

    @property
    def name(self) -> str: ...
    def reached(self) -> int | None:
        """The number of the last line that it has, None where only we know."""

    def send(self, lines: Sequence[Line]) -> None: ...
    def look(self) -> Taken | None:
        """What of the lines that were sent since it was last opened is taken, None: all; raises OSError once it is gone."""

    def close(self) -> None: ...


class Deliveries:
    """A part for each place."""

    def __init__(self, audit: Audit, places: AuditPlaces) -> None:
        found: list[Place] = []
        if places.file:
            found.append(LineFile(Path(places.file)))
        if places.syslog is not None:
            found.append(Syslog(places.syslog, places.name))
        self._audit = audit
        self._carriers = [Carrier(audit, each) for each in found]

    def parts(self) -> list[Callable[[], Awaitable[object]]]:
        return [each.run for each in self._carriers]

    async def standing(self) -> list[Delivery]:
        """How far each place is known to have the lines that there are now.  Raises Unavailable."""
        newest = await self._audit.newest() if self._carriers else 0
        return [await each.standing(newest) for each in self._carriers]


class Carrier:
    """Sends lines to one place, in their order, each as soon as it is committed."""

    def __init__(self, audit: Audit, place: Place) -> None:
        self._audit = audit
        self._place = place
        # The last line that was sent, and the last one that is known to be taken; None: only the store knows.
        self._reached: int | None = None
        self._taken: int | None = None
        self._settled = 0
        self._noted: int | None = None
        # When the first of the lines that wait was to be sent, as far as the place takes none since; None: none waits.
        self._waits: datetime | None = None
        self._told = Delivery(place=place.name)

    async def standing(self, newest: int) -> Delivery:
        """How far the place is known to have the lines, of which `newest` is the number of the last."""
        taken = await self._audit.delivered(self._place.name) if self._taken is None else self._taken
        first = await self._audit.delivered_from(self._place.name)
        return replace(self._told, first=first, waiting=0 if taken is None else max(0, newest - taken))

    async def run(self) -> NoReturn:
        try:
            while True:
                await self._go_on()
        finally:
            self._place.close()

    async def _go_on(self) -> None:
        try:
            while await self.carry():
                pass
            async with self._audit.changing(LOOK_EVERY if self._settled == self._reached else SETTLED):
                while await self.carry():  # what was committed before we listened
                    pass
                await self._note()
        except (OSError, Unavailable):
            await asyncio.sleep(RETRY)

    async def carry(self) -> bool:
        """Send the next lines; whether there were any.  Raises OSError and Unavailable, which are told from then on."""
        try:
            return await self._carry()
        except (OSError, Unavailable) as error:
            why = (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__
            self._complain(why)
            raise

    async def _carry(self) -> bool:
        if self._reached is None:
            self._reached = self._settled = self._taken = await self._where_to_begin()
        before = self._taken
        lines = await self._audit.after(self._reached, AT_ONCE)
        if lines:
            self._waits = self._waits or self._audit.now()
        try:
            taken = await asyncio.to_thread(self._sent, lines)
        except OSError:
            self._reached = self._taken = self._settled
            raise
        if lines:
            missed = lines[0].number - self._reached - 1
            self._reached = lines[-1].number
            self._told = replace(self._told, missed=self._told.missed + missed)
        self._settled = self._reached if taken is None else max(self._settled, taken.settled)
        self._taken = self._reached if taken is None else max(self._settled, taken.acknowledged)
        self._note_taken(before)
        return bool(lines)

    def _note_taken(self, before: int | None) -> None:
        """A place that is connected, and acknowledges nothing of what waits, still takes nothing."""
        assert self._reached is not None
        assert self._taken is not None
        took = before is not None and self._taken > before
        if self._taken >= self._reached:
            self._waits = None
        elif took:
            self._waits = self._audit.now()
        else:
            return
        if self._told.problem:
            _log.info("the audit is sent to %s again", self._place.name, extra={"action": "audit.sent-again"})
        self._told = replace(self._told, sent=self._told.sent or took, problem="", since=None)

    def _sent(self, lines: Sequence[Line]) -> Taken | None:
        self._place.look()
        if lines:
            self._place.send(lines)
        return self._place.look()

    async def _where_to_begin(self) -> int:
        """Behind what it has; a place that had nothing yet begins with what is new, which is remembered before anything is sent.

        Where it has more than there is, the database was put back to an earlier day: what is new then follows.
        """
        newest = await self._audit.newest()
        self._noted = await self._audit.delivered(self._place.name)
        if self._noted is None:
            await self._audit.deliver(self._place.name, newest)
            self._noted = newest
        has = await asyncio.to_thread(self._place.reached)
        return min(self._noted if has is None else has, newest)

    async def _note(self) -> None:
        """Remember how far it is, once all is sent: what is sent twice after a crash is little, and there is no write for each line."""
        if self._reached is None or self._settled == self._noted:
            return
        with suppress(Unavailable):
            await self._audit.deliver(self._place.name, self._settled)
            self._noted = self._settled

    def _complain(self, why: str) -> None:
        if not self._told.problem:
            _log.warning(
                "the audit cannot be sent to %s: %s. It is tried again until that succeeds", self._place.name, why,
                extra={"action": "audit.unsent"},
            )  # fmt: skip
        self._told = replace(self._told, problem=why, since=self._told.since or self._waits or self._audit.now())


class LineFile:
    """A file of JSON lines, as `tinkbox audit export` writes them.  It is opened anew each time: it may be rotated."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def name(self) -> str:
        return str(self._path)

    def reached(self) -> int | None:
        """By its last whole line; of an empty or new file, which may have been rotated, only we know."""
        try:
            with self._path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - _LAST_LINE))
                lines = file.read().split(b"\n")[:-1]
        except FileNotFoundError:
            return None
        for each in reversed(lines):
            with suppress(ValueError, KeyError, TypeError):
                return int(json.loads(each)["number"])
        return None

    def send(self, lines: Sequence[Line]) -> None:
        text = "".join(json.dumps(each.document()) + "\n" for each in lines).encode()
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY, 0o600)
        with os.fdopen(descriptor, "r+b", buffering=0) as file:
            _end_last_line(file.fileno())
            before = file.seek(0, os.SEEK_END)
            try:
                if file.write(text) != len(text):
                    raise OSError(0, "the disk took a part of it only")
                os.fsync(file.fileno())
            except OSError:
                with suppress(OSError):
                    file.truncate(before)
                raise

    def look(self) -> Taken | None:
        return None

    def close(self) -> None:
        """It is closed after each time."""


def _end_last_line(descriptor: int) -> None:
    """Take away the beginning of a line that a crash cut off."""
    size = os.fstat(descriptor).st_size
    tail = os.pread(descriptor, _LAST_LINE, max(0, size - _LAST_LINE))
    if size and not tail.endswith(b"\n") and b"\n" in tail:
        os.ftruncate(descriptor, size - (len(tail) - tail.rfind(b"\n") - 1))


class Syslog:
    """A syslog server.  By UDP nothing tells whether it takes what is sent."""

    def __init__(self, server: SyslogServer, host_name: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._server = server
        self._host_name = host_name
        self._monotonic = monotonic
        self._connection: socket.socket | None = None
        self._stream = _Stream()

    @property
    def name(self) -> str:
        return str(self._server)

    def reached(self) -> int | None:
        return None

    def send(self, lines: Sequence[Line]) -> None:
        try:
            connection = self._connection = self._connection or _connected(self._server, PATIENCE)
            for each in lines:
                message = self._message(each)
                if self._server.tcp:
                    message = framed(message)
                    self._stream.wrote(each.number, len(message))
                connection.sendall(message)
        except OSError:
            self.close()
            raise

    def look(self) -> Taken | None:
        if not self._server.tcp:
            return None
        if self._connection is None:
            return Taken()
        try:
            # In this order: what is counted as taken was so while the connection stood.
            waiting = _unacknowledged(self._connection)
            _refuse_ended(self._connection)
        except OSError:
            self.close()
            raise
        return self._stream.taken(waiting, self._monotonic())

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._stream = _Stream()

    def _message(self, line: Line) -> bytes:
        told = line.document()
        return datagram(
            facility=_AUTHPRIV, severity=Severity.WARNING if told["kind"] in _WARNINGS else Severity.NOTICE,
            at=told["at"], host=self._host_name, program="tinkbox", kind="audit", text=json.dumps(told),
        )  # fmt: skip


def examine_syslog(server: SyslogServer, seconds: float) -> None:
    """Raise OSError where a server's name has no address, no route leads to it, or it takes no connection over TCP within so long.

    It blocks, and sends nothing: whether a server takes what comes over UDP is not known.
    """
    _connected(server, seconds).close()


def _connected(server: SyslogServer, seconds: float) -> socket.socket:
    if server.tcp:
        made = socket.create_connection((server.host, server.port), seconds)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNACKNOWLEDGED)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return made
    (family, kind, protocol, _, place), *_ = socket.getaddrinfo(server.host, server.port, type=socket.SOCK_DGRAM)
    made = socket.socket(family, kind, protocol)
    try:
        made.settimeout(seconds)
        made.connect(place)
    except OSError:
        made.close()
        raise
    return made


class _Stream:
    """Which of the lines that were written into one connection are taken."""

    def __init__(self) -> None:
        self._written = 0
        self._ends: deque[tuple[int, int]] = deque()
        self._taken = Taken()
        # The last line that was acknowledged at a time.
        self._settling: tuple[int, float] | None = None

    def wrote(self, number: int, octets: int) -> None:
        self._written += octets
        self._ends.append((number, self._written))

    def taken(self, waiting: int, now: float) -> Taken:
        """What is taken while so many octets are not acknowledged; `now` is in seconds."""
        acknowledged, settled = self._taken.acknowledged, self._taken.settled
        while self._ends and self._ends[0][1] <= self._written - waiting:
            acknowledged, _ = self._ends.popleft()
        if self._settling is not None and now - self._settling[1] >= SETTLED:
            settled, self._settling = self._settling[0], None
        if self._settling is None and acknowledged > settled:
            self._settling = (acknowledged, now)
        self._taken = Taken(acknowledged, settled)
        return self._taken


def _unacknowledged(connection: socket.socket) -> int:
    """How many octets the peer's kernel has not acknowledged."""
    told = fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, bytes(_NUMBER.size))  # SIOCOUTQ, as sockets call it
    return int(_NUMBER.unpack(told)[0])


def _refuse_ended(connection: socket.socket) -> None:
    """Raises OSError of a connection that its peer closed or reset.  A syslog server says nothing else that counts."""
    connection.settimeout(0)
    try:
        while connection.recv(_HEARD):
            pass
    except BlockingIOError:
        return
    finally:
        connection.settimeout(PATIENCE)
    raise ConnectionResetError(errno.ECONNRESET, "it closed the connection")
