"""A request's body, as a real client sends it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from tinkbox.door.problems import refusals_become_problems
from tinkbox.door.requests.bodies import SMALL, Bodies, body_of, chunks_of, limit_bodies
from tinkbox.model.limits import BODY_BYTES, Ledger

MAX = 10 * SMALL
ROOM = replace(BODY_BYTES, each=3 * SMALL, all=6 * SMALL, reserved=0.5)
Client = TestClient[web.Request, web.Application]


class Door:
    """Answers a body when it is told to."""

    def __init__(self, client: Client, ledger: Ledger) -> None:
        self.client = client
        self.ledger = ledger
        self.instead: Callable[[web.Request], Awaitable[web.Response]] | None = None
        self.read = asyncio.Event()
        self.answering = asyncio.Event()

    async def handle(self, request: web.Request) -> web.Response:
        if self.instead is not None:
            return await self.instead(request)
        body = await body_of(request, MAX)
        self.read.set()
        await self.answering.wait()
        return web.Response(body=body)


@asynccontextmanager
async def door(seconds: float = 60.0, *, known: bool = True) -> AsyncIterator[Door]:
    app = web.Application(middlewares=[refusals_become_problems], client_max_size=0)
    ledger = Ledger(ROOM, lambda: 0.0)
    limit_bodies(app, Bodies(ledger=ledger, host_at=str, known=lambda _: known, seconds=seconds))
    client = TestClient(TestServer(app))
    made = Door(client, ledger)
    app.add_routes([web.post("/", made.handle)])
    async with client:
        yield made


async def pieces(size: int) -> AsyncIterator[bytes]:
    for sent in range(0, size, 1000):
        yield b"x" * min(1000, size - sent)


async def test_a_body_is_read_up_to_its_limit_however_it_is_announced() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=await body_of(request, 1000))

    app = web.Application(middlewares=[refusals_become_problems], client_max_size=0)
    app.add_routes([web.post("/", handler)])
    async with TestClient(TestServer(app)) as client:
        for body in (b"", b"x" * 1000, pieces(1000)):
            assert await (await client.post("/", data=body)).read() == (b"" if body == b"" else b"x" * 1000)
        for body in (b"x" * 1001, pieces(1001)):
            assert (await client.post("/", data=body)).status == 413


async def test_bodies_that_are_not_answered_yet_take_no_more_memory_than_was_granted() -> None:
    async with door() as made, asyncio.TaskGroup() as group:
        first = group.create_task(made.client.post("/", data=b"x" * 2 * SMALL))
        await made.read.wait()
        assert made.ledger.used == 2 * SMALL
        for body in (b"x" * 2 * SMALL, pieces(2 * SMALL)):
            refused = await made.client.post("/", data=body)
            assert (refused.status, refused.headers["Retry-After"]) == (429, "5")
            assert "limits.body_bytes" in await refused.text()
            assert made.ledger.used == 2 * SMALL, "what was refused is given back"
        small = group.create_task(made.client.post("/", data=b"x" * SMALL))
        made.answering.set()
        assert [(await each).status for each in (first, small)] == [200, 200]
        assert made.ledger.used == 0


async def test_a_body_larger_than_the_limit_is_not_asked_for_again() -> None:
    async with door() as made:
        refused = await made.client.post("/", data=b"x" * (ROOM.each + 1))
        assert (refused.status, "Retry-After" in refused.headers) == (413, False)
        assert "limits.body_bytes.each is 48KiB" in await refused.text()
        assert made.ledger.used == 0


async def test_a_body_takes_memory_as_it_comes_not_as_it_is_announced() -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"x" * 2 * SMALL
        await asyncio.Event().wait()

    async with door() as made, asyncio.TaskGroup() as group:
        announced = {"Content-Length": str(MAX)}
        first = group.create_task(made.client.post("/", data=body(), headers=announced))
        while made.ledger.used < 2 * SMALL:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)
        assert made.ledger.used == 2 * SMALL
        first.cancel()


async def test_what_is_reserved_is_for_known_machines() -> None:
    async with door(known=False) as made:
        made.answering.set()
        assert made.ledger.take("another stranger", 2 * SMALL)
        assert (await made.client.post("/", data=b"x" * 2 * SMALL)).status == 429
    async with door(known=True) as made:
        made.answering.set()
        assert made.ledger.take("another stranger", 2 * SMALL)
        assert (await made.client.post("/", data=b"x" * 2 * SMALL)).status == 200


async def test_a_body_that_stands_still_is_over_and_its_memory_is_given_back() -> None:
    standing_still = asyncio.Event()

    async def body() -> AsyncIterator[bytes]:
        yield b"x" * 2 * SMALL
        await standing_still.wait()

    async with door(seconds=0.2) as made, AsyncExitStack() as stack:
        answer = await stack.enter_async_context(made.client.post("/", data=body()))
        assert (answer.status, "stood still" in await answer.text()) == (408, True)
        assert made.ledger.used == 0
        standing_still.set()


async def test_a_body_that_comes_byte_by_byte_is_over_too() -> None:
    over = asyncio.Event()

    async def body() -> AsyncIterator[bytes]:
        while not over.is_set():
            yield b"x"
            await asyncio.sleep(0.02)

    async with door(seconds=0.2) as made, made.client.post("/", data=body()) as answer:
        assert (answer.status, "slower than 8 KiB a second" in await answer.text()) == (408, True)
        over.set()


async def test_time_in_which_we_do_not_read_is_not_the_senders() -> None:
    async def handler(request: web.Request) -> web.Response:
        size = 0
        async for chunk in chunks_of(request):
            if not size:
                await asyncio.sleep(2.5)
            size += len(chunk)
        return web.Response(text=str(size))

    async with door(seconds=2.0) as made:
        made.instead = handler
        answer = await made.client.post("/", data=b"x" * (1 << 20))
        assert (answer.status, await answer.text()) == (200, str(1 << 20))


async def test_a_client_that_goes_away_leaves_nothing_in_the_log_and_gives_its_memory_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with door() as made:
        _, writer = await asyncio.open_connection(made.client.host, made.client.port)
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nabc")
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        assert (await made.client.get("/")).status == 405
    assert (caplog.records, made.ledger.used) == ([], 0)
