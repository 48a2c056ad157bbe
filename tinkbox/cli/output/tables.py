"""2020's tables."""

from collections.abc import Sequence

from tinkbox.cli.output.printable import clean


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


def fields(pairs: Sequence[tuple[str, object]], titles: tuple[str, str] = ("Field Name", "Value")) -> str:
    """A table of names and values."""
    return table(titles, [list(pair) for pair in pairs])


def _row(texts: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    cells = [
        text.rjust(width) if to_right else text.ljust(width)
        for text, width, to_right in zip(texts, widths, right, strict=True)
    ]
    return f"| {' | '.join(cells)} |"
