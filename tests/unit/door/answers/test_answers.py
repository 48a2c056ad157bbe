"""Answers that are read, slowly, never, or by a client that goes away."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest
from aiohttp import ClientPayloadError, web
from aiohttp.test_utils import TestClient, TestServer, make_mocked_request

from tinkbox.door.answers.answers import PIECE, SMALL, Answers, OneAnswer, in_pieces, limit_answers, unread
from tinkbox.door.problems import refusals_become_problems
from tinkbox.door.requests.bodies import Bodies, limit_bodies
from tinkbox.model.errors import NotFound, TooLarge
from tinkbox.model.limits import ANSWER_BYTES, BODY_BYTES, Ledger

# More than kernel and client take in before anybody reads.
LARGE = b"0123456789abcdef" * (1 << 20)
ROOM = replace(ANSWER_BYTES, each=2 * len(LARGE), all=3 * len(LARGE), reserved=0.5)
READING = b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n"


class Told(Ledger):
    """Tells when something was given back."""

    def __init__(self) -> None:
        super().__init__(ROOM, lambda: 0.0)
        self.free = asyncio.Event()

    def give_back(self, holder: str, amount: int = 1) -> None:
        super().give_back(holder, amount)
        if not self.used:
            self.free.set()


class Door:
    def __init__(self, ledger: Told, client: TestClient[web.Request, web.Application]) -> None:
        self.ledger = ledger
        self.client = client
        self.go_on = asyncio.Event()

    async def large(self, _: web.Request) -> web.Response:
        return web.Response(body=LARGE, status=201, headers={"X-Own": "x"}, content_type="application/x-tar")

    async def small(self, _: web.Request) -> web.Response:
        return web.Response(body=LARGE[:SMALL])

    async def broken(self, request: web.Request) -> web.StreamResponse:
        async def pieces() -> AsyncIterator[bytes]:
            yield LARGE[:PIECE]
            raise NotFound("it is gone")

        return await in_pieces(request, 2 * PIECE, pieces(), head=web.Response())

    async def streamed(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        with unread(request, len(LARGE)):
            await answer.prepare(request)
            await answer.write(b"the first line")
            await self.go_on.wait()
        return answer

    async def unread(self) -> asyncio.StreamWriter:
        """Ask for a large answer, and read nothing but its status."""
        server = self.client.server
        assert isinstance(server, TestServer)
        reader, writer = await asyncio.open_connection(server.host, server.port, limit=1024)
        writer.write(READING)
        assert await reader.readline() == b"HTTP/1.1 201 Created\r\n"
        return writer


@asynccontextmanager
async def door(seconds: float = 60.0) -> AsyncIterator[Door]:
    app = web.Application(middlewares=[refusals_become_problems])
    ledger = Told()
    bodies = Ledger(BODY_BYTES, lambda: 0.0)
    limit_bodies(app, Bodies(ledger=bodies, host_at=str, known=lambda _: True, seconds=60.0))
    limit_answers(app, Answers(ledger=ledger, known=lambda _: True, seconds=seconds))
    made = Door(ledger, TestClient(TestServer(app)))
    app.add_routes(
        [
            web.get("/large", made.large),
            web.get("/small", made.small),
            web.get("/broken", made.broken),
            web.get("/streamed", made.streamed),
        ]
    )
    async with asyncio.timeout(60), made.client:
        yield made


async def test_a_large_answer_comes_whole_and_is_counted_until_it_is_read() -> None:
    async with door() as made:
        async with made.client.get("/large") as answer:
            assert (answer.status, answer.content_length, answer.headers["X-Own"]) == (201, len(LARGE), "x")
            assert answer.content_type == "application/x-tar"
            assert made.ledger.used == len(LARGE)
            assert await answer.read() == LARGE
        async with made.client.get("/small") as answer:
            assert await answer.read() == LARGE[:SMALL]
        assert made.ledger.used == 0


async def test_an_answer_that_is_larger_than_the_limit_comes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOM", replace(ROOM, each=len(LARGE) // 2))
    async with door() as made, made.client.get("/large") as answer:
        assert made.ledger.used == len(LARGE) // 2
        async with made.client.get("/large") as another:
            assert another.status == 429
        assert await answer.read() == LARGE


async def test_a_head_has_no_body_and_costs_nothing() -> None:
    async with door() as made, made.client.head("/large") as answer:
        assert (answer.status, answer.content_length) == (201, len(LARGE))
        assert await answer.read() == b""


async def test_answers_that_are_not_read_are_refused_beyond_the_limit_and_small_ones_never() -> None:
    async with door() as made:
        writers = [await made.unread() for _ in range(2)]
        async with made.client.get("/large") as answer:
            assert answer.status == 429
            assert "limits.answer_bytes" in (await answer.json())["detail"]
        async with made.client.get("/small") as answer:
            assert answer.status == 200
        for each in writers:
            each.close()
        await made.ledger.free.wait()


async def test_what_is_kept_for_an_answer_that_is_streamed_counts_until_its_end() -> None:
    async with door() as made, made.client.get("/streamed") as first, made.client.get("/streamed") as second:
        assert (first.status, second.status, made.ledger.used) == (200, 200, 2 * len(LARGE))
        async with made.client.get("/streamed") as answer:
            assert answer.status == 429
        made.go_on.set()
        await made.ledger.free.wait()


async def test_a_client_that_reads_nothing_is_cut_off() -> None:
    async with door(seconds=0.05) as made:
        writer = await made.unread()
        await made.ledger.free.wait()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def test_pieces_that_end_early_are_seen_to_by_the_client() -> None:
    async with door() as made, made.client.get("/broken") as answer:
        assert answer.status == 200
        with pytest.raises(ClientPayloadError):
            await answer.read()


async def test_an_answer_made_part_by_part_has_no_more_than_its_door_allows() -> None:
    app = web.Application()
    limit_answers(app, Answers(ledger=Told(), known=lambda _: False, seconds=60.0))
    answer = OneAnswer(make_mocked_request("GET", "/", app=app), "ask for less")
    assert answer.take(LARGE) is LARGE
    answer.take(LARGE)
    with pytest.raises(TooLarge, match=r"have, 32MiB \(limits\.answer_bytes in tinkbox\.yaml\): ask for less$"):
        answer.take(b"x")
