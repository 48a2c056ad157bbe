"""The event loop in short turns: a flood at one door lets a transfer that goes block by block wait for little.

By itself the loop handles everything that is ready before it looks again.  Under a flood that takes tens of milliseconds,
and TFTP waits so long for each block (RFC 1350 §2).  So a turn has few events, and before each callback of a turn comes
what is urgent.
"""

import asyncio
import os
import select
import selectors
from collections.abc import Callable
from contextvars import Context
from functools import partial
from math import ceil
from typing import Any, Final, TypeVarTuple

# Events of one turn.  The kernel gives each ready descriptor its place in a queue, so that none is passed over.
EVENTS: Final = 8
Ts = TypeVarTuple("Ts")


class ShortTurns(selectors.EpollSelector):
    """Hands out so many events at once."""

    def __init__(self) -> None:
        super().__init__()
        self._ready = select.epoll.fromfd(os.dup(self.fileno()))

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        wait = None if timeout is None else ceil(max(timeout, 0.0) * 1000) / 1000
        try:
            ready = self._ready.poll(wait, EVENTS)
        except InterruptedError:
            return []
        keys = self.get_map()
        return [(keys[descriptor], _kinds(mask) & keys[descriptor].events) for descriptor, mask in ready]

    def close(self) -> None:
        self._ready.close()
        super().close()


class EventLoop(asyncio.SelectorEventLoop):
    """Goes in short turns.  What reads a file whose attribute `urgent` is true is called before each other callback.

    So it has to find out by itself, at little cost, that nothing is there.
    """

    def __init__(self) -> None:
        super().__init__(ShortTurns())
        self._urgent: dict[Any, Callable[[], object]] = {}

    def add_reader(self, fd: Any, callback: Callable[[*Ts], Any], *args: *Ts) -> None:
        super().add_reader(fd, callback, *args)
        if getattr(fd, "urgent", False):
            self._urgent[fd] = partial(callback, *args)

    def remove_reader(self, fd: Any) -> bool:
        self._urgent.pop(fd, None)
        return super().remove_reader(fd)

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        return super().call_soon(self._call, callback, *args, context=context)

    def _call(self, callback: Callable[[*Ts], object], *args: *Ts) -> None:
        try:
            for each in self._urgent.values():
                each()
        except Exception as error:
            self.call_exception_handler({"message": "what is urgent failed", "exception": error})
        callback(*args)


def _kinds(mask: int) -> int:
    """What `selectors` calls it; an error or the end of a stream is both."""
    reading = selectors.EVENT_READ if mask & ~select.EPOLLOUT else 0
    return reading | (selectors.EVENT_WRITE if mask & ~select.EPOLLIN else 0)
