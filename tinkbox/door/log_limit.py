"""How much the log grows: nobody on the network can fill the disk with it."""

import logging
from collections import Counter
from collections.abc import Callable
from typing import Final

from aiohttp.http_exceptions import HttpProcessingError

from tinkbox.model.rates import Buckets, Rate

# Of one action: what is busy for a moment is told in full, what goes on for hours in part, and a year of it is some 250 MB.
LINES: Final = Rate(burst=300, a_second=0.5)
LASTING: Final = Rate(burst=10_000, a_second=0.05)
# With a traceback, which is ten to fifty lines.
TRACEBACKS: Final = Rate(burst=20, a_second=0.005)
# How often the log tells what it left out, in seconds, and of how many actions by name.
TOLD_EVERY: Final = 60.0
_TOLD: Final = 10
_REMEMBERED: Final = 1024

_log: Final = logging.getLogger(__name__)


class LogLimit(logging.Filter):
    """Drops what is logged too often of one action (`extra={"action": …}`), and tells once a minute how much that was.

    A record without an action, from a library, counts for the place in the program that logs it.  No flood of one action
    drops a line of another, and none drops tracebacks.  Requests that are none, which any stranger can send, are not logged
    at all: aiohttp would.  `monotonic` is a clock in seconds.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        super().__init__()
        self._monotonic = monotonic
        self._lines = Buckets(LINES, _REMEMBERED)
        self._lasting = Buckets(LASTING, _REMEMBERED)
        self._tracebacks = Buckets(TRACEBACKS, _REMEMBERED)
        self._dropped: Counter[str] = Counter()
        self._since = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to write it."""
        if record.exc_info and isinstance(record.exc_info[1], HttpProcessingError):
            return False
        now = self._monotonic()
        self._tell(now)
        action = getattr(record, "action", f"{record.name}:{record.lineno}")
        if record.exc_info:
            admitted = self._tracebacks.take((record.pathname, record.lineno), now)
        else:
            admitted = self._lines.take(action, now) and self._lasting.take(action, now)
        if not admitted:
            if not self._dropped:
                self._since = now
            self._dropped[action] += 1
        return admitted

    def _tell(self, now: float) -> None:
        if not self._dropped or now - self._since < TOLD_EVERY:
            return
        dropped, self._dropped = self._dropped, Counter()
        told = [f"{number:,} of {action}" for action, number in dropped.most_common(_TOLD)]
        if others := dropped.total() - sum(number for _, number in dropped.most_common(_TOLD)):
            told.append(f"{others:,} of others")
        extra = {"action": "log.shortened"}
        _log.warning("lines left out in the last %.0f s: %s", now - self._since, ", ".join(told), extra=extra)
