"""A shell's frames over a WebSocket, the same on both doors (`wire.messages.shell` has the frames)."""

import asyncio
from typing import NoReturn, Protocol

from aiohttp import WSCloseCode, WSMsgType, web

from tinkbox.client.keep_alive import keep_alive
from tinkbox.door.connections.connections import limit_silence
from tinkbox.door.requests.lasting import lasting
from tinkbox.engine.shells.frame_queue import CutOff
from tinkbox.model.errors import Denied, Invalid, Refusal
from tinkbox.wire.messages.shell import MAX_FRAME, Frame, decode, encode

HEARTBEAT = 15.0
CLOSE_SECONDS = 5.0
_GOODBYE = WSCloseCode.OK.to_bytes(2, "big")
_REASON = 120  # bytes, of the 123 that fit (RFC 6455, 5.5)


class Side(Protocol):
    """Whom the frames are for, and where they come from.

    It is hung up on when `next_frame` or `until_cut_off` raises CutOff.
    """

    @property
    def tty(self) -> bool: ...
    async def next_frame(self) -> Frame | None: ...
    async def deliver(self, frame: Frame) -> None: ...
    async def until_cut_off(self) -> NoReturn: ...


class _Over(Exception):
    """One side has ended."""


async def carry(request: web.Request, side: Side) -> web.WebSocketResponse:
    """Answer a request with a WebSocket, until either side ends."""
    carrier = _Carrier(request, side)
    try:
        with lasting(request):
            await carrier.run()
    except Denied as refusal:
        if not carrier.socket.prepared:
            raise
        await carrier.hang_up(WSCloseCode.POLICY_VIOLATION, refusal)
    return carrier.socket


def expect_websocket(request: web.Request) -> None:
    """Raises Invalid for a request that is for no WebSocket, before anything is done for it."""
    if not web.WebSocketResponse().can_prepare(request).ok:
        raise Invalid("a shell is reached by a WebSocket: this request does not ask for one")


class _Carrier:
    def __init__(self, request: web.Request, side: Side) -> None:
        self._request = request
        self._side = side
        # Whoever reads a command's output may stand still, and then answers no ping either.
        heartbeat = HEARTBEAT if side.tty else None
        # The WebSocket's own limit is one that a message may not reach.
        self.socket = web.WebSocketResponse(
            heartbeat=heartbeat, max_msg_size=MAX_FRAME + 1, compress=False, timeout=CLOSE_SECONDS, autoclose=False
        )

    async def run(self) -> None:
        connection = self._request.get_extra_info("socket")
        keep_alive(connection)
        limit_silence(connection, 0)
        await self.socket.prepare(self._request)
        try:
            async with asyncio.TaskGroup() as group:
                for part in (self._outwards(), self._inwards(), self._side.until_cut_off()):
                    group.create_task(part)
        except* (_Over, ConnectionError):
            pass
        except* CutOff:
            if self._request.transport is not None:
                self._request.transport.abort()
        except* Refusal as refused:
            (refusal,) = refused.exceptions[:1]
            code = WSCloseCode.PROTOCOL_ERROR if isinstance(refusal, Invalid) else WSCloseCode.INTERNAL_ERROR
            await self.hang_up(code, refusal)

    async def hang_up(self, code: WSCloseCode, refusal: Exception) -> None:
        await self.socket.close(code=code, message=str(refusal).encode()[:_REASON])

    async def _outwards(self) -> NoReturn:
        while (frame := await self._side.next_frame()) is not None:
            await self.socket.send_bytes(encode(frame))
        # A connection that is closed over what it was sent and did not read loses its own last words.
        await self.socket.send_frame(_GOODBYE, WSMsgType.CLOSE)
        await asyncio.sleep(CLOSE_SECONDS)
        raise _Over

    async def _inwards(self) -> NoReturn:
        async for message in self.socket:
            if message.type is not WSMsgType.BINARY:
                raise Invalid("a shell's frames are binary")
            await self._side.deliver(decode(message.data))
        raise _Over
