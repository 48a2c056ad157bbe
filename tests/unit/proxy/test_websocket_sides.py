"""The two sides of a WebSocket: what one cannot take is not read of the other, from the first byte on."""

import asyncio
from typing import cast

import pytest

from tinkbox.proxy.websocket_tunnel import _Side

MOST = 64 * 1024  # as asyncio's


class Stuck(asyncio.Transport):
    """Sends nothing before it is told to; `unsent` are the bytes that it holds."""

    def __init__(self, unsent: int = 0) -> None:
        super().__init__()
        self.unsent = unsent
        self.reads = True
        self._paused = unsent > 0
        self._most = MOST
        self._protocol: asyncio.BaseProtocol = asyncio.Protocol()

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._most = MOST if high is None else high
        self._held()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.unsent += len(data)
        self._held()

    def send_all(self) -> None:
        self.unsent, self._paused = 0, False
        cast("asyncio.Protocol", self._protocol).resume_writing()

    def _held(self) -> None:
        if self.unsent > self._most and not self._paused:
            self._paused = True
            cast("asyncio.Protocol", self._protocol).pause_writing()


@pytest.mark.parametrize("early", [bytes(2 * MOST), b"little", b""])
@pytest.mark.parametrize("unsent", [0, 1000, 2 * MOST])
@pytest.mark.parametrize("first", ["client", "service"])
async def test_nothing_is_read_of_one_before_the_other_has_all_that_came_early(
    first: str, early: bytes, unsent: int
) -> None:
    full, other = Stuck(unsent), Stuck()
    sides = [_Side(full), _Side(other)]
    taking = [(sides[0], early), (sides[1], b"")]
    for side, its in (sides, sides[::-1]):
        side.take_over(its)
    assert (full.reads, other.reads) == (False, False)
    for side, its_early in taking if first == "client" else taking[::-1]:
        side.begin(its_early)
    assert full.unsent == unsent + len(early)
    assert full.reads
    assert other.reads is (unsent == 0 and len(early) <= MOST)
    full.send_all()
    assert other.reads
    full.write(bytes(MOST))
    assert other.reads
    full.write(b"more")
    assert not other.reads
