"""Layouts of dates, which show the moment 2006-01-02 15:04:05 -0700 as a date is to look: their elements, and writing by them.

Source: the constants and Time.Format of Go's package time.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tinkbox.sprig.dates.calendar import MONTHS, WEEKDAYS

DEFAULT: Final = "2006-01-02 15:04:05.999999999 -0700 MST"
RFC_3339: Final = "2006-01-02T15:04:05.999999999Z07:00"
# The longest first.  `Jan` and `Mon` within a word are text, and `_2006` is a year behind `_`.
_ELEMENT: Final = re.compile(
    r"January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|002|0[1-6]|15|1|2006|2|__2|_2(?!006)|3|4|5|PM|pm"
    r"|[-Z]07(?:00(?:00)?|:00(?::00)?)?|[.,](?:0+|9+)(?![0-9])"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """What a clock shows: `offset` in seconds and `zone`, the name of it, may be empty."""

    year: int
    month: int
    day: int
    year_day: int
    weekday: int
    hour: int
    minute: int
    second: int
    nanosecond: int
    offset: int
    zone: str


def elements(layout: str) -> Iterator[tuple[str, str]]:
    """Take a layout apart: what stands before an element, and the element; what is behind the last has an empty one."""
    end = 0
    for match in _ELEMENT.finditer(layout):
        yield layout[end : match.start()], match[0]
        end = match.end()
    yield layout[end:], ""


def write(layout: str, shown: Clock) -> str:
    return "".join(before + _written(element, shown) for before, element in elements(layout))


def _padded(value: int, width: int) -> str:
    return f"{'-' if value < 0 else ''}{abs(value):0{width}d}"


_PLAIN: Final[Mapping[str, Callable[[Clock], str]]] = {
    "January": lambda shown: MONTHS[shown.month - 1],
    "Jan": lambda shown: MONTHS[shown.month - 1][:3],
    "1": lambda shown: str(shown.month),
    "01": lambda shown: f"{shown.month:02d}",
    "Monday": lambda shown: WEEKDAYS[shown.weekday],
    "Mon": lambda shown: WEEKDAYS[shown.weekday][:3],
    "2": lambda shown: str(shown.day),
    "_2": lambda shown: f"{shown.day:2d}",
    "02": lambda shown: f"{shown.day:02d}",
    "__2": lambda shown: f"{shown.year_day:3d}",
    "002": lambda shown: f"{shown.year_day:03d}",
    "15": lambda shown: f"{shown.hour:02d}",
    "3": lambda shown: str(shown.hour % 12 or 12),
    "03": lambda shown: f"{shown.hour % 12 or 12:02d}",
    "4": lambda shown: str(shown.minute),
    "04": lambda shown: f"{shown.minute:02d}",
    "5": lambda shown: str(shown.second),
    "05": lambda shown: f"{shown.second:02d}",
    "2006": lambda shown: _padded(shown.year, 4),
    "06": lambda shown: f"{abs(shown.year) % 100:02d}",
    "PM": lambda shown: "PM" if shown.hour >= 12 else "AM",
    "pm": lambda shown: "pm" if shown.hour >= 12 else "am",
    "MST": lambda shown: shown.zone or _offset("-0700", shown.offset),
}


def _written(element: str, shown: Clock) -> str:
    if not element:
        return ""
    plain = _PLAIN.get(element)
    if plain is not None:
        return plain(shown)
    if element[0] in ".,":
        digits = f"{shown.nanosecond:09d}"[: len(element) - 1]
        if element[1] == "9":
            digits = digits.rstrip("0")
            return element[0] + digits if digits else ""
        return element[0] + digits
    if element[0] == "Z" and shown.offset == 0:
        return "Z"
    return _offset("-" + element[1:], shown.offset)


def _offset(element: str, offset: int) -> str:
    sign = "-" if offset <= -60 else "+"
    hours, rest = divmod(abs(offset), 3600)
    colon = ":" if ":" in element else ""
    text = f"{sign}{hours:02d}"
    if len(element) > 3:
        text += f"{colon}{rest // 60:02d}"
    return text + (f"{colon}{rest % 60:02d}" if len(element) > 6 else "")
