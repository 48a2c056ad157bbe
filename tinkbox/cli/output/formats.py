"""Lists of documents as `--format` wants them: table, json, csv or yaml."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tinkbox.cli.output.printable import clean, clean_block
from tinkbox.cli.output.tables import table
from tinkbox.model.errors import Problem

Document = Mapping[str, Any]


class Column(NamedTuple):
    """A column of a list: its heading, what it shows of a document (a key, or what works it out), and how that looks."""

    title: str
    reads: str | Callable[[Document], object]
    looks: Callable[[Any], object] | None = None

    def value(self, document: Document) -> object:
        """What stands in it; a number stands to the right."""
        found = document[self.reads] if isinstance(self.reads, str) else self.reads(document)
        return found if self.looks is None else self.looks(found)


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
        headers = [] if chosen.no_headers else [column.title for column in columns]
        rows = rows_of(documents, columns)
        print(_csv(headers, rows) if chosen.format == "csv" else table(headers, rows), end="")


def show_texts(chosen: argparse.Namespace, documents: Sequence[Document], columns: Sequence[Column], text: str) -> None:
    """The same for documents that are asked for by name: instead of a table their `text`, as it was written.

    On a terminal nothing in it steers that.
    """
    if chosen.format == "table" and not chosen.quiet:
        written = clean_block if is_terminal() else str
        for document in documents:
            shown = written(document[text])
            print(shown, end="" if shown.endswith("\n") else "\n")
    else:
        show(chosen, documents, columns)


def is_terminal() -> bool:
    """Whether a person's terminal shows what is printed."""
    return sys.stdout.isatty()


def show_notes(answer: Document) -> None:
    """Tell on standard error what of a document was left out or is not honoured."""
    for note in answer.get("notes", []):
        print(clean(f"tinkbox: {Problem(**note)}"), file=sys.stderr)


def rows_of(documents: Sequence[Document], columns: Sequence[Column]) -> list[list[object]]:
    return [[column.value(each) for column in columns] for each in documents]


def _csv(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    import csv
    import io

    texts = [[clean(str(value)) for value in row] for row in rows]
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows([headers, *texts] if headers else texts)
    return written.getvalue()


def _steering_escaped(document: str) -> str:
    """The same JSON, with what could steer a terminal written as JSON escapes."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1] for letter in document
    )


def _yaml(documents: Sequence[Document]) -> str:
    """YAML with letters of any language as they are, or all of them escaped where one could steer a terminal."""
    import yaml

    plain = json.loads(json.dumps(list(documents)))  # yaml writes a dict, and nothing that is derived from it
    readable = str(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True))
    if all(letter.isprintable() or letter == "\n" for letter in readable):
        return readable
    return str(yaml.safe_dump(plain, sort_keys=False))
