"""The loop that feeds the terminal view."""

import asyncio
from collections.abc import Awaitable, Callable

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from tinkbox.model.errors import Unavailable
from tinkbox.view.screen import screen
from tinkbox.wire.messages.status import Snapshot

# Where there is no terminal nothing is cut: a program, or a person with a pager, reads all of it.
UNBOUNDED = 10_000
Fetch = Callable[[], Awaitable[Snapshot]]


async def show(fetch: Fetch, console: Console | None = None, interval: float = 1.0) -> None:
    """Draw what `fetch` gives, again every `interval` seconds, until interrupted.

    Where standard output is no terminal, or one that cannot go back (TERM=dumb), it is printed once, as
    plain text.  An appliance that goes away leaves the last picture standing with a notice above it;
    only when it cannot be reached at the very start is Unavailable raised.
    """
    console = console or Console(highlight=False)
    snapshot = await fetch()
    if not console.is_terminal or console.is_dumb_terminal:
        console.width = UNBOUNDED
        console.print(screen(snapshot), soft_wrap=True)
        return
    notice = ""
    with Live(screen(snapshot), console=console, auto_refresh=False, screen=True) as live:
        while True:
            live.update(_fitted(screen(snapshot, notice), console), refresh=True)
            await asyncio.sleep(interval)
            try:
                snapshot, notice = await fetch(), ""
            except Unavailable as error:
                notice = f"{error} (trying again; what you see is the last it said)"


def _fitted(picture: RenderableType, console: Console) -> Text:
    """As many lines as the terminal has, so that the top never scrolls away."""
    lines = console.render_lines(picture, console.options, pad=False)[: console.height - 1]
    fitted = Text()
    for line in lines:
        for segment in line:
            fitted.append(segment.text, style=segment.style)
        fitted.append("\n")
    return fitted
