"""A line between a UDP server and its clients that loses datagrams, both ways or one, as chance has it.

The kernels that tests run on have no `netem`; a line in user space loses the same in each run.
"""

import asyncio
import random
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field

from tinkbox.boot.network.sockets import bind_udp

Address = tuple[str, int]
READ_REQUEST = b"\0\1"


@dataclass
class LossyLine:
    """Listens on `port` in place of `server`; each client has a way of its own behind it."""

    server: Address
    loss: float
    one_way: bool
    chance: random.Random
    front: socket.socket
    stack: ExitStack
    ways: dict[Address, socket.socket] = field(default_factory=dict)
    # Where a client was answered from last: a transfer of TFTP has a port of its own.
    answering: dict[Address, Address] = field(default_factory=dict)
    lost: int = 0
    passed: int = 0

    @property
    def port(self) -> int:
        return int(self.front.getsockname()[1])

    def loses(self) -> bool:
        lost = self.chance.random() < self.loss
        self.lost += lost
        self.passed += not lost
        return lost

    def up(self) -> None:
        datagram, client = self.front.recvfrom(65_536)
        if client not in self.ways:
            way = self.stack.enter_context(bind_udp(interface="lo", address="127.0.0.1", port=0))
            self.ways[client] = way
            loop = asyncio.get_running_loop()
            loop.add_reader(way, self.down, way, client)
            self.stack.callback(loop.remove_reader, way)
        if self.one_way or not self.loses():
            asks = datagram.startswith(READ_REQUEST)
            self.ways[client].sendto(datagram, self.server if asks else self.answering.get(client, self.server))

    def down(self, way: socket.socket, client: Address) -> None:
        datagram, self.answering[client] = way.recvfrom(65_536)
        if not self.loses():
            self.front.sendto(datagram, client)


@asynccontextmanager
async def lossy_line(server: Address, loss: float, seed: int, *, one_way: bool = False) -> AsyncIterator[LossyLine]:
    """What is lost is lost of all datagrams, or `one_way` of what the server sends only."""
    loop = asyncio.get_running_loop()
    with ExitStack() as stack:
        front = stack.enter_context(bind_udp(interface="lo", address="127.0.0.1", port=0))
        line = LossyLine(server, loss, one_way, random.Random(seed), front, stack)
        loop.add_reader(front, line.up)
        stack.callback(loop.remove_reader, front)
        yield line
