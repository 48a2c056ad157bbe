"""The calendar agrees with Python's, and goes on where that ends."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.sprig.dates.calendar import DAYS_OF_ERA, civil, day_number, days_in, weekday, year_day

EPOCH = date(1970, 1, 1)


@given(st.dates())
def test_a_day_is_counted_as_python_does(day: date) -> None:
    number = (day - EPOCH).days
    assert day_number(day.year, day.month, day.day) == number
    assert civil(number) == (day.year, day.month, day.day)
    assert year_day(day.year, day.month, day.day) == day.timetuple().tm_yday
    assert weekday(number) == day.isoweekday() % 7


@given(st.integers(-(10**9), 10**9))
def test_every_day_of_any_year_can_be_read_back(number: int) -> None:
    year, month, day = civil(number)
    assert day_number(year, month, day) == number
    assert 1 <= day <= days_in(month, year)
    assert civil(number + DAYS_OF_ERA) == (year + 400, month, day)


@pytest.mark.parametrize(("month", "day"), [(14, 1), (0, 31), (2, 30), (-11, 0)])
def test_what_is_beyond_a_month_goes_on_into_the_next(month: int, day: int) -> None:
    years, rest = divmod(month - 1, 12)
    wanted = date(2024 + years, rest + 1, 1) + timedelta(days=day - 1)
    assert day_number(2024, month, day) == (wanted - EPOCH).days
