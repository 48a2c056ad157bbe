"""Asking again, ever more slowly, for as long as what stands in the way may pass."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

FIRST_WAIT = 1.0
LONGEST_WAIT = 8.0
_log = logging.getLogger(__name__)
T = TypeVar("T")


async def patiently(ask: Callable[[], Awaitable[T]], *passing: type[Exception]) -> T:
    """The answer of `ask`, asked until it raises none of `passing`; whoever has no time for ever cancels it.

    The waits double from FIRST_WAIT to LONGEST_WAIT seconds, so that an engine or an appliance that
    was away for a moment is found again at once, and one that is away for a night fills no log.
    """
    wait = FIRST_WAIT
    while True:
        try:
            return await ask()
        except passing as error:
            _log.warning("%s; trying again in %.0f s", error, wait, extra={"action": "worker.waits"})
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)
