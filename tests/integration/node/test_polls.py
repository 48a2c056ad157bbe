"""What the questions of all workers have in common, as a real client puts them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from tinkbox.door.problems import refusals_become_problems
from tinkbox.model.errors import Denied
from tinkbox.node.polls import LOOK_EVERY, awaited, is_private, nothing_yet, offset_of, worker_of

Client = TestClient[web.Request, web.Application]


@asynccontextmanager
async def door(handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[Client]:
    app = web.Application(middlewares=[refusals_become_problems], client_max_size=0)
    app.add_routes([web.route("*", "/", handler)])
    async with TestClient(TestServer(app)) as client:
        yield client


def authenticate(token: str, instance: str, address: str) -> str:
    assert (instance, address) == ("", "127.0.0.1")
    if token != "secret":
        raise Denied("this is no credential of a machine known here")
    return "m1"


@pytest.mark.parametrize(
    ("header", "status"),
    [("Bearer secret", 200), ("bearer  secret ", 200), ("secret", 401), ("Basic secret", 401), ("Bearer", 401),
     ("Bearer ", 401), ("Bearer guessed", 401), (None, 401)],
)  # fmt: skip
async def test_who_asks_is_told_by_a_bearer_token_alone(header: str | None, status: int) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(text=worker_of(request, authenticate))

    async with door(handler) as client:
        answer = await client.get("/", headers={} if header is None else {"Authorization": header})
        assert answer.status == status
        assert status != 200 or await answer.text() == "m1"


@pytest.mark.parametrize(
    ("scheme", "remote", "private"),
    [("http", "172.30.0.35", False), ("https", "172.30.0.35", True), ("http", "127.0.0.1", True), ("http", "", False)],
)
async def test_an_answer_is_private_where_it_is_encrypted_or_stays_on_this_host(
    scheme: str, remote: str, private: bool
) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(text=str(is_private(request.clone(scheme=scheme, remote=remote))))

    async with door(handler) as client:
        answer = await client.get("/", headers={"X-Forwarded-Proto": "https", "Forwarded": "for=127.0.0.1;proto=https"})
        assert await answer.text() == str(private)


@pytest.mark.parametrize(
    ("query", "status"),
    [("0", 200), ("123456789012345678", 200), ("1234567890123456789", 422), ("-1", 422), ("", 422), ("1.5", 422), ("x", 422)],
)  # fmt: skip
async def test_an_offset_is_a_number_of_bytes(query: str, status: int) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(text=str(offset_of(request)))

    async with door(handler) as client:
        answer = await client.get(f"/?offset={query}")
        assert answer.status == status
        assert status != 200 or await answer.text() == query


async def test_a_question_is_waited_for_no_longer_than_there_is_time_and_looked_at_in_between() -> None:
    waits: list[float] = []

    async def ask() -> str | None:
        return "found" if len(waits) == 3 else None

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    async def handler(request: web.Request) -> web.Response:
        found = await awaited(request, ask, wait, float(request.query["for"]))
        return nothing_yet() if found is None else web.Response(text=found)

    async with door(handler) as client:
        assert (await client.get(f"/?for={2 * LOOK_EVERY - 1}")).status == 204
        assert waits == [LOOK_EVERY, LOOK_EVERY - 1]
        waits.clear()
        answer = await client.get("/?for=600")
        assert (await answer.text(), waits) == ("found", [LOOK_EVERY] * 3)


async def test_nothing_is_asked_on_behalf_of_a_worker_that_hung_up() -> None:
    asked, waits, gone, over = 0, asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def ask() -> str | None:
        nonlocal asked
        asked += 1
        return None

    async def wait(_: float) -> None:
        waits.set()
        await gone.wait()

    async def handler(request: web.Request) -> web.Response:
        try:
            assert await awaited(request, ask, wait, 600) is None
        finally:
            over.set()
        return nothing_yet()

    # As the appliance has it: a handler outlives its client, which the test server of aiohttp does not let it.
    app = web.Application()
    app.add_routes([web.get("/", handler)])
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with asyncio.timeout(60):
        _, writer = await asyncio.open_connection(*runner.addresses[0])
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await waits.wait()
        writer.close()
        await writer.wait_closed()
        assert runner.server is not None
        while any(each.transport for each in runner.server.connections):  # noqa: ASYNC110  nothing rings when one is gone
            await asyncio.sleep(0)
        gone.set()
        await over.wait()
    assert asked == 1
    await runner.cleanup()
