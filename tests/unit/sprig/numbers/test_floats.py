"""Floats are added as the decimal numbers they are written as."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.gotemplate.values import GoError
from tinkbox.sprig.numbers.floats import (
    FUNCTIONS,
    add_float,
    biggest,
    ceil,
    divide,
    floor,
    multiply,
    round_places,
    smallest,
)

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def test_decimals_have_no_binary_error() -> None:
    assert (add_float(0.1, 0.2), multiply(1.1, 1.1), divide(1, 3)) == (0.3, 1.21, 0.3333333333333333)


def test_a_division_keeps_16_places() -> None:
    assert divide(2, 3) == 0.6666666666666667
    assert divide(1e-10, 1e10) == 0


@pytest.mark.parametrize("arguments", [(math.nan, 1), (1, math.inf), (1, -math.inf), ("nan",)])
def test_what_is_no_decimal_number_is_refused(arguments: tuple[object, ...]) -> None:
    with pytest.raises(GoError, match="Cannot create a Decimal"):
        FUNCTIONS["subf"](*arguments)


def test_nobody_divides_by_zero() -> None:
    with pytest.raises(GoError, match="division by 0"):
        divide(1, 0)


def test_results_beyond_a_float_are_infinite() -> None:
    assert (multiply(1e200, 1e200), multiply(-1e200, 1e200)) == (math.inf, -math.inf)


@given(FINITE)
def test_floor_and_ceil_enclose(value: float) -> None:
    assert floor(value) <= value <= ceil(value)
    assert ceil(value) - floor(value) in (0, 1)


def test_zero_keeps_its_sign() -> None:
    assert [math.copysign(1, each) for each in (ceil(-0.5), floor(-0.0), floor(0.5), biggest(-0.0, 0))] == [
        -1,
        -1,
        1,
        1,
    ]


def test_infinity_beats_nan_and_nan_beats_numbers() -> None:
    assert biggest(math.nan, math.inf) == math.inf
    assert smallest(math.nan, -math.inf) == -math.inf
    assert math.isnan(biggest(1, math.nan))
    assert math.isnan(smallest(math.nan, 1))


def test_rounding_has_a_threshold() -> None:
    assert (round_places(3.45, 1), round_places(3.5, 0, 0.6), round_places(1250, -2)) == (3.5, 3, 1300)
