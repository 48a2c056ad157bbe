"""A list that is shown once, or with `--watch` again and again: drawn anew on a terminal, elsewhere lines that changed."""

import argparse
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final, Protocol

from tinkbox.cli.connection import ask, stay_connected
from tinkbox.cli.interruptions.outages import Outages
from tinkbox.cli.interruptions.readers import check_reader
from tinkbox.cli.output.formats import Document, is_drawn_on
from tinkbox.cli.output.lists import List
from tinkbox.cli.output.printable import clean
from tinkbox.model.cells import cells
from tinkbox.model.errors import Unavailable

if TYPE_CHECKING:
    from tinkbox.client.operator import Found, Operator

SECONDS: Final = 2.0  # between two looks
AGAIN: Final = "\x1b[H\x1b[J"  # from the top of the screen, with what was there wiped


class Noun(Protocol):
    """What of the client has a list."""

    async def found(self, filters: Mapping[str, str]) -> "Found": ...


def show_found(chosen: argparse.Namespace, noun: "Callable[[Operator], Noun]", listed: List) -> int:
    """Print what the flags select of a list (`flags.add_filters`), with --watch until `q` or Ctrl-C; returns the exit status."""
    filters = listed.filters(chosen)
    if chosen.watch:
        return _watch(chosen, lambda operator: noun(operator).found(filters), listed)
    documents, total = ask(chosen, lambda operator: noun(operator).found(filters))
    listed.show(chosen, documents, total)
    return 0


def _watch(chosen: argparse.Namespace, look: "Callable[[Operator], Awaitable[Found]]", listed: List) -> int:
    import asyncio

    from tinkbox.cli.terminal.quit_key import UntilQuit
    from tinkbox.cli.terminal.raw_terminal import Told

    if chosen.format in ("json", "yaml"):
        chosen.usage_error(
            "--watch goes with a table, csv, name or -q; as JSON `tinkbox events watch` tells what changes"
        )
    draw = _Screen(chosen, listed) if is_drawn_on() else _Lines(chosen, listed)
    outages = Outages()

    async def watched(operator: "Operator") -> None:
        async with UntilQuit():
            while True:
                try:
                    found = await look(operator)
                except Unavailable as error:
                    if not draw.drawn:
                        raise
                    outages.tell(error)
                else:
                    outages.over()
                    draw.draw(found.documents, found.total)
                check_reader()
                await asyncio.sleep(SECONDS)

    try:
        stay_connected(chosen, watched)
    except Told as told:
        return 128 + told.number
    return 0


class _Screen:
    """The table, as much of it as there is room for."""

    def __init__(self, chosen: argparse.Namespace, listed: List) -> None:
        self._chosen, self._listed = chosen, listed
        self.drawn = False

    def draw(self, documents: Sequence[Document], total: int) -> None:
        self.drawn = True
        columns, rows = shutil.get_terminal_size()
        lines = self._listed.shown(self._chosen, documents).splitlines()
        # What is wider than the terminal goes on below, such as lines of `-o wide`.
        ends = list(accumulate(-(-cells(each) // columns) or 1 for each in lines))
        fitting = sum(end <= rows - 2 for end in ends)
        left = len(lines) - fitting
        if left > 0:
            lines = [*lines[:fitting], self._listed.fitting(max(len(documents) - left, 0), total)]
        elif total > len(documents):
            lines.append(self._listed.rest(len(documents), total))
        print(AGAIN, "\n".join(lines), sep="", flush=True)


class _Lines:
    """Those that are new, or say something else than before; of those that left the list, on standard error, that they did."""

    def __init__(self, chosen: argparse.Namespace, listed: List) -> None:
        self._chosen, self._listed = chosen, listed
        self._told: dict[str, Sequence[str]] = {}
        self._names: dict[str, str] = {}
        self.drawn = False

    def draw(self, documents: Sequence[Document], total: int) -> None:
        facts = {str(each[self._listed.key]): self._listed.facts(each) for each in documents}
        changed = [each for each in documents if self._told.get(key := str(each[self._listed.key])) != facts[key]]
        # What a limit leaves out may be there still.
        gone = [name for key, name in self._names.items() if key not in facts] if total <= len(documents) else []
        self._told, self._names = facts, {str(each[self._listed.key]): self._listed.called(each) for each in documents}
        self._listed.show(self._chosen, changed, 0 if self.drawn else total)
        sys.stdout.flush()
        for name in gone:
            print(clean(f"{name} left the list"), file=sys.stderr, flush=True)
        self.drawn = self._chosen.no_headers = True
