"""Text from strangers, made fit to keep and to show; and small words for people."""

import re
from collections.abc import Sequence
from typing import Final

_DIGITS: Final = re.compile(r"(\d+)")
MOST_DIGITS: Final = 15
_NO_QUOTES = str.maketrans("'`", '""')


def clean(text: str) -> str:
    """The text in one line and as long as it was: what could steer a terminal or end a line becomes a space."""
    if text.isprintable():
        return text  # nearly always, and a tenth of the time
    return "".join(letter if letter.isprintable() else " " for letter in text)


def clean_block(text: str) -> str:
    """The same for text of several lines, in which signs stand for what is taken out; a carriage return ends a line."""
    kept = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "�" for letter in kept)


def is_clean_block(text: str) -> bool:
    """Whether nothing in its lines could steer a terminal."""
    return all(map(str.isprintable, text.split("\n")))


def printable(text: str) -> str:
    """The text without what cannot be shown: for what is compared, and for what is padded."""
    return text if text.isprintable() else "".join(filter(str.isprintable, text))


def one_line(text: str, limit: int) -> str:
    """At most `limit` characters of one line, without control characters and without spaces at its ends."""
    return clean(text[:limit]).strip()


def condensed(text: str, limit: int) -> str:
    """The same with one space between its words."""
    return " ".join(one_line(text, limit).split())


def escaped(text: str) -> str:
    """The whole text in one line: what could steer a terminal, end a line or turn it around becomes a visible escape."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in text
    )


def so_many(done: int, total: int, noun: str = "") -> str:
    """The beginning of a sentence about how far something came: `3 of 5 images were`."""
    return f"{done} of {total}{f' {noun}s' if noun else ''} {'was' if done == 1 else 'were'}"


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
    return f"'{shortened(condensed(text, 4 * limit).translate(_NO_QUOTES), limit)}'"


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
