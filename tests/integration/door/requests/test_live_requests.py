"""What is under way with a token ends with it, whatever it waits for."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp
import pytest
from aiohttp import web

from tinkbox.door.answers.answers import Answers, limit_answers
from tinkbox.door.problems import refusals_become_problems
from tinkbox.door.requests.live_requests import LiveRequests, end_with_token, note_token
from tinkbox.model.limits import ANSWER_BYTES, Ledger

WITHIN = 60.0  # seconds, for what takes less than one
LONG = bytes(64 << 20)  # more than connections and kernels keep
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Door:
    """Serves what `handler` is, to the token `annas` until it is revoked."""

    def __init__(self) -> None:
        self.known = {"annas"}
        self.live = LiveRequests(lambda token: token in self.known)
        self.handler: Handler
        self.begun = asyncio.Event()
        self.url = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        note_token(request, "annas")
        self.begun.set()
        return await self.handler(request)

    def revoke(self) -> None:
        self.known.clear()
        self.live.end("annas", "the token was revoked")


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    made = Door()
    application = web.Application(middlewares=[refusals_become_problems])
    end_with_token(application, made.live)
    limit_answers(
        application, Answers(ledger=Ledger(ANSWER_BYTES, time.monotonic), known=lambda _: False, seconds=600.0)
    )
    application.router.add_route("*", "/", made.answer)
    runner = web.AppRunner(application, shutdown_timeout=0.05)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    yield made
    await runner.cleanup()


async def test_a_long_answer_that_is_read_slowly_is_cut_off(door: Door) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=LONG)

    door.handler = handler
    async with aiohttp.ClientSession() as session, session.get(door.url) as response:
        assert await response.content.readexactly(1000) == bytes(1000)
        door.revoke()
        async with asyncio.timeout(WITHIN):
            with pytest.raises(aiohttp.ClientError):
                await response.content.read()


async def test_a_connection_that_answers_still_after_the_grace_is_closed_and_its_work_goes_on(door: Door) -> None:
    done, allowed = asyncio.Event(), asyncio.Event()

    async def handler(_: web.Request) -> web.Response:
        await allowed.wait()
        done.set()
        return web.Response(text="made")

    door.handler = handler
    async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as group:

        async def ask() -> None:
            with pytest.raises(aiohttp.ClientConnectionError):
                await session.post(door.url)  # which is not tried a second time

        asking = group.create_task(ask())
        await door.begun.wait()
        door.revoke()
        async with asyncio.timeout(WITHIN):
            await asking
            assert not done.is_set()
            allowed.set()
            await done.wait()


async def test_a_request_with_a_token_that_counts_no_more_is_refused_though_the_guard_knew_it(door: Door) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(text="never")

    door.handler = handler
    door.revoke()
    async with aiohttp.ClientSession() as session, session.get(door.url) as response:
        assert response.status == 401
        assert "the token counts no more" in await response.text()


async def test_nothing_is_kept_of_requests_that_were_answered(door: Door) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(text="done")

    door.handler = handler
    async with aiohttp.ClientSession() as session:
        for _ in range(3):
            async with session.get(door.url) as response:
                assert await response.text() == "done"
    assert door.live.number == 0
