"""Tables: a line for each thing, in columns that fit a screen; and those of 2020.  Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from tinkbox.cli.output.printable import clean
from tinkbox.model.cells import cells, cut

GAP: Final = 2  # spaces between columns
LEAST_VALUE: Final = 2  # cells, of a column without a heading: less than these is an ellipsis alone


@dataclass(frozen=True, slots=True)
class Fit:
    """What a column may lose where the screen is too narrow.

    It may be shortened to `least` cells, and never below its heading, 0: never.  Columns are left out by their `rank`, the
    highest first, 0: only at the end of a screen that has no room for their heading.
    """

    least: int = 0
    rank: int = 0


def listing(titles: Sequence[str], rows: Sequence[Sequence[object]], fits: Sequence[Fit] = (), screen: int = 0) -> str:
    """Columns as docker and kubectl print them; `screen` is its cells in a line, 0: nothing is shortened or left out.

    Without `titles` there is no line of headings.  `fits` has an entry for each column, if it is given.
    """
    texts = [[clean(str(value)) for value in row] for row in rows]
    lines = [*([[title.upper() for title in titles]] if titles else []), *texts]
    if not lines:
        return ""
    columns = list(range(len(lines[0])))
    natural = [max(cells(line[column]) for line in lines) for column in columns]
    fits = fits or [Fit()] * len(columns)
    needed = [cells(each) for each in titles] or [min(each, LEAST_VALUE) for each in natural]
    widths = _fitted(natural, needed, fits, screen) if screen else dict(enumerate(natural))
    printed = [_line([(line[column], width) for column, width in widths.items()]) for line in lines]
    return "".join(f"{cut(each, screen) if screen else each}\n" for each in printed)


def pairs(named: Sequence[tuple[str, object]], screen: int = 0) -> str:
    """Names and values, as `kubectl describe` prints them; a value without a name goes on below the one before.

    `screen` is as for `listing`: a value that is too long is shown to its end, on further lines.
    """
    import textwrap

    titles = [f"{clean(name)}:" if name else "" for name, _ in named]
    indent = max(map(cells, titles), default=0) + GAP
    room = max(screen - indent, 20) if screen else 0
    lines = []
    for title, (_, value) in zip(titles, named, strict=True):
        text = clean(str(value))
        parts = textwrap.wrap(text, room, break_on_hyphens=False) if room and cells(text) > room else [text]
        for number, part in enumerate(parts or [""]):
            lines.append(f"{_padded('' if number else title, indent)}{part}".rstrip())
    return "".join(f"{line}\n" for line in lines)


def table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """go-pretty's default style, as 2020's `tink` printed: ASCII borders, upper-case headers, numbers to the right."""
    texts = [[clean(str(value)) for value in row] for row in rows]
    titles = [title.upper() for title in headers]
    lines = [*([titles] if titles else []), *texts]
    if not lines:
        return ""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    border = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    printed = [border]
    if titles:
        printed += [_row(titles, widths, [False] * len(widths)), border]
    for row, text in zip(rows, texts, strict=True):
        printed.append(_row(text, widths, [isinstance(value, int | float) for value in row]))
    # Without rows the border at the end stands right below that of the headers, as go-pretty's does.
    printed.append(border)
    return "\n".join(printed) + "\n"


def _fitted(natural: Sequence[int], needed: Sequence[int], fits: Sequence[Fit], screen: int) -> dict[int, int]:
    """The columns that are shown, with their widths; none has less than is `needed`, but for the first."""
    least = [max(fit.least, need) if fit.least else 0 for fit, need in zip(fits, needed, strict=True)]
    shown = list(range(len(natural)))
    while True:
        widths = {column: natural[column] for column in shown}
        over = sum(widths.values()) + GAP * (len(widths) - 1) - screen
        # The widest gives first, so that no column is shorter than need be.
        while over > 0:
            spare = [each for each in shown if least[each] and widths[each] > least[each]]
            if not spare:
                break
            widest = max(spare, key=lambda column: widths[column])
            widths[widest] -= 1
            over -= 1
        droppable = [column for column in shown if fits[column].rank]
        if over <= 0:
            return widths
        if droppable:
            shown.remove(max(droppable, key=lambda column: fits[column].rank))
        elif len(begun := _begun_within(widths, needed, screen)) < len(shown):
            shown = begun
        else:
            return widths


def _begun_within(widths: Mapping[int, int], needed: Sequence[int], screen: int) -> list[int]:
    """The columns of which as much is within the screen as is needed, the first one whatever that is."""
    begins = accumulate((width + GAP for width in widths.values()), initial=0)
    within = [each for begin, each in zip(begins, widths, strict=False) if begin + needed[each] <= screen]
    return within or [*widths][:1]


def _line(placed: Sequence[tuple[str, int]]) -> str:
    return (" " * GAP).join(_padded(cut(text, width), width) for text, width in placed).rstrip()


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cells(text))


def _row(texts: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    parts = [
        text.rjust(width) if to_right else text.ljust(width)
        for text, width, to_right in zip(texts, widths, right, strict=True)
    ]
    return f"| {' | '.join(parts)} |"
