"""Lines of a terminal: pieces of text, each in a style, measured in columns.

Text that comes from machines is cleaned where it becomes a piece: no control character of theirs reaches the terminal.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from tinkbox.model.cells import ELLIPSIS, beginning, cells
from tinkbox.model.cells import cut as cut_text
from tinkbox.model.duration import show_age
from tinkbox.model.text import one_line

# A piece of text and its style, one of STYLES.
Piece = tuple[str, str]
Line = tuple[Piece, ...]
STYLES: Final[Mapping[str, str]] = {
    "": "",
    "dim": "2",
    "bold": "1",
    "red": "31",
    "bold red": "1;31",
    "green": "32",
    "yellow": "33",
    "bold yellow": "1;33",
    "magenta": "35",
    "cyan": "36",
    "bold cyan": "1;36",
}
_COLOURS: Final = frozenset({"31", "32", "33", "35", "36"})
SELECTED: Final = "7"  # reverse, over whatever styles the line has


def clean(text: str, limit: int = 400) -> str:
    """One line without control characters, cut to `limit`, and an ellipsis for what is cut away."""
    text = text.strip()
    line = one_line(text, limit)
    # A blank at the end of what is kept is not told, and does not count as all that there was.
    return line if len(text) <= limit else line[: limit - 1] + ELLIPSIS


def fitted(text: str, width: int, *, right: bool = False) -> str:
    """In exactly so many columns: padded, or cut with an ellipsis."""
    text = cut_text(text, width)
    padding = " " * (width - cells(text))
    return padding + text if right else text + padding


def line_width(line: Line) -> int:
    """The columns that a line takes."""
    return sum(cells(text) for text, _ in line)


def cut(line: Line, width: int) -> Line:
    """At most so many columns of it."""
    if line_width(line) <= width:
        return line
    kept: list[Piece] = []
    room = width - 1
    for text, style in line:
        if cells(text) >= room:
            return (*kept, (beginning(text, room) + ELLIPSIS, style)) if width > 0 else ()
        kept.append((text, style))
        room -= cells(text)
    return tuple(kept)


def wrapped(text: str, width: int, indent: str = "", style: str = "") -> list[Line]:
    """Text over as many lines as it needs, broken between words where it can be; all of them indented."""
    lines, rest = [], text.split()
    room = max(1, width - cells(indent))
    line = ""
    while rest:
        word = rest.pop(0)
        longer = f"{line} {word}" if line else word
        if cells(longer) <= room:
            line = longer
        elif line:
            lines.append(line)
            line, rest = "", [word, *rest]
        else:
            # At least one letter, so that it ends also where not even one fits.
            fits = max(1, len(beginning(word, room)))
            lines.append(word[:fits])
            rest = [word[fits:], *rest]
    if line or not lines:
        lines.append(line)
    return [((indent + each, style),) for each in lines]


def followed(line: Line, text: str, width: int, style: str = "") -> list[Line]:
    """A line with a text behind it, over as many lines as that needs: in a column of its own, or below where that is narrow."""
    taken = line_width(line)
    if taken + cells(text) <= width:
        return [(*line, (text, style))]
    if width - taken < width // 3:
        return [line, *wrapped(text, width, " " * 4, style)]
    first, *more = wrapped(text, width - taken, "", style)
    return [(*line, *first), *(((" " * taken, ""), *each) for each in more)]


def flowed(pieces: Sequence[Piece], width: int, between: str = "  ") -> list[Line]:
    """Pieces in a row over as many lines as they need, the empty ones left out; from the second line on they are indented."""
    lines: list[Line] = []
    line: Line = ()
    for text, style in pieces:
        longer = joined([line, ((text, style),) if text else ()], between)
        if line_width(longer) <= width:
            line = longer
            continue
        lines += [line] if line else []
        *more, line = wrapped(text, width, between, style)
        lines += more
    return [*lines, line] if line else lines


def folded(text: str, width: int) -> list[str]:
    """Text over as many lines as it needs, its blanks kept."""
    lines = []
    while cells(text) > width:
        fits = max(1, len(beginning(text, width)))
        lines.append(text[:fits])
        text = text[fits:]
    return [*lines, text]


def plain(line: Line) -> str:
    """Its text alone."""
    return "".join(text for text, _ in line).rstrip()


def coded(line: Line, *, selected: bool = False, colours: bool = True) -> str:
    """With the terminal's codes for its styles (ECMA-48 SGR); without `colours` they are bold, dim and reverse alone."""
    shown = []
    for text, style in line:
        own = (code for code in STYLES[style].split(";") if colours or code not in _COLOURS)
        codes = ";".join(code for code in (SELECTED if selected else "", *own) if code)
        shown.append(f"\x1b[{codes}m{text}\x1b[0m" if codes else text)
    return "".join(shown)


def joined(pieces: Sequence[Line], between: str = "  ") -> Line:
    """Several in a row, the empty ones left out."""
    line: list[Piece] = []
    for each in pieces:
        if each:
            line += [(between, ""), *each] if line else each
    return tuple(line)


def age(since: datetime, now: datetime) -> str:
    """How long ago something was, in its largest unit, as in every list."""
    return show_age((now - since).total_seconds())


def elapsed(since: datetime, until: datetime) -> str:
    """How long something took, as a clock shows it: 0:07, 12:03, 1:02:03; in days from two of them on."""
    seconds = max(0, int((until - since).total_seconds()))
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 48:
        return f"{hours // 24} d {hours % 24} h"
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
