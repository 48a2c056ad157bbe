"""Asking again, ever more slowly, for as long as what stands in the way may pass."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tinkbox.model.errors import Denied, Unavailable
from tinkbox.runtime import ContainerFailed, EngineAway

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


class Patience:
    """With engine and appliance, over one attempt.

    `missing` is what is being waited for now, `engine_was_away` tells whether the engine ever was, `engine_gone`
    that it did not help within the time there was when it was asked last.
    """

    def __init__(self) -> None:
        self.missing: Exception | None = None
        self.engine_was_away = False
        self.engine_gone = False

    async def until_answered(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask again for as long as the engine or the appliance is away."""

        async def noting() -> T:
            try:
                answer = await ask()
            except (EngineAway, Unavailable, Denied) as error:
                self.missing = error
                self.engine_was_away |= isinstance(error, EngineAway)
                raise
            self.missing = None
            return answer

        return await patiently(noting, EngineAway, Unavailable, Denied)

    async def within(self, seconds: float, ask: Callable[[], Awaitable[T]]) -> T | None:
        """The answer, or None and `engine_gone` when the engine stays away, or cannot do it."""
        self.engine_gone = True
        try:
            async with asyncio.timeout(seconds):
                answer = await self.until_answered(ask)
        except (TimeoutError, ContainerFailed) as error:
            _log.warning("the engine does not help: %s", error or "no answer", extra={"action": "engine.gone"})
            return None
        self.engine_gone = False
        return answer
