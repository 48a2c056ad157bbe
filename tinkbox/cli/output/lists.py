"""A list as a whole: how it looks in each format, in which order, and how much of it tables have."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tinkbox.cli.flags import filters_of
from tinkbox.cli.output.formats import As2020, Column, Document, for_people, show, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class List:
    """`name` is what `-o name` prints, empty: the `key`.

    In every format but 2020's it is sorted by `sort`, and a table for people has `limit` lines, where nothing else is asked;
    0: all.
    """

    columns: Sequence[Column]
    key: str = "id"
    name: str | Callable[[Document], str] = ""
    as_2020: As2020 | None = None
    sort: str = ""
    limit: int = 0

    def filters(self, chosen: argparse.Namespace) -> Mapping[str, str]:
        """What of the list is asked for."""
        asked = filters_of(chosen)
        if chosen.as_2020:
            return asked
        own = {"sort": self.sort, "limit": str(self.limit) if self.limit and for_people(chosen) else ""}
        return {name: value for name, value in own.items() if value} | asked

    def show(
        self, chosen: argparse.Namespace, documents: Sequence[Document], total: int = 0, *, one: bool = False
    ) -> None:
        """Print it, or `one` thing; on standard error how many of the `total` these are, where there are more."""
        show(chosen, documents, self.columns, self.key, name=self.name, as_2020=self.as_2020, one=one)
        if total > len(documents) and not chosen.as_2020:
            sys.stdout.flush()
            print(self.rest(len(documents), total), file=sys.stderr)

    def shown(self, chosen: argparse.Namespace, documents: Sequence[Document]) -> str:
        """What `show` prints of the documents."""
        return shown(chosen, documents, self.columns, self.key, name=self.name, as_2020=self.as_2020)

    def facts(self, document: Document) -> Sequence[str]:
        """What a line says, without what time alone changes."""
        return [str(column.plain(document)) for column in self.columns]

    def called(self, document: Document) -> str:
        """What people call an entry."""
        return str(self.name(document) if callable(self.name) else document[self.name or self.key])

    @staticmethod
    def rest(count: int, total: int) -> str:
        return f"{count} of {total} shown; --limit 0 shows all"

    @staticmethod
    def fitting(count: int, total: int) -> str:
        """The same of a picture that has no room for more, whatever the limit is."""
        return f"{count} of {total} fit this terminal"
