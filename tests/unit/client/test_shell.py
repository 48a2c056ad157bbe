"""The worker's connection for a shell, against a WebSocket on loopback."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest
from aiohttp import ClientSession, WSMsgType, web
from aiohttp.test_utils import TestServer

from tests.workers import door_of, opening
from tinkbox.client.shell import ShellConnection, shell_connection
from tinkbox.model.errors import Conflict, Denied, Invalid, NotFound, Refusal, TooMany, Unavailable
from tinkbox.wire.messages.shell import MAX_FRAME, Channel, Frame, encode
from tinkbox.wire.messages.worker import Credential

Answer = Callable[[web.WebSocketResponse], Awaitable[None]]
TYPED = Frame(Channel.STDIN, b"typed \xff\0")


def serving(answer: Answer, asked: list[web.Request] | None = None) -> TestServer:
    async def route(request: web.Request) -> web.WebSocketResponse:
        if asked is not None:
            asked.append(request)
        if request.path.strip("/").isdigit():
            return web.json_response({"detail": "no"}, status=int(request.path.strip("/")))  # type: ignore[return-value]
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await answer(socket)
        return socket

    application = web.Application()

    async def session(request: web.Request) -> web.Response:
        if asked is not None:
            asked.append(request)
        return web.json_response({"worker": "w"})

    application.router.add_post("/worker/session", session)
    application.router.add_get("/{path:.*}", route)
    return TestServer(application)


@asynccontextmanager
async def connected(
    answer: Answer, path: str = "/shell", seconds: float = 10, *, tty: bool = True
) -> AsyncIterator[ShellConnection]:
    async with (
        asyncio.timeout(30),
        serving(answer) as server,
        ClientSession() as session,
        shell_connection(session, str(server.make_url(path)), seconds, tty=tty) as connection,
    ):
        yield connection


async def echo(socket: web.WebSocketResponse) -> None:
    """Give everything back, until the other side closes."""
    async for message in socket:
        assert message.type is WSMsgType.BINARY
        await socket.send_bytes(message.data)


async def nothing(socket: web.WebSocketResponse) -> None:
    """Say nothing, and close."""


@pytest.mark.parametrize("content", [b"", b"x", bytes(range(256)), bytes(MAX_FRAME - 1)], ids=len)
async def test_frames_of_every_size_go_both_ways(content: bytes) -> None:
    async with connected(echo) as connection:
        for channel in (Channel.STDOUT, Channel.CLOSE):
            await connection.send_frame(Frame(channel, content))
            assert await connection.receive_frame() == Frame(channel, content)


async def test_what_is_larger_than_a_frame_breaks_the_connection() -> None:
    async def too_much(socket: web.WebSocketResponse) -> None:
        await socket.send_bytes(bytes(MAX_FRAME + 1))

    async with connected(too_much) as connection:
        with pytest.raises(Unavailable):
            await connection.receive_frame()


async def test_an_end_in_order_is_no_failure() -> None:
    async with connected(nothing) as connection:
        assert await connection.receive_frame() is None


async def test_an_appliance_that_goes_away_did_not_say_all() -> None:
    async def going_away(socket: web.WebSocketResponse) -> None:
        await socket.close(code=1001)

    async with connected(going_away) as connection:
        with pytest.raises(Unavailable):
            await connection.receive_frame()


async def test_a_connection_that_breaks_off_is_unavailable_for_both_directions() -> None:
    async def break_off(socket: web.WebSocketResponse) -> None:
        assert socket._req is not None
        assert socket._req.transport is not None
        socket._req.transport.abort()

    async with connected(break_off) as connection:
        with pytest.raises(Unavailable):
            await connection.receive_frame()
        with pytest.raises(Unavailable):
            await connection.send_frame(TYPED)


@pytest.mark.parametrize("content", [b"", b"\x09of no channel", "text"])
async def test_what_is_no_frame_is_refused(content: bytes | str) -> None:
    async def say(socket: web.WebSocketResponse) -> None:
        await (socket.send_str(content) if isinstance(content, str) else socket.send_bytes(content))

    async with connected(say) as connection:
        with pytest.raises((Invalid, Unavailable)):
            await connection.receive_frame()


@pytest.mark.parametrize(
    ("status", "refusal"),
    [(401, Denied), (404, NotFound), (409, Conflict), (429, TooMany), (503, Unavailable), (500, Unavailable)],
)
async def test_a_shell_that_is_refused_says_so(status: int, refusal: type[Refusal]) -> None:
    with pytest.raises(refusal):
        async with connected(nothing, f"/{status}"):
            pass


async def test_a_refused_shell_names_its_url_without_the_ticket() -> None:
    with pytest.raises(NotFound, match=r"/404$"):
        async with connected(nothing, "/404?ticket=s3cret"):
            pass


async def test_an_answer_that_is_no_http_is_told_without_the_ticket() -> None:
    async def garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"no HTTP at all\r\n\r\n")
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(garbage, "127.0.0.1", 0) as server, ClientSession() as session:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Unavailable, match="the connection of the shell is broken") as refused:
            async with shell_connection(session, f"http://127.0.0.1:{port}/?ticket=s3cret", 10, tty=True):
                pass
    assert "s3cret" not in str(refused.value)


async def test_nobody_there_and_nobody_answering_are_unavailable() -> None:
    async with ClientSession() as session:
        with pytest.raises(Unavailable):
            async with shell_connection(session, "http://127.0.0.1:1/", 10, tty=True):
                pass

    gone = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        await writer.wait_closed()
        gone.set()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server, ClientSession() as session:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Unavailable):
            async with shell_connection(session, f"http://127.0.0.1:{port}/", 0.1, tty=True):
                pass
        await gone.wait()


async def test_the_node_door_connects_where_the_shell_is_with_the_workers_session() -> None:
    asked: list[web.Request] = []
    async with serving(echo, asked) as server:
        credential = Credential(server=str(server.make_url("")).rstrip("/"), registry="r", worker="w", token="secret")
        async with door_of(credential) as door, door.shell("attempt-1", "s1", tty=True) as connection:
            await connection.send_frame(TYPED)
            assert await connection.receive_frame() == TYPED
    session, request = asked
    assert (session.path, session.headers["Authorization"]) == ("/worker/session", "Bearer secret")
    assert request.path == "/worker/attempts/attempt-1/shells/s1"
    assert request.headers["Authorization"] == f"Bearer {opening('secret').secret}"
    assert encode(TYPED) == b"\0typed \xff\0"


async def deaf(websocket: web.WebSocketResponse) -> None:
    """Read nothing, and so answer no ping."""
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(600)


async def test_who_answers_no_ping_is_gone_unless_it_may_stand_still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinkbox.client.shell.HEARTBEAT", 0.05)
    monkeypatch.setattr("tinkbox.client.shell.CLOSE_SECONDS", 0.05)
    async with connected(deaf) as connection:
        with pytest.raises(Unavailable):
            await connection.receive_frame()
    async with connected(deaf, tty=False) as connection:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await connection.receive_frame()


async def test_the_kernel_notices_when_the_other_host_is_gone() -> None:
    async with connected(echo) as connection:
        kept = connection._socket.get_extra_info("socket")
        assert kept.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert kept.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 15


async def test_a_shell_whose_token_ended_says_so() -> None:
    async def deny(socket: web.WebSocketResponse) -> None:
        await socket.close(code=1008, message=b"the token was revoked: what was under way with it has ended")

    async with connected(deny) as connection:
        with pytest.raises(Denied, match="the token was revoked"):
            await connection.receive_frame()
