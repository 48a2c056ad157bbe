"""A measurement that takes a while: made again and again, and its last result kept."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Generic, NoReturn, TypeVar

from tinkbox.model.errors import Refusal

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Background(Generic[T]):
    """`measure` is awaited every so many seconds, or as many as what it told last says, for ever.

    `last` is what it told, and `why` why it could not.

    Before the first measurement, and where the last one failed, `last` is `nothing`; `is_measured` tells whether there was a first.
    """

    def __init__(self, measure: Callable[[], Awaitable[T]], nothing: T, every: float | Callable[[T], float]) -> None:
        self._measure = measure
        self._nothing = nothing
        self._every = every
        self.last = nothing
        self.why = "it is being looked at for the first time"
        self.is_measured = False

    async def run(self) -> NoReturn:
        """Measure, for ever; what fails is told by `why`, and once by the log."""
        while True:
            try:
                self.last, self.why = await self._measure(), ""
            except Refusal as refusal:
                self.last, self.why = self._nothing, str(refusal)
            except Exception as error:  # the others are measured all the same
                why = f"it failed: {type(error).__name__}: {error}"
                if why != self.why:
                    _log.exception("a measurement of the appliance failed", extra={"action": "vitals.failed"})
                self.last, self.why = self._nothing, why
            self.is_measured = True
            await asyncio.sleep(self._every(self.last) if callable(self._every) else self._every)
