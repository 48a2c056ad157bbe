"""Attempts that changed nothing, put together by who made them: a flood of them fills no disk.  Pure: time is told.

What one host or person tries is told apart by route, object and status, so that nobody hides one attempt among others: only the
same attempt is counted.  What is beyond that bound is one line, which counts the routes.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from tinkbox.model.audit import Act, Kind, shortened
from tinkbox.model.rates import Buckets, Rate

# In seconds: of attempts that are the same there is one line in so long.
WINDOW: Final = 60.0
# Hosts and people that are told apart in it, and attempts of each; what is beyond is told together.
MOST: Final = 20
DISTINCT: Final = 20
# Lines in the long run, of all and of what one host or person tries apart: about 400 MB a year at the worst.
LINES: Final = Rate(burst=200, a_second=0.02)
APART: Final = Rate(burst=2 * DISTINCT, a_second=0.005)
OTHERS: Final = "others"
OTHER: Final = "other attempts"
_LOOKING: Final = ("GET ", "HEAD ")
# Routes and objects that are kept of others; a line names so many of the routes, those first that change something.
_KEPT: Final = 100
_ROUTES: Final = 5
_ROUTE_LETTERS: Final = 40
_WHY_LETTERS: Final = 200
_NAMES: Final = 20
_Holder = tuple[str, str, str]
_Attempt = tuple[int, str, str]


@dataclass(slots=True)
class _Alike:
    """The first of those that are the same, how many there were since the last line, and when that was written."""

    first: Act
    times: int = 0
    told: float | None = None

    def waits(self, now: float) -> bool:
        return self.told is not None and now - self.told < WINDOW


@dataclass(slots=True)
class _Tried:
    """What one host or person tried; `others` are by route what is not told apart, with their `objects`, and `one` is an example."""

    apart: dict[_Attempt, _Alike] = field(default_factory=dict)
    others: Counter[str] = field(default_factory=Counter)
    objects: dict[str, None] = field(default_factory=dict)
    one: Act | None = None
    told: float | None = None


class Attempts:
    """Those that were not told yet, of at most MOST holders."""

    def __init__(self) -> None:
        self._tried: dict[_Holder, _Tried] = {}
        self._lines = Buckets(LINES, 1)
        self._apart = Buckets(APART, 2 * MOST)

    def note(self, act: Act) -> bool:
        """Count one; whether it is the first of its kind for a while, of which people should hear at once."""
        act = replace(
            act, what=shortened(act.what), object=shortened(act.object), names=[*act.names[:_NAMES]], why=_cut(act.why, _WHY_LETTERS),
        )  # fmt: skip
        holder = (act.source, act.who, act.how)
        if holder not in self._tried and len(self._tried) >= MOST:
            holder, act = (OTHERS, "", ""), replace(act, source=OTHERS, who="", how="")
        tried = self._tried.setdefault(holder, _Tried())
        attempt = (act.status, act.what, act.object)
        if attempt not in tried.apart and (holder[0] == OTHERS or len(tried.apart) >= DISTINCT):
            fresh = not tried.others and tried.told is None
            _count(tried, act, 1)
            return fresh
        fresh = attempt not in tried.apart
        known = tried.apart.setdefault(attempt, _Alike(act))
        if not known.times:
            known.first = act
        known.times += 1
        return fresh

    def due(self, now: float, *, all_of_them: bool = False) -> list[Act]:
        """What is to be told now, once: each line for all that were the same in the last WINDOW; `now` is in seconds."""
        told = list[Act]()
        for holder, tried in list(self._tried.items()):
            told += self._apart_of(holder, tried, now, all_of_them=all_of_them)
            waits = tried.told is not None and now - tried.told < WINDOW
            if tried.others and (all_of_them or not waits) and self._lines.take(0, now):
                told.append(_together(tried))
                tried.others, tried.objects, tried.one, tried.told = Counter(), {}, None, now
            elif not tried.others and not waits:
                tried.told = None
            if not tried.apart and not tried.others and tried.told is None:
                del self._tried[holder]
        return told

    def _apart_of(self, holder: _Holder, tried: _Tried, now: float, *, all_of_them: bool) -> Iterator[Act]:
        for attempt, each in list(tried.apart.items()):
            if not each.times:
                if not each.waits(now):
                    del tried.apart[attempt]
            elif all_of_them or not each.waits(now):
                if self._apart.take(holder, now) and self._lines.take(0, now):
                    yield replace(each.first, times=each.times)
                else:
                    _count(tried, each.first, each.times)
                each.times, each.told = 0, now


def _count(tried: _Tried, act: Act, times: int) -> None:
    tried.one = tried.one or act
    route = f"{_cut(act.what, _ROUTE_LETTERS)} {act.status}"
    tried.others[route if route in tried.others or len(tried.others) < _KEPT else ""] += times
    if act.object and len(tried.objects) < _KEPT:
        tried.objects[act.object] = None


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _together(tried: _Tried) -> Act:
    """The line that tells of those that are not told apart."""
    assert tried.one is not None
    routes = [(route, times) for route, times in tried.others.most_common() if route]
    shown = sorted(routes, key=lambda each: each[0].startswith(_LOOKING))[:_ROUTES]
    rest = tried.others.total() - sum(times for _, times in shown)
    named = [f"{route}: {times}" for route, times in shown]
    why = "; ".join([*named, f"of other routes: {rest}"] if rest else named)
    return replace(
        tried.one, kind=Kind.REFUSED, what=OTHER, object="", names=[*tried.objects], asked=0, status=0, why=why,
        times=tried.others.total(),
    )  # fmt: skip
