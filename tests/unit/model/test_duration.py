"""Durations as people write them."""

import pytest

from tinkbox.model.duration import parse_duration, show_age, show_duration
from tinkbox.model.errors import Invalid


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("30m", 1800),
        ("1h30m", 5400),
        ("2d1h1m1s", 176_461),
        ("45", 45),
        ("0", 0),
        ("0s", 0),
        (" 5m ", 300),
    ],
)
def test_a_duration_is_read_as_seconds(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "m",
        "30 m",
        "30m1h",
        "1m1m",
        "-5m",
        "+5m",
        "1.5h",
        "30min",
        "5M",
        "٣m",
        "1e3",
        "9" * 10,
        "9" * 10 + "s",
        "5m\n6",
    ],
)
def test_what_is_no_duration_is_refused_and_the_spelling_told(text: str) -> None:
    with pytest.raises(Invalid, match="1h30m"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (59.6, "1m"), (90, "1m30s"), (1800, "30m"), (5400, "1h30m"), (90_061, "1d1h1m1s")]
)
def test_a_duration_is_shown_in_the_same_words(seconds: float, text: str) -> None:
    assert show_duration(seconds) == text


@pytest.mark.parametrize("seconds", [1, 59, 60, 3_599, 3_600, 86_399, 604_800])
def test_what_is_shown_reads_as_the_same(seconds: int) -> None:
    assert parse_duration(show_duration(seconds)) == seconds


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-5, "0s"), (0.9, "0s"), (59.9, "59s"), (60, "1m"), (3599, "59m"), (7199, "1h"), (86_400, "1d"), (4e7, "462d")],
)
def test_an_age_is_its_largest_unit_alone(seconds: float, shown: str) -> None:
    assert show_age(seconds) == shown
