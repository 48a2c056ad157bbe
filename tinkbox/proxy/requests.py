"""Requests on their way to a service, without holding their bodies in memory."""

import socket
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, Self

from aiohttp import (
    ClientConnectionError,
    ClientError,
    ClientHandlerType,
    ClientOSError,
    ClientRequest,
    ClientResponse,
    ClientResponseError,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    ServerDisconnectedError,
    TCPConnector,
    hdrs,
    web,
)
from yarl import URL

from tinkbox.client.keep_alive import keep_alive
from tinkbox.door.connections.client_presence import ClientGone, WhileThere
from tinkbox.door.connections.reading_pace import ReadingPace
from tinkbox.model.errors import Invalid
from tinkbox.proxy.headers import Headers
from tinkbox.proxy.responses import Broken, cut, pass_back
from tinkbox.proxy.websocket_tunnel import HandshakeRefused, asks_to_switch, carry

CONNECT_SECONDS: Final = 5.0
SILENT_SECONDS: Final = 3600.0
# Less than after what servers commonly close an idle connection, so that they seldom do it while we write.
KEPT_SECONDS: Final = 4.0
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_NOT_ADDED: Final = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")


class Unanswered(Exception):
    """A service did not answer; the text says how, to follow its name."""


class Forwarder:
    """Use it in an `async with`.

    What is safe (RFC 9110 §9.2.1) and has no body goes over connections that are kept, and again over a fresh one when
    the service closed the kept one meanwhile; everything else goes once, over a connection of its own.
    """

    def __init__(self, pace: ReadingPace) -> None:
        self._pace = pace

    async def __aenter__(self) -> Self:
        self._kept = _session(TCPConnector(limit=0, keepalive_timeout=KEPT_SECONDS, socket_factory=_connection))
        self._once = _session(TCPConnector(limit=0, force_close=True, socket_factory=_connection), once)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._kept.close()
        await self._once.close()

    async def forward(self, request: web.Request, url: URL, headers: Headers) -> web.StreamResponse:
        """Send a request with these headers to `url`, and answer it with what the service there answers.

        Raises Unanswered.  When one of the two sides goes away later, the other one's connection is broken.
        """
        try:
            async with WhileThere(request):
                return await self._answered(request, url, headers)
        except (Broken, ClientGone):
            return cut(request)
        except (ClientError, OSError, Invalid) as error:
            raise Unanswered(_told(error)) from error

    async def _answered(self, request: web.Request, url: URL, headers: Headers) -> web.StreamResponse:
        if asks_to_switch(request):
            return await carry(request, self._once, url, headers)
        body = request.content if request.body_exists else None
        if body is not None and request.content_length is not None:
            headers = [*headers, (hdrs.CONTENT_LENGTH, str(request.content_length))]
        session = self._kept if body is None and request.method in SAFE else self._once
        sending = session.request(request.method, url, headers=headers, data=body, allow_redirects=False)
        async with sending as answer:
            if answer.connection is not None:
                self._pace.take_over(answer.connection.transport)
            return await pass_back(request, answer)


async def once(request: ClientRequest, send: ClientHandlerType) -> ClientResponse:
    """A session's middleware that lets nothing be sent twice, and no WebSocket be looked for where it redirects to."""
    try:
        answer = await send(request)
    except (ClientOSError, ServerDisconnectedError) as error:
        raise ClientConnectionError(str(error)) from error
    if hdrs.UPGRADE in request.headers and answer.status != HTTPStatus.SWITCHING_PROTOCOLS:
        raise HandshakeRefused(answer)
    return answer


def _session(connector: TCPConnector, *middlewares: Any) -> ClientSession:
    return ClientSession(
        connector=connector,
        middlewares=middlewares,
        cookie_jar=DummyCookieJar(),
        timeout=ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=SILENT_SECONDS),
        skip_auto_headers=_NOT_ADDED,
        auto_decompress=False,
    )


def _connection(address: Any) -> socket.socket:
    family, kind, protocol, *_ = address
    connection = socket.socket(family, kind, protocol)
    keep_alive(connection)
    return connection


def _told(error: Exception) -> str:
    match error:
        case Invalid():
            return f"gave an answer that cannot be passed on: {error}"
        case ClientResponseError():
            return "gave an answer that is not HTTP"
        case ServerDisconnectedError() | ClientConnectionError(__cause__=ServerDisconnectedError()):
            return "closed the connection without an answer"
        case _:
            return f"does not answer: {error}"
