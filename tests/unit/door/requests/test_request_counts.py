"""Answers, counted by route."""

from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web

from tinkbox.door.problems import refusals_become_problems
from tinkbox.door.requests.request_counts import Traffic
from tinkbox.model.errors import Conflict


async def answer(request: web.Request) -> web.Response:
    match request.match_info["how"]:
        case "refuse":
            raise Conflict("no")
        case "redirect":
            raise web.HTTPFound("/")
        case "fail":
            raise KeyError
    return web.Response(status=204)


@pytest.fixture
async def traffic() -> Traffic:
    return Traffic()


@pytest.fixture
async def ask(traffic: Traffic) -> AsyncIterator[aiohttp.ClientSession]:
    application = web.Application(middlewares=[refusals_become_problems, traffic.counted()])
    application.add_routes([web.get("/a/{how}", answer)])
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    async with aiohttp.ClientSession(site.name.replace(":0", f":{runner.addresses[0][1]}")) as session:
        yield session
    await runner.cleanup()


async def test_answers_are_counted_by_route_and_status(ask: aiohttp.ClientSession, traffic: Traffic) -> None:
    for path in ("/a/x", "/a/y", "/a/refuse", "/a/redirect", "/a/fail"):
        async with ask.get(path, allow_redirects=False):
            pass
    route = "/a/{how}"
    assert dict(traffic.answers) == {
        ("GET", route, 204): 2, ("GET", route, 409): 1, ("GET", route, 302): 1, ("GET", route, 500): 1,
    }  # fmt: skip


async def test_paths_that_nobody_serves_take_no_memory(ask: aiohttp.ClientSession, traffic: Traffic) -> None:
    for number in range(20):
        async with ask.get(f"/made/up/{number}") as response:
            assert response.status == 404
    assert not traffic.answers
