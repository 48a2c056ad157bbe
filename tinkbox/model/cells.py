"""Text measured in cells of a terminal: wide letters take two, and those that are drawn over others none."""

import unicodedata
from typing import Final

ELLIPSIS: Final = "…"


def cells(text: str) -> int:
    """How many cells a text takes."""
    return len(text) if text.isascii() else sum(map(_cells_of, text))


def beginning(text: str, width: int) -> str:
    """As much of a text as fits into so many cells."""
    if cells(text) <= width:
        return text
    if text.isascii():
        return text[: max(0, width)]
    room, end = width, 0
    for letter in text:
        room -= _cells_of(letter)
        if room < 0:
            break
        end += 1
    return text[:end]


def cut(text: str, width: int) -> str:
    """The text, or as much of its beginning as fits into so many cells with the sign that something is left out."""
    if cells(text) <= width:
        return text
    return f"{beginning(text, width - 1)}{ELLIPSIS}" if width > 0 else ""


def _cells_of(letter: str) -> int:
    if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in ("W", "F") else 1
