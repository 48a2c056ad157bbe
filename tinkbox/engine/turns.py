"""Whose work is done when that takes processor from booting machines: few pieces of it at a time.

Each person, by name, has so much that runs or waits, and all of them together, as the ledger's limit says
(`model.limits.RENDERINGS`, `EXAMINATIONS`).  Of those who wait, people take turns, so that nobody waits for all that another
asked for.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import Final, ParamSpec, TypeVar

from tinkbox.model.errors import TooMany
from tinkbox.model.limits import Ledger

AT_ONCE: Final = 2
P = ParamSpec("P")
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


class Turns:
    """`at_once` pieces of work run at a time."""

    def __init__(self, ledger: Ledger, at_once: int = AT_ONCE) -> None:
        self._ledger = ledger
        self._free = at_once
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

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
            yield partial(self._turn, who)
        finally:
            self._ledger.give_back(who)

    @asynccontextmanager
    async def _turn(self, who: str) -> AsyncIterator[None]:
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
        if not self._waiting:
            self._free += 1
            return
        who, theirs = self._waiting.popitem(last=False)
        theirs.popleft().set_result(None)
        if theirs:
            self._waiting[who] = theirs

    def _forget(self, who: str, ours: asyncio.Future[None]) -> None:
        theirs = self._waiting.get(who, deque())
        with suppress(ValueError):
            theirs.remove(ours)
        if not theirs:
            self._waiting.pop(who, None)
