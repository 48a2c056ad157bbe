"""Documents as `--output` wants them: as a table for people or for 2020's scripts, as json, csv or yaml, or as their names."""

import argparse
import json
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tinkbox.cli.called_as import told
from tinkbox.cli.output.printable import clean, clean_block
from tinkbox.cli.output.tables import Fit, listing, pairs, table
from tinkbox.model.errors import Problem
from tinkbox.model.text import can_be_shown, is_clean_block

Document = Mapping[str, Any]
TABLES = ("table", "wide", "tink")
DUMB = ("", "dumb", "unknown")  # terminals that only print, as far as is known
FORMULA = ("=", "+", "-", "@")  # what a cell begins with that spreadsheets calculate
SHORT_ID = 8  # letters; more are shown by `-o wide`


class Column(NamedTuple):
    """A column of a list: its heading, what it shows of a document (a key, or what works it out), and how that looks.

    csv has what stands in the document, under its key, or as `called`; where there are some, the columns `in_csv` instead.
    One that is `wide` is in csv and `-o wide` alone.
    """

    title: str
    reads: str | Callable[[Document], object]
    looks: Callable[[Any], object] | None = None
    fit: Fit = Fit()
    wide: bool = False
    called: str = ""
    in_csv: "Sequence[Column]" = ()

    def value(self, document: Document) -> object:
        """What stands in it; in 2020's tables a number stands to the right."""
        found = self._found(document)
        if self.looks is not None:
            return self.looks(found)
        return "" if found is None else found

    def plain(self, document: Document) -> object:
        """What programs get to read."""
        found = self._found(document)
        if found is None:
            return ""
        return self.value(document) if isinstance(found, Mapping | list | tuple) else found

    @property
    def name(self) -> str:
        """Its heading for programs."""
        own = self.reads if isinstance(self.reads, str) else self.title.lower().replace(" ", "_")
        return self.called or own

    def _found(self, document: Document) -> object:
        return document[self.reads] if isinstance(self.reads, str) else self.reads(document)


class As2020(NamedTuple):
    """The table of 2020's `tink`, where it has other columns: `lines` makes the documents of its lines of one document.

    What it printed `as_data` in JSON is an object with a list.
    """

    columns: Sequence[Column]
    lines: Callable[[Document], Iterable[Document]] = lambda document: (document,)
    as_data: bool = False


def id_columns(key: str = "id") -> tuple[Column, Column]:
    """An id: its beginning, which commands take as well, and in `-o wide` the whole of it instead."""
    return Column("ID", lambda document: short(document[key])), Column("ID", key, wide=True)


def short(identity: str) -> str:
    """The beginning of an id, which commands take as well."""
    return identity[:SHORT_ID]


def for_people(chosen: argparse.Namespace) -> bool:
    """Whether a table is wanted, below which something more can be said."""
    return chosen.format in TABLES and not chosen.quiet


def show(
    chosen: argparse.Namespace,
    documents: Sequence[Document],
    columns: Sequence[Column],
    key: str | Callable[[Document], str] = "id",
    *,
    name: str | Callable[[Document], str] = "",
    as_2020: As2020 | None = None,
    one: bool = False,
) -> None:
    """Print documents as `--output`, `--no-headers` and `-q` want them.

    Tables and csv have the columns, json and yaml the whole documents, `-q` the documents' `key` and `-o name` their
    `name`; either is a key, or what works it out, and an empty `name` is the same as `key`.  Of `one` thing that was named json and yaml have
    the document itself.
    """
    print(shown(chosen, documents, columns, key, name=name, as_2020=as_2020, one=one), end="")


def shown(
    chosen: argparse.Namespace,
    documents: Sequence[Document],
    columns: Sequence[Column],
    key: str | Callable[[Document], str] = "id",
    *,
    name: str | Callable[[Document], str] = "",
    as_2020: As2020 | None = None,
    one: bool = False,
) -> str:
    """What `show` prints."""
    if chosen.quiet or chosen.format == "name":
        called = key if chosen.quiet or not name else name
        called_so = ((_found(each, key), _found(each, called)) for each in documents)
        # Once for each thing; several things that are called the same have a line each.
        return "".join(f"{clean(str(each))}\n" for _, each in dict.fromkeys(called_so))
    if chosen.format == "json" and chosen.as_2020 and as_2020 is not None and as_2020.as_data:
        return json_of({"data": list(documents)})
    if chosen.format in ("json", "yaml"):
        written = json_of if chosen.format == "json" else yaml_of
        return written(documents[0] if one else list(documents))
    if chosen.as_2020 and as_2020 is not None:
        lines = [line for each in documents for line in as_2020.lines(each)]
        titles = [] if chosen.no_headers else [column.title for column in as_2020.columns]
        rows = rows_of(lines, as_2020.columns)
        return table(titles, rows) if chosen.format == "tink" else csv_of(titles, rows)
    if chosen.format == "csv":
        wanted = [one for each in _instead(columns, wide=True) for one in each.in_csv or (each,)]
        names = [] if chosen.no_headers else [column.name for column in wanted]
        return csv_of(names, [[_no_formula(column.plain(each)) for column in wanted] for each in documents])
    wanted = _instead(columns, wide=chosen.format == "wide")
    titles = [] if chosen.no_headers else [column.title for column in wanted]
    rows = rows_of(documents, wanted)
    if chosen.format == "tink":
        return table(titles, rows)
    return listing(titles, rows, [column.fit for column in wanted], 0 if chosen.format == "wide" else screen())


def _found(document: Document, reads: str | Callable[[Document], str]) -> str:
    return str(document[reads] if isinstance(reads, str) else reads(document))


def show_texts(
    chosen: argparse.Namespace,
    documents: Sequence[Document],
    columns: Sequence[Column],
    text: str,
    as_2020: As2020 | None = None,
    name: str | Callable[[Document], str] = "",
    one: bool = False,
) -> None:
    """The same for documents that are asked for by name: instead of a table their `text`, as it was written.

    On a terminal nothing in it steers that.
    """
    if for_people(chosen):
        written = clean_block if is_terminal() else str
        for document in documents:
            told = written(document[text])
            print(told, end="" if told.endswith("\n") else "\n")
    else:
        show(chosen, documents, columns, name=name, as_2020=as_2020, one=one)


def fields(
    chosen: argparse.Namespace, named: Sequence[tuple[str, object]], titles: tuple[str, str] = ("Field Name", "Value")
) -> str:
    """Names and values of one thing, for people; `titles` are those of 2020's table."""
    return table(titles, [list(each) for each in named]) if chosen.as_2020 else pairs(named, screen())


def screen() -> int:
    """The cells in a line of the terminal, 0 where what is printed goes elsewhere."""
    return shutil.get_terminal_size().columns if is_terminal() else 0


def is_terminal() -> bool:
    """Whether a person's terminal shows what is printed."""
    return sys.stdout.isatty()


def is_drawn_on() -> bool:
    """Whether it is also one that moves its cursor where it is told to."""
    from tinkbox.settings import terminal_kind

    return is_terminal() and terminal_kind() not in DUMB


def names_one(chosen: argparse.Namespace) -> bool:
    """Whether the command line names one thing by its key; what labels select is a list, however many they are."""
    return len(chosen.keys) == 1 and getattr(chosen, "label", None) is None


def show_notes(answer: Document) -> None:
    """Tell on standard error what of a document was left out or is not honoured."""
    for note in answer.get("notes", []):
        print(told(f"tinkbox: {Problem(**note)}"), file=sys.stderr)


def rows_of(documents: Sequence[Document], columns: Sequence[Column]) -> list[list[object]]:
    return [[column.value(each) for column in columns] for each in documents]


def _no_formula(value: object) -> object:
    """A text that a spreadsheet would calculate, such as a machine's reason `=HYPERLINK(…)`, with an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def csv_of(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    import csv
    import io

    texts = [[clean(str(value)) for value in row] for row in rows]
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows([headers, *texts] if headers else texts)
    return written.getvalue()


def json_of(document: object) -> str:
    """JSON with letters of any language as they are, and as JSON escapes what could steer a terminal or is not seen."""
    lines = json.dumps(document, indent=2, ensure_ascii=False).split("\n")
    return "".join(f"{line if can_be_shown(line) else _escaped(line)}\n" for line in lines)


def _escaped(line: str) -> str:
    return "".join(letter if can_be_shown(letter) else json.dumps(letter)[1:-1] for letter in line)


def yaml_of(document: object) -> str:
    """YAML with letters of any language as they are, or all of them escaped where one could steer a terminal."""
    import yaml

    plain = json.loads(json.dumps(document))  # yaml writes a dict, and nothing that is derived from it
    readable = str(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True))
    if is_clean_block(readable):
        return readable
    return str(yaml.safe_dump(plain, sort_keys=False))


def _instead(columns: Sequence[Column], *, wide: bool) -> list[Column]:
    """The columns that are shown; a wide one stands in the place of the other with its heading."""
    if not wide:
        return [column for column in columns if not column.wide]
    widest = {column.title: column for column in columns if column.wide}
    chosen = [widest.get(column.title, column) for column in columns]
    return list(dict.fromkeys(chosen))
