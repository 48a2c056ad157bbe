"""The Gregorian calendar of any year, also of those that Python's datetime does not have."""

from typing import Final

MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
DAYS_OF_ERA: Final = 146_097  # in 400 years, after which everything repeats
_BEFORE: Final = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365)
_MARCH_OF_YEAR_0: Final = 719_468  # days before 1970


def is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in(month: int, year: int) -> int:
    return 29 if month == 2 and is_leap(year) else _BEFORE[month] - _BEFORE[month - 1]


def days_before(month: int) -> int:
    """How many days of a common year are before its month; of month 13, all of them."""
    return _BEFORE[month - 1]


def day_number(year: int, month: int, day: int) -> int:
    """Count the days since 1970-01-01; months and days beyond their ends go on into the next ones."""
    years, month = divmod(month - 1, 12)
    year += years
    # A year that begins in March has its leap day at its end.
    era, of_era = divmod(year - (month < 2), 400)
    of_year = (153 * ((month + 10) % 12) + 2) // 5
    return era * DAYS_OF_ERA + of_era * 365 + of_era // 4 - of_era // 100 + of_year + day - 1 - _MARCH_OF_YEAR_0


def civil(number: int) -> tuple[int, int, int]:
    """Give year, month and day of a day that is counted from 1970-01-01: the inverse of day_number()."""
    era, of_era = divmod(number + _MARCH_OF_YEAR_0, DAYS_OF_ERA)
    year = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // (DAYS_OF_ERA - 1)) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    month = (shifted + 2) % 12 + 1
    return era * 400 + year + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1


def year_day(year: int, month: int, day: int) -> int:
    """The number of a day within its year, from 1."""
    return days_before(month) + day + (month > 2 and is_leap(year))


def weekday(number: int) -> int:
    """The weekday of a day that is counted from 1970-01-01, a Thursday; 0 is Sunday."""
    return (number + 4) % 7
