"""Whether a client is still there while its request is being answered."""

import asyncio
from types import TracebackType
from typing import Final, Self

from aiohttp import web

from tinkbox.client.keep_alive import keep_alive
from tinkbox.door.connections.tcp_info import tcp_info

LOOK_EVERY: Final = 1.0
IDLE_SECONDS: Final = 600.0


class ClientGone(ConnectionError):
    """Nobody is left to answer."""


class WhileThere:
    """What is done within `async with` is given up, with ClientGone, soon after the client is gone.

    So it is when the body of a request stands still for IDLE_SECONDS.
    """

    def __init__(self, request: web.Request, every: float = LOOK_EVERY, idle: float = IDLE_SECONDS) -> None:
        self._request = request
        self._every = every
        self._idle = idle
        self._loop = asyncio.get_running_loop()
        self._patience = asyncio.timeout(None)
        self._look: asyncio.TimerHandle | None = None
        self._received = -1
        self._progress = 0.0

    async def __aenter__(self) -> Self:
        await self._patience.__aenter__()
        self._look = self._loop.call_later(self._every, self._first_look)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._look is not None
        self._look.cancel()
        try:
            await self._patience.__aexit__(kind, error, trace)
        except TimeoutError:
            raise ClientGone from error

    def _first_look(self) -> None:
        # Most requests are over by now; of the others the kernel is to notice when the client's host is gone.
        keep_alive(self._request.get_extra_info("socket"))
        self._look_again()

    def _look_again(self) -> None:
        content, now = self._request.content, self._loop.time()
        # While nothing is read of a client that sent more than is wanted yet, only the kernel hears that it broke off.
        told = tcp_info(self._request.get_extra_info("socket"))
        if self._request.transport is not None and told is not None and told.is_reset:
            self._request.transport.abort()
            self._patience.reschedule(now)
            return
        if content.is_eof() or content.total_bytes != self._received:
            self._received, self._progress = content.total_bytes, now
        if self._request.transport is None or now - self._progress > self._idle:
            self._patience.reschedule(now)
        else:
            self._look = self._loop.call_later(self._every, self._look_again)
