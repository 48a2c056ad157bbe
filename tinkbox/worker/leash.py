"""How long an attempt may go on: for its time, and until the appliance wants it stopped."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from tinkbox.model.errors import Conflict, Denied, Invalid, NotFound, Refusal, TooLarge, Unavailable
from tinkbox.model.workflow import State
from tinkbox.wire.worker import Order
from tinkbox.worker.patience import patiently

PAUSE = 1.0  # between two questions, for an answer may come at once


class Door(Protocol):
    """Where orders come from."""

    async def order(self, attempt: str) -> Order | None: ...


class Leash:
    """Of one attempt; `order` is the newest that came."""

    def __init__(self, door: Door, attempt: str) -> None:
        self._door = door
        self._attempt = attempt
        self._limit: asyncio.Timeout | None = None
        self._came = asyncio.Event()
        self.order: Order | None = None

    @property
    def canceled(self) -> bool:
        """Whether nothing more is to be begun."""
        return self.order is not None and self.order.state is State.CANCELED

    async def listen(self) -> None:
        """Listen for orders, however often the appliance is away; whoever started it cancels it."""
        while True:
            order = await patiently(self._ask, Unavailable, Denied, Invalid, TooLarge)
            if order is not None and (self.order is None or order.state is not self.order.state):
                self.order = order
                self._came.set()
                if self._limit is not None and not self._limit.expired():
                    self._limit.reschedule(asyncio.get_running_loop().time())
            await asyncio.sleep(PAUSE)

    @asynccontextmanager
    async def within(self, seconds: float) -> AsyncIterator[None]:
        """What takes longer, or is under way when an order comes, ends with TimeoutError.

        Once an order of cancellation came, everything does at once.
        """
        try:
            async with asyncio.timeout(0 if self.canceled else seconds) as self._limit:
                yield
        finally:
            self._limit = None

    async def ordered(self) -> Order:
        """Wait for an order, if none came yet."""
        await self._came.wait()
        assert self.order is not None
        return self.order

    async def _ask(self) -> Order | None:
        try:
            return await self._door.order(self._attempt)
        except (NotFound, Conflict) as error:
            return unwanted(error)


def unwanted(error: Refusal) -> Order:
    """What it means when the appliance refuses an attempt: mostly that it is over, or its workflow deleted."""
    return Order(state=State.CANCELED, message=f"the appliance does not want this attempt any more: {error}")
