"""A WebSocket between a client and a service: once both have agreed to it, bytes pass as they come.

Subprotocol, extensions, messages and how it ends are an affair of the two (RFC 6455).  Nothing is read into, so that no
message costs more than its bytes, and of each direction only what fits into the transport's buffer is held.
"""

import asyncio
import base64
import binascii
import hashlib
from contextlib import suppress
from typing import Any, Final, cast

from aiohttp import ClientError, ClientResponse, ClientSession, HttpVersion11, hdrs, web
from yarl import URL

from tinkbox.door.connections.connections import limit_silence
from tinkbox.door.connections.tcp_info import tcp_info
from tinkbox.model.errors import Invalid
from tinkbox.proxy.headers import Headers, tokens
from tinkbox.proxy.responses import Broken, pass_back

# When one side is gone, and nothing passes for so long, it is over.
CLOSE_SECONDS: Final = 30.0
# Draft versions 7 and 8 have the frames of 13.
_VERSIONS: Final = ("13", "8", "7")
_KEY_BYTES: Final = 16
_OF_THE_HANDSHAKE: Final = "sec-websocket-"
_ASKED: Final = (hdrs.SEC_WEBSOCKET_PROTOCOL, hdrs.SEC_WEBSOCKET_EXTENSIONS)
_ANSWERED: Final = (hdrs.SEC_WEBSOCKET_ACCEPT, *_ASKED)
_SUFFIX: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455 §1.3


class HandshakeRefused(ClientError):
    """The service answers the request for a WebSocket with something else."""

    def __init__(self, answer: ClientResponse) -> None:
        super().__init__("it opens no WebSocket")
        self.answer = answer


def asks_to_switch(request: web.Request) -> bool:
    """Whether a request asks for another protocol; in HTTP/1.0 nobody can (RFC 9110 §7.8)."""
    return hdrs.UPGRADE in request.headers and request.version >= HttpVersion11


def asks_for_websocket(request: web.Request) -> bool:
    """Whether a request can be answered with a WebSocket (RFC 6455 §4.2.1)."""
    return (
        request.method == "GET"
        and asks_to_switch(request)
        and "websocket" in tokens(request.headers.getall(hdrs.UPGRADE))
        and "upgrade" in tokens(request.headers.getall(hdrs.CONNECTION, ()))
        and request.headers.get(hdrs.SEC_WEBSOCKET_VERSION, "") in _VERSIONS
        and _is_key(",".join(request.headers.getall(hdrs.SEC_WEBSOCKET_KEY, ())))
    )


def _is_key(text: str) -> bool:
    try:
        return len(base64.b64decode(text, validate=True)) == _KEY_BYTES
    except (binascii.Error, ValueError):  # ValueError: it is not ASCII
        return False


async def carry(request: web.Request, session: ClientSession, url: URL, headers: Headers) -> web.StreamResponse:
    """Answer a request with a WebSocket that leads to the one at `url`, until both sides end or one is gone.

    Raises ClientError or Invalid when the service opens none, Broken when it goes away then.  Another answer of it is
    passed on: the session must raise HandshakeRefused for it.
    """
    key = request.headers[hdrs.SEC_WEBSOCKET_KEY]
    asked = [(name, value) for name, value in headers if not name.lower().startswith(_OF_THE_HANDSHAKE)]
    asked += [(hdrs.CONNECTION, "Upgrade"), (hdrs.UPGRADE, "websocket")]
    asked += [(hdrs.SEC_WEBSOCKET_VERSION, "13"), (hdrs.SEC_WEBSOCKET_KEY, key)]
    asked += [(name, ", ".join(given)) for name in _ASKED if (given := request.headers.getall(name, ()))]
    try:
        async with session.get(url, headers=asked, allow_redirects=False) as answer:
            _check(answer, key)
            opened = web.StreamResponse(status=101, headers={hdrs.CONNECTION: "Upgrade", hdrs.UPGRADE: "websocket"})
            for name in _ANSWERED:
                opened.headers.extend((name, value) for value in answer.headers.getall(name, ()))
            opened.force_close()
            await opened.prepare(request)
            await _joined(request, answer)
            return opened
    except HandshakeRefused as refused:
        async with refused.answer:
            return await pass_back(request, refused.answer)


def _check(answer: ClientResponse, key: str) -> None:
    """Raises Invalid for an answer that opens no WebSocket (RFC 6455 §4.1)."""
    headers = answer.headers
    accepted = base64.b64encode(hashlib.sha1(key.encode() + _SUFFIX, usedforsecurity=False).digest()).decode()
    if (
        [each.lower() for each in headers.getall(hdrs.UPGRADE, ())] != ["websocket"]
        or "upgrade" not in tokens(headers.getall(hdrs.CONNECTION, ()))
        or headers.get(hdrs.SEC_WEBSOCKET_ACCEPT, "").strip() != accepted
    ):
        raise Invalid("it opens no WebSocket")


async def _joined(request: web.Request, answer: ClientResponse) -> None:
    """Have each side's connection lead to the other one until both are closed."""
    connection = answer.connection
    if request.transport is None or connection is None or connection.transport is None:
        raise Broken
    client = _Side(request.transport)
    service = _Side(connection.transport)
    # Whoever looks at a stream may stand still, as with no proxy in between.
    limit_silence(request.get_extra_info("socket"), 0)
    first, early = _Early(), _Early()
    cast("Any", request.protocol).set_parser(first)
    cast("Any", connection.protocol).set_parser(early, None)
    client.take_over(service)
    service.take_over(client)
    client.begin(bytes(early))
    service.begin(bytes(first))
    try:
        await _until_over(client, service)
    finally:
        client.end()
        service.end()


async def _until_over(client: "_Side", service: "_Side") -> None:
    """Wait until both connections are closed, or one side is gone and nothing passes.

    The kernel is asked, because of whom nothing is read while the other one takes nothing we hear neither FIN nor RST.
    """
    before = None
    while (await asyncio.wait([client.lost, service.lost], timeout=CLOSE_SECONDS))[1]:
        now = (client.standing(), service.standing())
        if now == before and not all(there for there, _ in now):
            return
        before = now


class _Early(bytearray):
    """What came behind the handshake before anybody waited for it."""

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        self.extend(data)
        return False, b""

    def feed_eof(self) -> None:
        """There is nothing to end."""


class _Side(asyncio.Protocol):
    """One of two connections; what comes here goes to the `other` one, the end of it as well.

    The protocol that it had before hears only that it is over.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self.transport = transport
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._before = transport.get_protocol()
        self.said_all = False

    def take_over(self, other: "_Side") -> None:
        """Lead to another one from now on; nothing is read of either before both have begun."""
        self._other = other
        self.transport.pause_reading()
        self.transport.set_protocol(self)
        # The protocol before may have been told to wait, of which nobody tells this one: it is told when all is sent.
        self._full = self.transport.get_write_buffer_size() > 0
        if self._full:
            self.transport.set_write_buffer_limits(high=0)

    def begin(self, early: bytes) -> None:
        """Send here what the other one said already, and hear it from now on."""
        if self._other.transport.is_closing():
            self.transport.close()
        if early:
            self.transport.write(early)
        if not self._full:
            self._other.transport.resume_reading()

    def end(self) -> None:
        """Close it, whatever was not sent yet."""
        if not self.lost.done():  # a transport that sent its rest and closed then cannot be told so
            self.transport.abort()

    def standing(self) -> tuple[bool, int]:
        """Whether the peer is there to say more, and how many bytes it took."""
        # Neither the node door nor a service is at a unix socket, of which nobody tells that.
        told = None if self.lost.done() else tcp_info(self.transport.get_extra_info("socket"))
        return (told.peer_may_speak, told.taken) if told else (False, 0)

    def data_received(self, data: bytes) -> None:
        if not self._other.transport.is_closing():
            self._other.transport.write(data)

    def pause_writing(self) -> None:
        self._full = True
        self._other.transport.pause_reading()

    def resume_writing(self) -> None:
        self._full = False
        self.transport.set_write_buffer_limits()
        self._other.transport.resume_reading()

    def eof_received(self) -> bool:
        self.said_all = True
        if self._other.said_all:
            self._other.transport.close()
            return False
        with suppress(OSError):  # it was reset, of which it hears itself
            self._other.transport.write_eof()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        if self.said_all:
            # The other one goes on until it has taken all and ends as well: closed now it could be reset before that.
            self._other.transport.resume_reading()
        elif exc is None:
            self._other.transport.close()
        else:
            self._other.end()
        self._before.connection_lost(exc)
        if not self.lost.done():
            self.lost.set_result(None)
