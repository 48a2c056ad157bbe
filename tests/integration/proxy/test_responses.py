"""Answers pass unchanged, and one that breaks off is seen to be broken."""

import asyncio
import socket
import struct

import pytest
from aiohttp import ClientError, web

from tests.integration.proxy.door import AT, MEGABYTE, SECONDS, door, named, recorder, service, standstill, status


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("200 OK\r\nContent-Length: 7", b"Content-Length: 7"),
        ("204 No Content", None),
        ("304 Not Modified\r\nETag: x", None),
    ],
)
async def test_an_answer_without_a_body_has_none(head: str, expected: bytes | None) -> None:
    async with recorder(f"HTTP/1.1 {head}\r\n\r\n".encode()) as watched, door() as known:
        known.serve(status(watched.port))
        answer = await known.raw(named("/x", "HEAD" if expected else "GET"))
    told, _, body = answer.partition(b"\r\n\r\n")
    assert told.startswith(f"HTTP/1.1 {head[:3]}".encode())
    assert body == b""
    assert b"Transfer-Encoding" not in told
    if expected:
        assert expected in told
    else:
        assert b"Content-Length" not in told


async def test_head_of_something_without_a_length_claims_none() -> None:
    async with recorder(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n") as watched, door() as known:
        known.serve(status(watched.port))
        answer = await known.raw(named("/x", "HEAD"))
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Content-Length" not in answer


async def test_an_answer_that_is_there_as_a_whole_is_told_with_its_length() -> None:
    whole = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
    async with recorder(whole) as watched, door() as known:
        known.serve(status(watched.port))
        answer = await known.raw(named("/x"))
    assert b"\r\nContent-Length: 2\r\n" in answer
    assert answer.endswith(b"\r\n\r\nok")


async def test_redirects_are_the_client_s_to_follow() -> None:
    told = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
    async with recorder(told) as watched, door() as known:
        known.serve(status(watched.port))
        answer = await known.raw(named("/x"))
    assert b"\r\nLocation: http://127.0.0.1:1/\r\n" in answer
    assert answer.startswith(b"HTTP/1.1 302 Found\r\n")


@pytest.mark.parametrize(
    ("head", "rest"),
    [
        (b"Content-Length: 100000\r\n\r\nabc", b""),
        (b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", b""),
        (b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", b"nonsense\r\n"),
        (b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", b"-1\r\n"),
        (b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc", b"d\r\n0\r\n\r\n"),
    ],
)
async def test_an_answer_that_breaks_off_is_a_broken_connection(head: bytes, rest: bytes) -> None:
    passed = asyncio.Event()

    async def break_off(writer: asyncio.StreamWriter) -> None:
        await passed.wait()
        writer.write(rest)
        await writer.drain()
        writer.close()

    async with (
        recorder(b"HTTP/1.1 200 OK\r\n" + head, then=break_off) as watched,
        door() as known,
        known.client() as client,
    ):
        known.serve(status(watched.port))
        async with asyncio.timeout(60), client.get("/x", headers=AT) as answer:
            assert await answer.content.readexactly(3) == b"abc"
            passed.set()
            with pytest.raises(ClientError):
                await answer.read()


async def test_an_answer_that_is_reset_after_its_head_is_no_complete_answer_of_http_1_0_either() -> None:
    told = asyncio.Event()

    async def reset(writer: asyncio.StreamWriter) -> None:
        await told.wait()
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.close()

    async with recorder(b"HTTP/1.1 200 OK\r\n\r\nhalf", then=reset) as watched, door() as known:
        known.serve(status(watched.port))
        reader, writer = await asyncio.open_connection("127.0.0.1", known.port, local_addr=("127.0.0.2", 0))
        writer.write(named("/x", version="1.0"))
        async with asyncio.timeout(SECONDS):
            assert (await reader.readuntil(b"half")).startswith(b"HTTP/1.0 200 OK")
            told.set()
            with pytest.raises(ConnectionResetError):
                await reader.read()


async def test_a_slow_reader_holds_the_service_back() -> None:
    written = 0

    async def endless(request: web.Request) -> web.StreamResponse:
        nonlocal written
        answer = web.StreamResponse()
        await answer.prepare(request)
        while True:
            await answer.write(MEGABYTE)
            written += len(MEGABYTE)

    async with service(endless) as port, door() as known:
        known.serve(status(port))
        reader, writer = await asyncio.open_connection("127.0.0.1", known.port, local_addr=("127.0.0.2", 0))
        writer.write(named("/x"))
        await reader.readuntil(b"\r\n\r\n")
        # What fits into the kernel's buffers on the way, and no more.
        assert await standstill(lambda: written) < 64 * 2**20
        writer.close()
