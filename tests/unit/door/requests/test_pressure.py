"""While there is more to do than can be done, those that ask much wait, and nobody else."""

import asyncio
import time
from dataclasses import replace

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from tinkbox.door.requests import pressure
from tinkbox.door.requests.pressure import MODEST, Pressure

PATIENCE = 5.0  # who is not answered by then waits: it takes hundredths
FOR_ALL = 120.0  # where all are to be answered, on however slow a host


async def answered(made: Pressure, path: str, times: int, patience: float = PATIENCE) -> int:
    """How many of so many questions are answered, each within so many seconds."""

    async def told(_: web.Request) -> web.Response:
        return web.Response(text="x")

    application = web.Application(middlewares=[made.guard(but="/boot/")])
    application.router.add_get("/worker/{path}", told)
    got = 0
    async with TestClient(TestServer(application)) as client:
        for _ in range(times):
            try:
                async with asyncio.timeout(patience):
                    await client.get(path)
                    got += 1
            except TimeoutError:
                break
    return got


@pytest.fixture
def pressed(monkeypatch: pytest.MonkeyPatch) -> Pressure:
    """Late all the time, and no wait ever ends: what a host may ask is all that it may ask at once, however long that takes."""
    monkeypatch.setattr(pressure, "PAUSE", 3600.0)
    monkeypatch.setattr(pressure, "MODEST", replace(MODEST, a_second=0.0))
    made = Pressure()
    made._late = 1.0
    return made


@pytest.mark.parametrize("path", ["/worker/next", "/what/is/not/there"])
async def test_under_pressure_a_host_that_asks_much_waits_whatever_it_asks_for(pressed: Pressure, path: str) -> None:
    assert await answered(pressed, path, 3 * int(MODEST.burst)) == MODEST.burst


async def test_a_boots_own_requests_never_wait(pressed: Pressure) -> None:
    assert await answered(pressed, "/boot/script.ipxe", 3 * int(MODEST.burst), FOR_ALL) == 3 * int(MODEST.burst)


async def test_without_pressure_nobody_waits(pressed: Pressure) -> None:
    pressed._late = 0.0
    assert await answered(pressed, "/worker/next", 3 * int(MODEST.burst), FOR_ALL) == 3 * int(MODEST.burst)


async def test_a_wait_ends_also_where_the_pressure_does_not(pressed: Pressure, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pressure, "PAUSE", 0.001)
    monkeypatch.setattr(pressure, "LONGEST", 0.002)
    assert await answered(pressed, "/worker/next", 2 * int(MODEST.burst), FOR_ALL) == 2 * int(MODEST.burst)


async def test_a_loop_that_stands_still_is_noticed() -> None:
    made, loop = Pressure(), asyncio.get_running_loop()
    async with asyncio.TaskGroup() as group:
        measuring = group.create_task(made.run())
        for _ in range(6):
            loop.call_soon(time.sleep, 0.2)
            await asyncio.sleep(0.001)
        measuring.cancel()
    assert made._late > pressure.HIGH
