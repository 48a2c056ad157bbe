"""Streams: what a proxy is told of them, and a reader that goes away."""

import logging
from collections.abc import AsyncIterator

import pytest
from aiohttp import ClientError, ClientSession, web
from aiohttp.test_utils import TestServer

from tinkbox.api.event_stream import EVENT_STREAM, streamed


async def test_a_reader_that_goes_away_is_no_fault(caplog: pytest.LogCaptureFixture) -> None:
    ended = []

    async def handler(request: web.Request) -> web.StreamResponse:
        async def chunks() -> AsyncIterator[bytes]:
            yield b"first"
            assert request.transport is not None
            request.transport.abort()
            yield b"second"

        response = await streamed(request, chunks(), EVENT_STREAM)
        ended.append(response)
        return response

    application = web.Application()
    application.router.add_get("/", handler)
    with caplog.at_level(logging.DEBUG):
        async with TestServer(application) as server, ClientSession() as session:
            with pytest.raises(ClientError):
                async with session.get(server.make_url("/")) as got:
                    await got.read()
    assert [each.message for each in caplog.records if each.levelno >= logging.ERROR] == []
    assert len(ended) == 1


async def test_a_proxy_is_told_to_pass_each_chunk_on_at_once() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        async def chunks() -> AsyncIterator[bytes]:
            yield b"first"

        return await streamed(request, chunks(), EVENT_STREAM)

    application = web.Application()
    application.router.add_get("/", handler)
    async with TestServer(application) as server, ClientSession() as session, session.get(server.make_url("/")) as got:
        assert got.headers["X-Accel-Buffering"] == "no"
