"""The event loop in short turns: a flood at one door lets a transfer that goes block by block wait for little.

By itself the loop handles everything that is ready before it looks again.  Under a flood that takes tens of milliseconds,
and TFTP waits so long for each block (RFC 1350 §2).
"""

import asyncio
import os
import select
import selectors
from math import ceil
from typing import Any, Final

# Events of one turn.  The kernel gives each ready descriptor its place in a queue, so that none is passed over.
EVENTS: Final = 8


class ShortTurns(selectors.EpollSelector):
    """Hands out so many events at once, and with each turn those of files whose attribute `urgent` is true."""

    def __init__(self) -> None:
        super().__init__()
        self._ready = select.epoll.fromfd(os.dup(self.fileno()))
        self._urgent = select.epoll()

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        key = super().register(fileobj, events, data)
        if getattr(fileobj, "urgent", False):
            self._urgent.register(key.fd, select.EPOLLIN)
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        key = super().unregister(fileobj)
        if getattr(fileobj, "urgent", False):
            self._urgent.unregister(key.fd)
        return key

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        wait = None if timeout is None else ceil(max(timeout, 0.0) * 1000) / 1000
        try:
            ready = self._ready.poll(wait, EVENTS)
        except InterruptedError:
            return []
        if len(ready) == EVENTS:
            urgent = self._urgent.poll(0)
            ready = urgent + [each for each in ready if each not in urgent]
        keys = self.get_map()
        return [(key, _kinds(mask) & key.events) for descriptor, mask in ready if (key := keys[descriptor])]

    def close(self) -> None:
        self._urgent.close()
        self._ready.close()
        super().close()


def event_loop() -> asyncio.AbstractEventLoop:
    """A loop in short turns, for `asyncio.Runner`."""
    return asyncio.SelectorEventLoop(ShortTurns())


def _kinds(mask: int) -> int:
    """What `selectors` calls it; an error or the end of a stream is both."""
    reading = selectors.EVENT_READ if mask & ~select.EPOLLOUT else 0
    return reading | (selectors.EVENT_WRITE if mask & ~select.EPOLLIN else 0)
