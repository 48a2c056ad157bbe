"""Wakeups: a waiter waits for the wakeup or a few seconds, then looks.

The wakeup makes it quick, looking makes it correct.  It carries no data, so it cannot be stale,
and one that nobody waits for is forgotten.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

CHANGES = "changes"
RETURNS = "returns"
SERVICES = "services"
SHELLS = "shells"


def host_wakeup(host: str) -> str:
    """The wakeup for when other services are wanted of this host."""
    return f"host:{host}"


def worker_wakeup(hardware_id: str) -> str:
    """The wakeup for when there may be work for this machine."""
    return f"worker:{hardware_id}"


class Wakeups:
    """Named wakeups, made when first waited for.  `changes` counts how often CHANGES was woken."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}
        self.changes = 0

    def wake(self, name: str) -> None:
        """Wake everybody who waits for this name now."""
        self.changes += name == CHANGES
        for future in self._waiting.pop(name, ()):
            _wake(future)

    async def wait(self, name: str, timeout: float) -> None:
        """Return when it is woken or after `timeout` seconds, whichever comes first."""
        loop = asyncio.get_running_loop()
        future = self._listen(name)
        timer = loop.call_later(timeout, _wake, future)
        try:
            await future
        finally:
            timer.cancel()
            self._leave(name, future)

    @asynccontextmanager
    async def listening(self, name: str, timeout: float) -> AsyncIterator[None]:
        """Do what is within, and then wait; a wakeup during it is not missed."""
        future = self._listen(name)
        try:
            yield
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await future
        finally:
            self._leave(name, future)

    def _listen(self, name: str) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(name, set()).add(future)
        return future

    def _leave(self, name: str, future: asyncio.Future[None]) -> None:
        waiting = self._waiting.get(name)
        if waiting is not None:
            waiting.discard(future)
            if not waiting:
                self._waiting.pop(name, None)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
