"""Patience with engine and appliance, over one attempt."""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tinkbox.model.errors import Denied, Unavailable
from tinkbox.runtime import ContainerFailed, EngineAway
from tinkbox.runtime.retrying import patiently

# So long an engine is waited for before the action's container was started.  One that restarts is back by then, and no
# engine at all is told in time.  What runs may run on without its engine, so that is waited for as long as it may take.
BEGIN_SECONDS = 30.0
_log = logging.getLogger(__name__)
T = TypeVar("T")


class EngineGone(Exception):
    """The engine did not help within the time there was."""


class Patience:
    """With engine and appliance, over one attempt.

    `missing` is what is being waited for now, `engine_was_away` tells whether the engine ever was, and `given_up` whether
    it is not waited for any more.  `begun` tells whether the action's container was ever started.
    """

    def __init__(self, begun: Callable[[], bool]) -> None:
        self.missing: Exception | None = None
        self.engine_was_away = self.given_up = False
        self._begun = begun
        self._away_since = math.inf

    async def until_answered(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask again for as long as the engine or the appliance is away.

        Raises EngineGone when the engine stays away for BEGIN_SECONDS, and nothing was begun.
        """
        now = asyncio.get_running_loop().time

        async def noting() -> T:
            try:
                answer = await ask()
            except (EngineAway, Unavailable, Denied) as error:
                self.missing = error
                if isinstance(error, EngineAway):
                    self.engine_was_away = True
                    self._away_since = min(self._away_since, now())
                    self.given_up |= now() - self._away_since >= BEGIN_SECONDS and not self._begun()
                    if self.given_up:
                        raise EngineGone(str(error)) from None
                raise
            self.missing, self._away_since, self.given_up = None, math.inf, False
            return answer

        return await patiently(noting, EngineAway, Unavailable, Denied)

    async def within(self, seconds: float, ask: Callable[[], Awaitable[T]]) -> T:
        """The answer; raises EngineGone when the engine stays away, or cannot do it."""
        try:
            async with asyncio.timeout(seconds):
                return await self.until_answered(ask)
        except (TimeoutError, ContainerFailed) as error:
            _log.warning("the engine does not help: %s", error or "no answer", extra={"action": "engine.gone"})
            raise EngineGone from None
