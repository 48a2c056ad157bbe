"""Surveys, which look at everything there is and take long: one at a time, and for all who ask meanwhile."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar

from tinkbox.engine.turns import Queue

T = TypeVar("T")
Turn = Callable[[], AbstractAsyncContextManager[None]]


class Surveys(Generic[T]):
    """`make` makes one; with True it listens for other DHCP servers, which takes seconds.

    A survey that begins after a request came answers that request as well, unless it is asked to listen and does not.
    """

    def __init__(self, make: Callable[[bool], Awaitable[T]]) -> None:
        self._make = make
        self._queue = Queue(at_once=1)
        self._begun = 0
        self._waiting = 0
        # By whether it listened, the newest with its number; for those who wait now.
        self._made: dict[bool, tuple[int, T]] = {}

    async def get(self, who: str, turn: Turn, *, listens: bool) -> T:
        """One that begins from now on; it is made in the person's `turn`.  Who is cancelled ends what it makes."""
        begun = self._begun
        self._waiting += 1
        try:
            async with self._queue.turn(who):
                made = max((self._made[each] for each in {True, listens} & {*self._made}), default=None, key=_number)
                if made is not None and made[0] > begun:
                    return made[1]
                async with turn():
                    self._begun += 1
                    number = self._begun
                    found = await self._make(listens)
                self._made[listens] = number, found
                return found
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._made.clear()


def _number(made: tuple[int, object]) -> int:
    return made[0]
