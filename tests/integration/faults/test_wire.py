"""The wire between a client and a server, and the clock that is wrong: what the matrix relies on."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from tests.integration.faults.wire import Exchange, Listener, Moment, Wire


class Server:
    """Says what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(f"{request.method} {request.raw_path} {await request.text()}")
        if request.path.endswith("/logs"):
            response = web.StreamResponse()
            await response.prepare(request)
            await response.write(b"one ")
            await asyncio.Event().wait()
        return web.Response(text=self.asked[-1], headers={"X-Own": "kept"}, status=201)


async def ignore(exchange: Exchange, moment: Moment) -> None: ...


@asynccontextmanager
async def between(tmp_path: Path, heard: Listener) -> AsyncIterator[tuple[Server, Wire, aiohttp.ClientSession]]:
    server, app = Server(), web.Application()
    app.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    wire = Wire("door", URL(f"http://127.0.0.1:{runner.addresses[0][1]}"), heard)
    try:
        async with asyncio.timeout(60), wire.open(tmp_path), aiohttp.ClientSession(wire.url) as client:
            yield server, wire, client
    finally:
        await runner.cleanup()


async def test_what_nobody_touches_passes_unchanged(tmp_path: Path) -> None:
    seen = []

    async def note(exchange: Exchange, moment: Moment) -> None:
        seen.append((exchange.method, exchange.path, exchange.body, exchange.status, moment))

    async with between(tmp_path, note) as (_, wire, client):
        url = URL(f"{wire.url}/v1.41/a%20b?c=%2F", encoded=True)
        answer = await client.put(url, data=b"body")
        assert (answer.status, answer.headers["X-Own"]) == (201, "kept")
        assert await answer.text() == "PUT /v1.41/a%20b?c=%2F body"
    assert seen == [
        ("PUT", "/a%20b", b"body", 0, Moment.REQUEST),
        ("PUT", "/a%20b", b"body", 201, Moment.ANSWER),
    ]


async def test_a_lost_request_never_arrives(tmp_path: Path) -> None:
    async def lose(exchange: Exchange, moment: Moment) -> None:
        exchange.lose()

    async with between(tmp_path, lose) as (server, _, client):
        with pytest.raises(aiohttp.ClientError):
            await client.post("/x")
    assert server.asked == []


async def test_a_request_arrives_once_though_its_answer_is_lost(tmp_path: Path) -> None:
    async def lose(exchange: Exchange, moment: Moment) -> None:
        exchange.answer_lost = True

    async with between(tmp_path, lose) as (server, _, client):
        with pytest.raises(aiohttp.ClientError):
            await client.post("/x")
    assert server.asked == ["POST /x "]


async def test_a_copy_arrives_and_tells_how_it_was_answered(tmp_path: Path) -> None:
    async def double(exchange: Exchange, moment: Moment) -> None:
        if moment is Moment.ANSWER:
            assert await exchange.wire.again(exchange) == 201

    async with between(tmp_path, double) as (server, _, client):
        await client.post("/x", data=b"body")
    assert server.asked == ["POST /x body"] * 2


async def test_a_stream_passes_while_it_lasts_and_is_cut_with_the_wire(tmp_path: Path) -> None:
    async with between(tmp_path, ignore) as (_, wire, client), client.get("/containers/x/logs") as answer:
        assert await answer.content.readexactly(4) == b"one "
        wire.cut()
        with pytest.raises(aiohttp.ClientError):
            await answer.content.read()


def test_the_wall_clock_is_wrong_as_the_file_says_and_the_monotonic_clock_is_right(tmp_path: Path) -> None:
    file, program = (
        tmp_path / "clock",
        "import time, datetime as d; print(time.time(), d.datetime.now(d.UTC).timestamp())",
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent / "clock"), "FAULTS_CLOCK": str(file)}
    for error in ("", "86400", "-86400"):
        file.write_text(error)
        shown = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
        for clock in shown.stdout.split():
            assert abs(float(clock) - time.time() - float(error or 0)) < 60  # noqa: TID251
