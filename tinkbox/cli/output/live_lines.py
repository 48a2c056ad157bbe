"""A line for each of several things that go on: drawn again on a terminal, elsewhere printed when it changes."""

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Final, Protocol, Self, TextIO

from tinkbox.cli.output.printable import clean

if TYPE_CHECKING:
    from rich.live import Live

ANSWERS_AGAIN: Final = "tinkbox: the appliance answers again"


class Shown(Protocol):
    """A line.  A Protocol because the lines are worded above this floor."""

    @property
    def machine(self) -> str: ...
    @property
    def change(self) -> str: ...


class LiveLines:
    """A context manager; at its end the last lines stay where they are.  They go to `out`, None: standard output."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = sys.stdout if out is None else out
        self._live: Live | None = None
        self._printed: dict[str, str] = {}
        self._said = ""

    def __enter__(self) -> Self:
        if self._out.isatty():
            from rich.console import Console
            from rich.live import Live

            console = Console(file=self._out, highlight=False)
            if not console.is_dumb_terminal:
                self._live = Live(console=console, auto_refresh=False)
                self._live.start()
                # Without a cursor is how Ctrl-Z or a signal would leave the terminal.
                console.show_cursor()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    @property
    def screen(self) -> tuple[int, int]:
        """The cells in a line and the lines of a terminal that is drawn on, where longer lines are cut; elsewhere both are 0."""
        size = self._live.console.size if self._live is not None else None
        return (size.width, size.height) if size else (0, 0)

    def show(self, lines: Sequence[Shown]) -> None:
        """Show these now; one of each machine.  After `tell_unanswered` it says that the appliance answers again."""
        if self._said:
            self._tell(ANSWERS_AGAIN)
            self._said = ""
        if self._live is not None:
            from rich.console import Group
            from rich.text import Text

            texts = [Text(clean(str(each)), no_wrap=True, overflow="ellipsis") for each in lines]
            self._live.update(Group(*texts), refresh=True)
            return
        for each in lines:
            if self._printed.get(each.machine) != each.change:
                self._printed[each.machine] = each.change
                print(clean(str(each)), file=self._out, flush=True)

    def tell_unanswered(self, error: Exception) -> None:
        """Say why there is nothing new to show, and that it is tried again: once for as long as that stays the same."""
        text = clean(f"tinkbox: {error}; trying again")
        if text != self._said:
            self._said = text
            self._tell(text)

    def _tell(self, text: str) -> None:
        """Above the lines that are drawn again, elsewhere on standard error."""
        if self._live is not None:
            self._live.console.print(text, markup=False)
        else:
            print(text, file=sys.stderr, flush=True)
