"""Upper, lower and title case as Go has them: one character for one, so that `ß` stays what it is.

Also what Go takes for white space, and the change to U+FFFD of bytes that are no UTF-8.
"""

import re
import unicodedata
from collections.abc import Mapping

from tinkbox.gotemplate.values import from_bytes, to_bytes
from tinkbox.sprig.arguments import Function, typed

SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
NOT_UTF8 = re.compile("[\ud800-\udfff]")
DOTTED_CAPITAL_I = "\u0130"  # the only character whose lower case Python gives as two


def valid(text: str) -> str:
    """Replace each byte that is no UTF-8 by U+FFFD."""
    return text if text.isascii() else NOT_UTF8.sub("\ufffd", from_bytes(to_bytes(text)))


def to_upper(character: str) -> str:
    """Give the one upper case character, or the same if there is none."""
    changed = character.upper()
    return changed if len(changed) == 1 else to_title(character)


def to_title(character: str) -> str:
    """Give the one title case character, or the same if there is none."""
    changed = character.title()
    return changed if len(changed) == 1 else character


def to_lower(character: str) -> str:
    """Give the one lower case character, or the same if there is none."""
    return "i" if character == DOTTED_CAPITAL_I else character.lower()


def is_upper(character: str) -> bool:
    """Tell whether Go's unicode.IsUpper holds."""
    return unicodedata.category(character) == "Lu"


def is_lower(character: str) -> bool:
    """Tell whether Go's unicode.IsLower holds."""
    return unicodedata.category(character) == "Ll"


def upper(text: str) -> str:
    return text.upper() if text.isascii() else "".join(map(to_upper, valid(text)))


def lower(text: str) -> str:
    return text.lower() if text.isascii() else "".join(map(to_lower, valid(text)))


def title(text: str) -> str:
    """Change the first letter of each word."""
    pieces = []
    previous = " "
    for each in valid(text):
        pieces.append(to_title(each) if _separates(previous) else each)
        previous = each
    return "".join(pieces)


def _separates(character: str) -> bool:
    if character.isascii():
        return not (character.isalnum() or character == "_")
    if unicodedata.category(character)[0] == "L" or unicodedata.category(character) == "Nd":
        return False
    return character in SPACES


def untitle(text: str) -> str:
    """Change the first letter of each word back."""
    pieces = []
    starts = True
    for each in valid(text):
        pieces.append(to_lower(each) if starts else each)
        starts = each in SPACES
    return "".join(pieces)


def swapcase(text: str) -> str:
    """Exchange upper and lower case; a lower case letter after a space gets its title case."""
    pieces = []
    after_space = True
    for each in valid(text):
        if unicodedata.category(each) in ("Lu", "Lt"):
            pieces.append(to_lower(each))
            after_space = False
        elif is_lower(each):
            pieces.append(to_title(each) if after_space else to_upper(each))
            after_space = False
        else:
            pieces.append(each)
            after_space = each in SPACES
    return "".join(pieces)


FUNCTIONS: Mapping[str, Function] = {
    "upper": typed(upper, "string"),
    "lower": typed(lower, "string"),
    "title": typed(title, "string"),
    "untitle": typed(untitle, "string"),
    "swapcase": typed(swapcase, "string"),
}
