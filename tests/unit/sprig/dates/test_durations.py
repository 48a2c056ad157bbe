"""Durations are read and written without any clock."""

from hypothesis import given
from hypothesis import strategies as st

from tinkbox.gotemplate.values import Int64
from tinkbox.sprig.dates.durations import FUNCTIONS, duration, duration_round, parse, shown


@given(st.integers(-(1 << 63) + 1, (1 << 63) - 1))
def test_what_is_shown_can_be_read_again(nanoseconds: int) -> None:
    assert parse(shown(nanoseconds)) == nanoseconds


def test_small_durations_have_small_units() -> None:
    assert [shown(each) for each in (0, 1, 1_500, 2_000_000, -1_500_000_000)] == ["0s", "1ns", "1.5µs", "2ms", "-1.5s"]


def test_seconds_are_an_int64_or_a_text() -> None:
    assert [duration(each) for each in (Int64(95), "95", "9" * 30)] == ["1m35s", "1m35s", "-1s"]
    assert {duration(each) for each in ("x", 95, 1.5, None, True)} == {"0s"}


def test_a_number_of_jinja2_is_an_int64() -> None:
    assert (FUNCTIONS["duration"](95), FUNCTIONS["durationRound"](95_000_000_000)) == ("1m35s", "1m")


def test_rounding_leaves_the_largest_unit_and_the_sign_out() -> None:
    given = ("8761h", "800h", "49h", "61m", "-90s", "1500ms", "1s", "nonsense")
    assert [duration_round(each) for each in given] == ["1y", "1mo", "2d", "1h", "1m", "1s", "0s", "0s"]


@given(st.text("0159.-+hmsnuµ ", max_size=15))
def test_no_text_breaks_the_parser(text: str) -> None:
    assert parse(text) is None or abs(parse(text) or 0) <= 1 << 63
