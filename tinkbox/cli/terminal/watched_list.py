"""A list that is shown once, or with `--watch` again and again: drawn anew on a terminal, elsewhere lines that changed."""

import argparse
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from tinkbox.cli.connection import ask, stay_connected
from tinkbox.cli.output.formats import Document, is_drawn_on
from tinkbox.cli.output.lists import List
from tinkbox.cli.output.printable import clean
from tinkbox.cli.output.readers import check_reader
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

    async def watched(operator: "Operator") -> None:
        async with UntilQuit():
            while True:
                try:
                    found = await look(operator)
                except Unavailable as error:
                    if not draw.drawn:
                        raise
                    draw.say(f"tinkbox: {clean(str(error))}; trying again")
                else:
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
        room = shutil.get_terminal_size().lines - 2
        lines = self._listed.shown(self._chosen, documents).splitlines()
        if len(lines) > room or total > len(documents):
            left = max(len(lines) - room, 0)
            lines = [*lines[:room], self._listed.rest(len(documents) - left, total)]
        print(AGAIN, "\n".join(lines), sep="", flush=True)

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


class _Lines:
    """Those that are new, or say something else than before."""

    def __init__(self, chosen: argparse.Namespace, listed: List) -> None:
        self._chosen, self._listed = chosen, listed
        self._told: dict[str, Sequence[str]] = {}
        self.drawn = False

    def draw(self, documents: Sequence[Document], total: int) -> None:
        facts = {str(each[self._listed.key]): self._listed.facts(each) for each in documents}
        changed = [each for each in documents if self._told.get(key := str(each[self._listed.key])) != facts[key]]
        self._told = facts
        self._listed.show(self._chosen, changed, 0 if self.drawn else total)
        sys.stdout.flush()
        self.drawn = self._chosen.no_headers = True

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)
