import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.gotemplate.printing.floats import format_float, shortest


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (100000.0, "100000"),
        (1e6, "1e+06"),
        (123456789.0, "1.23456789e+08"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (-1234.5, "-1234.5"),
        (5e-324, "5e-324"),
    ],
)
def test_the_shortest_form_has_an_exponent_when_the_number_is_large_or_small(value: float, shown: str) -> None:
    assert shortest(value) == shown


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_shortest_form_identifies_the_number(value: float) -> None:
    assert float(shortest(value)) == value
    assert float.fromhex(format_float(value, "x", None)) == value
    mantissa, _, exponent = format_float(value, "b", None).partition("p")
    assert math.ldexp(int(mantissa), int(exponent)) == value


@pytest.mark.parametrize(
    ("value", "verb", "precision", "sharp", "shown"),
    [
        (3.14159, "f", 2, False, "3.14"),
        (3.14159, "e", None, False, "3.141590e+00"),
        (3.14159, "E", 1, False, "3.1E+00"),
        (1234567.0, "g", 3, False, "1.23e+06"),
        (1e21, "G", None, False, "1E+21"),
        (1.0, "g", None, True, "1.00000"),
        (0.0, "g", None, True, "0.00000"),
        (123456789.0, "g", None, True, "1.23456789e+08"),
        (1234567.0, "g", 3, True, "1.23e+06"),
        (2.0, "f", 0, True, "2."),
        (2.0, "e", 0, True, "2.e+00"),
        (1.5, "x", None, False, "0x1.8p+00"),
        (-1.5, "X", None, False, "-0X1.8P+00"),
        (1.96, "x", 1, False, "0x1.fp+00"),
        (1.99, "x", 1, False, "0x1.0p+01"),
        (1.0, "x", 3, False, "0x1.000p+00"),
        (0.0, "x", 2, False, "0x0.00p+00"),
        (1.5, "x", None, True, "0x1.8000p+00"),
        (-0.0, "x", None, True, "-0x0.0000p+00"),
        (1.5, "X", None, True, "0X1.8P+00"),
        (1.5, "b", None, True, "6755399441055744p-52"),
        (-0.0, "b", None, False, "-0p-1074"),
        (5e-324, "b", None, False, "1p-1074"),
        (math.inf, "f", 2, False, "+Inf"),
        (-math.inf, "g", None, False, "-Inf"),
        (math.nan, "X", None, False, "NaN"),
    ],
)
def test_each_verb_has_its_form(value: float, verb: str, precision: int | None, sharp: bool, shown: str) -> None:
    assert format_float(value, verb, precision, sharp=sharp) == shown
