"""Attempts that were refused, put together by who made them: a flood of them fills no disk.  Pure: time is told."""

from dataclasses import dataclass, replace
from typing import Final

from tinkbox.model.audit import Act, Kind
from tinkbox.model.rates import Buckets, Rate

# In seconds: of attempts that are alike there is one line in so long.
WINDOW: Final = 60.0
# Hosts and people that are told apart in it; what others try is told together.
MOST: Final = 20
# Lines in the long run: about 400 MB a year at the worst.
LINES: Final = Rate(burst=200, a_second=0.02)
OTHERS: Final = "others"


@dataclass(slots=True)
class _Alike:
    """The first of those that are alike, how many there were since the last line, and when that was written."""

    first: Act
    times: int = 0
    told: float | None = None


class RefusedAttempts:
    """Those that were not told yet, of at most MOST holders."""

    def __init__(self) -> None:
        self._alike: dict[tuple[str, str, int], _Alike] = {}
        self._lines = Buckets(LINES, 1)

    def note(self, act: Act) -> bool:
        """Count one; whether it is the first of its kind for a while, of which people should hear at once."""
        key = (act.source, act.who, act.status)
        if key not in self._alike and len(self._alike) >= MOST:
            key, act = (OTHERS, "", 0), replace(act, source=OTHERS, who="", how="", object="")
        fresh = key not in self._alike
        known = self._alike.setdefault(key, _Alike(act))
        if not known.times:
            known.first = act
        known.times += 1
        return fresh

    def due(self, now: float, *, all_of_them: bool = False) -> list[Act]:
        """What is to be told now, once: each line for all that were alike in the last WINDOW; `now` is in seconds."""
        told = []
        for key, each in list(self._alike.items()):
            waits = each.told is not None and now - each.told < WINDOW
            if not each.times:
                if not waits:
                    del self._alike[key]
                continue
            if (waits and not all_of_them) or not self._lines.take(0, now):
                continue
            told.append(replace(each.first, kind=Kind.REFUSED, times=each.times))
            each.times, each.told = 0, now
        return told
