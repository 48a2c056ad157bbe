"""The DNS responder for the names of workflows, over UDP and TCP (RFC 7766).  What it says is decided in `wire.dns`."""

import asyncio
import logging
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn, Protocol

from tinkbox.boot.network.datagrams import drained, reading
from tinkbox.boot.network.send_buffer import SendBuffer
from tinkbox.model.limits import Room
from tinkbox.model.rates import Buckets, Rate

# Over UDP, by address.  A machine asks some ten times in its boot; a name server in front of many machines asks for all.
QUESTIONS = Rate(burst=500, a_second=100)
REMEMBERED = 8_192
MAX_MESSAGE = 4096
IDLE_SECONDS = 5.0
_LENGTH = 2
_log = logging.getLogger(__name__)


class Answers(Protocol):
    """Whoever knows what to say to a message; None is silence."""

    def answer(self, message: bytes) -> bytes | None: ...


class NamesServer:
    """Answers on a socket made by `sockets.bind_udp`, and on one made by `sockets.bind_tcp`.

    `room` is for so many connections, by host; `host_at` names the host that has an address.  Over TCP a question must
    be complete, and its answer taken, within `idle_seconds`.  `monotonic` is a clock in seconds.
    """

    def __init__(
        self,
        udp: socket.socket,
        tcp: socket.socket,
        zone: Answers,
        room: Room,
        host_at: Callable[[str], str],
        idle_seconds: float = IDLE_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._udp = udp
        self._buffer = SendBuffer(udp)
        self._tcp = tcp
        self._zone = zone
        self._room = room
        self._host_at = host_at
        self._idle_seconds = idle_seconds
        self._monotonic = monotonic
        self._asked = Buckets(QUESTIONS, REMEMBERED)

    async def serve(self) -> NoReturn:
        """Answer until cancelled."""
        with reading(self._udp, self._drain):
            async with asyncio.TaskGroup() as conversations:
                while True:
                    await self._accept(conversations)

    def _drain(self) -> None:
        for datagram, peer in drained(self._udp.recvfrom, MAX_MESSAGE):
            # One that is left is asked again after a second or more; to answer it costs more than to leave it.
            said = self._said(datagram) if self._asked.take(peer[0], self._monotonic()) else None
            if said is not None and self._buffer.has_room_for(peer[0]):
                try:
                    self._udp.sendto(said, peer)
                except OSError as error:
                    _log.debug("answer to %s: %s", peer[0], error, extra={"action": "dns.send-failed"})

    async def _accept(self, conversations: asyncio.TaskGroup) -> None:
        try:
            connection, (address, _) = await asyncio.get_running_loop().sock_accept(self._tcp)
        except OSError as error:
            _log.warning("cannot take a connection: %s", error, extra={"action": "dns.accept-failed"})
            await asyncio.sleep(1.0)
            return
        host = self._host_at(address)
        if self._room.take(host):
            conversations.create_task(self._converse(connection, host))
        else:
            connection.close()

    async def _converse(self, connection: socket.socket, host: str) -> None:
        try:
            # Too slow, or gone: TimeoutError is one too.
            with connection, suppress(OSError):
                while True:
                    async with asyncio.timeout(self._idle_seconds):
                        if not await self._exchange(connection):
                            return
        finally:
            self._room.give_back(host)

    async def _exchange(self, connection: socket.socket) -> bool:
        """One question and its answer; whether there may be more."""
        length = int.from_bytes(await _exactly(connection, _LENGTH))
        message = await _exactly(connection, length) if 0 < length <= MAX_MESSAGE else b""
        said = self._said(message)
        if said is None:
            return False
        await asyncio.get_running_loop().sock_sendall(connection, len(said).to_bytes(_LENGTH) + said)
        return True

    def _said(self, message: bytes) -> bytes | None:
        try:
            return self._zone.answer(message)
        except Exception:
            # What strangers send is read by a library; what it trips over must hurt nobody else.
            _log.exception("a question was not understood", extra={"action": "dns.failed"})
            return None


async def _exactly(connection: socket.socket, size: int) -> bytes:
    """So many bytes; raises ConnectionError when there are none any more."""
    content = b""
    while len(content) < size:
        part = await asyncio.get_running_loop().sock_recv(connection, size - len(content))
        if not part:
            raise ConnectionError
        content += part
    return content
