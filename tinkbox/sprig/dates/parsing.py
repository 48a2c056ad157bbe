"""Reads dates by a layout.  Source: ParseInLocation of Go's package time."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from tinkbox.gotemplate.values import GoError, quote
from tinkbox.sprig.dates.calendar import MONTHS, WEEKDAYS, days_before, days_in, is_leap
from tinkbox.sprig.dates.layouts import elements
from tinkbox.sprig.dates.times import Time, at
from tinkbox.sprig.dates.zones import UTC, Fixed

_SPACES: Final = re.compile(" +")
_FRACTION: Final = re.compile(r"[.,]([0-9]+)")
_SIGNED_FRACTION: Final = re.compile(r"[.,]([-+]?[0-9]{1,9}|[-+])")
_OFFSETS: Final = {
    "07": re.compile(r"([-+])([0-9]{2})()()"),
    "0700": re.compile(r"([-+])([0-9]{2})([0-9]{2})()"),
    "07:00": re.compile(r"([-+])([0-9]{2}):([0-9]{2})()"),
    "070000": re.compile(r"([-+])([0-9]{2})([0-9]{2})([0-9]{2})"),
    "07:00:00": re.compile(r"([-+])([0-9]{2}):([0-9]{2}):([0-9]{2})"),
}
# A sign and up to 23 hours, after GMT or alone; else names of three to five letters.
_SIGNED: Final = r"[-+]0*(?:2[0-3]|1[0-9]|[0-9])(?![0-9])"
_ZONE: Final = re.compile(
    rf"ChST|MeST|GMT(?:{_SIGNED})?|{_SIGNED}|[A-Z]{{4}}T(?![A-Z])|[A-Z]{{3}}T(?![A-Z])|WITA(?![A-Z])|[A-Z]{{3}}(?![A-Z])"
)


class _Bad(Exception):
    """An element does not stand where it should."""


class _OutOfRange(Exception):
    """An element stands there and is none; the text says which."""


@dataclass(slots=True)
class _Read:
    """What was read so far; -1 where nothing was."""

    rest: str
    year: int = 0
    month: int = -1
    day: int = -1
    year_day: int = -1
    hour: int = 0
    minute: int = 0
    second: int = 0
    nanosecond: int = 0
    half: str = ""
    utc: bool = False
    offset: int | None = None
    zone: str = field(default="")

    def number(self, least: int, most: int) -> int:
        """Take a number of so many digits off the rest."""
        match = re.match(rf"[0-9]{{{least},{most}}}", self.rest)
        if match is None:
            raise _Bad
        self.rest = self.rest[match.end() :]
        return int(match[0])

    def name(self, names: tuple[str, ...], letters: int | None) -> int:
        """Take a name off the rest, in any case; gives its place."""
        for place, each in enumerate(names):
            short = each[:letters]
            if self.rest[: len(short)].lower() == short.lower():
                self.rest = self.rest[len(short) :]
                return place
        raise _Bad

    def fraction(self, digits: str) -> None:
        kept = digits[:9]  # of which the first may be a sign, in Go as well
        self.nanosecond = _within(int(kept.ljust(9, "0")), 0, 999_999_999, "fractional second")


def parse(layout: str, text: str) -> Time:
    """Read a date, in UTC where it names no zone.  Raises GoError in Go's words."""
    read = _Read(text)
    pieces = list(elements(layout))
    for place, (before, element) in enumerate(pieces):
        held = _skip(read.rest, before)
        if held is None:
            raise _error(text, layout, read.rest, before)
        if not element:
            if held:
                raise GoError(f"parsing time {quote(text)}: extra text: {quote(held)}")
            break
        read.rest = held
        following = pieces[place + 1] if place + 1 < len(pieces) else ("", "")
        try:
            _take(read, element, following[1])
        except _Bad:
            raise _error(text, layout, held, element) from None
        except _OutOfRange as error:
            raise GoError(f"parsing time {quote(text)}: {error} out of range") from None
    return _time(read, text)


def _error(text: str, layout: str, value: str, element: str) -> GoError:
    return GoError(f"parsing time {quote(text)} as {quote(layout)}: cannot parse {quote(value)} as {quote(element)}")


def _skip(value: str, before: str) -> str | None:
    """Take what stands before an element off a value, any number of spaces for any; None where it does not stand there."""
    position = 0
    for piece in re.findall(" +|[^ ]+", before):
        if piece[0] == " ":
            if position < len(value) and value[position] != " ":
                return None
            match = _SPACES.match(value, position)
            position = match.end() if match else position
        elif value.startswith(piece, position):
            position += len(piece)
        else:
            return None
    return value[position:]


def _take(read: _Read, element: str, following: str) -> None:
    taker = _TAKERS.get(element)
    if taker is not None:
        taker(read)
        if element in ("5", "05") and following[:1] not in (".", ","):
            _take_unasked_fraction(read)
    elif element[0] in ".,":
        _take_fraction(read, element)
    elif element[0] == "Z" and read.rest[:1] == "Z":
        read.rest, read.utc = read.rest[1:], True
    else:
        _take_offset(read, element[1:])


def _within(number: int, least: int, most: int, what: str) -> int:
    if not least <= number <= most:
        raise _OutOfRange(what)
    return number


def _take_short_year(read: _Read) -> None:
    match = re.match("[-+0-9][0-9]", read.rest)  # Go takes a sign here
    if match is None:
        raise _Bad
    year, read.rest = int(match[0]), read.rest[2:]
    read.year = year + (1900 if year >= 69 else 2000)


def _take_year(read: _Read) -> None:
    read.year = read.number(4, 4)


def _take_day(read: _Read, least: int = 1, *, space: bool = False) -> None:
    if space:
        read.rest = read.rest.removeprefix(" ")
    read.day = read.number(least, 2)


def _take_year_day(read: _Read, least: int, *, spaces: int = 0) -> None:
    for _ in range(spaces):
        read.rest = read.rest.removeprefix(" ")
    read.year_day = read.number(least, 3)


def _take_month(read: _Read, least: int) -> None:
    read.month = _within(read.number(least, 2), 1, 12, "month")


def _take_month_name(read: _Read, letters: int | None) -> None:
    read.month = read.name(MONTHS, letters) + 1


def _take_hour(read: _Read, least: int, most: int) -> None:
    read.hour = _within(read.number(least, 2), 0, most, "hour")


def _take_minute(read: _Read, least: int) -> None:
    read.minute = _within(read.number(least, 2), 0, 59, "minute")


def _take_second(read: _Read, least: int) -> None:
    read.second = _within(read.number(least, 2), 0, 59, "second")


def _take_half(read: _Read, halves: tuple[str, str]) -> None:
    if read.rest[:2] not in halves:
        raise _Bad
    read.half, read.rest = read.rest[:2].upper(), read.rest[2:]


def _take_zone(read: _Read) -> None:
    if read.rest.startswith("UTC"):
        read.rest, read.utc = read.rest[3:], True
        return
    match = _ZONE.match(read.rest)
    if match is None:
        raise _Bad
    read.zone, read.rest = match[0], read.rest[match.end() :]


_TAKERS: Final[Mapping[str, Callable[[_Read], object]]] = {
    "06": _take_short_year,
    "2006": _take_year,
    "Jan": lambda read: _take_month_name(read, 3),
    "January": lambda read: _take_month_name(read, None),
    "1": lambda read: _take_month(read, 1),
    "01": lambda read: _take_month(read, 2),
    "Mon": lambda read: read.name(WEEKDAYS, 3),
    "Monday": lambda read: read.name(WEEKDAYS, None),
    "2": _take_day,
    "_2": lambda read: _take_day(read, space=True),
    "02": lambda read: _take_day(read, 2),
    "__2": lambda read: _take_year_day(read, 1, spaces=2),
    "002": lambda read: _take_year_day(read, 3),
    "15": lambda read: _take_hour(read, 1, 23),
    "3": lambda read: _take_hour(read, 1, 12),
    "03": lambda read: _take_hour(read, 2, 12),
    "4": lambda read: _take_minute(read, 1),
    "04": lambda read: _take_minute(read, 2),
    "5": lambda read: _take_second(read, 1),
    "05": lambda read: _take_second(read, 2),
    "PM": lambda read: _take_half(read, ("PM", "AM")),
    "pm": lambda read: _take_half(read, ("pm", "am")),
    "MST": _take_zone,
}


def _take_unasked_fraction(read: _Read) -> None:
    """A fraction may follow the seconds also where the layout has none."""
    match = _FRACTION.match(read.rest)
    if match:
        read.fraction(match[1])
        read.rest = read.rest[match.end() :]


def _take_fraction(read: _Read, element: str) -> None:
    if element[1] == "9":
        _take_unasked_fraction(read)
        return
    match = _SIGNED_FRACTION.match(read.rest[: len(element)])
    if match is None or len(read.rest) < len(element) or match.end() < min(len(element), 10):
        raise _Bad
    read.fraction(match[1])
    read.rest = read.rest[len(element) :]


def _take_offset(read: _Read, element: str) -> None:
    match = _OFFSETS[element].match(read.rest)
    if match is None:
        raise _Bad
    read.rest = read.rest[match.end() :]
    hours, minutes, seconds = (int(each or 0) for each in match.groups()[1:])
    _within(hours, 0, 24, "time zone offset hour")
    _within(minutes, 0, 60, "time zone offset minute")
    _within(seconds, 0, 60, "time zone offset second")
    read.offset = ((hours * 60 + minutes) * 60 + seconds) * (-1 if match[1] == "-" else 1)


def _time(read: _Read, text: str) -> Time:
    if read.half == "PM" and read.hour < 12:
        read.hour += 12
    elif read.half == "AM" and read.hour == 12:
        read.hour = 0
    _settle_day(read, text)
    clock = (read.year, read.month, read.day, read.hour, read.minute, read.second, read.nanosecond)
    if read.utc or (read.offset is None and not read.zone):
        return at(*clock, UTC)
    if read.offset is not None:
        if read.offset == 0 and read.zone in ("", "UTC"):
            return at(*clock, UTC)
        return at(*clock, Fixed(read.zone, read.offset))
    # A name alone tells no offset, but for GMT+3: the clock is shown as it was read, and is taken for UTC's.
    offset = int(read.zone[3:]) * 3600 if read.zone.startswith("GMT") and len(read.zone) > 3 else 0
    return at(*clock, UTC).within(Fixed(read.zone, offset))


def _settle_day(read: _Read, text: str) -> None:
    """Find month and day where the number of the day within its year is given, or nothing."""
    if read.year_day >= 0:
        of_year, leap = read.year_day, is_leap(read.year)
        if not 1 <= of_year <= 365 + leap:
            raise GoError(f"parsing time {quote(text)}: day-of-year out of range")
        month = next(each for each in range(12, 0, -1) if days_before(each) + (leap and each > 2) < of_year)
        day = of_year - days_before(month) - (leap and month > 2)
        for given, found, what in ((read.month, month, "month"), (read.day, day, "day")):
            if given not in (-1, found):
                raise GoError(f"parsing time {quote(text)}: day-of-year does not match {what}")
        read.month, read.day = month, day
    read.month = max(read.month, 1)
    read.day = 1 if read.day < 0 else read.day
    if not 1 <= read.day <= days_in(read.month, read.year):
        raise GoError(f"parsing time {quote(text)}: day out of range")
