"""What the appliance wants of an attempt: how long it may go on, and what its breakpoints are.

Orders are the whole of what is wanted at the moment; whatever of them was lost comes again.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from tinkbox.model.breakpoint import Armed
from tinkbox.model.errors import Conflict, Denied, Invalid, NotFound, Refusal, TooLarge, Unavailable
from tinkbox.model.workflow import State
from tinkbox.runtime.retrying import patiently
from tinkbox.wire.messages.breakpoints import Orders, Ruling
from tinkbox.wire.messages.worker import Order

FIRST_PAUSE = 0.5  # an offer says what is wanted at that moment: of what ends sooner there is nothing to ask
PAUSE = 1.0  # after what is no news, for an answer may come at once


class Door(Protocol):
    """Where orders come from."""

    async def orders(self, attempt: str, seen: str, engine_away: float = 0.0) -> Orders | None: ...


class OrderListener:
    """Of one attempt; `order` is the newest order to stop, `orders` is everything that was said last.

    `hear` is called with all orders that are news, which what is `armed` by the offer is not.  An appliance that was away
    is asked for all of its orders, for its store may have been put back meanwhile to where they were the same.
    Each question tells for how many seconds the engine is `away`.
    """

    def __init__(
        self,
        door: Door,
        attempt: str,
        armed: Armed,
        hear: Callable[[Orders], None],
        away: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._door = door
        self._attempt = attempt
        self._hear = hear
        self._away = away
        self._limit: asyncio.Timeout | None = None
        self._news = asyncio.Event()
        self._awaited = asyncio.Event()
        self._was_away = False
        self.order: Order | None = None
        self.orders = Orders(armed=armed)

    @property
    def canceled(self) -> bool:
        """Whether nothing more is to be begun."""
        return self.order is not None and self.order.state is State.CANCELED

    async def listen(self, offered_at: float) -> None:
        """Listen for orders, however often the appliance is away; whoever started it cancels it.

        It begins a moment after the offer came, in the loop's time, or as soon as somebody waits for an order.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout_at(offered_at + FIRST_PAUSE):
                await self._awaited.wait()
        while True:
            orders = await patiently(self._ask, Unavailable, Denied, Invalid, TooLarge)
            was_away, self._was_away = self._was_away, False
            if orders is None or (orders == self.orders and not was_away):
                await asyncio.sleep(PAUSE)
                continue
            heard, self.orders = orders == self.orders, orders
            self._news.set()
            if heard:
                continue
            if orders.stop is not None and (self.order is None or orders.stop.state is not self.order.state):
                self._stop(orders.stop)
            self._hear(orders)

    @asynccontextmanager
    async def within(self, seconds: float) -> AsyncIterator[None]:
        """What takes longer, or is under way when an order to stop comes, ends with TimeoutError.

        Once an order of cancellation came, everything does at once.
        """
        try:
            async with asyncio.timeout(0 if self.canceled else seconds) as self._limit:
                yield
        finally:
            self._limit = None

    async def ordered(self) -> Order:
        """Wait for an order to stop, if none came yet."""
        while self.order is None:
            await self._next()
        return self.order

    async def ruling(self, sequence: int) -> Ruling | None:
        """Wait for the verdict on the hold of this number; None when an order to stop comes first."""
        while self.order is None:
            ruling = self.orders.ruling
            if ruling is not None and ruling.sequence == sequence:
                return ruling
            await self._next()
        return None

    async def news(self, seen: Orders) -> Orders:
        """Wait for orders that came after these, which were seen last; it does not have them asked for any sooner.

        They may be the same, of an appliance that was away.
        """
        while self.orders is seen:
            self._news.clear()
            await self._news.wait()
        return self.orders

    async def _next(self) -> None:
        self._awaited.set()
        await self.news(self.orders)

    def _stop(self, order: Order) -> None:
        self.order = order
        if self._limit is not None and not self._limit.expired():
            self._limit.reschedule(asyncio.get_running_loop().time())

    async def _ask(self) -> Orders | None:
        try:
            return await self._door.orders(self._attempt, "" if self._was_away else self.orders.mark, self._away())
        except (NotFound, Conflict) as error:
            return Orders(stop=unwanted(error))
        except Refusal:
            self._was_away = True
            raise


def unwanted(error: Refusal) -> Order:
    """What it means when the appliance refuses an attempt: mostly that it is over, or its workflow deleted."""
    return Order(state=State.CANCELED, message=f"the appliance does not want this attempt any more: {error}")
