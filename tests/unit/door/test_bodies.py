"""A request's body, as a real client sends it."""

from collections.abc import AsyncIterator

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from tinkbox.door.bodies import body_of
from tinkbox.door.problems import refusals_become_problems


async def test_a_body_is_read_up_to_its_limit_however_it_is_announced() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=await body_of(request, 1000))

    async def pieces(size: int) -> AsyncIterator[bytes]:
        for _ in range(size):
            yield b"x"

    app = web.Application(middlewares=[refusals_become_problems], client_max_size=0)
    app.add_routes([web.post("/", handler)])
    async with TestClient(TestServer(app)) as client:
        for body in (b"", b"x" * 1000, pieces(1000)):
            assert await (await client.post("/", data=body)).read() == (b"" if body == b"" else b"x" * 1000)
        for body in (b"x" * 1001, pieces(1001)):
            assert (await client.post("/", data=body)).status == 413
