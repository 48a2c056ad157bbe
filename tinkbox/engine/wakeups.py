"""Wakeups: a waiter waits for the bell or a few seconds, then looks.

The bell makes it quick, looking makes it correct.  A bell carries no data, so it cannot be stale,
and a ring that nobody waits for is forgotten.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

CHANGES = "changes"
RETURNS = "returns"
SERVICES = "services"


def host_wakeup(host: str) -> str:
    """The bell that rings when other services are wanted of this host."""
    return f"host:{host}"


def worker_wakeup(hardware_id: str) -> str:
    """The bell that rings when there may be work for this machine."""
    return f"worker:{hardware_id}"


class Wakeups:
    """Named wakeups, made when first waited for."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}

    def wake(self, name: str) -> None:
        """Wake everybody who waits for this bell now."""
        for future in self._waiting.pop(name, ()):
            if not future.done():
                future.set_result(None)

    async def wait(self, name: str, timeout: float) -> None:
        """Return when the bell rings or after `timeout` seconds, whichever comes first."""
        async with self.listening(name, timeout):
            pass

    @asynccontextmanager
    async def listening(self, name: str, timeout: float) -> AsyncIterator[None]:
        """Do what is within, and then wait; a ring during it is not missed."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(name, set()).add(future)
        try:
            yield
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await future
        finally:
            waiting = self._waiting.get(name)
            if waiting is not None:
                waiting.discard(future)
                if not waiting:
                    self._waiting.pop(name, None)
