"""Whose work is done when that takes processor from booting machines: few pieces of it at a time.

Of those who wait, people take turns, so that nobody waits for all that another asked for (`Queue`).  Where a piece lasts
seconds, each person, by name, has so much that runs or waits, and all of them together, as the ledger's limit says
(`Turns`; `model.limits.RENDERINGS`, `EXAMINATIONS`).

What is done in the event loop itself about every machine is done in slices (`in_slices`).
"""

import asyncio
import gc
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import Final, TypeVar
from weakref import WeakValueDictionary

from tinkbox.model.errors import TooMany
from tinkbox.model.limits import Ledger
from tinkbox.thread_turns import Turn

AT_ONCE: Final = 2
SLICE: Final = 32  # of what costs tens of microseconds each: what booting machines ask takes several turns of the loop
SLICE_SECONDS: Final = 0.001  # after which a slice ends, however few there were
# So many collections of young garbage are between two of all.  What one person applies at most takes a few hundred, and people
# who do so all the time leave some ten thousand objects of old garbage meanwhile.
SELDOM: Final = 10_000
AWHILE: Final = 2.0  # seconds
R = TypeVar("R")
T = TypeVar("T")


async def in_slices(
    make: Callable[[T], R], entries: Iterable[T], clock: Callable[[], float] = time.perf_counter
) -> list[R]:
    """What is made of each entry; between two slices of them everything else has a turn of the loop.

    A slice is SLICE entries, and fewer where they take longer than SLICE_SECONDS.
    """
    made: list[R] = []
    began, number = clock(), 0
    for each in tuple(entries):
        made.append(make(each))
        number += 1
        if number == SLICE or clock() - began >= SLICE_SECONDS:
            await asyncio.sleep(0)
            began, number = clock(), 0
    return made


class Rehearsals:
    """What is worked out and not stored: one of each person at a time, and AT_ONCE of all of them.

    Each may have a hundred megabytes of what it read in memory, so one for all kinds of them.
    """

    def __init__(self) -> None:
        self._queues: WeakValueDictionary[str, Queue] = WeakValueDictionary()
        self._all = Queue(AT_ONCE)

    @asynccontextmanager
    async def turn(self, who: str) -> AsyncIterator[None]:
        """Waits until no other one of this person is under way, and then behind those of others."""
        own = self._queues.setdefault(who, Queue(at_once=1))
        async with own.turn(who), self._all.turn(who):
            yield


class SeldomCollected:
    """While many values are in memory, Python looks for garbage among all of them seldom: that stops everything for long.

    Half a million values take a tenth of a second.  What is young is looked through as always.  It ends a while later: what
    was answered, or the refusal with all that led to it, is gone then.
    """

    def __init__(self) -> None:
        self._held = 0

    def __enter__(self) -> None:
        self._held += 1
        if self._held == 1:
            self._usual = gc.get_threshold()
            gc.set_threshold(*self._usual[:2], SELDOM)

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().call_later(AWHILE, self._end)

    def _end(self) -> None:
        self._held -= 1
        if not self._held:
            gc.set_threshold(*self._usual)


seldom_collected = SeldomCollected()


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
