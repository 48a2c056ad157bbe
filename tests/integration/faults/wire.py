"""A way to an HTTP server on which every request and every answer can be held, lost and sent again."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import aiohttp
from aiohttp import web
from yarl import URL

_OF_ONE_CONNECTION = {"connection", "content-length", "host", "keep-alive", "transfer-encoding"}
_STREAMED = re.compile(r"/logs$|/images/create$|^/v2/")


class Moment(StrEnum):
    """Where an exchange is held: its request not yet passed on, or its answer not yet."""

    REQUEST = "request"
    ANSWER = "answer"


@dataclass(eq=False)
class Exchange:
    """One request and, at `Moment.ANSWER`, its answer."""

    wire: "Wire"
    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    connection: asyncio.Transport | None = None
    status: int = 0
    answer: bytes = b""
    lost: bool = False
    answer_lost: bool = False
    action: str = field(default="", compare=False)
    offers: str = field(default="", compare=False)  # the action that it asks for, or tells of

    @property
    def path(self) -> str:
        """Without query and without Docker's version."""
        return re.sub(r"^/v1\.\d+", "", self.target.partition("?")[0])

    def lose(self) -> None:
        """Cut its connection: what is held gets no further."""
        self.lost = True
        if self.connection is not None:
            self.connection.abort()


Listener = Callable[[Exchange, Moment], Awaitable[None]]


class Wire:
    """One HTTP server's stand-in; `url` is where it answers."""

    def __init__(self, name: str, server: Path | URL, heard: Listener) -> None:
        self.name = name
        self.url = ""
        self._server = server
        self._heard = heard
        self._under_way: set[Exchange] = set()

    @asynccontextmanager
    async def open(self, place: Path) -> AsyncIterator["Wire"]:
        """Answer on a socket in the folder `place`, or on a free port of loopback, as the server itself does."""
        # Every exchange gets a connection of its own: on one that is used again the client would ask twice by itself.
        connector: aiohttp.BaseConnector = (
            aiohttp.UnixConnector(str(self._server), force_close=True, limit=0)
            if isinstance(self._server, Path)
            else aiohttp.TCPConnector(force_close=True, limit=0)
        )
        forever = aiohttp.ClientTimeout(total=None, connect=60)
        self._session = aiohttp.ClientSession(connector=connector, timeout=forever, auto_decompress=False)
        app = web.Application(client_max_size=1 << 30)
        app.router.add_route("*", "/{path:.*}", self._relay)
        runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
        await runner.setup()
        try:
            if isinstance(self._server, Path):
                await web.UnixSite(runner, str(place / f"{self.name}.sock")).start()
                self.url = f"unix://{place / self.name}.sock"
            else:
                await web.TCPSite(runner, "127.0.0.1", 0).start()
                self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            yield self
        finally:
            self.cut()
            await self._session.close()
            await runner.cleanup()

    def cut(self) -> None:
        """Break every connection on which something is under way."""
        for exchange in list(self._under_way):
            exchange.lose()

    async def again(self, exchange: Exchange) -> int:
        """Send a copy of the request to the server; returns the status of what it answers."""
        async with self._ask(exchange) as answer:
            await answer.read()
            return answer.status

    async def _relay(self, request: web.Request) -> web.StreamResponse:
        exchange = Exchange(
            wire=self,
            method=request.method,
            target=request.raw_path,
            headers=_passed_on(request.headers),
            body=await request.read(),
        )
        assert isinstance(request.transport, asyncio.Transport)
        exchange.connection = request.transport
        self._under_way.add(exchange)
        try:
            await self._heard(exchange, Moment.REQUEST)
            if not exchange.lost:
                async with self._ask(exchange) as answer:
                    return await self._hand_over(request, exchange, answer)
        except (aiohttp.ClientError, OSError):
            exchange.lose()
        finally:
            self._under_way.discard(exchange)
        return web.Response(status=502)  # into a connection that is closed

    async def _hand_over(
        self, request: web.Request, exchange: Exchange, answer: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        exchange.status = answer.status
        headers = _passed_on(answer.headers)
        if _STREAMED.search(exchange.path):
            await self._heard(exchange, Moment.ANSWER)
            response = web.StreamResponse(status=answer.status, headers=headers)
            with suppress(ConnectionError):  # the reader may go at any time
                await response.prepare(request)
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
            return response
        exchange.answer = await answer.read()
        await self._heard(exchange, Moment.ANSWER)
        if exchange.answer_lost:
            exchange.lose()
        return web.Response(status=answer.status, headers=headers, body=exchange.answer)

    def _ask(self, exchange: Exchange) -> "aiohttp.client._RequestContextManager":
        origin = URL("http://docker") if isinstance(self._server, Path) else self._server
        url = URL(str(origin).rstrip("/") + exchange.target, encoded=True)
        return self._session.request(exchange.method, url, headers=exchange.headers, data=exchange.body or None)


def _passed_on(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in _OF_ONE_CONNECTION}
