"""A WebSocket between a client and a service, message by message.

Each side has a WebSocket of its own with us: subprotocol, messages, pings, pongs and how it was closed are passed on,
extensions such as compression are not agreed to.
"""

import asyncio
from typing import Final, NoReturn

from aiohttp import (
    ClientError,
    ClientResponse,
    ClientSession,
    ClientWebSocketResponse,
    ClientWSTimeout,
    WSCloseCode,
    WSMsgType,
    hdrs,
    web,
)
from yarl import URL

from tinkbox.door.connections import limit_silence
from tinkbox.proxy.headers import Headers
from tinkbox.proxy.responses import cut, pass_back

# Of a message that is not whole yet, each side has so much in memory (`limits.WEBSOCKETS`).
MAX_MESSAGE: Final = 512 * 1024
CLOSE_SECONDS: Final = 5.0
_PASSED: Final = frozenset({WSMsgType.TEXT, WSMsgType.BINARY, WSMsgType.PING, WSMsgType.PONG})
_OF_ONE_SIDE: Final = "sec-websocket-"
_Client = web.WebSocketResponse
_Service = ClientWebSocketResponse[bool]


class HandshakeRefused(ClientError):
    """The service answers the request for a WebSocket with something else."""

    def __init__(self, answer: ClientResponse) -> None:
        super().__init__("it opens no WebSocket")
        self.answer = answer


class _Ended(Exception):
    """One side has ended: with a close code and a reason, or without a word."""

    def __init__(self, side: _Client | _Service, code: int | None = None, reason: str = "") -> None:
        self.side = side
        self.code = code
        self.reason = reason


def asks_for_websocket(request: web.Request) -> bool:
    """Whether a request can be answered with a WebSocket."""
    return request.method == "GET" and _served(()).can_prepare(request).ok


async def carry(request: web.Request, session: ClientSession, url: URL, headers: Headers) -> web.StreamResponse:
    """Answer a request with a WebSocket that leads to the one at `url`, until either side ends.

    Raises ClientError when the service opens none; another answer of it is passed on.  The session must raise
    HandshakeRefused for it.
    """
    offered = ",".join(request.headers.getall(hdrs.SEC_WEBSOCKET_PROTOCOL, ()))
    connecting = session.ws_connect(
        url,
        headers=[(name, value) for name, value in headers if not name.lower().startswith(_OF_ONE_SIDE)],
        protocols=[each.strip() for each in offered.split(",") if each.strip()],
        timeout=ClientWSTimeout(ws_close=CLOSE_SECONDS),
        max_msg_size=MAX_MESSAGE,
        autoclose=False,
        autoping=False,
        decode_text=False,
    )
    try:
        async with connecting as service:
            client = _served((service.protocol,) if service.protocol else ())
            # Whoever looks at a stream may stand still, as with no proxy in between.
            limit_silence(request.get_extra_info("socket"), 0)
            await client.prepare(request)
            await _relay(request, client, service)
            return client
    except HandshakeRefused as refused:
        async with refused.answer:
            return await pass_back(request, refused.answer)


def _served(protocols: tuple[str, ...]) -> _Client:
    return web.WebSocketResponse(
        protocols=protocols,
        timeout=CLOSE_SECONDS,
        max_msg_size=MAX_MESSAGE,
        autoclose=False,
        autoping=False,
        compress=False,
        decode_text=False,
    )


async def _relay(request: web.Request, client: _Client, service: _Service) -> None:
    ended = await _first_to_end(client, service)
    other = service if ended.side is client else client
    if ended.code is not None:
        await other.close(code=ended.code, message=ended.reason.encode())
        await ended.side.close(code=other.close_code or ended.code)
    elif other is service:
        await service.close(code=WSCloseCode.GOING_AWAY)
    else:
        cut(request)


async def _first_to_end(client: _Client, service: _Service) -> _Ended:
    """Pass on what either side says until one of them ends."""
    ended = list[BaseException]()
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_pump(client, service))
            group.create_task(_pump(service, client))
    except* _Ended as both:
        ended += both.exceptions
    return next(each for each in ended if isinstance(each, _Ended))


async def _pump(source: _Client | _Service, sink: _Client | _Service) -> NoReturn:
    while True:
        message = await source.receive()
        if message.type in _PASSED:
            try:
                await sink.send_frame(message.data, message.type)
            except ConnectionError:
                raise _Ended(sink) from None
        elif message.type is WSMsgType.CLOSE:
            raise _Ended(source, message.data or WSCloseCode.OK, message.extra or "")
        else:
            raise _Ended(source)
