"""The values of numbers in a template.

Their form decides between int and float64: whatever has a point or an exponent is a float64.
"""

import math
import re

from tinkbox.gotemplate.errors import GoError
from tinkbox.gotemplate.types.kinds import INT_MAX, INT_MIN

OCTAL = re.compile(r"([+-]?)0_?([0-7]+(?:_[0-7]+)*)")
DIGITS = r"[0-9]+(?:_[0-9]+)*"
DECIMAL_FLOAT = re.compile(rf"[+-]?(?:{DIGITS}\.?(?:{DIGITS})?|\.{DIGITS})(?:[eE][+-]?{DIGITS})?")
HEXADECIMAL_DIGITS = r"[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*"
HEXADECIMAL_FLOAT = re.compile(
    rf"[+-]?0[xX]_?(?:{HEXADECIMAL_DIGITS}\.?(?:{HEXADECIMAL_DIGITS})?|\.{HEXADECIMAL_DIGITS})[pP][+-]?{DIGITS}",
)
HEXADECIMAL = re.compile(r"0[xX][^pP]*")


def number(shown: str) -> int | float:
    """Read a number; raises GoError for what is none, and for one that fits neither an int nor a float64."""
    integer = _integer(shown)
    has_float_form = re.search(r"[.eEpP]", shown) is not None and not HEXADECIMAL.fullmatch(shown)
    if integer is None and not has_float_form:
        raise GoError(f'illegal number syntax: "{shown}"')
    if integer is not None and not INT_MIN <= integer <= INT_MAX:
        raise GoError(f"{shown} overflows int")
    if integer is None:
        return _float(shown)
    return float(integer) if has_float_form else integer


def _integer(shown: str) -> int | None:
    """Read like Go's source: 0x, 0o, 0b, a leading zero for octal, and underscores between digits."""
    octal = OCTAL.fullmatch(shown)
    try:
        return int(octal[1] + octal[2], 8) if octal else int(shown, 0)
    except ValueError:
        return None


def _float(shown: str) -> float:
    try:
        if HEXADECIMAL_FLOAT.fullmatch(shown):
            return float.fromhex(shown.replace("_", ""))
        value = float(shown.replace("_", "")) if DECIMAL_FLOAT.fullmatch(shown) else math.inf
    except OverflowError:
        value = math.inf
    if math.isinf(value):
        raise GoError(f'illegal number syntax: "{shown}"')
    return value
