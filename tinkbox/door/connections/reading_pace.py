"""Bytes that cost much: who sends them is read in small pieces and seldom, so that others wait for little.

A body in chunks of one byte costs a hundred times what one in large chunks does.  Chunks may be of any size (RFC 9112 §7.1),
so nothing is refused: how long a piece takes is measured, and all that is costly has a share of the time together.
"""

import asyncio
import time
from typing import Final

from tinkbox.short_turns import connection_of

# Octets that are read at once: the first piece of a connection, and the most once its pieces turn out to be cheap.
FIRST_PIECE: Final = 512
LARGEST_PIECE: Final = 256 << 10
# Seconds of the processor.  The largest piece of a large chunk takes less than half of it, 2 KiB in chunks of one byte more.
COSTLY: Final = 0.00025
# Who reads the chunks takes as long again for each, which is not measured here.
SHARE: Final = 0.1
LONGEST_REST: Final = 5.0


class ReadingPace:
    """Hands protocols what their connections read; one for all connections that share a time.

    A connection of another loop than ours cannot rest, and is read as it comes.
    """

    def __init__(self) -> None:
        self._free_at = 0.0

    def begin(self, transport: asyncio.Transport) -> None:
        """Read a connection by small pieces at first."""
        if (connection := connection_of(transport)) is not None:
            connection.max_size = FIRST_PIECE

    def wait_turn(self, transport: asyncio.Transport) -> None:
        """Have a connection that may turn out to be costly rest as long as those that are known to be."""
        connection = connection_of(transport)
        if connection is not None and self._free_at > asyncio.get_running_loop().time():
            connection.rest(self._free_at)

    def take_over(self, transport: asyncio.Transport | None) -> None:
        """Have what a connection reads go through here from now on; one that is closed reads nothing more."""
        protocol = transport.get_protocol() if transport is not None else None
        if transport is not None and isinstance(protocol, asyncio.Protocol) and not isinstance(protocol, _Paced):
            self.begin(transport)
            transport.set_protocol(_Paced(transport, protocol, self))

    def feed(self, transport: asyncio.Transport, protocol: asyncio.Protocol, data: bytes) -> None:
        """Hand over what was read; a connection of which that was costly rests."""
        began = time.thread_time()
        protocol.data_received(data)
        took = time.thread_time() - began
        connection = connection_of(transport)
        if connection is None:
            return
        if took >= COSTLY:
            connection.max_size = FIRST_PIECE
            now = asyncio.get_running_loop().time()
            self._free_at = min(max(now, self._free_at) + took * (1 / SHARE - 1), now + LONGEST_REST)
            connection.rest(self._free_at)
        elif len(data) >= connection.max_size:
            connection.max_size = min(2 * len(data), LARGEST_PIECE)


class _Paced(asyncio.Protocol):
    """Stands before the protocol that a connection has."""

    def __init__(self, transport: asyncio.Transport, protocol: asyncio.Protocol, pace: ReadingPace) -> None:
        self._transport = transport
        self._protocol = protocol
        self._pace = pace

    def data_received(self, data: bytes) -> None:
        self._pace.feed(self._transport, self._protocol, data)

    def eof_received(self) -> bool | None:
        return self._protocol.eof_received()

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._protocol.connection_lost(exc)
