"""Asking an engine for what must not be left halfway.

An engine carries out a request though the caller hangs up, and while it does so it describes things as they were before:
Docker says of a container that it is starting that it never began.  So a caller that is cancelled hears the answer first.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

SECONDS: Final = 20.0  # a busy engine takes some to start a container; one that takes longer may never answer
T = TypeVar("T")


async def seen_through(ask: Callable[[], Awaitable[T]]) -> T:
    """The answer of `ask`, or what it raises.

    A caller that is cancelled meanwhile is so only once there is an answer, or after SECONDS, when the request is
    cancelled as well; one that is cancelled a second time is so at once.
    """
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(_answer(ask))
        try:
            await asyncio.wait({asking})
        except asyncio.CancelledError:
            await asyncio.wait({asking}, timeout=SECONDS)
            asking.cancel()
            raise
    answer = asking.result()
    if isinstance(answer, _Raised):
        raise answer.error
    return answer


@dataclass(frozen=True, slots=True)
class _Raised:
    error: Exception


async def _answer(ask: Callable[[], Awaitable[T]]) -> T | _Raised:
    """What is raised is a value here: in a task of a group it would cancel who waits for it."""
    try:
        return await ask()
    except Exception as error:
        return _Raised(error)
