"""Connections of a door: counted, closed beyond their limit and after their deadlines, as real sockets see it."""

import asyncio
import http.client
import json
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from aiohttp import web

from tests.unit.door.our_loop import in_our_loop
from tinkbox.door.answers.file_answers import FileAnswer
from tinkbox.door.connections.connections import (
    MAX_HEAD,
    SETTLING_EACH,
    THIS_HOST,
    Admission,
    ConnectionRoom,
    Connections,
    limit_silence,
    watch_heads,
)
from tinkbox.door.connections.local_users import local_user, user_holder
from tinkbox.door.connections.reading_pace import ReadingPace
from tinkbox.model.limits import NODE_CONNECTIONS, Ledger, Room

WHOLE = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
HALF = b"GET / HTTP/1.1\r\nHost: x\r\n"
LARGE = 64 << 20
NOBODY = 65_534
# On loopback segments have as much; a window that is smaller is not sent into.
SLOW = 1 << 16
FIRST, SECOND, THIRD = "127.0.0.1", "127.0.0.2", "127.0.0.3"


@dataclass
class Door:
    listening: socket.socket
    ledger: Ledger
    stack: ExitStack
    asked: list[str] = field(default_factory=list)

    async def connect(self, source: str = FIRST, sent: bytes = b"", receive_buffer: int = 0) -> socket.socket:
        if self.listening.family == socket.AF_UNIX:
            connection = self.stack.enter_context(socket.socket(socket.AF_UNIX))
        else:
            connection = self.stack.enter_context(socket.socket())
            connection.bind((source, 0))
        if receive_buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        connection.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(connection, self.listening.getsockname())
        if sent:
            await loop.sock_sendall(connection, sent)
        return connection


async def answer(request: web.Request) -> web.StreamResponse:
    return web.Response(text="yes")


async def size(request: web.Request) -> web.StreamResponse:
    return web.Response(text=str(len(await request.read())))


async def stream(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    piece = b"x" * (1 << 16)
    for _ in range(LARGE // len(piece)):
        await response.write(piece)
    return response


@asynccontextmanager
async def door(
    *,
    each: int = 3,
    total: int = 6,
    head: float = 60.0,
    idle: float = 60.0,
    answer_seconds: float = 60.0,
    known: Callable[[str], bool] = lambda _: False,
    path: Path | None = None,
    by_user: bool = False,
    file: Path = Path(),
) -> AsyncIterator[Door]:

    async def whole_file(request: web.Request) -> web.StreamResponse:
        return FileAnswer(file)

    app = web.Application(middlewares=[watch_heads])
    app.add_routes(
        [web.get("/", answer), web.get("/large", stream), web.get("/file", whole_file), web.post("/size", size)]
    )
    runner = web.AppRunner(app, access_log=None, keepalive_timeout=idle)
    await runner.setup()
    assert runner.server is not None
    ledger = Ledger(replace(NODE_CONNECTIONS, each=each, all=total, reserved=0.5), lambda: 0.0)
    room = ConnectionRoom(Room(ledger=ledger, known=known))
    admission = Admission(
        room=room, host_at=str, head_seconds=head, answer_seconds=answer_seconds, pace=ReadingPace(), by_user=by_user
    )
    with ExitStack() as stack:
        listening = stack.enter_context(socket.socket(socket.AF_UNIX if path else socket.AF_INET))
        listening.bind(str(path) if path else (FIRST, 0))
        listening.listen()
        listening.setblocking(False)
        async with asyncio.TaskGroup() as group:
            accepting = group.create_task(Connections(listening, runner.server, admission).accept())
            async with asyncio.timeout(60):
                yield Door(listening, ledger, stack)
            accepting.cancel()
        await runner.cleanup()


async def received(connection: socket.socket, most: int = 65536) -> bytes:
    """What comes next, nothing when it is closed."""
    with suppress(ConnectionError):
        return await asyncio.get_running_loop().sock_recv(connection, most)
    return b""


async def all_given_back(made: Door) -> None:
    """A closed connection is given back a turn of the loop or two later."""
    while made.ledger.used:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0)


async def test_a_request_is_answered_however_it_is_cut() -> None:
    async with door() as made:
        for cut in range(1, len(WHOLE), 5):
            connection = await made.connect(sent=WHOLE[:cut])
            await asyncio.sleep(0)
            await asyncio.get_running_loop().sock_sendall(connection, WHOLE[cut:])
            assert (await received(connection)).startswith(b"HTTP/1.1 200 OK")
            connection.close()
            await all_given_back(made)


async def test_every_further_head_has_the_bounds_of_the_first() -> None:
    loop = asyncio.get_running_loop()
    async with door() as made:
        connection = await made.connect(sent=WHOLE)
        assert (await received(connection)).startswith(b"HTTP/1.1 200 OK")
        await loop.sock_sendall(connection, b"GET / HTTP/1.1\r\nHost: x\r\n")
        for _ in range(64):
            with suppress(ConnectionError):
                await loop.sock_sendall(connection, b"X-Long: " + b"x" * 1000 + b"\r\n")
                await asyncio.sleep(0)
        assert (await received(connection))[8:12] == b" 431"
        await all_given_back(made)


async def test_bodies_and_heads_that_follow_each_other_are_told_apart_however_they_are_cut() -> None:
    loop = asyncio.get_running_loop()
    body = b"\r\n\r\nx" * 20_000
    post = b"POST /size HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
    async with door() as made:
        connection = await made.connect(sent=WHOLE)
        assert (await received(connection)).startswith(b"HTTP/1.1 200 OK")
        for piece in (7_000, 17_000, 1 << 20):
            whole = post + body
            for at in range(0, len(whole), piece):
                await loop.sock_sendall(connection, whole[at : at + piece])
                await asyncio.sleep(0)
            assert (await received(connection)).endswith(str(len(body)).encode())
            for cut in (1, len(WHOLE) - 2, len(WHOLE) - 1):
                await loop.sock_sendall(connection, WHOLE[:cut])
                await asyncio.sleep(0)
                await loop.sock_sendall(connection, WHOLE[cut:])
                assert (await received(connection)).startswith(b"HTTP/1.1 200 OK")


async def test_what_is_no_request_is_answered_at_once() -> None:
    async with door() as made:
        connection = await made.connect(sent=b"\x16\x03\x01\x00\xa5\x01 a TLS greeting")
        assert (await received(connection))[8:12] == b" 400"


async def test_an_address_beyond_its_limit_is_closed_and_others_are_served() -> None:
    async with door() as made:
        for _ in range(3):
            await made.connect(sent=HALF)
        assert await received(await made.connect(sent=WHOLE)) == b""
        assert (made.ledger.used, made.ledger.refused) == (3, 1)


async def test_who_has_most_connections_gives_way_to_who_has_few_and_first_one_at_no_request() -> None:
    async with door(each=6, total=6, known=lambda _: True) as made:
        busy = await made.connect(sent=WHOLE.replace(b"GET /", b"GET /large"), receive_buffer=SLOW)
        assert (await received(busy, 15)) == b"HTTP/1.1 200 OK"
        between = await made.connect(sent=WHOLE)
        assert (await received(between)).startswith(b"HTTP/1.1 200 OK")
        half = [await made.connect(sent=HALF) for _ in range(4)]
        for _ in range(2):
            assert (await received(await made.connect(SECOND, WHOLE))).startswith(b"HTTP/1.1 200 OK")
        assert made.ledger.held_by(FIRST) == 4
        assert await received(busy, SLOW)
        assert await received(between) == b""
        assert await received(half[0]) == b""
        # A third one would leave both with as many.
        assert (await received(await made.connect(SECOND, WHOLE))).startswith(b"HTTP/1.1 200 OK")
        assert await received(await made.connect(SECOND, WHOLE)) == b""
        (first,) = made.ledger.standing().held_back[:1]
        assert (first.holder, first.refused) == (FIRST, 3)
        busy.close()  # the door waits for what it is answering


async def test_connections_at_no_request_give_way_before_those_at_one_whosever_they_are() -> None:
    async with door(each=4, total=6, known=lambda _: True) as made:
        large = WHOLE.replace(b"GET /", b"GET /large")
        busy = [await made.connect(sent=large, receive_buffer=SLOW) for _ in range(4)]
        for each in busy:
            assert (await received(each, 15)) == b"HTTP/1.1 200 OK"
        half = [await made.connect(SECOND, HALF) for _ in range(2)]
        assert (await received(await made.connect(THIRD, WHOLE))).startswith(b"HTTP/1.1 200 OK")
        assert await received(half[0]) == b""
        assert (made.ledger.held_by(FIRST), made.ledger.held_by(SECOND)) == (4, 1)
        for each in busy:  # the door waits for what it is answering
            each.close()


@in_our_loop
async def test_a_file_that_gives_way_while_it_is_sent_leaves_its_place_to_others(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(LARGE)
    async with door(each=2, total=2, known=lambda _: True, file=tmp_path / "large") as made:
        for _ in range(2):
            slow = await made.connect(sent=WHOLE.replace(b"GET /", b"GET /file"), receive_buffer=SLOW)
            assert (await received(slow, 15)) == b"HTTP/1.1 200 OK"
        # One after the other, so that the last ones have the numbers of what was closed.
        for _ in range(4):
            other = await made.connect(SECOND, WHOLE)
            assert (await received(other)).startswith(b"HTTP/1.1 200 OK")
            other.close()
            while made.ledger.held_by(SECOND):  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0)
        assert made.ledger.held_by(FIRST) == 1
        slow.close()


async def test_a_connection_that_is_over_is_in_the_way_of_none_that_its_client_opens_next() -> None:
    clients, times = 4, 80
    async with door(each=clients, total=clients, known=lambda _: True) as made:
        host, port = made.listening.getsockname()

        def ask() -> list[bytes]:
            answers = []
            for _ in range(times):
                with closing(http.client.HTTPConnection(host, port, timeout=60)) as connection:
                    connection.request("GET", "/", headers={"Connection": "close"})
                    answers.append(connection.getresponse().read())
            return answers

        async with asyncio.TaskGroup() as group:
            asking = [group.create_task(asyncio.to_thread(ask)) for _ in range(clients)]
        assert [each.result() for each in asking] == [[b"yes"] * times] * clients
        assert made.ledger.refused == 0


async def test_a_client_that_closes_all_its_connections_and_opens_as_many_is_not_refused() -> None:
    clients = SETTLING_EACH
    async with door(each=clients, total=clients, known=lambda _: True) as made:
        asked = made.listening.getsockname()
        first = [await made.connect(sent=HALF) for _ in range(clients)]
        for each in first:
            await asyncio.get_running_loop().sock_sendall(each, b"\r\n")
            assert (await received(each)).startswith(b"HTTP/1.1 200 OK")
            each.close()
        # All of them, before the event loop has its turn.
        second = [made.stack.enter_context(socket.create_connection(asked)) for _ in range(clients)]
        for each in second:
            each.setblocking(False)
            each.send(WHOLE)
        assert {(await received(each))[:15] for each in second} == {b"HTTP/1.1 200 OK"}
        assert made.ledger.refused == 0


async def test_a_known_machine_is_served_when_strangers_took_all_they_may() -> None:
    async with door(known=lambda address: address == SECOND) as made:
        for _ in range(3):
            await made.connect(sent=HALF)
        assert (await received(await made.connect(SECOND, WHOLE))).startswith(b"HTTP/1.1 200 OK")


async def test_a_head_that_is_not_whole_in_time_is_over_however_slowly_it_comes() -> None:
    async with door(head=0.3) as made:
        silent, slow = await made.connect(), await made.connect(sent=HALF)
        async with asyncio.TaskGroup() as group:
            closed = group.create_task(received(slow))
            while not closed.done():
                with suppress(ConnectionError):
                    await asyncio.get_running_loop().sock_sendall(slow, b"a")
                await asyncio.wait([closed], timeout=0.02)
            assert closed.result() == b""
        assert await received(silent) == b""
        await all_given_back(made)


async def test_a_head_that_does_not_end_is_refused() -> None:
    async with door() as made:
        for sent in (HALF + b"x" * MAX_HEAD, b"GET /" + b"x" * MAX_HEAD + b" HTTP/1.1\r\nHost: x\r\n\r\n"):
            connection = await made.connect(sent=sent)
            answer = await received(connection)
            assert (answer[8:12], b"application/problem+json" in answer, b"xxx" in answer) == (b" 431", True, False)
            body = json.loads(answer.partition(b"\r\n\r\n")[2])
            assert (body["type"], body["status"]) == ("/problems/request-header-fields-too-large", 431)


async def test_a_further_head_that_comes_whole_has_the_bounds_of_the_first() -> None:
    async with door() as made:
        connection = await made.connect(sent=WHOLE)
        assert (await received(connection)).startswith(b"HTTP/1.1 200 OK")
        long = b"GET /" + b"x" * MAX_HEAD + b" HTTP/1.1\r\nHost: x\r\n\r\n"
        await asyncio.get_running_loop().sock_sendall(connection, long)
        assert (await received(connection))[8:12] == b" 431"


async def test_a_connection_that_was_used_is_closed_when_it_makes_no_other_request() -> None:
    async with door(head=60, idle=0.2) as made:
        connection = await made.connect(sent=WHOLE)
        assert (await received(connection)).startswith(b"HTTP/1.1 200 OK")
        await asyncio.get_running_loop().sock_sendall(connection, HALF)
        assert await received(connection) == b""
        await all_given_back(made)


async def test_a_reader_that_takes_nothing_is_over_and_one_that_takes_some_is_not() -> None:
    request = WHOLE.replace(b"GET /", b"GET /large")
    async with door(answer_seconds=2.0) as made:
        _, slow = [await made.connect(sent=request, receive_buffer=SLOW) for _ in range(2)]
        while made.ledger.used == 2:
            assert await received(slow, SLOW)
            await asyncio.sleep(0.02)
        assert await received(slow, SLOW)
        slow.close()
        await all_given_back(made)


async def test_a_unix_socket_has_the_limit_of_its_host(tmp_path: Path) -> None:
    async with door(path=tmp_path / "door", total=6) as made:
        assert (await received(await made.connect(sent=WHOLE))).startswith(b"HTTP/1.1 200 OK")
        assert made.ledger.held_by(THIS_HOST) == 1


async def test_a_descriptor_that_cannot_be_had_is_told_seldom(caplog: pytest.LogCaptureFixture) -> None:
    class Out(socket.socket):
        failures = 0

        def accept(self):
            self.failures += 1
            if self.failures > 8:
                return super().accept()
            raise OSError(24, "Too many open files")

    async with door() as made:
        room = ConnectionRoom(Room(ledger=made.ledger, known=lambda _: True))
        admission = Admission(room=room, host_at=str, head_seconds=60, answer_seconds=60, pace=ReadingPace())
        with Out() as listening:
            listening.bind((FIRST, 0))
            listening.listen()
            listening.setblocking(False)
            async with asyncio.TaskGroup() as group:
                connections = Connections(listening, asyncio.Protocol, admission, pause_seconds=0)
                accepting = group.create_task(connections.accept())
                made.listening, before = listening, made.listening
                await made.connect()
                while not made.ledger.used:  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0)
                accepting.cancel()
                made.listening = before
    assert [each.times for each in caplog.records] == [1, 2, 4, 8]


async def test_silence_is_limited_on_tcp_alone(tmp_path: Path) -> None:
    limit_silence(None, 1.0)
    with socket.socket(socket.AF_UNIX) as local, socket.socket() as tcp:
        limit_silence(local, 1.0)
        limit_silence(tcp, 1.5)
        assert tcp.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 1500


@contextmanager
def as_user(number: int) -> Iterator[None]:
    """What is made meanwhile is a user's."""
    before = os.geteuid()
    os.seteuid(number)
    try:
        yield
    finally:
        os.seteuid(before)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
async def test_users_of_this_host_leave_the_engines_user_its_share() -> None:
    async with door(each=6, total=6, by_user=True, known=lambda holder: holder == user_holder(0)) as made:
        for _ in range(9):
            with as_user(NOBODY):
                made.stack.enter_context(socket.create_connection(made.listening.getsockname()))
        while made.ledger.refused < 6:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)
        assert made.ledger.held_by(user_holder(NOBODY)) == 3
        engine = await made.connect(sent=WHOLE)
        assert (await received(engine)).startswith(b"HTTP/1.1 200 OK")
        assert made.ledger.held_by(user_holder(0)) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
async def test_a_connection_that_its_user_closed_passes_for_nobodys() -> None:
    with socket.create_server((FIRST, 0)) as listening:
        with as_user(NOBODY):
            left, open_still = (socket.create_connection(listening.getsockname()) for _ in range(2))
        with listening.accept()[0] as first, listening.accept()[0] as second, open_still:
            assert (local_user(first), local_user(second)) == (user_holder(NOBODY), user_holder(NOBODY))
            left.close()
            assert first.recv(1) == b""
            assert (local_user(first), local_user(second)) == ("", user_holder(NOBODY))
