"""Work in a thread, within a turn: a lock, or a place in a queue, that is held for as long as the thread works."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import ParamSpec, TypeVar

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
