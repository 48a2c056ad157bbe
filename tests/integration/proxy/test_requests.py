"""Requests and answers pass unchanged, and what breaks off is seen to be broken."""

import asyncio
import gzip
import hashlib
import socket
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from tests.integration.proxy.door import (
    AT,
    MEGABYTE,
    SECONDS,
    door,
    named,
    problem,
    recorder,
    service,
    standstill,
    status,
)
from tinkbox.proxy import requests as forwarding


async def until(condition: asyncio.Event) -> None:
    async with asyncio.timeout(SECONDS):
        await condition.wait()


async def echo(request: web.Request) -> web.StreamResponse:
    """What was sent, with its length when that was told."""
    answer = web.StreamResponse(headers={"X-Method": request.method})
    if request.content_length is not None:
        answer.content_length = request.content_length
    await answer.prepare(request)
    async for chunk in request.content.iter_any():
        await answer.write(chunk)
    return answer


async def pieces() -> AsyncIterator[bytes]:
    for _ in range(20):
        yield MEGABYTE


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "GET"])
async def test_bodies_with_a_length_keep_it_both_ways(method: str) -> None:
    async with service(echo) as port, door() as known, known.client() as client:
        known.serve(status(port))
        async with client.request(method, "/x", data=MEGABYTE, headers=AT) as answer:
            assert await answer.read() == MEGABYTE
            assert answer.headers["X-Method"] == method
            assert answer.headers["Content-Length"] == str(len(MEGABYTE))


async def test_bodies_without_a_length_are_chunked_both_ways() -> None:
    async with service(echo) as port, door() as known, known.client() as client:
        known.serve(status(port))
        async with client.post("/x", data=pieces(), headers=AT) as answer:
            received = await answer.read()
    assert hashlib.sha256(received).digest() == hashlib.sha256(MEGABYTE * 20).digest()
    assert answer.headers["Transfer-Encoding"] == "chunked"


async def test_an_empty_body_stays_one() -> None:
    async with recorder() as watched, door() as known:
        known.serve(status(watched.port))
        assert (await known.raw(named("/x", "POST", "Content-Length: 0"))).endswith(b"ok")
        assert "Content-Length: 0" in watched.lines


async def test_a_get_is_sent_without_a_body() -> None:
    async with recorder() as watched, door() as known:
        known.serve(status(watched.port))
        await known.raw(named("/x"))
        assert not [line for line in watched.lines if line.lower().startswith(("content-", "transfer-"))]


async def test_compressed_bodies_pass_as_they_are() -> None:
    packed = gzip.compress(MEGABYTE)

    async def serve(request: web.Request) -> web.Response:
        body = b"".join([chunk async for chunk in request.content.iter_any()])
        assert request.headers["Content-Encoding"] == "gzip"
        return web.Response(body=body, headers={"Content-Encoding": "gzip"})

    async with service(serve) as port, door() as known, known.client() as client:
        known.serve(status(port))
        headers = {**AT, "Content-Encoding": "gzip", "Accept-Encoding": "gzip"}
        async with client.post("/x", data=packed, headers=headers) as answer:
            assert await answer.read() == packed
            assert answer.headers["Content-Encoding"] == "gzip"


async def test_headers_of_a_connection_stay_on_it_both_ways() -> None:
    answer = (
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: X-Theirs, close\r\nX-Theirs: 1\r\nKeep-Alive: timeout=5\r\n"
        b"Proxy-Authenticate: Basic\r\nTrailer: X\r\nUpgrade: h2c\r\nX-Kept: 1\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\nok"
    )
    async with recorder(answer) as watched, door() as known:
        known.serve(status(watched.port))
        own = (
            "Connection: X-Own",
            "X-Own: 1",
            "Keep-Alive: 5",
            "TE: trailers",
            "Proxy-Authorization: x",
            "Proxy: http://x",
        )
        told = (await known.raw(named("/x", "GET", *own, "X-Kept: 1"))).decode()
        names = {line.partition(":")[0] for line in watched.lines}
    assert "X-Kept" in names
    assert names.isdisjoint({"X-Own", "Keep-Alive", "TE", "Proxy-Authorization", "Proxy", "Connection"})
    for gone in ("X-Theirs", "Keep-Alive", "Proxy-Authenticate", "Trailer", "Upgrade", "X-Own"):
        assert f"{gone}:" not in told
    assert "\r\nX-Kept: 1\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n" in told


async def test_a_client_that_expects_to_be_asked_for_its_body_is_asked() -> None:
    async with service(echo) as port, door() as known:
        known.serve(status(port))
        reader, writer = await asyncio.open_connection("127.0.0.1", known.port, local_addr=("127.0.0.2", 0))
        writer.write(named("/x", "POST", "Content-Length: 4", "Expect: 100-continue"))
        async with asyncio.timeout(SECONDS):
            assert await reader.readline() == b"HTTP/1.1 100 Continue\r\n"
            writer.write(b"body")
            assert (await reader.read()).endswith(b"\r\n\r\nbody")
        writer.close()


async def test_trailers_are_dropped() -> None:
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n2\r\nok\r\n0\r\nX-End: 1\r\n\r\n"
    async with recorder(answer) as watched, door() as known:
        known.serve(status(watched.port))
        own = named("/x", "POST", "Transfer-Encoding: chunked", "Trailer: X-End")
        told = await known.raw(own + b"2\r\nok\r\n0\r\nX-End: 1\r\n\r\n")
        (sent,) = watched.connections
    assert b"X-End" not in told
    assert b"X-End" not in sent
    assert told.endswith(b"ok") or b"2\r\nok\r\n0\r\n\r\n" in told


async def test_an_answer_before_the_body_is_read_is_passed() -> None:
    async def too_large(request: web.Request) -> web.Response:
        return web.Response(status=413, text="too large")

    async with service(too_large) as port, door() as known:
        known.serve(status(port))
        reader, writer = await asyncio.open_connection("127.0.0.1", known.port, local_addr=("127.0.0.2", 0))
        writer.write(named("/x", "POST", "Content-Length: 1000000000") + MEGABYTE)
        async with asyncio.timeout(SECONDS):
            assert (await reader.readline()).startswith(b"HTTP/1.1 413 ")
        writer.close()


async def test_a_service_is_asked_again_only_for_what_is_safe_when_it_closed_a_kept_connection() -> None:
    async def close(writer: asyncio.StreamWriter) -> None:
        writer.close()

    # The second request on a connection finds it closed although the first answer said nothing of that.
    async with recorder(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", then=close) as watched, door() as known:
        known.serve(status(watched.port))
        async with known.client() as client:
            for _ in range(5):
                async with client.get("/x", headers=AT) as answer:
                    assert (answer.status, await answer.text()) == (200, "ok")


@pytest.mark.parametrize(("method", "times"), [("GET", 2), ("HEAD", 2), ("PUT", 1), ("DELETE", 1), ("POST", 1)])
async def test_what_is_not_safe_is_never_sent_twice(method: str, times: int) -> None:
    async def close(writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with recorder(b"", then=close) as watched, door() as known, known.client() as client:
        known.serve(status(watched.port))
        async with client.request(method, "/x", headers=AT) as answer:
            assert answer.status == 502
            if method != "HEAD":
                assert problem(await answer.json(content_type=None)) == (
                    502,
                    "service files closed the connection without an answer",
                )
        assert len(watched.connections) == times


async def test_connections_are_kept_for_what_is_safe_and_has_no_body() -> None:
    peers = set()

    async def note(request: web.Request) -> web.Response:
        await request.read()
        assert request.transport is not None
        peers.add(request.transport.get_extra_info("peername"))
        return web.Response(text="ok")

    async with service(note) as port, door() as known, known.client() as client:
        known.serve(status(port))
        for method, body, connections in (("GET", None, 1), ("HEAD", None, 1), ("GET", b"x", 5), ("POST", b"x", 5)):
            peers.clear()
            for _ in range(5):
                async with client.request(method, "/x", headers=AT, data=body) as answer:
                    assert answer.headers.get("Connection") is None
                    await answer.read()
            assert len(peers) == connections, (method, body)
        assert client.connector is not None
        assert len(client.connector._conns) == 1, "the client's is kept in any case"


@pytest.mark.parametrize("late", [False, True], ids=["while it waits", "in the middle of an answer"])
async def test_a_client_that_goes_away_is_no_longer_served(late: bool) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n" if late else b""
    async with recorder(head) as watched, door() as known:
        known.serve(status(watched.port))
        reader, writer = await asyncio.open_connection("127.0.0.1", known.port, local_addr=("127.0.0.2", 0))
        writer.write(named("/x"))
        async with asyncio.timeout(SECONDS):
            if late:
                await reader.readuntil(b"abc")
            else:
                await watched.asked.wait()
        writer.close()
        await until(watched.closed)


async def test_half_a_body_is_never_a_whole_one_for_the_service() -> None:
    for told in ("Content-Length: 10", "Transfer-Encoding: chunked"):
        async with recorder(b"") as watched, door() as known:
            known.serve(status(watched.port))
            _, writer = await asyncio.open_connection("127.0.0.1", known.port, local_addr=("127.0.0.2", 0))
            writer.write(named("/x", "POST", told) + (b"5\r\nhello\r\n" if "chunked" in told else b"hello"))
            await until(watched.asked)
            writer.close()
            await until(watched.closed)
            (seen,) = watched.connections
            assert seen.partition(b"\r\n\r\n")[2] in (b"", b"hello", b"5\r\nhello\r\n")


async def test_a_service_that_does_not_accept_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "CONNECT_SECONDS", 0.2)
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for waiting in (first, second):
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())  # now its queue is full, and the kernel answers no further attempt
        async with door() as known, known.client() as client:
            known.serve(status(full.getsockname()[1]))
            async with client.get("/x", headers=AT) as answer:
                code, detail = problem(await answer.json(content_type=None))
    assert code == 502
    assert detail.startswith("service files does not answer: ")


async def test_a_slow_service_holds_the_client_back() -> None:
    async def sleepy(request: web.Request) -> web.Response:
        await request.content.readany()
        await asyncio.Event().wait()
        raise AssertionError

    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            yield MEGABYTE
            sent += len(MEGABYTE)

    async with service(sleepy) as port, door() as known, known.client() as client:
        known.serve(status(port))
        async with asyncio.TaskGroup() as group:
            posting = group.create_task(client.post("/x", data=endless(), headers=AT))
            assert await standstill(lambda: sent) < 64 * 2**20
            assert not posting.done()
            posting.cancel()


async def test_many_at_once_do_not_wait_for_each_other() -> None:
    """A hundred requests that are answered only when all of them are there."""
    there = 0
    everybody = asyncio.Event()

    async def together(_: web.Request) -> web.Response:
        nonlocal there
        there += 1
        if there == 100:
            everybody.set()
        await everybody.wait()
        return web.Response(text="ok")

    async with service(together) as port, door() as known, known.client() as client:
        known.serve(status(port))

        async def one() -> None:
            async with client.get("/x", headers=AT) as answer:
                assert answer.status == 200

        async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
            for _ in range(100):
                group.create_task(one())
