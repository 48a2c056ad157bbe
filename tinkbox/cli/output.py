"""How results look: 2020's tables, and the formats for programs."""

import argparse
import csv
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

Document = Mapping[str, Any]
Column = tuple[str, Callable[[Document], object]]


def show(chosen: argparse.Namespace, documents: Sequence[Document], columns: Sequence[Column], key: str = "id") -> None:
    """Print documents as `--format`, `--no-headers` and `-q` want them.

    Table and csv have the columns, json and yaml the whole documents, `-q` the documents' `key`.
    """
    if chosen.quiet:
        for name in dict.fromkeys(str(each[key]) for each in documents):
            print(name)
    elif chosen.format == "json":
        print(_steering_escaped(json.dumps(list(documents), indent=2, ensure_ascii=False)))
    elif chosen.format == "yaml":
        print(_yaml(documents), end="")
    else:
        rows = [[value(each) for _, value in columns] for each in documents]
        headers = [] if chosen.no_headers else [title for title, _ in columns]
        if chosen.format == "csv":
            texts = [[clean(str(value)) for value in row] for row in rows]
            csv.writer(sys.stdout, lineterminator="\n").writerows([headers, *texts] if headers else texts)
        else:
            print(table(headers, rows), end="")


def show_texts(chosen: argparse.Namespace, documents: Sequence[Document], columns: Sequence[Column], text: str) -> None:
    """The same for documents that are asked for by name: instead of a table their `text`, as it was written."""
    if chosen.format == "table" and not chosen.quiet:
        for document in documents:
            print(document[text], end="" if document[text].endswith("\n") else "\n")
    else:
        show(chosen, documents, columns)


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


def moment(text: str | None) -> str:
    """A time as Go prints it: 2020-07-08 15:17:02 +0000 UTC."""
    if not text:
        return ""
    return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S +0000 UTC")


def clean(text: str) -> str:
    """One line without control characters: nothing a machine said steers the terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def clean_block(text: str) -> str:
    """The same for text of several lines; a carriage return becomes a new line."""
    kept = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "�" for letter in kept)


def _steering_escaped(document: str) -> str:
    """The same JSON, with what could steer a terminal written as JSON escapes."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1] for letter in document
    )


def _yaml(documents: Sequence[Document]) -> str:
    """YAML with letters of any language as they are, or all of them escaped where one could steer a terminal."""
    import yaml

    readable = str(yaml.safe_dump(list(documents), sort_keys=False, allow_unicode=True))
    if all(letter.isprintable() or letter == "\n" for letter in readable):
        return readable
    return str(yaml.safe_dump(list(documents), sort_keys=False))


def _row(texts: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    cells = [
        text.rjust(width) if to_right else text.ljust(width)
        for text, width, to_right in zip(texts, widths, right, strict=True)
    ]
    return f"| {' | '.join(cells)} |"
