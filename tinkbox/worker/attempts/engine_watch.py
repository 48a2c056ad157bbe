"""Whether the engine answers while an attempt is under way: nothing that is waited for of it would tell."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import NoReturn

from tinkbox.runtime import ContainerFailed, EngineAway

EVERY = 4.0  # seconds from an answer to the next question
# Seconds: an engine that hangs takes the question and never answers it; one on a very busy machine answers after ten.
PATIENCE = 15.0
_log = logging.getLogger(__name__)


class EngineWatch:
    """`ask` asks the engine for anything; it raises EngineAway when that does not answer."""

    def __init__(self, ask: Callable[[], Awaitable[object]]) -> None:
        self._ask = ask
        self._since: float | None = None

    def away(self) -> float:
        """For how many seconds the engine does not answer now; 0: it does, or was not asked yet."""
        return 0.0 if self._since is None else asyncio.get_running_loop().time() - self._since

    async def run(self) -> NoReturn:
        """Ask all the time; whoever started it cancels it."""
        now = asyncio.get_running_loop().time
        while True:
            asked = now()
            try:
                async with asyncio.timeout(PATIENCE):
                    await self._ask()
            except (EngineAway, TimeoutError):
                if self._since is None:
                    self._since = asked
                    _log.warning("the engine does not answer while an action runs", extra={"action": "engine.away"})
            except ContainerFailed as error:  # it answers, if only that it cannot
                _log.debug("the engine says: %s", error, extra={"action": "engine.watched"})
                self._since = None
            else:
                self._since = None
            await asyncio.sleep(EVERY)
