"""Dates are read by their layouts, or refused in Go's words; tests/golden/sprig/snippets.json has what Go reads."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.gotemplate.values import GoError
from tinkbox.sprig.dates.layouts import RFC_3339, write
from tinkbox.sprig.dates.parsing import parse
from tinkbox.sprig.dates.times import SECOND, Time
from tinkbox.sprig.dates.zones import Fixed

OFFSETS = st.integers(-14 * 4, 14 * 4).map(lambda quarters: Fixed("", quarters * 900))


@given(st.integers(-62_135_500_000, 253_402_200_000), st.integers(0, SECOND - 1), OFFSETS)
def test_what_is_written_can_be_read_again(seconds: int, nanoseconds: int, zone: Fixed) -> None:
    moment = Time(seconds * SECOND + nanoseconds, zone)
    assert parse(RFC_3339, write(RFC_3339, moment.clock)).nanoseconds == moment.nanoseconds


@pytest.mark.parametrize(
    ("layout", "text", "problem"),
    [
        ("2006-01-02", "2021-02-29", 'parsing time "2021-02-29": day out of range'),
        ("2006-01-02", "2021-13-29", 'parsing time "2021-13-29": month out of range'),
        ("15:04", "25:00", 'parsing time "25:00": hour out of range'),
        ("2006-01-02", "soon", 'parsing time "soon" as "2006-01-02": cannot parse "soon" as "2006"'),
        ("2006-01-02", "2006/01", 'parsing time "2006/01" as "2006-01-02": cannot parse "/01" as "-"'),
        ("15:04", "10:00 h", 'parsing time "10:00 h": extra text: " h"'),
        ("2006 002", "2023 366", 'parsing time "2023 366": day-of-year out of range'),
        ("2006 002 Jan", "2024 060 Mar", 'parsing time "2024 060 Mar": day-of-year does not match month'),
        ("MST", "Mst", 'parsing time "Mst" as "MST": cannot parse "Mst" as "MST"'),
        ("-07:00", "+25:00", 'parsing time "+25:00": time zone offset hour out of range'),
        ("05.00", "10.-5", 'parsing time "10.-5": fractional second out of range'),
    ],
)
def test_what_is_no_date_is_refused_in_the_words_of_go(layout: str, text: str, problem: str) -> None:
    with pytest.raises(GoError) as refusal:
        parse(layout, text)
    assert str(refusal.value) == problem


@given(st.text("Jan2006-01:5.9 ZMST+7PM", max_size=25), st.text("Jan2006-01:5.9 ZMST+7PM", max_size=25))
def test_no_text_breaks_the_parser(layout: str, text: str) -> None:
    with suppress(GoError):
        parse(layout, text)
