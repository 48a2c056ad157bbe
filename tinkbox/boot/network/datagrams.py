"""How a socket for datagrams is read: when something waits in it, and so much at a time that others have their turn."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol, TypeVar

A = TypeVar("A")
T = TypeVar("T")
_log = logging.getLogger(__name__)


class Readable(Protocol):
    """What a loop can watch: a non-blocking socket, or an epoll of several."""

    def fileno(self) -> int: ...


@contextmanager
def reading(line: Readable, drain: Callable[[], None]) -> Iterator[None]:
    """Call `drain` whenever something waits there."""
    loop = asyncio.get_running_loop()
    loop.add_reader(line, drain)
    try:
        yield
    finally:
        loop.remove_reader(line)


# Datagrams of one socket that are taken before others have their turn.
DRAIN: Final = 16


def received(most: int, receive: Callable[[A], T], how: A) -> Iterator[T]:
    """What `receive(how)`, a method of a non-blocking socket, has to give now; it is called `most` times at the most."""
    for _ in range(most):
        try:
            datagram = receive(how)
        except BlockingIOError:
            return
        except OSError as error:  # such as a machine's ICMP answer to what was sent there before
            _log.debug("receive: %s", error, extra={"action": "udp.receive-failed"})
            continue
        yield datagram
