"""Layouts of dates are taken apart as in Go; tests/golden/sprig/snippets.json has what Go writes by them."""

from hypothesis import given
from hypothesis import strategies as st

from tinkbox.sprig.dates.layouts import elements, write
from tinkbox.sprig.dates.times import Time
from tinkbox.sprig.dates.zones import Fixed

MOMENT = Time(-62_198_755_200_000_000_000 + 5_000_000, Fixed("", -5430))


def found(layout: str) -> list[str]:
    return [element for _, element in elements(layout) if element]


def test_an_element_is_the_longest_that_stands_there() -> None:
    assert found("January Jan Janet Monday Mon Monty MST") == ["January", "Jan", "Monday", "Mon", "MST"]
    assert found("2006-01-02 _2 __2 002 _2006 20060102") == [
        "2006",
        "01",
        "02",
        "_2",
        "__2",
        "002",
        "2006",
        "2006",
        "01",
        "02",
    ]
    assert found("-07 -0700 -07:00 -070000 -07:00:00 Z07 Z07:00:00 -7") == [
        *("-07", "-0700", "-07:00", "-070000", "-07:00:00", "Z07", "Z07:00:00")
    ]


def test_a_fraction_is_one_where_no_digit_follows() -> None:
    assert found("05.000 ,999 .0005 .09") == ["05", ".000", ",999", "05"]


def test_years_before_the_first_and_offsets_without_a_name_are_written() -> None:
    assert write("2006 06 .000 .999 .000000000000 MST -07:00:00 Z07", MOMENT.clock) == (
        "-0002 02 .005 .005 .005000000 -0130 -01:30:30 -01"
    )


@given(st.text(max_size=40))
def test_what_is_between_elements_is_kept(text: str) -> None:
    assert "".join(before + element for before, element in elements(text)) == text
