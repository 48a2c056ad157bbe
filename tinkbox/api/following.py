"""How many answers without an end a person may have at once: events and output that are followed, shells (`model.limits.STREAMS`).

Each costs a look at the store whenever anything happens, for as long as its reader likes.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web

from tinkbox.api.access import from_socket
from tinkbox.door.connections.connections import THIS_HOST
from tinkbox.model.errors import TooMany
from tinkbox.model.limits import Ledger


class Followers:
    """Who follows how much."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    @contextmanager
    def place(self, request: web.Request, who: str) -> Iterator[None]:
        """A place for one answer to a person; raises TooMany.  Who asks over the unix socket has a reserve."""
        # The names of people have no spaces.
        holder, limit = THIS_HOST if from_socket(request) else who, self._ledger.limit
        if not self._ledger.take(holder, known=lambda one: one == THIS_HOST):
            raise TooMany(
                f"too many {limit.unit}s at once: {limit.each} for one person, {limit.all} in all, of which some are kept "
                f"for the unix socket ({limit.key} in tinkbox.yaml). End one that follows events, output or a shell"
            )
        try:
            yield
        finally:
            self._ledger.give_back(holder)
