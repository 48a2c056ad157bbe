"""Asking again, ever more slowly, for as long as what stands in the way may pass."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

FIRST_WAIT = 1.0
LONGEST_WAIT = 8.0
SAID_AGAIN_AFTER = 60.0
_log = logging.getLogger(__name__)
T = TypeVar("T")


async def patiently(ask: Callable[[], Awaitable[T]], *passing: type[Exception]) -> T:
    """The answer of `ask`, asked until it raises none of `passing`; whoever has no time for ever cancels it.

    The waits double from FIRST_WAIT to LONGEST_WAIT seconds, so that an engine or an appliance that was away for a
    moment is found again at once.  What stands in the way is logged when it is new, after a minute, after two, four, …,
    and when it is over: one that is away for a night fills no log.
    """
    wait, waited = FIRST_WAIT, 0.0
    said, since, silent_until = "", 0.0, 0.0
    while True:
        try:
            answer = await ask()
        except passing as error:
            if str(error) != said:
                said, since, silent_until = str(error), waited, waited + SAID_AGAIN_AFTER
                _log.warning("%s; trying again until it works", said, extra={"action": "worker.waits"})
            elif waited >= silent_until:
                silent_until = waited + (waited - since)
                _log.warning("%s, for %.0f s now", said, waited - since, extra={"action": "worker.waits"})
            await asyncio.sleep(wait)
            waited += wait
            wait = min(2 * wait, LONGEST_WAIT)
        else:
            if waited:
                _log.info("it works again after %.0f s: %s", waited, said, extra={"action": "worker.waited"})
            return answer
