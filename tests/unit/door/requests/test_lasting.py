"""Requests that last end with their door; others are waited for."""

import asyncio
from collections.abc import Callable
from functools import partial

from aiohttp import web

from tinkbox.door.requests.lasting import end_with_door, lasting

PATIENCE = 3600.0


class Door:
    """A door that waits for an hour for its requests; `asked` is set where a request of it is."""

    def __init__(self) -> None:
        self.asked, self.go_on, self.done = asyncio.Event(), asyncio.Event(), False

    async def poll(self, request: web.Request) -> web.Response:
        with lasting(request):
            self.asked.set()
            await asyncio.Event().wait()
        raise AssertionError

    async def write(self, _: web.Request) -> web.Response:
        self.asked.set()
        await self.go_on.wait()
        self.done = True
        return web.Response()

    async def write_then_poll(self, request: web.Request) -> web.Response:
        await self.write(request)
        return await self.poll(request)


async def closed_while_asked(door: Door, path: str, meanwhile: Callable[[], object]) -> bytes:
    """What is answered to a request during which its door closes; `meanwhile` is called once that has begun."""
    application = web.Application()
    end_with_door(application)
    application.add_routes(
        [web.get(f"/{each.__name__}", each) for each in (door.poll, door.write, door.write_then_poll)]
    )
    application.on_shutdown.append(partial(soon, meanwhile))
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=PATIENCE)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with asyncio.timeout(60):
        answer, asking = await asyncio.open_connection(*runner.addresses[0])
        asking.write(f"GET {path} HTTP/1.1\r\nHost: door\r\n\r\n".encode())
        await door.asked.wait()
        await runner.cleanup()
        said = await answer.read()
    asking.close()
    return said


async def soon(function: Callable[[], object], _: web.Application) -> None:
    asyncio.get_running_loop().call_soon(function)


async def test_poll_ends_when_its_door_closes() -> None:
    assert await closed_while_asked(Door(), "/poll", lambda: None) == b""


async def test_request_that_does_not_last_is_answered_while_its_door_closes() -> None:
    door = Door()
    assert (await closed_while_asked(door, "/write", door.go_on.set)).startswith(b"HTTP/1.1 200")


async def test_request_that_begins_to_last_while_its_door_closes_ends() -> None:
    door = Door()
    assert await closed_while_asked(door, "/write_then_poll", door.go_on.set) == b""
    assert door.done
