"""Whether the clock is to be believed where something is deleted for its age.

A host whose battery is empty, or whose time server is wrong, may start in another year: everything would be too old at once, and
what is deleted does not come back when the clock is set right.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from tinkbox.store.database import Store, Tables

# By the steady clock: so long it runs before anything is deleted for its age, and so long after a clock that jumped ahead.
AT_LEAST: Final = 3600.0
DOUBTED_FOR: Final = 86_400.0
# Where nothing was stored for longer, the clock is doubted.
MOST_SILENT: Final = timedelta(days=30)
_DOUBTED: Final = timedelta(seconds=DOUBTED_FOR)
_log = logging.getLogger(__name__)


class ClockTrust:
    """Made when the appliance starts; `monotonic` is a steady clock in seconds."""

    def __init__(self, store: Store, clock: Callable[[], datetime], monotonic: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._monotonic = monotonic
        self._began = self._doubted_since = monotonic()
        self._trusted: tuple[datetime, float] | None = None  # what both clocks said when it was found right
        self._told = False

    async def may_delete(self) -> bool:
        """Whether what is too old by the clock may be deleted now; raises Unavailable."""
        now, steady = self._clock(), self._monotonic()
        if steady - self._began < AT_LEAST:
            return False
        if self._trusted is not None:
            at, then = self._trusted
            if now - at - timedelta(seconds=steady - then) < _DOUBTED:
                return True
            self._trusted, self._doubted_since = None, steady
        # What was stored within the last day may be of the same wrong clock, before a restart.
        moment = now - _DOUBTED
        newest = await self._store.read(lambda tables: _newest_before(tables, moment))
        if newest is None or moment - newest <= MOST_SILENT or steady - self._doubted_since >= DOUBTED_FOR:
            self._trusted, self._told = (now, steady), False
            return True
        if not self._told:
            self._told = True
            _log.warning(
                "the clock says %s, and what was stored before is of %s: nothing is deleted for its age until tinkbox has run for "
                "a day; if the clock is wrong, set it (`timedatectl`), and start tinkbox again",
                now.isoformat(timespec="seconds"), newest.isoformat(timespec="seconds"), extra={"action": "retention.clock"},
            )  # fmt: skip
        return False


def _newest_before(tables: Tables, moment: datetime) -> datetime | None:
    """The time of what was stored last until a moment, of events and lines of the audit."""
    told = (tables.events.newest_before(moment), tables.audit.newest_before(moment))
    return max((each for each in told if each is not None), default=None)
