"""Text from strangers, made fit to keep and to show; and small words for people."""

import re
from collections.abc import Sequence
from typing import Final

_DIGITS: Final = re.compile(r"(\d+)")
MOST_DIGITS: Final = 15
_NO_QUOTES = str.maketrans("'`", '""')


def one_line(text: str, limit: int) -> str:
    """At most `limit` characters of one line, without control characters and without spaces at its ends."""
    text = text[:limit]
    if text.isprintable():
        return text.strip()  # nearly always, and a tenth of the time
    return "".join(letter if letter.isprintable() else " " for letter in text).strip()


def escaped(text: str) -> str:
    """The whole text in one line: what could steer a terminal, end a line or turn it around becomes a visible escape."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in text
    )


def last_lines(lines: Sequence[str], limit: int) -> tuple[str, ...]:
    """Of lines the last ones that have `limit` characters together; of one that is longer, its beginning."""
    kept: list[str] = []
    for each in reversed(lines):
        if len(each) > limit and kept:
            break
        kept.append(each[:limit])
        limit -= len(kept[-1]) + 1
        if limit <= 0:
            break
    return tuple(reversed(kept))


def quoted(text: str, limit: int = 60) -> str:
    """What a stranger said, to stand beside our own words: in quotes that it cannot end, in one line, shortened.

    There is no backquote in it, in which our remedies have commands.
    """
    words = " ".join(one_line(text, 4 * limit).split()).translate(_NO_QUOTES)
    return f"'{shortened(words, limit)}'"


def shortened(text: str, limit: int) -> str:
    """The text, or as much of its beginning as makes `limit` characters with the sign that something is left out."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def briefly(text: str, limit: int) -> str:
    """The same for a list: of several lines, such as user-data, only how many they are."""
    lines = len(text.splitlines())
    return shortened(text, limit) if lines <= 1 else f"({counted(lines, 'line')})"


def counted(number: int, noun: str) -> str:
    """A number of things: `1 problem`, `2 problems`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts names as people do: node2 before node10."""
    return tuple(
        (0, int(each), "") if each.isdecimal() and len(each) < MOST_DIGITS else (1, 0, each.casefold())
        for each in _DIGITS.split(name)
        if each
    )
