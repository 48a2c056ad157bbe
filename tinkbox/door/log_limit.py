"""How much the log grows: nobody on the network can fill the disk with it."""

import logging
from collections import Counter
from collections.abc import Callable
from typing import Final

from aiohttp.http_exceptions import HttpProcessingError

from tinkbox.model.rates import Buckets, Rate

# Of one line of the program: what is busy for a moment is told in full.
LINES: Final = Rate(burst=500, a_second=1.0)
# With a traceback, which is ten to fifty lines.
TRACEBACKS: Final = Rate(burst=20, a_second=0.02)
_PLACES: Final = 1024
_Place = tuple[str, int]


class LogLimit(logging.Filter):
    """Drops what one place of the program logs too often, and says how often when that is over.

    It drops what aiohttp logs of requests that are none, which any stranger can send.  `monotonic` is a clock in seconds.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        super().__init__()
        self._monotonic = monotonic
        self._lines = Buckets(LINES, _PLACES)
        self._tracebacks = Buckets(TRACEBACKS, _PLACES)
        self._dropped: Counter[_Place] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to write it."""
        if record.exc_info and isinstance(record.exc_info[1], HttpProcessingError):
            return False
        place = record.pathname, record.lineno
        buckets = self._tracebacks if record.exc_info else self._lines
        if not buckets.take(place, self._monotonic()):
            self._dropped[place] += 1
            return False
        if dropped := self._dropped.pop(place, 0):
            record.msg, record.args = f"{record.getMessage()} (and {dropped} more of this kind)", ()
        return True
