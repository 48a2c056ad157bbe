"""Whose work is done when that takes processor from booting machines: few pieces of it at a time.

Of those who wait, people take turns, so that nobody waits for all that another asked for (`Queue`).  Where a piece lasts
seconds, each person, by name, has so much that runs or waits, and all of them together, as the ledger's limit says
(`Turns`; `model.limits.RENDERINGS`, `EXAMINATIONS`).

What is done in the event loop itself about every machine is done in slices (`in_slices`).
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import Final, ParamSpec, TypeVar

from tinkbox.model.errors import TooMany
from tinkbox.model.limits import Ledger

AT_ONCE: Final = 2
SLICE: Final = 32  # of what costs tens of microseconds each: what booting machines ask takes several turns of the loop
P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
# Entered for each piece of work, of a few seconds at most.
Turn = Callable[[], AbstractAsyncContextManager[None]]


async def in_thread(turn: Turn, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """What a piece of work returns, done in a thread; the turn ends with the thread, though nobody awaits it any more."""
    async with turn():
        doing = asyncio.get_running_loop().run_in_executor(None, partial(work, *arguments, **named))
        try:
            return await asyncio.shield(doing)
        except asyncio.CancelledError:
            await asyncio.wait([doing])
            raise


async def in_slices(make: Callable[[T], R], entries: Iterable[T]) -> list[R]:
    """What is made of each entry; between two slices of them everything else has a turn of the loop."""
    made = []
    for number, each in enumerate(tuple(entries), 1):
        made.append(make(each))
        if number % SLICE == 0:
            await asyncio.sleep(0)
    return made


class Turns:
    """`at_once` pieces of work run at a time, of a bounded number that runs or waits."""

    def __init__(self, ledger: Ledger, at_once: int = AT_ONCE) -> None:
        self._ledger = ledger
        self._queue = Queue(at_once)

    @contextmanager
    def place(self, who: str) -> Iterator[Turn]:
        """A place for one work of a person's, as what to enter for each piece of it; raises TooMany."""
        if not self._ledger.take(who):
            limit = self._ledger.limit
            raise TooMany(
                f"too many {limit.unit}s run or wait: {limit.each} for one person, {limit.all} in all ({limit.key} in "
                "tinkbox.yaml): try later"
            )
        try:
            yield partial(self._queue.turn, who)
        finally:
            self._ledger.give_back(who)


class Queue:
    """`at_once` pieces of work run at a time; the others wait."""

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def turn(self, who: str) -> AsyncIterator[None]:
        """A person's turn, entered for one piece."""
        if self._free:
            self._free -= 1
        else:
            await self._wait(who)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, who: str) -> None:
        ours = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(who, deque()).append(ours)
        try:
            await ours
        except asyncio.CancelledError:
            if ours.done() and not ours.cancelled():
                self._pass_on()
            else:
                self._forget(who, ours)
            raise

    def _pass_on(self) -> None:
        """Give the turn to the person who waits longest since the last one."""
        while self._waiting:
            who, theirs = self._waiting.popitem(last=False)
            ours = theirs.popleft()
            if theirs:
                self._waiting[who] = theirs
            if not ours.done():  # else who waited was cancelled just now, and will not take it
                ours.set_result(None)
                return
        self._free += 1

    def _forget(self, who: str, ours: asyncio.Future[None]) -> None:
        theirs = self._waiting.get(who, deque())
        with suppress(ValueError):
            theirs.remove(ours)
        if not theirs:
            self._waiting.pop(who, None)
