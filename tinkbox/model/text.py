"""Text from strangers, made fit to keep and to show; and small words for people."""

import re
from collections.abc import Sequence
from typing import Final

_DIGITS: Final = re.compile(r"(\d+)")
MOST_DIGITS: Final = 15
MOST_NAMED: Final = 5  # machines in a sentence
_NO_QUOTES = str.maketrans("'`", '""')
_ONE_WORD = re.compile(r"[\w./:@+-]+")
# What is drawn as nothing, or as a blank, of what Python calls printable: of Unicode's Default_Ignorable_Code_Point
# (DerivedCoreProperties.txt) joiners, fillers and variation selectors, and beside that letters whose picture is empty.
_EMPTY: Final = frozenset(
    chr(each)
    for first, last in (
        (0x034F, 0x034F),
        (0x115F, 0x1160),
        (0x17B4, 0x17B5),
        (0x180B, 0x180F),
        (0x2800, 0x2800),  # Braille without a dot
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),
        (0xFFA0, 0xFFA0),
        (0x13441, 0x13442),  # blanks among hieroglyphs
        (0x16FE4, 0x16FE4),  # the filler of Khitan
        (0x1D159, 0x1D159),  # a note's head that is not drawn
        (0xE0100, 0xE01EF),
    )
    for each in range(first, last + 1)
)


def machines_named(names: Sequence[str]) -> str:
    """Machines in a sentence: `machine node1`, or `7 machines (node1, node2, node3, node4, node5 and 2 more)`."""
    if len(names) == 1:
        return f"machine {names[0]}"
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{len(names)} machines ({', '.join(names[:MOST_NAMED])}{more})"


def can_be_shown(text: str) -> bool:
    """Whether all its letters are seen in one line: none steers a terminal, ends a line, or is drawn as nothing or as a blank but the space."""
    return text.isprintable() and (text.isascii() or _EMPTY.isdisjoint(text))


def clean(text: str) -> str:
    """The text in one line and as long as it was: what could steer a terminal, end a line or not be seen becomes a space."""
    if can_be_shown(text):
        return text  # nearly always, and a tenth of the time
    return "".join(letter if can_be_shown(letter) else " " for letter in text)


def clean_block(text: str) -> str:
    """The same for text of several lines, in which signs stand for what is taken out; a carriage return ends a line."""
    kept = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "�" for letter in kept)


def is_clean_block(text: str) -> bool:
    """Whether nothing in its lines could steer a terminal."""
    return all(map(str.isprintable, text.split("\n")))


def printable(text: str) -> str:
    """The text without what cannot be shown: for what is compared, and for what is padded."""
    return text if can_be_shown(text) else "".join(filter(can_be_shown, text))


def one_line(text: str, limit: int) -> str:
    """At most `limit` characters of one line, without control characters and without spaces at its ends."""
    return clean(text[:limit]).strip()


def condensed(text: str, limit: int) -> str:
    """The same with one space between its words."""
    return " ".join(one_line(text, limit).split())


def escaped(text: str) -> str:
    """The whole text in one line: what could steer a terminal, end a line, turn it around or not be seen becomes a visible escape."""
    if can_be_shown(text):
        return text
    return "".join(
        letter if can_be_shown(letter) else letter.encode("unicode_escape").decode("ascii") for letter in text
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


def named(text: str, limit: int = 60) -> str:
    """A name that a stranger gave, in a sentence of ours: as it is while it is one word, else `quoted`."""
    return text if len(text) <= limit and _ONE_WORD.fullmatch(text) else quoted(text, limit)


def spelled(text: str, limit: int = 60) -> str:
    """As `quoted`, for what is refused for its letters: these as they are, and no space is left out.

    What is not seen of them is a visible escape, and so is a backquote.  As in Python the quotes are those that the text lacks.
    """
    mark = '"' if "'" in text and '"' not in text else "'"
    told = escaped(text[: limit + 1]).translate({ord("`"): r"\x60", ord(mark): f"\\x{ord(mark):02x}"})
    return f"{mark}{shortened(told, limit)}{mark}"


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
