"""Go's time.Time, time.Duration, time.Month and time.Weekday, with the methods of them that a template can call.

Not there: methods that give several values, a location, bytes, or a reading of a monotonic clock.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Final

from tinkbox.gotemplate.values import Int64, NamedInteger, Thing, Typed
from tinkbox.sprig.dates.calendar import MONTHS, WEEKDAYS, civil, day_number, weekday, year_day
from tinkbox.sprig.dates.durations import UNITS, shown
from tinkbox.sprig.dates.layouts import DEFAULT, RFC_3339, Clock, write
from tinkbox.sprig.dates.zones import UTC, Zone
from tinkbox.sprig.numbers.conversion import INT_MAX, INT_MIN, wrap
from tinkbox.sprig.text.jsontext import Unsupported

SECOND: Final = UNITS["s"]
DAY: Final = 86_400
_YEAR_1: Final = -62_135_596_800  # in seconds since 1970


class Month(NamedInteger):
    type_name: ClassVar[str] = "time.Month"
    kind_name: ClassVar[str] = "int"
    __slots__ = ()

    def text(self) -> str:
        return MONTHS[self - 1] if 1 <= self <= len(MONTHS) else f"%!Month({int(self)})"


class Weekday(NamedInteger):
    type_name: ClassVar[str] = "time.Weekday"
    kind_name: ClassVar[str] = "int"
    __slots__ = ()

    def text(self) -> str:
        return WEEKDAYS[self] if 0 <= self < len(WEEKDAYS) else f"%!Weekday({int(self)})"


class Duration(NamedInteger):
    """Nanoseconds."""

    type_name: ClassVar[str] = "time.Duration"
    kind_name: ClassVar[str] = "int64"
    __slots__ = ()

    def text(self) -> str:
        return shown(int(self))


class Time(Thing):
    """A moment, in nanoseconds since 1970, as the clocks of a zone show it."""

    type_name: ClassVar[str] = "time.Time"
    __slots__ = ("nanoseconds", "zone")

    def __init__(self, nanoseconds: int, zone: Zone = UTC) -> None:
        self.nanoseconds = nanoseconds
        self.zone = zone

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Time) and other.nanoseconds == self.nanoseconds and other.zone == self.zone

    def __hash__(self) -> int:
        return hash(self.nanoseconds)

    @property
    def seconds(self) -> int:
        return self.nanoseconds // SECOND

    @property
    def clock(self) -> Clock:
        name, offset = self.zone.at(self.seconds)
        days, rest = divmod(self.seconds + offset, DAY)
        year, month, day = civil(days)
        return Clock(
            year=year,
            month=month,
            day=day,
            year_day=year_day(year, month, day),
            weekday=weekday(days),
            hour=rest // 3600,
            minute=rest // 60 % 60,
            second=rest % 60,
            nanosecond=self.nanoseconds % SECOND,
            offset=offset,
            zone=name,
        )

    def text(self) -> str:
        return write(DEFAULT, self.clock)

    def json(self) -> str:
        shown = self.clock
        if not 0 <= shown.year <= 9999:
            raise Unsupported("Time.MarshalJSON: year outside of range [0,9999]")
        return write(RFC_3339, shown)

    def within(self, zone: Zone) -> "Time":
        """The same moment as another zone's clocks show it."""
        return Time(self.nanoseconds, zone)

    def later(self, nanoseconds: int) -> "Time":
        return Time(self.nanoseconds + nanoseconds, self.zone)

    def since(self, other: "Time") -> int:
        """Nanoseconds from another moment, or the nearest that a duration can have."""
        return max(INT_MIN, min(INT_MAX, self.nanoseconds - other.nanoseconds))


ZERO: Final = Time(_YEAR_1 * SECOND)


def at(year: int, month: int, day: int, hour: int, minute: int, second: int, nanosecond: int, zone: Zone) -> Time:
    """The moment at which a zone's clocks show this."""
    shown = day_number(year, month, day) * DAY + hour * 3600 + minute * 60 + second
    _, guessed = zone.at(shown)
    _, offset = zone.at(shown - guessed)
    return Time((shown - offset) * SECOND + nanosecond, zone)


def _add_date(time: Time, years: int, months: int, days: int) -> Time:
    now = time.clock
    zone, clock = time.zone, (now.hour, now.minute, now.second, now.nanosecond)
    return at(now.year + years, now.month + months, now.day + days, *clock, zone)


def _truncated(time: Time, step: int) -> Time:
    return time.later(-_beyond(time, step)) if step > 0 else time


def _rounded(time: Time, step: int) -> Time:
    if step <= 0:
        return time
    beyond = _beyond(time, step)
    return time.later(-beyond if 2 * beyond < step else step - beyond)


def _beyond(time: Time, step: int) -> int:
    return (time.nanoseconds - _YEAR_1 * SECOND) % step


def rounded(duration: int, step: int) -> int:
    """Round nanoseconds to a multiple of a step, half of one away from zero; beyond int64 the nearest that there is."""
    if step <= 0:
        return duration
    beyond = abs(duration) % step
    size = abs(duration) + (-beyond if 2 * beyond < step else step - beyond)
    return max(INT_MIN, min(INT_MAX, -size if duration < 0 else size))


def _cut(duration: int, step: int) -> int:
    size = abs(duration) - abs(duration) % step if step > 0 else abs(duration)
    return -size if duration < 0 else size


def _whole(unit: str) -> Callable[[int], int]:
    return lambda duration: (abs(duration) // UNITS[unit]) * (-1 if duration < 0 else 1)


def _parts(unit: str) -> Callable[[int], float]:
    def parts(duration: int) -> float:
        whole, rest = divmod(abs(duration), UNITS[unit])
        return (whole + rest / UNITS[unit]) * (-1.0 if duration < 0 else 1.0)

    return parts


def _of_clock(name: str, gives: Callable[[Any], object] = int) -> Typed:
    return Typed(lambda time: gives(getattr(time.clock, name)))


def _method(method: Callable[..., Any], *parameters: str, gives: Callable[[Any], object] | None = None) -> Typed:
    return Typed(lambda *given: gives(method(*given)) if gives else method(*given), *parameters)


def _comparison(time: Time, other: Time) -> int:
    return (time.nanoseconds > other.nanoseconds) - (time.nanoseconds < other.nanoseconds)


_STRING: Final = Typed(lambda held: held.text())
for _integer in (Month, Weekday):
    _integer.methods = {"String": _STRING}
Duration.methods = {
    "String": _STRING,
    "Hours": _method(_parts("h")),
    "Minutes": _method(_parts("m")),
    "Seconds": _method(_parts("s")),
    "Milliseconds": _method(_whole("ms"), gives=Int64),
    "Microseconds": _method(_whole("us"), gives=Int64),
    "Nanoseconds": _method(int, gives=Int64),
    "Abs": _method(lambda duration: min(abs(duration), INT_MAX), gives=Duration),
    "Round": _method(rounded, "time.Duration", gives=Duration),
    "Truncate": _method(_cut, "time.Duration", gives=Duration),
}
Time.methods = {
    "String": _STRING,
    "Format": Typed(lambda time, layout: write(layout, time.clock), "string"),
    "Year": _of_clock("year"),
    "Month": _of_clock("month", Month),
    "Day": _of_clock("day"),
    "Weekday": _of_clock("weekday", Weekday),
    "YearDay": _of_clock("year_day"),
    "Hour": _of_clock("hour"),
    "Minute": _of_clock("minute"),
    "Second": _of_clock("second"),
    "Nanosecond": _of_clock("nanosecond"),
    "Unix": _method(lambda time: wrap(time.seconds), gives=Int64),
    "UnixMilli": _method(lambda time: wrap(time.nanoseconds // UNITS["ms"]), gives=Int64),
    "UnixMicro": _method(lambda time: wrap(time.nanoseconds // UNITS["us"]), gives=Int64),
    "UnixNano": _method(lambda time: wrap(time.nanoseconds), gives=Int64),
    "UTC": _method(lambda time: time.within(UTC)),
    "Local": _method(lambda time: time.within(UTC)),
    "Add": _method(Time.later, "time.Duration"),
    "AddDate": _method(_add_date, "int", "int", "int"),
    "Sub": _method(Time.since, "time.Time", gives=Duration),
    "Truncate": _method(_truncated, "time.Duration"),
    "Round": _method(_rounded, "time.Duration"),
    "Before": _method(lambda time, other: _comparison(time, other) < 0, "time.Time"),
    "After": _method(lambda time, other: _comparison(time, other) > 0, "time.Time"),
    "Equal": _method(lambda time, other: _comparison(time, other) == 0, "time.Time"),
    "Compare": _method(_comparison, "time.Time"),
    "IsZero": _method(lambda time: time.nanoseconds == ZERO.nanoseconds),
}
