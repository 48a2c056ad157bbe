"""Turning any value into a number, a text or texts, as github.com/spf13/cast v1.7.0 and Sprig do: failures become 0."""

import math
import re

from tinkbox.gotemplate.values import NamedInteger, sprint
from tinkbox.sprig.bounds import bound_text

INT_MIN, INT_MAX = -(1 << 63), (1 << 63) - 1
MAX_DIGITS = 64  # the longest int64 is binary
GO_INTEGER = re.compile(
    r"(?P<sign>[+-]?)(?:0[xX](?P<hexadecimal>(?:_?[0-9a-fA-F])+)|0[bB](?P<binary>(?:_?[01])+)"
    r"|0[oO]?(?P<octal>(?:_?[0-7])+)|(?P<decimal>0|[1-9](?:_?[0-9])*))"
)
DECIMAL = re.compile(r"[+-]?[0-9]+")
BASES = {"hexadecimal": 16, "binary": 2, "octal": 8, "decimal": 10}
DIGITS = r"[0-9](?:_?[0-9])*"
GO_FLOAT = re.compile(
    rf"[+-]?(?:(?:{DIGITS}(?:\.(?:{DIGITS})?)?|\.{DIGITS})(?:[eE][+-]?{DIGITS})?|inf|infinity)|nan", re.IGNORECASE
)
HEX_DIGITS = r"[0-9a-f](?:_?[0-9a-f])*"
GO_HEX_FLOAT = re.compile(
    rf"[+-]?0x_?(?:{HEX_DIGITS}(?:\.(?:{HEX_DIGITS})?)?|\.{HEX_DIGITS})p[+-]?{DIGITS}", re.IGNORECASE
)


def wrap(value: int) -> int:
    """Overflow as int64 does."""
    return value if INT_MIN <= value <= INT_MAX else (value - INT_MIN) % (1 << 64) + INT_MIN


def to_int(value: object) -> int:
    """Make an int64 of a number, a bool or a Go integer literal (`"0x1f"`; `"08"` is none); 0 of anything else."""
    if isinstance(value, str):
        return parse_literal(_without_zero_fraction(value)) or 0
    if isinstance(value, float):
        # Beyond int64 Go leaves the result to the processor; this is what amd64 gives.
        return int(value) if INT_MIN <= value < -float(INT_MIN) else INT_MIN
    return wrap(int(value)) if isinstance(value, int) and _is_cast(value) else 0


def to_float(value: object) -> float:
    """Make a float64 of a number, a bool or a text that Go's ParseFloat reads; 0 of anything else."""
    if isinstance(value, str):
        number = parse_float(value)
        return 0.0 if number is None else number
    return float(value) if isinstance(value, int | float) and _is_cast(value) else 0.0


def _is_cast(value: float) -> bool:
    """Tell whether cast knows the type of a number: of those with a name time.Month and time.Weekday, and not time.Duration."""
    return not isinstance(value, NamedInteger) or value.kind_name == "int"


def _without_zero_fraction(text: str) -> str:
    """Take off `.0`, `.00` … so that `"1.0"` is an integer."""
    body = text.rstrip(".")
    whole = body.rstrip("0")
    return whole[:-1] if body != whole and whole.endswith(".") else text


def parse_literal(text: str) -> int | None:
    """Read an integer in Go's syntax, with prefixes and underscores; None if it is none or beyond int64."""
    match = GO_INTEGER.fullmatch(text)
    if match is None or match.lastgroup is None:
        return None
    digits = match[match.lastgroup].replace("_", "").lstrip("0")
    return _within_int64(match["sign"], digits, BASES[match.lastgroup])


def parse_digits(text: str, base: int) -> int | None:
    """Read an integer of plain digits in base 8 or 10; None if it is none or beyond int64."""
    match = re.fullmatch(r"([+-]?)([0-7]+)" if base == 8 else r"([+-]?)([0-9]+)", text)
    return _within_int64(match[1], match[2].lstrip("0"), base) if match else None


def nearest(text: str) -> int:
    """Read a decimal integer: 0 of what is none, and the nearest int64 of what is beyond.

    Like Go's ParseInt it reads no further than the digits that are beyond uint64.
    """
    value = parse_digits(text, 10)
    if value is not None:
        return value
    digits = DECIMAL.match(text)
    if digits and (digits.end() == len(text) or _is_beyond(digits[0].lstrip("+-").lstrip("0"))):
        return INT_MIN if text.startswith("-") else INT_MAX
    return 0


def _is_beyond(digits: str) -> bool:
    """Tell whether this is more than a uint64."""
    return len(digits) > MAX_DIGITS or int(digits or "0") >= 1 << 64


def _within_int64(sign: str, digits: str, base: int) -> int | None:
    if len(digits) > MAX_DIGITS:
        return None
    value = int(sign + (digits or "0"), base)
    return value if INT_MIN <= value <= INT_MAX else None


def parse_float(text: str) -> float | None:
    """Read what Go's ParseFloat reads, hexadecimal floats and `Inf` included; None if it fails or overflows."""
    try:
        if GO_HEX_FLOAT.fullmatch(text):
            return float.fromhex(text.replace("_", ""))
        value = float(text) if GO_FLOAT.fullmatch(text) else None
    except OverflowError:
        return None
    overflown = value is not None and math.isinf(value) and "n" not in text.lower()
    return None if overflown else value


def to_text(value: object) -> str:
    """Show a value as %v does; nil is `<nil>`. Raises GoError for texts beyond the bounds."""
    return value if isinstance(value, str) else sprint(value)


def to_texts(values: object) -> list[str]:
    """Show each element of a list that is not nil; anything but a list is taken for its only element.

    Raises GoError if all of it together is beyond the bounds.
    """
    if not isinstance(values, list | tuple):
        return [] if values is None else [to_text(values)]
    texts = []
    size = 0
    for each in values:
        if each is not None:
            texts.append(to_text(each))
            size += len(texts[-1])
            bound_text(size)
    return texts
