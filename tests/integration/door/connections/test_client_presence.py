"""Work for a client ends when the client does."""

import asyncio

import pytest
from aiohttp import web

from tests.integration.proxy.door import SECONDS, listening
from tinkbox.door.connections.client_presence import ClientGone, WhileThere


async def given_up(sent: bytes, *, stays: bool, idle: float) -> BaseException:
    """What work for whoever sends this ended with; it never ends by itself."""
    ended: asyncio.Queue[BaseException] = asyncio.Queue()
    began = asyncio.Event()

    async def work(request: web.Request) -> web.Response:
        began.set()
        try:
            async with WhileThere(request, every=0.02, idle=idle):
                await asyncio.Event().wait()
        except BaseException as error:
            ended.put_nowait(error)
            raise
        return web.Response()

    application = web.Application()
    application.router.add_route("*", "/", work)
    async with listening(application) as port, asyncio.timeout(SECONDS):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(sent)
            await began.wait()
            if not stays:
                writer.close()
            return await ended.get()
        finally:
            writer.close()


GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
HALF = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf"
CHUNK = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"


@pytest.mark.parametrize("sent", [GET, HALF])
async def test_work_is_given_up_when_the_client_is_gone(sent: bytes) -> None:
    assert isinstance(await given_up(sent, stays=False, idle=SECONDS), ClientGone)


@pytest.mark.parametrize("sent", [HALF, CHUNK])
async def test_work_is_given_up_when_a_body_stands_still(sent: bytes) -> None:
    assert isinstance(await given_up(sent, stays=True, idle=0.2), ClientGone)


async def test_a_client_that_has_sent_everything_may_wait_as_long_as_it_likes() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await given_up(GET, stays=True, idle=0.1)


async def test_what_goes_wrong_within_is_not_hidden() -> None:
    async def work(request: web.Request) -> web.Response:
        with pytest.raises(ValueError, match="its own"):
            async with WhileThere(request):
                raise ValueError("its own")
        async with WhileThere(request):
            pass
        return web.Response(text="done")

    application = web.Application()
    application.router.add_route("*", "/", work)
    async with listening(application) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(GET)
        async with asyncio.timeout(SECONDS):
            await reader.readuntil(b"done")
        writer.close()
