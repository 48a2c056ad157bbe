"""How a socket for datagrams is read: when something waits in it, so much at a time that others have their turn; how full it is."""

import asyncio
import logging
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Final, TypeVar

from tinkbox.short_turns import Readable, Urgent

A = TypeVar("A")
T = TypeVar("T")
_log = logging.getLogger(__name__)


@contextmanager
def reading(line: Readable, drain: Callable[[], None], urgent: float = 0.0) -> Iterator[None]:
    """Call `drain` whenever something waits there; what is `urgent` comes before other things for this share of the time."""
    loop = asyncio.get_running_loop()
    watched = Urgent(line, urgent) if urgent else line
    loop.add_reader(watched, drain)
    try:
        yield
    finally:
        loop.remove_reader(watched)


# Datagrams of one socket that are taken before others have their turn, and for how many seconds more are.
DRAIN: Final = 16
TURN: Final = 0.002


def drained(receive: Callable[[A], T], how: A, clock: Callable[[], float] = time.perf_counter) -> Iterator[T]:
    """What `receive(how)` gives of a socket that anybody may send to: DRAIN datagrams, and more until TURN is over.

    Most of a flood is left unread, which costs little; what stays in the queue keeps others out of it.
    """
    return received(DRAIN, receive, how, clock() + TURN, clock)


def received(
    few: int, receive: Callable[[A], T], how: A, until: float = -inf, clock: Callable[[], float] = time.perf_counter
) -> Iterator[T]:
    """What `receive(how)`, a method of a non-blocking socket, has to give now; it is called `few` times, and on `until` then."""
    calls = 0
    while calls < few or clock() < until:
        calls += 1
        try:
            datagram = receive(how)
        except BlockingIOError:
            return
        except OSError as error:  # such as a machine's ICMP answer to what was sent there before
            _log.debug("receive: %s", error, extra={"action": "udp.receive-failed"})
            continue
        yield datagram


_SO_MEMINFO: Final = 55
# include/uapi/linux/sock_diag.h: what is held, the room for it, …, how many datagrams were dropped.
_MEMORY: Final = struct.Struct("=9I")
_COUNTED: Final = 1 << 32


def room_taken(line: socket.socket) -> float:
    """How much of a socket's queue is full, from 0 to 1; up to a quarter of it may be empty again."""
    held, room, *_ = _memory(line)
    return float(held / room)


def kept_out(line: socket.socket, before: int = 0) -> int:
    """How many datagrams the kernel let into a socket's queue no more, by a filter or for lack of room, since there were `before`."""
    return (_memory(line)[-1] - before) % _COUNTED


def _memory(line: socket.socket) -> tuple[int, ...]:
    return _MEMORY.unpack(line.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMORY.size))
