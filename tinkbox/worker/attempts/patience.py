"""Patience with engine and appliance, over one attempt."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tinkbox.model.errors import Denied, Unavailable
from tinkbox.runtime import ContainerFailed, EngineAway
from tinkbox.runtime.patience import patiently

_log = logging.getLogger(__name__)
T = TypeVar("T")


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
