"""The connections of a door: how many there may be, by host and in all, and how long one may keep us waiting.

A newcomer beyond its limit is accepted all the same, so that it does not stand before others in the kernel's queue; it is
closed unless one of its host's connections soon turns out to be over.  Where none is left for anybody, the host that has most
gives one up (`model.fair_room`).
A connection costs little until the head of its first request is complete; only then does aiohttp see it.  The heads of
further requests are watched on their way to it (`watch_heads`).  Bodies have their deadline where they are read
(`door.requests.bodies`), answers have theirs in the kernel.
"""

import asyncio
import logging
import socket
import ssl
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from itertools import islice
from typing import Final, NoReturn

from aiohttp import web

from tinkbox import short_turns
from tinkbox.door.connections.encryption import HANDSHAKE, HUNG_UP, Encryption
from tinkbox.door.connections.local_users import local_user
from tinkbox.door.connections.reading_pace import ReadingPace
from tinkbox.door.open_files import MOST_TOLD, OpenFiles
from tinkbox.door.problems import PROBLEM, Handler, kind_of, problem_text
from tinkbox.model.fair_room import FairRoom
from tinkbox.model.limits import Room, worth_telling

# Others have their turn in between.
AT_ONCE: Final = 32
# How long a newcomer beyond its limit waits until we have seen which connections its host has closed, and how many may wait.
SETTLING_SECONDS: Final = 0.5
SETTLING_EACH: Final = 128
SETTLING_ALL: Final = 192
_LOOKS: Final = 10
# Connections at no request, of which one of the host with most ends first.
LOOKED_THROUGH: Final = 256
# What proxies and servers commonly take.
MAX_HEAD: Final = 16 * 1024
MAX_HEADERS: Final = 64
# Octets of a body that are read before anybody wants them, about: thousands of connections have them at once.
READ_AHEAD: Final = 2 * 1024
# When there are no descriptors or no memory, which the limits are to prevent.
PAUSE_SECONDS: Final = 0.5
# For which one that is turned away may take to send its request.
TELLING_SECONDS: Final = 1.0
THIS_HOST: Final = "this host"
_ENDS: Final = (b"\r\n\r\n", b"\n\n")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What the connections of one door may take.

    `room` is one for all doors with the same limit, `pace` one for all doors.  `host_at` names the host that has an address; with
    `by_user` the users of this host are told apart instead.  The first request's head must be there after `head_seconds`,
    and some of an answer must be taken every `answer_seconds`.  While the descriptors of `open_files` are used up, only the doors
    `in_need` take anybody in.  With `encryption` nothing is served that is not encrypted,
    and without it nothing that is; `address` is what clients of the other kind are told to write.
    """

    room: "ConnectionRoom"
    host_at: Callable[[str], str]
    head_seconds: float
    answer_seconds: float
    pace: ReadingPace
    by_user: bool = False
    open_files: OpenFiles | None = None
    in_need: bool = False
    encryption: Encryption | None = None
    address: str = ""

    def holder(self, connection: socket.socket, peer: object) -> str:
        """Whose connection this is; `peer` is what it was accepted with."""
        if not isinstance(peer, tuple):
            return THIS_HOST
        return (self.by_user and local_user(connection)) or self.host_at(peer[0])


class Connections:
    """Takes connections from a listening socket, and hands each that made a whole request head to a protocol of `serve`."""

    def __init__(
        self,
        listening: socket.socket,
        serve: Callable[[], asyncio.Protocol],
        admission: Admission,
        pause_seconds: float = PAUSE_SECONDS,
    ) -> None:
        self._listening = listening
        self._serve = serve
        self._admission = admission
        self._pause_seconds = pause_seconds
        self._waiting: set[_Connection] = set()
        # By holder, how many connections wait to be admitted.
        self._settling = Counter[str]()
        self._failures = 0

    async def accept(self) -> NoReturn:
        """Take connections until cancelled; those that no request came of are closed then."""
        try:
            async with asyncio.TaskGroup() as beginning:
                while True:
                    await self._accept(beginning)
                    await asyncio.sleep(0)
        finally:
            for each in tuple(self._waiting):
                each.close()

    async def _accept(self, beginning: asyncio.TaskGroup) -> None:
        """Take what waits to be taken, as soon as something does."""
        beyond = []
        for connection, holder in await self._taken():
            if self._is_turned_away():
                self._turn_away(beginning, connection)
            elif self._admission.room.has_room(holder) or not self._may_settle(holder):
                self._admit(beginning, connection, holder)
            else:
                self._settling[holder] += 1
                beyond.append((connection, holder))
        if beyond:
            beginning.create_task(self._settle(beginning, beyond))

    def _is_turned_away(self) -> bool:
        open_files = self._admission.open_files
        return open_files is not None and open_files.scarce and not self._admission.in_need

    def _turn_away(self, beginning: asyncio.TaskGroup, connection: socket.socket) -> None:
        """Say why, and close: at once where many are told already."""
        open_files = self._admission.open_files
        assert open_files is not None
        connection.setblocking(False)
        if open_files.telling < MOST_TOLD:
            open_files.telling += 1
            beginning.create_task(self._tell(open_files, connection))
        else:
            _say_and_close(connection, open_files.why)

    async def _tell(self, open_files: OpenFiles, connection: socket.socket) -> None:
        try:
            # A connection that is closed before its request was read is reset: the answer would be lost.
            async with asyncio.timeout(TELLING_SECONDS):
                await asyncio.get_running_loop().sock_recv(connection, MAX_HEAD)
        except (OSError, TimeoutError):
            pass
        finally:
            open_files.telling -= 1
            _say_and_close(connection, open_files.why)

    def _may_settle(self, holder: str) -> bool:
        return self._settling[holder] < SETTLING_EACH and self._settling.total() < SETTLING_ALL

    async def _settle(self, beginning: asyncio.TaskGroup, beyond: Sequence[tuple[socket.socket, str]]) -> None:
        """Admit those beyond a limit: a client that closes one connection and opens another has both until we see the first closed."""
        waiting = list(beyond)
        try:
            for _ in range(_LOOKS):
                await asyncio.sleep(SETTLING_SECONDS / _LOOKS)
                still = []
                for connection, holder in waiting:
                    if self._admission.room.has_room(holder):
                        self._admit(beginning, connection, holder)
                    else:
                        still.append((connection, holder))
                waiting = still
                if not waiting:
                    break
            while waiting:
                self._admit(beginning, *waiting.pop())
        finally:
            for connection, _ in waiting:
                connection.close()
            self._settling -= Counter(holder for _, holder in beyond)

    async def _taken(self) -> list[tuple[socket.socket, str]]:
        """Connections that nobody was told of yet, with their holders."""
        taken = []
        try:
            taken.append(await asyncio.get_running_loop().sock_accept(self._listening))
            while len(taken) < AT_ONCE:
                taken.append(self._listening.accept())
        except BlockingIOError:
            pass
        except OSError as error:
            open_files = self._admission.open_files
            if open_files is not None and open_files.ran_out(error):
                return [(connection, self._admission.holder(connection, peer)) for connection, peer in taken]
            self._failures += 1
            if worth_telling(self._failures):
                extra = {"action": "door.accept-failed", "times": self._failures}
                _log.warning("cannot take a connection, for the %d. time: %s", self._failures, error, extra=extra)
            await asyncio.sleep(self._pause_seconds)
        return [(connection, self._admission.holder(connection, peer)) for connection, peer in taken]

    def _admit(self, beginning: asyncio.TaskGroup, connection: socket.socket, holder: str) -> None:
        if self._admission.room.take(holder):
            connection.setblocking(False)
            beginning.create_task(self._begin(connection, holder))
        else:
            connection.close()

    async def _begin(self, connection: socket.socket, holder: str) -> None:
        room = self._admission.room
        opened = _Connection(self._serve, self._waiting, self._admission, holder)
        try:
            limit_silence(connection, self._admission.answer_seconds)
            await asyncio.get_running_loop().connect_accepted_socket(lambda: opened, connection)
        except OSError:  # it was gone before it began
            connection.close()
            room.give_back(holder)


@web.middleware
async def watch_heads(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Have what comes behind a request, and behind its body, held to MAX_HEAD until it is a whole head again."""
    connection = request.transport.get_protocol() if request.transport is not None else None
    if not isinstance(connection, _Connection):
        return await handler(request)
    connection.begins(request)
    try:
        return await handler(request)
    finally:
        connection.ends()


class ConnectionRoom(FairRoom["_Connection"]):
    """Who has which connections; one that is at no request ends before one that is, whosever it is."""

    def __init__(self, room: Room) -> None:
        super().__init__(room, lambda those: next(iter(those)))
        # Those at no request, the first for longest.
        self._idle: dict[_Connection, None] = {}

    def enter(self, thing: "_Connection", holder: str) -> None:
        super().enter(thing, holder)
        self.idles(thing)

    def leave(self, thing: "_Connection") -> None:
        super().leave(thing)
        self.works(thing)

    def idles(self, connection: "_Connection") -> None:
        """A connection is at no request from now on: at the head of one, at most."""
        self._idle[connection] = None

    def works(self, connection: "_Connection") -> None:
        """It is at a request, or over."""
        self._idle.pop(connection, None)

    def _make(self, holder: str) -> bool:
        if self._larger_than(holder) is None:
            return False
        least, may_be_known = self._number(holder) + 2, self._is_known(holder)
        idle: _Connection | None = None
        for each in islice(self._idle, LOOKED_THROUGH):
            name = self._holders[each]
            of_a_stranger = self._ranking_of[name] is self._rankings[False]
            if self._number(name) >= least and (may_be_known or of_a_stranger) and not each.sends:
                idle, least = each, self._number(name) + 1
        if idle is None:
            return super()._make(holder)
        self._end(idle)
        return True


class _Connection(asyncio.Protocol):
    """Waits for the head of the first request; from then on the protocol of `serve` has the connection."""

    def __init__(
        self,
        serve: Callable[[], asyncio.Protocol],
        waiting: "set[_Connection]",
        admission: Admission,
        holder: str,
    ) -> None:
        self._serve = serve
        self._waiting = waiting
        self._head_seconds, self._pace = admission.head_seconds, admission.pace
        self._encryption, self._is_plain = admission.encryption, admission.encryption is not None
        self._address, self._shakes_hands = admission.address, False
        self._room, self._holder = admission.room, holder
        self._gone = False
        self._head = bytearray()
        self._served: asyncio.Protocol | None = None
        # Of a request behind the first one: the last letters of its head, and how many there are.
        self._last, self._length = b"", 0
        self._request: web.Request | None = None
        self._answering = True

    @property
    def sends(self) -> bool:
        """Whether some of an answer is still on its way: a file is, behind its handler, and nothing is read meanwhile."""
        return self._transport.get_write_buffer_size() > 0 or not self._transport.is_reading()

    def close(self) -> None:
        self._transport.abort()

    def give_way(self) -> None:
        self._left()
        # What its client did not take would stay in the kernel for as long as that may wait.
        connection = self._transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if isinstance(transport, short_turns.Encrypted):  # which it was made already, before it was encrypted
            self._shakes_hands = False
            if self._encryption is not None:
                self._encryption.refused.came_through(self._holder, self._address)
            return
        if isinstance(transport, short_turns.Connection):
            transport.take_turns_as(self._holder)
        self._pace.begin(transport)
        self._room.enter(self, self._holder)
        self._waiting.add(self)
        self._deadline = asyncio.get_running_loop().call_later(self._head_seconds, transport.abort)

    def data_received(self, data: bytes) -> None:
        if self._is_plain:
            self._encrypt(data)
            return
        if self._served is not None:
            if not self._is_between():
                self._pace.feed(self._transport, self._served, data)
            elif self._is_short(data):
                self._served.data_received(data)
            else:
                self._refuse_head()
            return
        self._head += data
        end = _end_of_head(self._head)
        if self._encryption is None and self._head.startswith(HANDSHAKE):
            self._refuse(encrypted(self._address))
        # What is no request is answered so at once.
        elif not self._head[:1].isalpha():
            self._hand_over()
        elif (len(self._head) if end is None else end) > MAX_HEAD:
            self._refuse_head()
        elif end is not None:
            self._hand_over()

    def _encrypt(self, data: bytes) -> None:
        """Begin a handshake when it is this host's turn; what begins none is told that this door is encrypted."""
        assert self._encryption is not None
        self._head += data
        connection = short_turns.connection_of(self._transport)
        if connection is None or not self._head.startswith(HANDSHAKE):
            self._refuse(not_encrypted(self._address))
            return
        self._is_plain = False
        connection.pause_reading()
        seconds = self._encryption.turns.next(self._holder)
        if seconds > 0:
            asyncio.get_running_loop().call_later(seconds, self._begin_encryption, connection)
        else:
            self._begin_encryption(connection)

    def _begin_encryption(self, connection: short_turns.Connection) -> None:
        assert self._encryption is not None
        if not connection.is_closing():
            read = bytes(self._head)
            self._head.clear()
            self._shakes_hands = True
            connection.resume_reading()
            self._encryption.begin(connection, self, read)

    def begins(self, request: web.Request) -> None:
        """The head of a request is complete."""
        self._request, self._answering = request, True
        self._pace.begin(self._transport)
        if request.body_exists and request.content_length is None:
            self._pace.wait_turn(self._transport)
        self._room.works(self)

    def ends(self) -> None:
        """It was answered."""
        self._answering = False
        if not self._gone:
            self._room.idles(self)

    def _is_between(self) -> bool:
        """Whether what comes now is the head of another request, and no body of the last one."""
        return not self._answering and (self._request is None or self._request.content.is_eof())

    def _is_short(self, data: bytes) -> bool:
        """Whether this much of a head may come."""
        seen = self._last + data
        if (end := _end_of_head(seen)) is not None:
            length = self._length - len(self._last) + end
            self._last, self._length, self._answering = b"", 0, True
            return length <= MAX_HEAD
        self._last, self._length = seen[-3:], self._length + len(data)
        return self._length <= MAX_HEAD

    def _refuse_head(self) -> None:
        self._refuse(too_long_head())

    def _refuse(self, answer: bytes) -> None:
        self._transport.write(answer)
        self._transport.close()

    def eof_received(self) -> bool | None:
        return self._served.eof_received() if self._served is not None else None

    def pause_writing(self) -> None:
        if self._served is not None:
            self._served.pause_writing()

    def resume_writing(self) -> None:
        if self._served is not None:
            self._served.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._encryption is not None and (self._shakes_hands or isinstance(exc, ssl.SSLError)):
            # In TLS 1.3 a client refuses our certificate when for us the handshake is over (RFC 8446 §2).
            why = exc.reason if isinstance(exc, ssl.SSLError) else None
            self._encryption.refused.note(self._holder, self._address, why or HUNG_UP)
        self._waits_no_more()
        self._left()
        if self._served is not None:
            self._served.connection_lost(exc)

    def _left(self) -> None:
        if not self._gone:
            self._gone = True
            self._room.leave(self)

    def _hand_over(self) -> None:
        self._waits_no_more()
        self._served = self._serve()
        self._served.connection_made(self._transport)
        self._served.data_received(bytes(self._head))
        self._head.clear()

    def _waits_no_more(self) -> None:
        self._waiting.discard(self)
        self._deadline.cancel()


def _end_of_head(data: bytes | bytearray) -> int | None:
    """Where the head of a request ends, None: not yet."""
    return min((at for end in _ENDS if (at := data.find(end)) >= 0), default=None)


def too_long_head() -> bytes:
    """The answer to a head above MAX_HEAD."""
    return _unread(
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"the URL and the headers have more than {MAX_HEAD >> 10} KiB"
    )


def not_encrypted(address: str) -> bytes:
    """The answer to what speaks plain HTTP to a door that is encrypted."""
    return _unread(HTTPStatus.BAD_REQUEST, f"this door speaks HTTPS alone: write {address}")


def encrypted(address: str) -> bytes:
    """The answer to what begins a handshake of TLS at a door that is not encrypted."""
    return _unread(HTTPStatus.BAD_REQUEST, f"this port speaks plain HTTP: write {address}")


def _say_and_close(connection: socket.socket, why: str) -> None:
    with connection, suppress(OSError):
        connection.send(_unread(HTTPStatus.SERVICE_UNAVAILABLE, why))
        connection.shutdown(socket.SHUT_WR)


def _unread(status: HTTPStatus, detail: str) -> bytes:
    """The answer to what was not read as HTTP: a problem document as others are."""
    body = problem_text(status, kind_of(status), detail).encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nConnection: close\r\nContent-Type: {PROBLEM}; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def limit_silence(connection: socket.socket | None, seconds: float) -> None:
    """Have the kernel close a TCP connection whose peer takes nothing of what is sent for so long; 0: never."""
    if connection is not None and connection.family in (socket.AF_INET, socket.AF_INET6):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(seconds * 1000))
