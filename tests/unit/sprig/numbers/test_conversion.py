"""Values become numbers and texts as spf13/cast has it."""

import math

from hypothesis import given
from hypothesis import strategies as st

from tinkbox.sprig.numbers.conversion import parse_float, parse_literal, to_float, to_int, to_text, to_texts, wrap


@given(st.integers())
def test_wrapping_keeps_the_low_64_bits(value: int) -> None:
    assert (wrap(value) - value) % (1 << 64) == 0
    assert -(1 << 63) <= wrap(value) < 1 << 63


def test_a_leading_zero_means_octal_and_octal_has_no_8() -> None:
    assert [to_int(each) for each in ("017", "08", "0x1f", "0b11", "1_000", "1.00", "1.5")] == [
        15,
        0,
        31,
        3,
        1000,
        1,
        0,
    ]


def test_floats_are_cut_off_and_go_wild_beyond_int64_like_amd64() -> None:
    assert [to_int(each) for each in (2.9, -2.9, 1e300, math.nan, float(1 << 63))] == [2, -2, *[-(1 << 63)] * 3]


def test_uint64_wraps_into_int64() -> None:
    assert to_int((1 << 64) - 1) == -1


def test_what_is_no_number_is_zero() -> None:
    assert [to_int(each) for each in (None, [], {}, "x", True)] == [0, 0, 0, 0, 1]
    assert [to_float(each) for each in (None, [], {}, "x", True)] == [0, 0, 0, 0, 1]


@given(st.floats(allow_nan=False))
def test_every_float_can_be_read_back(value: float) -> None:
    assert parse_float(repr(value)) == value
    assert parse_float(value.hex()) == value or math.isinf(value)


@given(st.text("01xX_.eEpP+-infaN \n", max_size=12))
def test_no_text_breaks_the_parsers(text: str) -> None:
    for parsed in (parse_float(text), parse_literal(text)):
        assert parsed is None or isinstance(parsed, int | float)


def test_nil_is_shown_and_left_out_of_lists() -> None:
    assert to_text(None) == "<nil>"
    assert to_texts([None, 1, "a", [2.5]]) == ["1", "a", "[2.5]"]
    assert (to_texts(None), to_texts(5)) == ([], ["5"])
