"""Tickets: whoever holds one is let in once, soon, as the person who asked for it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from tinkbox.model.errors import Denied

LASTS = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class _Ticket:
    place: str
    person: str
    until: datetime


class Tickets:
    """Those that nobody used yet; a restart forgets them.  `new_token` makes what nobody can guess."""

    def __init__(self, clock: Callable[[], datetime], new_token: Callable[[], str]) -> None:
        self._clock = clock
        self._new_token = new_token
        self._valid: dict[str, _Ticket] = {}

    def issue(self, place: str, person: str) -> str:
        """One for that place."""
        now = self._clock()
        self._valid = {text: ticket for text, ticket in self._valid.items() if ticket.until > now}
        text = self._new_token()
        self._valid[text] = _Ticket(place, person, now + LASTS)
        return text

    def redeem(self, text: str, place: str) -> str:
        """Whose ticket it was; raises Denied as `owner` does."""
        person = self.owner(text, place)
        del self._valid[text]
        return person

    def owner(self, text: str, place: str) -> str:
        """Whose ticket it is; raises Denied when it is not, or not any more, one for that place."""
        ticket = self._valid.get(text)
        if ticket is None or ticket.place != place or ticket.until <= self._clock():
            raise Denied("this ticket was used, is too old, or is for another shell: ask for a new one")
        return ticket.person
