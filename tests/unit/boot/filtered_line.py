"""A real socket, and what the kernel lets into it."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from tinkbox.boot.network.datagrams import room_taken


@contextmanager
def line() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(("127.0.0.1", 0))
        bound.setblocking(False)
        yield bound


def let_in(bound: socket.socket, *datagrams: bytes) -> list[bytes]:
    """Those that come through, each sent when the one before has been read."""
    through = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as machine:
        for datagram in datagrams:
            machine.sendto(datagram, bound.getsockname())
            try:
                through.append(bound.recv(2048))
            except BlockingIOError:
                continue
    return through


def filled(bound: socket.socket, datagram: bytes = b"x") -> int:
    """Fill its queue; returns how many datagrams went into it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as machine:
        machine.connect(bound.getsockname())
        sent = 0
        while room_taken(bound) < 0.95:
            machine.send(datagram)
            sent += 1
        return sent
