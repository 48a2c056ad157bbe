"""Integers are int64: they wrap, and divide towards zero."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.gotemplate.values import GoError
from tinkbox.sprig.numbers.arithmetic import FUNCTIONS, atoi, div, mod, mul, seq, until_step
from tinkbox.sprig.numbers.conversion import INT_MAX, INT_MIN

INT64 = st.integers(INT_MIN, INT_MAX)


@given(INT64, INT64)
def test_sums_differences_and_products_stay_within_int64(left: int, right: int) -> None:
    for name in ("add", "sub", "mul"):
        result = FUNCTIONS[name](left, right)
        assert isinstance(result, int)
        assert INT_MIN <= result <= INT_MAX
        exact = {"add": left + right, "sub": left - right, "mul": left * right}[name]
        assert (result - exact) % (1 << 64) == 0


@given(INT64, INT64.filter(bool))
def test_quotient_and_remainder_belong_together(left: int, right: int) -> None:
    assert (div(left, right) * right + mod(left, right) - left) % (1 << 64) == 0
    assert abs(mod(left, right)) < abs(right)


def test_nobody_divides_by_zero() -> None:
    for name in ("div", "mod"):
        with pytest.raises(GoError, match="divide by zero"):
            FUNCTIONS[name](1, "no number")


@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(-5, 5))
def test_steps_lead_towards_the_end_or_nowhere(start: int, stop: int, step: int) -> None:
    numbers = until_step(start, stop, step)
    assert numbers == ([] if step == 0 else list(range(start, stop, step)))


def test_overflowing_products_wrap_at_each_step() -> None:
    assert mul(INT_MAX, 2, 2) == -4


def test_a_sequence_needs_one_to_three_numbers() -> None:
    assert (seq(), seq(3), seq(2, 4), seq(1, 2, 5), seq(1, 2, 3, 4)) == ("", "1 2 3", "2 3 4", "1 3 5", "")


def test_a_text_beyond_int64_is_the_nearest_one() -> None:
    assert (atoi("9" * 30), atoi("-" + "9" * 30), atoi("9x")) == (INT_MAX, INT_MIN, 0)
