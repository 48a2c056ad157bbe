"""A WebSocket between a client and a service: once both have agreed to it, bytes pass as they come.

Subprotocol, extensions, messages and how it ends are an affair of the two (RFC 6455).  Nothing is read into, so that no
message costs more than its bytes, and of each direction only what fits into the transport's buffer is held.
"""

import asyncio
import base64
import hashlib
from collections.abc import Mapping
from typing import Any, Final, cast

from aiohttp import ClientError, ClientResponse, ClientSession, hdrs, web
from yarl import URL

from tinkbox.door.connections import limit_silence
from tinkbox.model.errors import Invalid
from tinkbox.proxy.headers import Headers
from tinkbox.proxy.responses import Broken, pass_back

# What one side said last is sent to the other one for so long.
CLOSE_SECONDS: Final = 30.0
_OF_THE_HANDSHAKE: Final = "sec-websocket-"
_ASKED: Final = (hdrs.SEC_WEBSOCKET_PROTOCOL, hdrs.SEC_WEBSOCKET_EXTENSIONS)
_ANSWERED: Final = (hdrs.SEC_WEBSOCKET_ACCEPT, *_ASKED)
_SUFFIX: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455 §1.3


class HandshakeRefused(ClientError):
    """The service answers the request for a WebSocket with something else."""

    def __init__(self, answer: ClientResponse) -> None:
        super().__init__("it opens no WebSocket")
        self.answer = answer


def asks_for_websocket(request: web.Request) -> bool:
    """Whether a request can be answered with a WebSocket."""
    return request.method == "GET" and web.WebSocketResponse().can_prepare(request).ok


async def carry(request: web.Request, session: ClientSession, url: URL, headers: Headers) -> web.StreamResponse:
    """Answer a request with a WebSocket that leads to the one at `url`, until either side ends.

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
            _check(answer.headers, key)
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


def _check(headers: Mapping[str, str], key: str) -> None:
    """Raises Invalid for an answer that opens no WebSocket (RFC 6455 §4.1)."""
    accepted = base64.b64encode(hashlib.sha1(key.encode() + _SUFFIX, usedforsecurity=False).digest()).decode()
    if (
        headers.get(hdrs.UPGRADE, "").lower() != "websocket"
        or "upgrade" not in headers.get(hdrs.CONNECTION, "").lower()
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
    client.join(service, bytes(early))
    service.join(client, bytes(first))
    both = [client.lost, service.lost]
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait(both, timeout=CLOSE_SECONDS)
    finally:
        client.transport.abort()
        service.transport.abort()


class _Early(bytearray):
    """What came behind the handshake before anybody waited for it."""

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        self.extend(data)
        return False, b""

    def feed_eof(self) -> None:
        """There is nothing to end."""


class _Side(asyncio.Protocol):
    """One of two connections; what comes here goes to the `other` one.

    The protocol that it had before hears only that it is over.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self.transport = transport
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._before = transport.get_protocol()

    def join(self, other: "_Side", early: bytes) -> None:
        """Lead to another one, and send here what that one said already."""
        self._other = other
        self.transport.set_protocol(self)
        if self.transport.is_closing():
            other.transport.close()
        if early:
            self.transport.write(early)
        if not self.transport.is_reading():
            self.transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        self._other.transport.write(data)

    def pause_writing(self) -> None:
        self._other.transport.pause_reading()

    def resume_writing(self) -> None:
        self._other.transport.resume_reading()

    def eof_received(self) -> None:
        self._other.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is None:
            self._other.transport.close()
        else:
            self._other.transport.abort()
        self._before.connection_lost(exc)
        if not self.lost.done():
            self.lost.set_result(None)
