"""What a scalar without quotation marks means: YAML 1.1 as go.yaml.in/yaml/v2 2.4 has it.

There are no numbers of base 60, `0o17` is octal as `017` is, and underscores stand anywhere among digits.
"""

import math
import re
from collections.abc import Mapping
from typing import Final

from tinkbox.gotemplate.errors import GoError
from tinkbox.gotemplate.types.kinds import INT_MAX, INT_MIN, UINT_MAX

PREFIX = "tag:yaml.org,2002:"
STR, BOOL, INT, FLOAT, NULL, TIMESTAMP, BINARY, MERGE = (
    PREFIX + name for name in ("str", "bool", "int", "float", "null", "timestamp", "binary", "merge")
)
_RESOLVED = frozenset(("", STR, BOOL, INT, FLOAT, NULL, TIMESTAMP))
Scalar = str | int | float | bool | None


def _spellings(*words: str) -> list[str]:
    return [form for word in words for form in (word, word.capitalize(), word.upper())]


_WORDS: Final[Mapping[str, tuple[str, Scalar]]] = {
    **dict.fromkeys(_spellings("y", "yes", "true", "on"), (BOOL, True)),
    **dict.fromkeys(_spellings("n", "no", "false", "off"), (BOOL, False)),
    **dict.fromkeys(["", "~", *_spellings("null")], (NULL, None)),
    **dict.fromkeys([".nan", ".NaN", ".NAN"], (FLOAT, math.nan)),
    **dict.fromkeys([sign + word for sign in ("", "+") for word in (".inf", ".Inf", ".INF")], (FLOAT, math.inf)),
    **dict.fromkeys(["-.inf", "-.Inf", "-.INF"], (FLOAT, -math.inf)),
}
_NUMBER_BEGINS = frozenset("+-0123456789")
_INTEGER = re.compile(
    r"(?P<sign>[+-]?)(?:0[xX](?P<hexadecimal>[0-9a-fA-F]+)|0[bB](?P<binary>[01]+)|0[oO]?(?P<octal>[0-7]+)"
    r"|(?P<decimal>0|[1-9][0-9]*))"
)
# The sign in the middle is an oversight of Go's, which people's files may have come to depend on.
_BINARY_WITH_SIGN = re.compile(r"0b(?P<sign>[+-])(?P<binary>[01]+)")
_BASES: Final = {"hexadecimal": 16, "binary": 2, "octal": 8, "decimal": 10}
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_FRACTION = re.compile(r"\.[0-9](?:_?[0-9])*(?:[eE][-+]?[0-9](?:_?[0-9])*)?")
_TIMESTAMP = re.compile(
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})"
    r"(?:(?P<between>[Tt ])(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{1,2}):(?P<second>[0-9]{1,2})(?:[.,][0-9]{1,9})?"
    r"(?P<zone>Z|[+-](?P<hours>[0-9]{2}):(?P<minutes>[0-9]{2}))?)?"
)
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
MOST_DIGITS = 400  # of a number: more are text, as no number of Go has them


def resolve(tag: str, text: str) -> tuple[str, Scalar]:
    """The tag and the value of a scalar that has this tag, or none, which is "".

    A timestamp stays text. Raises GoError when the text is nothing of that tag.
    """
    if tag not in _RESOLVED:
        return tag, text
    if tag == STR:
        return STR, text
    found, value = _resolved(tag, text)
    if tag in ("", found):
        return found, value
    if tag == FLOAT and found == INT and isinstance(value, int) and value <= INT_MAX:
        return FLOAT, float(value)
    raise GoError(f"cannot decode !!{found.removeprefix(PREFIX)} `{text[:40]}` as a !!{tag.removeprefix(PREFIX)}")


def is_plain_text(text: str) -> bool:
    """Whether a text without quotation marks is that text, for every reader of YAML 1.1."""
    return resolve("", text)[0] == STR and not _BASE_60.fullmatch(text)


def _resolved(tag: str, text: str) -> tuple[str, Scalar]:
    if text in _WORDS:
        return _WORDS[text]
    if text.startswith("."):
        number = _finite(text) if _FRACTION.fullmatch(text) else None
        return (STR, text) if number is None else (FLOAT, number)
    if text[:1] not in _NUMBER_BEGINS:
        return STR, text
    if tag in ("", TIMESTAMP) and is_timestamp(text):
        return TIMESTAMP, text
    return _number(text)


def _number(text: str) -> tuple[str, Scalar]:
    plain = text.replace("_", "")
    if len(plain) > MOST_DIGITS:
        return STR, text
    for form in (_INTEGER, _BINARY_WITH_SIGN):
        match = form.fullmatch(plain)
        if match is not None and match.lastgroup is not None:
            whole = int(match["sign"] + match[match.lastgroup], _BASES[match.lastgroup])
            if INT_MIN <= whole <= INT_MAX or (not match["sign"] and whole <= UINT_MAX):
                return INT, whole
    number = _finite(plain) if _FLOAT.fullmatch(plain) else None
    return (STR, text) if number is None else (FLOAT, number)


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def is_timestamp(text: str) -> bool:
    """Whether go.yaml.in/yaml/v2 sees a date in it: `2006-1-2`, alone, with a time, or with `T`, a time and a zone."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return False
    month, year = int(match["month"]), int(match["year"])
    if not 1 <= month <= 12 or not 1 <= int(match["day"]) <= _DAYS[month - 1] + (month == 2 and _is_leap(year)):
        return False
    if match["between"] is None:
        return True
    if (match["between"] == " ") is (match["zone"] is not None):
        return False
    within_day = int(match["hour"]) < 24 and int(match["minute"]) < 60 and int(match["second"]) < 60
    return within_day and int(match["hours"] or 0) <= 24 and int(match["minutes"] or 0) <= 60


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
