"""The clock of this host against one that nobody sets."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from tinkbox.model.vitals import ClockJump

# A clock that is kept by NTP goes faster or slower by half a thousandth at most; what is more was set.
JUMP: Final = timedelta(seconds=5)
# So long people are told of a jump.
TOLD_FOR: Final = timedelta(hours=1)


class ClockWatch:
    """Compares `clock`, in UTC, with `steady`, in seconds, which goes on also while the host sleeps."""

    def __init__(self, clock: Callable[[], datetime], steady: Callable[[], float]) -> None:
        self._clock = clock
        self._steady = steady
        self._seen = clock(), steady()
        self._jump: tuple[float, ClockJump] | None = None

    def look(self) -> ClockJump | None:
        """The newest jump within TOLD_FOR, which may have come since the last look."""
        now, steady = self._clock(), self._steady()
        before, steady_before = self._seen
        by = now - before - timedelta(seconds=steady - steady_before)
        if abs(by) > JUMP:
            self._jump = steady, ClockJump(at=now, by=by)
            self._seen = now, steady
        if self._jump is not None and steady - self._jump[0] > TOLD_FOR.total_seconds():
            self._jump = None
        # Else the first look stays what is compared with: a clock that creeps away, second by second, was set as well.
        return self._jump[1] if self._jump else None
