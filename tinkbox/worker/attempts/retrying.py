"""Patience with engine and appliance, over one attempt."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tinkbox.model.errors import Denied, Unavailable
from tinkbox.runtime import ContainerFailed, EngineAway
from tinkbox.runtime.retrying import patiently

_log = logging.getLogger(__name__)
T = TypeVar("T")


class EngineGone(Exception):
    """The engine did not help within the time there was."""


class Patience:
    """With engine and appliance, over one attempt.

    `missing` is what is being waited for now, `engine_was_away` tells whether the engine ever was.
    """

    def __init__(self) -> None:
        self.missing: Exception | None = None
        self.engine_was_away = False

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

    async def within(self, seconds: float, ask: Callable[[], Awaitable[T]]) -> T:
        """The answer; raises EngineGone when the engine stays away, or cannot do it."""
        try:
            async with asyncio.timeout(seconds):
                return await self.until_answered(ask)
        except (TimeoutError, ContainerFailed) as error:
            _log.warning("the engine does not help: %s", error or "no answer", extra={"action": "engine.gone"})
            raise EngineGone from None
