"""Floats in the forms of Go's strconv.FormatFloat: %e, %f, %g, %b and %x, without any padding."""

import math
import re

SHORTEST_LIMIT = 6
SPLIT = re.compile(r"(-?)(0x[0-9a-f.]+|[0-9.]+)(.*)")


def format_float(value: float, verb: str, precision: int | None, *, sharp: bool = False) -> str:
    """Format with a sign only if negative; precision None is Go's default for the verb (shortest for %g and %x)."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    lower = verb.lower()
    if lower == "b":
        return _binary(value)
    if lower == "x":
        shown = _hexadecimal(value, precision)
    elif lower == "g" and precision is None:
        shown = shortest(value)
    else:
        shown = f"{value:.{6 if precision is None else precision}{lower}}"
    if sharp:
        shown = _with_point(shown, 0 if verb in "efEFX" else 6 if precision is None else precision)
    return shown.upper() if verb.isupper() else shown


def _with_point(shown: str, digits: int) -> str:
    """Add what the flag `#` asks for: a point, and zeros up to that many significant digits."""
    sign, number, exponent = SPLIT.fullmatch(shown).groups()  # type: ignore[union-attr]
    digits -= len(number.replace(".", "").lstrip("0"))  # the x of a hexadecimal number counts, as in Go
    if "." not in number:
        digits -= number == "0"
        number += "."
    return sign + number + "0" * digits + exponent


def shortest(value: float) -> str:
    """Give the fewest digits that identify the float, with an exponent below 1e-4 and from 1e6 on."""
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    digits, exponent = _digits(abs(value))
    if exponent < -4 or exponent >= SHORTEST_LIMIT:
        mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
        return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole, rest = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
    return f"{sign}{whole}.{rest}" if rest else sign + whole


def _digits(value: float) -> tuple[str, int]:
    """Split into significant digits and the power of ten of the first."""
    mantissa, _, power = repr(value).partition("e")
    whole, _, rest = mantissa.partition(".")
    digits = (whole + rest).lstrip("0")
    exponent = len(whole) - 1 + int(power or 0) - (len(whole + rest) - len(digits))
    digits = digits.rstrip("0")
    return (digits, exponent) if digits else ("0", 0)


def _binary(value: float) -> str:
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    fraction, exponent = math.frexp(abs(value))
    mantissa, shift = int(fraction * (1 << 53)), exponent - 53
    if shift < -1074 or not mantissa:
        mantissa, shift = mantissa >> max(0, -1074 - shift), -1074
    return f"{sign}{mantissa}p{shift:+d}"


def _hexadecimal(value: float, precision: int | None) -> str:
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if value == 0:
        zeros = "." + "0" * precision if precision else ""
        return f"{sign}0x0{zeros}p+00"
    fraction, exponent = math.frexp(abs(value))
    mantissa, exponent = int(fraction * (1 << 53)), exponent - 1
    if precision is not None and precision < 13:
        drop = 4 * (13 - precision)
        low, mantissa = mantissa & ((1 << drop) - 1), mantissa >> drop
        half = 1 << (drop - 1)
        mantissa += low > half or (low == half and mantissa & 1 == 1)
        mantissa <<= drop
        if mantissa >> 53:
            mantissa, exponent = mantissa >> 1, exponent + 1
    digits = f"{mantissa & ((1 << 52) - 1):013x}"
    digits = digits.rstrip("0") if precision is None else digits[:precision].ljust(precision, "0")
    point = "." if digits else ""
    return f"{sign}0x1{point}{digits}p{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
