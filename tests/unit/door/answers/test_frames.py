import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType, web
from aiohttp.test_utils import TestServer

from tinkbox.door.answers import frames
from tinkbox.door.answers.frames import carry, expect_websocket
from tinkbox.door.problems import refusals_become_problems
from tinkbox.engine.shells.frame_queue import FrameQueue
from tinkbox.model.errors import Refusal, Unavailable
from tinkbox.wire.messages.shell import Channel, Frame, decode, encode


class Side:
    """Sends what is in its outbox, keeps what it is given, or refuses it."""

    def __init__(self, *, tty: bool = True, refusal: Refusal | None = None) -> None:
        self.tty = tty
        self.outbox = FrameQueue()
        self.given: asyncio.Queue[Frame] = asyncio.Queue()
        self.next_frame, self.until_cut_off = self.outbox.take, self.outbox.cut
        self._refusal = refusal
        self.request: web.Request | None = None

    async def deliver(self, frame: Frame) -> None:
        if self._refusal is not None:
            raise self._refusal
        self.given.put_nowait(frame)


@asynccontextmanager
async def connected(side: Side) -> AsyncIterator[ClientWebSocketResponse]:
    async def handler(request: web.Request) -> web.StreamResponse:
        side.request = request
        expect_websocket(request)
        return await carry(request, side)

    app = web.Application(middlewares=[refusals_become_problems])
    app.add_routes([web.get("/", handler)])
    async with (
        asyncio.timeout(60),
        TestServer(app) as server,
        ClientSession() as session,
        session.ws_connect(server.make_url("/")) as websocket,
    ):
        yield websocket


FRAME = Frame(Channel.STDOUT, "grün".encode())


async def test_frames_pass_both_ways_and_the_end_is_an_orderly_one() -> None:
    side = Side()
    async with connected(side) as client:
        side.outbox.put(FRAME)
        assert decode((await client.receive()).data) == FRAME
        await client.send_bytes(encode(FRAME))
        assert await side.given.get() == FRAME
        side.outbox.put(FRAME)
        side.outbox.close()
        assert decode((await client.receive()).data) == FRAME
        assert (await client.receive()).type is WSMsgType.CLOSE
        assert client.close_code == 1000


async def test_the_last_words_wait_for_a_peer_that_is_busy_sending() -> None:
    side = Side()
    async with connected(side) as client:
        for _ in range(10):
            side.outbox.put(Frame(Channel.STDOUT, b"x" * 65_000))
        side.outbox.put(FRAME)
        side.outbox.close()
        # It reads nothing, and goes on sending when everything was said to it.
        for _ in range(200):
            await client.send_bytes(encode(Frame(Channel.STDIN, b"x" * 65_000)))
            await asyncio.sleep(0.001)
        told = [await client.receive() for _ in range(12)]
        assert decode(told[-2].data) == FRAME
        assert client.close_code == 1000


async def test_the_largest_frame_passes_and_no_larger_one() -> None:
    side = Side()
    async with connected(side) as client:
        largest = Frame(Channel.STDIN, b"x" * 65_535)
        await client.send_bytes(encode(largest))
        assert await side.given.get() == largest
        await client.send_bytes(encode(largest) + b"x")
        await client.receive()
        assert client.close_code == 1009


async def test_a_side_that_is_cut_off_says_no_more() -> None:
    side = Side()
    async with connected(side) as client:
        side.outbox.cut_off()
        assert (await client.receive()).type in (WSMsgType.CLOSED, WSMsgType.ERROR)
        assert client.close_code != 1000


async def test_a_peer_that_reads_nothing_can_be_cut_off() -> None:
    side = Side()
    async with connected(side) as client:
        for _ in range(1_000):
            side.outbox.put(Frame(Channel.STDOUT, b"x" * 65_535))
        await client.send_bytes(encode(FRAME))
        await side.given.get()
        side.outbox.cut_off()
        assert side.request is not None
        while side.request.transport is not None:  # noqa: ASYNC110  nothing rings when it is gone
            await asyncio.sleep(0.01)


async def test_a_peer_that_goes_ends_it() -> None:
    side = Side()
    async with connected(side) as client:
        await client.close()
        assert side.request is not None
        while side.request.transport is not None:  # noqa: ASYNC110  nothing rings when it is gone
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("said", [b"", b"\x09", "text"])
async def test_what_is_no_frame_ends_it_with_a_reason(said: bytes | str) -> None:
    async with connected(Side()) as client:
        await (client.send_str(said) if isinstance(said, str) else client.send_bytes(said))
        closed = await client.receive()
        assert (closed.type, closed.data) == (WSMsgType.CLOSE, 1002)
        assert closed.extra.startswith("a shell")


async def test_what_cannot_be_done_ends_it_with_a_reason() -> None:
    async with connected(Side(refusal=Unavailable("the disk is full, " * 20))) as client:
        await client.send_bytes(encode(FRAME))
        closed = await client.receive()
        assert (closed.type, closed.data) == (WSMsgType.CLOSE, 1011)
        assert closed.extra.startswith("the disk is full, the disk")


async def test_a_request_for_no_websocket_is_refused_before_anything_is_done() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        expect_websocket(request)
        raise AssertionError

    app = web.Application(middlewares=[refusals_become_problems])
    app.add_routes([web.get("/", handler)])
    async with TestServer(app) as server, ClientSession() as session, session.get(server.make_url("/")) as response:
        assert response.status == 422


async def test_who_answers_no_ping_is_gone_unless_it_may_stand_still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "HEARTBEAT", 0.05)
    for tty in (True, False):
        side = Side(tty=tty)
        async with connected(side) as client:
            # It answers pings only when it reads.
            await client.send_bytes(encode(FRAME))
            await side.given.get()
            assert side.request is not None
            transport = side.request.transport
            assert transport is not None
            if tty:
                async with asyncio.timeout(60):
                    while not transport.is_closing():  # noqa: ASYNC110  nothing rings when it is gone
                        await asyncio.sleep(0.01)
            else:
                await asyncio.sleep(0.3)
                assert not transport.is_closing()
            side.outbox.close()


async def test_the_kernel_notices_when_the_other_host_is_gone() -> None:
    side = Side()
    async with connected(side) as client:
        await client.send_bytes(encode(FRAME))
        await side.given.get()
        assert side.request is not None
        connection = side.request.get_extra_info("socket")
        assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 15
        side.outbox.close()
