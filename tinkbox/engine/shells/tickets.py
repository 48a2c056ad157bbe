"""Tickets: who holds one is let in once, soon, as the person who asked for it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from tinkbox.model.access import Caller
from tinkbox.model.errors import Denied

LASTS = timedelta(seconds=30)
MOST = 4096
"""That may be unused at once; the oldest of more is forgotten."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """For a place, given to who asked for it."""

    place: str
    asker: Caller
    until: datetime


class Tickets:
    """Those that nobody used yet; a restart forgets them.  `new_token` makes what nobody can guess."""

    def __init__(self, clock: Callable[[], datetime], new_token: Callable[[], str]) -> None:
        self._clock = clock
        self._new_token = new_token
        self._valid: dict[str, Ticket] = {}

    def issue(self, place: str, asker: Caller) -> str:
        """One for that place."""
        now = self._clock()
        self._valid = {text: ticket for text, ticket in self._valid.items() if ticket.until > now}
        text = self._new_token()
        self._valid[text] = Ticket(place, asker, now + LASTS)
        if len(self._valid) > MOST:
            del self._valid[next(iter(self._valid))]
        return text

    def redeem(self, text: str, place: str) -> Ticket:
        """Take it; raises Denied as `look` does."""
        ticket = self.look(text, place)
        del self._valid[text]
        return ticket

    def look(self, text: str, place: str) -> Ticket:
        """The ticket of this text; raises Denied when it is not, or not any more, one for that place."""
        ticket = self._valid.get(text)
        if ticket is None or ticket.place != place or ticket.until <= self._clock():
            raise Denied("this ticket was used, is too old, or is for another shell: ask for a new one")
        return ticket
