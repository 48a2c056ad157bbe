"""WebSockets through the proxy: both ends see what they would see without it."""

import asyncio
import gc
import logging
import socket as sockets
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace

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
from tinkbox.model.limits import WEBSOCKETS, Room
from tinkbox.proxy import websocket_tunnel

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


CLOSING = HANDSHAKE.replace(b"Upgrade\r\n", b"Upgrade, close\r\n")
GOODBYE, ITS_ANSWER = b"\x88\x80\0\0\0\0", b"\x88\x00"
FIN_WAIT2 = 5  # the other end has our FIN
# Closed with this, a connection is reset.
RESET = struct.pack("ii", 1, 0)


async def free(few: Room, known: Door | None = None) -> None:
    """Wait until nobody has a place any more, nor a connection to this door."""
    async with asyncio.timeout(60):
        while few.ledger.used or (known and known.server.connections):  # noqa: ASYNC110  it rings no bell
            await asyncio.sleep(0.01)


async def said_all(side: websocket_tunnel._Side) -> None:
    async with asyncio.timeout(60):
        while not side.said_all:  # noqa: ASYNC110  it rings no bell
            await asyncio.sleep(0)


@dataclass
class Ends:
    """Both ends of a WebSocket as bare connections, of which nothing is read unless a test does, and the room it takes."""

    client: sockets.socket
    service: sockets.socket
    room: Room

    def pair(self, first: str) -> tuple[sockets.socket, sockets.socket]:
        """Both, the one with this name first."""
        return (self.client, self.service) if first == "client" else (self.service, self.client)

    async def are_over(self) -> None:
        await free(self.room)


@asynccontextmanager
async def bare() -> AsyncIterator[Ends]:
    """Both take little ahead of what is read."""
    loop, few = asyncio.get_running_loop(), room()
    with (
        sockets.create_server(("127.0.0.1", 0)) as listening,
        sockets.socket() as client,
    ):
        for each in (listening, client):
            each.setblocking(False)
            each.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 65536)
        async with door(websockets=few) as known:
            known.serve(status(listening.getsockname()[1]))
            client.bind((HERS, 0))
            await loop.sock_connect(client, ("127.0.0.1", known.port))
            await loop.sock_sendall(client, HANDSHAKE)
            its, _ = await loop.sock_accept(listening)
            with its:
                its.setblocking(False)
                assert (await loop.sock_recv(its, 65536)).endswith(b"\r\n\r\n")
                await loop.sock_sendall(its, HANDSHAKE_ANSWER)
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    head += await loop.sock_recv(client, 1)
                assert b" 101 " in head
                yield Ends(client, its, few)


class Held:
    """How often the writer of either direction is held back now."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0
        pause, resume = websocket_tunnel._Side.pause_writing, websocket_tunnel._Side.resume_writing

        def paused(side: websocket_tunnel._Side) -> None:
            self.now += 1
            pause(side)

        def resumed(side: websocket_tunnel._Side) -> None:
            self.now -= 1
            resume(side)

        monkeypatch.setattr(websocket_tunnel._Side, "pause_writing", paused)
        monkeypatch.setattr(websocket_tunnel._Side, "resume_writing", resumed)

    async def fill(self, sender: sockets.socket) -> int:
        """Send until nobody takes any more, but leave room for a FIN; returns how many bytes that were."""
        sent = same = 0
        async with asyncio.timeout(60):
            while same < 20:
                if self.now:
                    same += 1
                    await asyncio.sleep(0.01)
                else:
                    same = 0
                    with suppress(BlockingIOError):
                        sent += sender.send(bytes(16384))
                    await asyncio.sleep(0)
        return sent


def leave(end: sockets.socket, how: str) -> None:
    if how == "RST":
        end.setsockopt(sockets.SOL_SOCKET, sockets.SO_LINGER, RESET)
        end.close()
    else:
        end.shutdown(sockets.SHUT_WR)


async def has_arrived(end: sockets.socket) -> None:
    """Wait until the other end's kernel has the FIN of this one."""
    async with asyncio.timeout(60):
        while end.getsockopt(sockets.IPPROTO_TCP, sockets.TCP_INFO, 1)[0] != FIN_WAIT2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def read_all(end: sockets.socket) -> bytes:
    """What comes until the other end says that it is all."""
    read = bytearray()
    async with asyncio.timeout(60):
        while chunk := await asyncio.get_running_loop().sock_recv(end, 1 << 20):
            read += chunk
    return bytes(read)


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
        await free(few, known)
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


@pytest.mark.parametrize("how", ["FIN", "RST"])
@pytest.mark.parametrize("leaving", ["client", "service"])
async def test_who_goes_while_the_other_takes_nothing_holds_no_place(
    leaving: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket_tunnel, "CLOSE_SECONDS", 0.1)
    held = Held(monkeypatch)
    async with bare() as ends:
        gone, other = ends.pair(leaving)
        await held.fill(gone)
        assert ends.room.ledger.used == 1
        leave(gone, how)
        await ends.are_over()
        with suppress(ConnectionError):
            await read_all(other)


@pytest.mark.parametrize("sending", ["client", "service"])
async def test_two_that_are_there_may_stand_still(sending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket_tunnel, "CLOSE_SECONDS", 0.01)  # it looks often while nothing is taken
    held, loop = Held(monkeypatch), asyncio.get_running_loop()
    async with bare() as ends:
        sender, other = ends.pair(sending)
        sent = await held.fill(sender)
        async with asyncio.timeout(60):
            while sent:
                chunk = await loop.sock_recv(other, 1 << 20)
                assert chunk, "they were cut off"
                sent -= len(chunk)
            await loop.sock_sendall(other, EMPTY)
            assert await loop.sock_recv(sender, 100) == EMPTY


@pytest.mark.parametrize("leaving", ["client", "service"])
async def test_who_still_takes_something_gets_all_of_what_the_other_said_before_it_went(
    leaving: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket_tunnel, "CLOSE_SECONDS", 2.0)  # a host may stand still for a moment
    held = Held(monkeypatch)
    async with bare() as ends:
        gone, other = ends.pair(leaving)
        sent = await held.fill(gone)
        leave(gone, "FIN")
        await has_arrived(gone)
        got = 0
        async with asyncio.timeout(120):
            while chunk := await asyncio.get_running_loop().sock_recv(other, 65536):
                got += len(chunk)
                await asyncio.sleep(0.06)
        assert got == sent


@pytest.mark.parametrize("leaving", ["client", "service"])
async def test_who_has_said_all_still_hears_the_answer(leaving: str) -> None:
    async with bare() as ends:
        first, other = ends.pair(leaving)
        first.send(GOODBYE)
        first.shutdown(sockets.SHUT_WR)
        assert await read_all(other) == GOODBYE
        other.send(ITS_ANSWER)
        other.shutdown(sockets.SHUT_WR)
        assert await read_all(first) == ITS_ANSWER
        await ends.are_over()


@pytest.fixture
def sides(monkeypatch: pytest.MonkeyPatch) -> list[websocket_tunnel._Side]:
    """What the tunnel has of both connections, the client's first."""
    made: list[websocket_tunnel._Side] = []
    take_over = websocket_tunnel._Side.take_over

    def taken_over(side: websocket_tunnel._Side, other: websocket_tunnel._Side) -> None:
        made.append(side)
        take_over(side, other)

    monkeypatch.setattr(websocket_tunnel._Side, "take_over", taken_over)
    return made


async def begin_to_hold(side: websocket_tunnel._Side, sender: sockets.socket) -> int:
    """Send until the kernel takes no more for the other end; returns how many bytes that were."""
    sent = 0
    while not side.transport.get_write_buffer_size():
        with suppress(BlockingIOError):
            sent += sender.send(bytes(8192))
        await asyncio.sleep(0)
    return sent


async def test_what_is_not_yet_taken_arrives_after_both_have_said_all(
    sides: list[websocket_tunnel._Side], caplog: pytest.LogCaptureFixture
) -> None:
    async with bare() as ends, asyncio.timeout(60):
        sent = await begin_to_hold(sides[0], ends.service)
        ends.client.shutdown(sockets.SHUT_WR)
        assert await read_all(ends.service) == b""
        ends.service.close()
        await said_all(sides[1])
        assert len(await read_all(ends.client)) == sent
        await ends.are_over()
    assert caplog.records == []


async def test_what_a_service_said_last_arrives_though_the_client_goes_on_speaking(
    sides: list[websocket_tunnel._Side], caplog: pytest.LogCaptureFixture
) -> None:
    async with bare() as ends, asyncio.timeout(60):
        client, service = sides
        sent = await begin_to_hold(client, ends.service)
        ends.service.close()
        await said_all(service)
        spoken = 0
        while not service.lost.done() or spoken < 20:
            spoken += ends.client.send(GOODBYE) // len(GOODBYE)
            await asyncio.sleep(0.01)
        got = 0
        while got < sent:
            got += len(await asyncio.get_running_loop().sock_recv(ends.client, 65536))
            ends.client.send(GOODBYE)
        assert await read_all(ends.client) == b""
        ends.client.close()
        await ends.are_over()
    assert caplog.records == []


@pytest.mark.parametrize("leaving", ["client", "service"])
async def test_who_has_said_all_is_not_waited_for_when_the_other_says_nothing(
    leaving: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket_tunnel, "CLOSE_SECONDS", 0.1)
    async with bare() as ends:
        first, other = ends.pair(leaving)
        first.shutdown(sockets.SHUT_WR)
        assert await read_all(other) == b""
        assert await read_all(first) == b""
        await ends.are_over()


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
            await free(few)


@pytest.mark.parametrize(
    "request_for", [HANDSHAKE, HANDSHAKE.replace(b"Upgrade: websocket\r\n", b"")], ids=["WebSocket", "plain"]
)
async def test_who_sends_more_than_is_read_and_breaks_off_holds_nothing(request_for: bytes) -> None:
    """Of a client of which nothing is read the loop hears no RST; the service never answers."""
    loop, few = asyncio.get_running_loop(), room()
    with sockets.create_server(("127.0.0.1", 0)) as listening, sockets.socket() as client:
        listening.setblocking(False)
        client.setblocking(False)
        async with door(websockets=few) as known, asyncio.timeout(60):
            known.serve(status(listening.getsockname()[1]))
            client.bind((HERS, 0))
            await loop.sock_connect(client, ("127.0.0.1", known.port))
            await loop.sock_sendall(client, request_for)
            its, _ = await loop.sock_accept(listening)
            with its:
                its.setblocking(False)
                assert await loop.sock_recv(its, 65536)
                (ours,) = known.server.connections
                while ours.transport is not None and ours.transport.is_reading():
                    with suppress(BlockingIOError):
                        client.send(bytes(16384))
                    await asyncio.sleep(0)
                leave(client, "RST")
                with suppress(ConnectionResetError):
                    assert await loop.sock_recv(its, 1) == b""
                await free(few, known)


async def test_a_refused_handshake_is_passed_with_its_answer() -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=401, text="who are you?", headers={"WWW-Authenticate": "Basic"})

    async with service(refuse) as port, door() as known, known.client() as client:
        known.serve(status(port))
        with pytest.raises(WSServerHandshakeError) as refused:
            await client.ws_connect("/x", headers=AT)
        assert refused.value.status == 401
        assert (await known.raw(CLOSING)).endswith(b"who are you?")


@pytest.mark.parametrize(
    ("framing", "body"),
    [
        (b"HTTP/1.1 %b\r\nConnection: close", b"who are you?"),
        (b"HTTP/1.0 %b", b"who are you?"),
        (b"HTTP/1.1 %b\r\nTransfer-Encoding: chunked", b"4\r\nwho \r\n8\r\nare you?\r\n0\r\n\r\n"),
        (b"HTTP/1.1 %b\r\nContent-Length: 12", b"who are you?"),
    ],
)
@pytest.mark.parametrize("status_line", [b"200 OK", b"302 Found", b"401 Unauthorized", b"403 Forbidden", b"503 Busy"])
@pytest.mark.parametrize("together", [True, False])
async def test_a_refused_handshake_keeps_its_body_and_headers(
    framing: bytes, body: bytes, status_line: bytes, together: bool
) -> None:
    async def go_on(writer: asyncio.StreamWriter) -> None:
        if not together:
            for each in body:
                await asyncio.sleep(0)
                writer.write(bytes([each]))
        writer.close()

    head = framing % status_line + b"\r\nLocation: /elsewhere\r\nRetry-After: 7\r\n\r\n"
    async with recorder(head + body if together else head, then=go_on) as watched, door() as known:
        known.serve(status(watched.port))
        answer = await known.raw(CLOSING)
    said, _, rest = answer.partition(b"\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 " + status_line + b"\r\n")
    for header in (b"Location: /elsewhere", b"Retry-After: 7"):
        assert header in said.split(b"\r\n")
    if b"Transfer-Encoding: chunked" in said:
        pieces, rest = rest, b""
        while pieces != b"0\r\n\r\n":
            size, _, pieces = pieces.partition(b"\r\n")
            rest, pieces = rest + pieces[: int(size, 16)], pieces[int(size, 16) + 2 :]
    assert rest == b"who are you?"


@pytest.mark.parametrize(
    "connection", [b"keep-alive, Upgrade", b"keep-alive\r\nConnection: Upgrade", b"upgrade ,close", b"UPGRADE"]
)
async def test_upgrade_may_be_one_of_several_options_of_the_service_s_answer(connection: bytes) -> None:
    answer = HANDSHAKE_ANSWER.replace(b"Connection: Upgrade", b"Connection: " + connection)

    async with recorder(answer + ITS_ANSWER, then=closed) as watched, door() as known:
        known.serve(status(watched.port))
        assert (await known.raw(HANDSHAKE)).endswith(b"\r\n\r\n" + ITS_ANSWER)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"Upgrade: websocket", b"Upgrade: websocket, h2c"),
        (b"Upgrade: websocket", b"Upgrade: h2c,WebSocket"),
        (b"Upgrade: websocket", b"Upgrade: h2c\r\nUpgrade: websocket"),
        (b"Upgrade: websocket", b"Upgrade: websocket\r\nUpgrade: h2c"),
        (b"Connection: Upgrade", b"Connection: keep-alive, Upgrade"),
        (b"Connection: Upgrade", b"Connection: keep-alive\r\nConnection: upgrade"),
    ],
)
async def test_a_client_may_ask_for_a_websocket_among_other_things(before: bytes, after: bytes) -> None:
    async with recorder(HANDSHAKE_ANSWER + ITS_ANSWER, then=closed) as watched, door() as known:
        known.serve(status(watched.port))
        answer = await known.raw(HANDSHAKE.replace(before, after))
        lines = watched.lines
    assert answer.startswith(b"HTTP/1.1 101 ")
    assert answer.endswith(b"\r\n\r\n" + ITS_ANSWER)
    assert [line for line in lines if line.startswith("Upgrade:")] == ["Upgrade: websocket"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"Connection: Upgrade", b"Connection: noupgrade"),
        (b"Connection: Upgrade", b"Connection: keep-alive"),
        (b"Upgrade: websocket", b"Upgrade: websockets"),
        (b"Version: 13", b"Version: 14"),
        (b"dGhlIHNhbXBsZSBub25jZQ==", b"dGhlIHNhbXBsZQ=="),
        (b"dGhlIHNhbXBsZSBub25jZQ==", b"not base64"),
        (b"X-Mine: kept", b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="),
        (b"GET ", b"POST "),
    ],
)
async def test_what_asks_for_no_websocket_is_not_switched(before: bytes, after: bytes) -> None:
    async with recorder(HANDSHAKE_ANSWER) as watched, door() as known:
        known.serve(status(watched.port))
        assert (await known.raw(HANDSHAKE.replace(before, after))).startswith(b"HTTP/1.1 501 ")
        assert watched.connections == []


@pytest.mark.parametrize("wanted", [b"websocket", b"h2c"])
async def test_http_1_0_knows_no_upgrade(wanted: bytes) -> None:
    asked = HANDSHAKE.replace(b"HTTP/1.1", b"HTTP/1.0").replace(b"websocket", wanted)
    async with recorder() as watched, door() as known:
        known.serve(status(watched.port))
        answer = await known.raw(asked.replace(b"Connection: Upgrade", b"Connection: keep-alive, Upgrade"))
        lines = watched.lines
    assert answer.startswith(b"HTTP/1.0 200 OK\r\n")
    assert answer.endswith(b"\r\n\r\nok")
    assert not [line for line in lines if line.startswith("Upgrade:")]


async def test_no_handshake_is_worth_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    offered = b"Sec-WebSocket-Protocol: " + b"x" * 8000 + b"\r\nX-Mine"
    async with recorder(HANDSHAKE_ANSWER, then=closed) as watched, door() as known:
        known.serve(status(watched.port))
        assert b" 101 " in await known.raw(HANDSHAKE.replace(b"X-Mine", offered))
    assert caplog.records == []


async def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()


async def test_a_handshake_that_is_redirected_is_followed_by_nobody() -> None:
    async with recorder() as other, door() as known:
        location = f"Location: http://127.0.0.1:{other.port}/\r\n".encode()
        async with recorder(b"HTTP/1.1 302 Found\r\n" + location + b"Content-Length: 0\r\n\r\n") as watched:
            known.serve(status(watched.port))
            answer = await known.raw(CLOSING)
        assert answer.startswith(b"HTTP/1.1 302 Found\r\n")
        assert location in answer
        assert other.connections == []


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: no\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
        HANDSHAKE_ANSWER.replace(b"Connection: Upgrade", b"Connection: noupgrade"),
        HANDSHAKE_ANSWER.replace(b"websocket", b"websocket, foo"),
        HANDSHAKE_ANSWER.replace(b"websocket", b"websocket\r\nUpgrade: foo"),
        b"",
    ],
)
async def test_a_handshake_that_is_none_is_a_bad_gateway(answer: bytes) -> None:
    async with recorder(answer, then=closed) as watched, door() as known:
        known.serve(status(watched.port))
        assert (await known.raw(CLOSING)).startswith(b"HTTP/1.1 502 ")


async def test_the_handshake_reaches_the_service_as_the_client_made_it() -> None:
    async with recorder(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n") as watched, door() as known:
        known.serve(status(watched.port))
        await known.raw(CLOSING)
        told = dict(line.split(": ", 1) for line in watched.lines)
    assert told["X-Mine"] == "kept"
    assert told["X-Real-Ip"] == "127.0.0.2"
    assert told["Host"] == NAME
    assert told["Sec-WebSocket-Key"] == "dGhlIHNhbXBsZSBub25jZQ=="
    assert told["Sec-WebSocket-Extensions"] == "permessage-deflate"
