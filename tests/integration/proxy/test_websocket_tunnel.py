"""WebSockets through the proxy: both ends see what they would see without it."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest
from aiohttp import ClientWebSocketResponse, WSMessage, WSMsgType, WSServerHandshakeError, web

from tests.integration.proxy.door import (
    AT,
    EVERYTHING,
    HERS,
    NAME,
    STRANGER,
    Door,
    door,
    recorder,
    room,
    service,
    status,
)
from tinkbox.model.limits import WEBSOCKETS

HANDSHAKE = (
    f"GET /x HTTP/1.1\r\nHost: {NAME}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Extensions: permessage-deflate\r\nX-Mine: kept\r\n\r\n"
).encode()


HANDSHAKE_ANSWER = (
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
)
EMPTY = b"\x82\x00"
MESSAGE = 512 * 1024
MOST_HELD = 64 * 1024 * 1024  # by the kernel and the proxy, of one connection


@asynccontextmanager
async def connected(
    serve: Callable[[web.WebSocketResponse], Awaitable[None]], *, protocols: tuple[str, ...] = ()
) -> AsyncIterator[tuple[ClientWebSocketResponse, Door]]:
    """A client's end of a WebSocket whose other end is handled by `serve`."""

    async with (
        service(opened(serve)) as port,
        door() as known,
        known.client() as client,
    ):
        known.serve(status(port))
        async with client.ws_connect("/x", headers=AT, protocols=protocols, autoping=False, autoclose=False) as socket:
            yield socket, known


def opened(
    serve: Callable[[web.WebSocketResponse], Awaitable[None]],
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """A service that answers with a WebSocket, which is handled by `serve`."""

    async def handler(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=("chat", "other"), autoping=False, autoclose=False, timeout=1)
        await socket.prepare(request)
        await serve(socket)
        return socket

    return handler


async def echo(socket: web.WebSocketResponse) -> None:
    async for message in socket:
        if message.type is WSMsgType.TEXT:
            await socket.send_str(message.data)
        elif message.type is WSMsgType.BINARY:
            await socket.send_bytes(message.data)


@pytest.mark.parametrize("text", ["", "grün", "x" * 500_000])
async def test_messages_pass_both_ways(text: str) -> None:
    async with connected(echo) as (socket, _):
        await socket.send_str(text)
        assert await socket.receive_str() == text
        await socket.send_bytes(text.encode())
        assert await socket.receive_bytes() == text.encode()


async def test_the_service_chooses_the_subprotocol() -> None:
    async with connected(echo, protocols=("unknown", "other")) as (socket, _):
        assert socket.protocol == "other"
    async with connected(echo) as (socket, _):
        assert socket.protocol is None


async def test_pings_and_pongs_reach_the_other_end() -> None:
    seen: asyncio.Queue[WSMessage] = asyncio.Queue()

    async def serve(socket: web.WebSocketResponse) -> None:
        await socket.ping(b"from the service")
        seen.put_nowait(await socket.receive())
        seen.put_nowait(await socket.receive())

    async with connected(serve) as (socket, _):
        message = await socket.receive()
        assert (message.type, bytes(message.data)) == (WSMsgType.PING, b"from the service")
        await socket.pong(b"from the service")
        await socket.ping(b"from the client")
        for kind, said in ((WSMsgType.PONG, b"from the service"), (WSMsgType.PING, b"from the client")):
            message = await seen.get()
            assert (message.type, bytes(message.data)) == (kind, said)


async def test_the_client_s_close_reaches_the_service_with_code_and_reason() -> None:
    seen: asyncio.Queue[WSMessage] = asyncio.Queue()

    async def serve(socket: web.WebSocketResponse) -> None:
        seen.put_nowait(await socket.receive())
        await socket.close(code=4001)

    async with connected(serve) as (socket, _):
        await socket.close(code=4000, message=b"enough")
        message = await seen.get()
        assert (message.type, message.data, message.extra) == (WSMsgType.CLOSE, 4000, "enough")


async def test_the_service_s_close_reaches_the_client_with_code_and_reason() -> None:
    async def serve(socket: web.WebSocketResponse) -> None:
        await socket.close(code=4000, message=b"enough")

    async with connected(serve) as (socket, _):
        message = await socket.receive()
        assert (message.type, message.data, message.extra) == (WSMsgType.CLOSE, 4000, "enough")


async def test_a_service_that_dies_closes_nothing_in_an_orderly_way() -> None:
    requests = []

    async def serve(socket: web.WebSocketResponse) -> None:
        request = socket._req
        requests.append(request)
        assert request is not None
        assert request.transport is not None
        request.transport.abort()

    async with connected(serve) as (socket, _):
        message = await socket.receive()
        assert message.type in (WSMsgType.CLOSED, WSMsgType.ERROR, WSMsgType.CLOSING)
        assert socket.close_code in (None, 1000, 1006)
        assert requests


async def test_a_client_that_dies_leaves_the_service_not_waiting() -> None:
    ended: asyncio.Queue[int | None] = asyncio.Queue()

    async def serve(socket: web.WebSocketResponse) -> None:
        message = await socket.receive()
        ended.put_nowait(message.data if message.type is WSMsgType.CLOSE else None)

    async with connected(serve) as (socket, _):
        connection = socket._response.connection
        assert connection is not None
        assert connection.transport is not None
        connection.transport.abort()
        async with asyncio.timeout(60):
            assert await ended.get() is None, "nobody says a goodbye in its name"


async def test_a_client_that_vanishes_from_what_it_never_read_leaves_no_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    few = room()
    stuck, sent = asyncio.Event(), 0

    async def serve(socket: web.WebSocketResponse) -> None:
        nonlocal sent
        with suppress(ConnectionError, TimeoutError):
            while sent < 2 * MOST_HELD:
                async with asyncio.timeout(0.5):
                    await socket.send_bytes(bytes(MESSAGE))
                sent += MESSAGE
        stuck.set()
        await over.wait()

    over = asyncio.Event()

    async with (
        service(opened(serve)) as port,
        door(websockets=few) as known,
        known.client() as client,
    ):
        known.serve(status(port))
        socket = await client.ws_connect("/x", headers=AT)
        connection = socket._response.connection
        assert connection is not None
        assert connection.transport is not None
        assert few.ledger.used == 1
        connection.transport.pause_reading()
        await stuck.wait()
        assert sent < MOST_HELD, "what is not read is not taken either"
        connection.transport.abort()
        async with asyncio.timeout(60):
            while few.ledger.used or known.server.connections:  # noqa: ASYNC110  it rings no bell
                await asyncio.sleep(0.01)
        await socket.close()
        over.set()
    gc.collect()
    assert "never retrieved" not in caplog.text


async def test_a_host_has_so_many_at_once_and_another_one_when_one_is_over() -> None:
    few = room(replace(WEBSOCKETS, each=2))
    async with (
        service(opened(echo)) as port,
        door(websockets=few) as known,
        known.client() as client,
        known.client(STRANGER) as other,
    ):
        known.serve(status(port, (*EVERYTHING, ("tinkbox.public", "true"))))
        first, second = [await client.ws_connect("/x", headers=AT) for _ in range(2)]
        with pytest.raises(WSServerHandshakeError) as refused:
            await client.ws_connect("/x", headers=AT)
        assert refused.value.status == 429
        async with other.ws_connect("/x", headers=AT):
            pass
        await first.close()
        async with asyncio.timeout(60):
            while few.ledger.held_by(HERS) == 2:  # noqa: ASYNC110  it rings no bell
                await asyncio.sleep(0.01)
        async with client.ws_connect("/x", headers=AT) as again:
            await again.send_str("heard")
            assert await again.receive_str() == "heard"
        await second.close()


async def test_what_is_said_together_with_the_handshake_arrives() -> None:
    async with service(opened(echo)) as port, door() as known:
        known.serve(status(port))
        plain = HANDSHAKE.replace(b"Sec-WebSocket-Extensions: permessage-deflate\r\n", b"")
        answer = await known.raw(plain + b"\x81\x82\0\0\0\0hi" + b"\x88\x80\0\0\0\0")
    assert answer.startswith(b"HTTP/1.1 101 Switching Protocols\r\n")
    assert b"\r\n\r\n\x81\x02hi\x88" in answer


async def test_empty_messages_without_end_keep_nobody_from_an_answer() -> None:
    few, flooding = room(), asyncio.Event()

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if b"Upgrade" not in head:
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            writer.close()
            return
        writer.write(HANDSHAKE_ANSWER)
        with suppress(ConnectionError):
            while True:
                writer.write(EMPTY * 100_000)
                await writer.drain()
                flooding.set()

    async with await asyncio.start_server(flood, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with door(websockets=few) as known, known.client() as client:
            known.serve(status(port))
            reader, writer = await asyncio.open_connection("127.0.0.1", known.port, local_addr=(HERS, 0))
            writer.write(HANDSHAKE)
            assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
            await flooding.wait()
            for _ in range(100):
                assert await reader.read(100_000)
            async with client.get("/x", headers=AT) as answer:
                assert answer.status == 204
            writer.transport.abort()
            async with asyncio.timeout(60):
                while few.ledger.used:  # noqa: ASYNC110  it rings no bell
                    await asyncio.sleep(0.01)


async def test_a_refused_handshake_is_passed_with_its_answer() -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=401, text="who are you?", headers={"WWW-Authenticate": "Basic"})

    async with service(refuse) as port, door() as known, known.client() as client:
        known.serve(status(port))
        with pytest.raises(WSServerHandshakeError) as refused:
            await client.ws_connect("/x", headers=AT)
        assert refused.value.status == 401
        assert (await known.raw(HANDSHAKE.replace(b"Upgrade\r\n", b"Upgrade, close\r\n"))).endswith(b"who are you?")


async def test_a_handshake_that_is_redirected_is_followed_by_nobody() -> None:
    async with recorder() as other, door() as known:
        location = f"Location: http://127.0.0.1:{other.port}/\r\n".encode()
        async with recorder(b"HTTP/1.1 302 Found\r\n" + location + b"Content-Length: 0\r\n\r\n") as watched:
            known.serve(status(watched.port))
            answer = await known.raw(HANDSHAKE.replace(b"Upgrade\r\n", b"Upgrade, close\r\n"))
        assert answer.startswith(b"HTTP/1.1 302 Found\r\n")
        assert location in answer
        assert other.connections == []


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: no\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
        b"",
    ],
)
async def test_a_handshake_that_is_none_is_a_bad_gateway(answer: bytes) -> None:
    async def close(writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with recorder(answer, then=close) as watched, door() as known, known.client() as client:
        known.serve(status(watched.port))
        with pytest.raises(WSServerHandshakeError) as refused:
            await client.ws_connect("/x", headers=AT)
        assert refused.value.status == 502


async def test_the_handshake_reaches_the_service_as_the_client_made_it() -> None:
    async with recorder(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n") as watched, door() as known:
        known.serve(status(watched.port))
        await known.raw(HANDSHAKE.replace(b"Upgrade\r\n", b"Upgrade, close\r\n"))
        told = dict(line.split(": ", 1) for line in watched.lines)
    assert told["X-Mine"] == "kept"
    assert told["X-Real-Ip"] == "127.0.0.2"
    assert told["Host"] == NAME
    assert told["Sec-WebSocket-Key"] == "dGhlIHNhbXBsZSBub25jZQ=="
    assert told["Sec-WebSocket-Extensions"] == "permessage-deflate"
