"""Sprig's floats: exact decimal arithmetic as github.com/shopspring/decimal v1.4.0 does it, and rounding."""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from tinkbox.gotemplate.values import GoError
from tinkbox.sprig.arguments import Function, typed
from tinkbox.sprig.numbers.conversion import to_float

MAX_BITS = 20_000  # of a numerator or denominator; any float needs about 1100
DIVISION_SCALE = 10**16
Operation = Callable[[Fraction, Fraction], Fraction]


def _decimal(value: object) -> Fraction:
    """Take a float for the decimal number it is written as."""
    number = to_float(value)
    if not math.isfinite(number):
        raise GoError(f"Cannot create a Decimal from {'NaN' if math.isnan(number) else f'{number:+}'.title()}")
    return Fraction(repr(number))


def _folded(operation: Operation, first: object, rest: tuple[object, ...]) -> float:
    result = _decimal(first)
    for each in rest:
        result = operation(result, _decimal(each))
        if max(result.numerator.bit_length(), result.denominator.bit_length()) > MAX_BITS:
            raise GoError("a number has too many digits")
    try:
        return float(result)
    except OverflowError:
        return math.inf if result > 0 else -math.inf


def add_float(*values: object) -> float:
    return _folded(lambda left, right: left + right, 0, values)


def add_one(value: object) -> float:
    return _folded(lambda left, right: left + right, value, (1,))


def subtract(first: object, *rest: object) -> float:
    return _folded(lambda left, right: left - right, first, rest)


def multiply(first: object, *rest: object) -> float:
    return _folded(lambda left, right: left * right, first, rest)


def divide(first: object, *rest: object) -> float:
    """Divide, keeping 16 decimal places at each division. Raises GoError for a division by zero."""
    return _folded(_quotient, first, rest)


def _quotient(left: Fraction, right: Fraction) -> Fraction:
    if right == 0:
        raise GoError("decimal division by 0")
    scaled = left / right * DIVISION_SCALE
    rounded = math.floor(abs(scaled) + Fraction(1, 2))
    return Fraction(rounded if scaled > 0 else -rounded, DIVISION_SCALE)


def biggest(first: object, *rest: object) -> float:
    result = to_float(first)
    for each in map(to_float, rest):
        result = _greater(result, each)
    return result


def smallest(first: object, *rest: object) -> float:
    result = to_float(first)
    for each in map(to_float, rest):
        result = -_greater(-result, -each)
    return result


def _greater(left: float, right: float) -> float:
    """Choose the greater: infinity wins over NaN, NaN over numbers, 0 over -0."""
    if math.inf in (left, right):
        return math.inf
    if math.isnan(left) or math.isnan(right):
        return math.nan
    if left == right == 0:
        return right if math.copysign(1, left) < 0 else left
    return max(left, right)


def floor(value: object) -> float:
    return _whole(math.floor, to_float(value))


def ceil(value: object) -> float:
    return _whole(math.ceil, to_float(value))


def _whole(rounding: Callable[[float], int], number: float) -> float:
    return math.copysign(float(rounding(number)), number) if math.isfinite(number) and number else number


def round_places(value: object, places: int, *threshold: float) -> float:
    """Round to decimal places: up from the fraction `threshold` on (0.5 if not given), else down."""
    try:
        power = 10.0**places if places >= 0 else 1 / 10.0**-places
    except OverflowError:
        power = math.inf if places >= 0 else 0.0
    shifted = power * to_float(value)
    up = math.isfinite(shifted) and math.modf(shifted)[0] >= (threshold[0] if threshold else 0.5)
    rounded = _whole(math.ceil if up else math.floor, shifted)
    if power == 0:
        return math.nan if rounded == 0 or math.isnan(rounded) else math.copysign(math.inf, rounded)
    return rounded / power


FUNCTIONS: Mapping[str, Function] = {
    "float64": typed(to_float, "any"),
    "addf": typed(add_float, "any..."),
    "add1f": typed(add_one, "any"),
    "subf": typed(subtract, "any", "any..."),
    "mulf": typed(multiply, "any", "any..."),
    "divf": typed(divide, "any", "any..."),
    "maxf": typed(biggest, "any", "any..."),
    "minf": typed(smallest, "any", "any..."),
    "floor": typed(floor, "any"),
    "ceil": typed(ceil, "any"),
    "round": typed(round_places, "any", "int", "float64..."),
}
