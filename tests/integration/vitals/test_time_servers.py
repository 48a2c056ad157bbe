"""A time server on loopback, and clocks that differ from it."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from tinkbox.model.errors import Unavailable
from tinkbox.vitals.time_servers import offset

IDENTITY = bytes(range(8))
BEGIN = datetime(1900, 1, 1, tzinfo=UTC)


class _Server(asyncio.DatagramProtocol):
    def __init__(self, head: bytes = b"\x24\x02\x06\xec") -> None:
        self.head = head

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        told = struct.pack(">2I", int((datetime.now(UTC) - BEGIN).total_seconds()), 0)
        self._transport.sendto(self.head + bytes(20) + data[40:48] + told + told, addr)


@asynccontextmanager
async def serving(*head: bytes) -> AsyncIterator[int]:
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: _Server(*head), ("127.0.0.1", 0))
    try:
        yield int(transport.get_extra_info("sockname")[1])
    finally:
        transport.close()


async def test_a_clock_is_told_how_far_it_is_ahead_of_the_server() -> None:
    async with serving() as port:
        for wrong in (timedelta(), timedelta(days=365), timedelta(hours=-3)):

            def clock(wrong: timedelta = wrong) -> datetime:
                return datetime.now(UTC) + wrong

            ahead, name = await offset(
                clock,
                lambda: IDENTITY,
                lambda: ("127.0.0.1",),
                port,
            )
            assert (round((ahead - wrong) / timedelta(minutes=1)), name) == (0, "127.0.0.1")


@pytest.mark.parametrize("head", [b"\x24\x10\x06\xec", b"\xe4\x03\x06\xec"], ids=["stratum 16", "leap 3"])
async def test_of_a_server_that_is_not_synchronised_that_is_said(head: bytes) -> None:
    async with serving(head) as port:
        with pytest.raises(Unavailable, match=r"127\.0\.0\.1 answers, and is not synchronised itself$"):
            await offset(lambda: datetime.now(UTC), lambda: IDENTITY, lambda: ("127.0.0.1",), port)


async def test_without_a_server_or_an_answer_that_is_said() -> None:
    with pytest.raises(Unavailable, match="no time server is configured"):
        await offset(lambda: datetime.now(UTC), lambda: IDENTITY, tuple)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.bind(("127.0.0.1", 0))
        port = deaf.getsockname()[1]
    with pytest.raises(Unavailable, match=r"no time server answers: 127\.0\.0\.1"):
        await offset(lambda: datetime.now(UTC), lambda: IDENTITY, lambda: ("127.0.0.1",), port)
