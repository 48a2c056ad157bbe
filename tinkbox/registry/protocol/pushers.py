"""Who may push and delete images: people who may operate, by their own token or by a push token that they fetched with it."""

from typing import Protocol

from tinkbox.model.access import Caller, Right
from tinkbox.registry.protocol.push_tokens import PushTokens


class People(Protocol):
    """Everybody whom the configuration names, and the operator.

    A Protocol because a floor is to be kept: `api`, which has them, is this floor's neighbour.
    """

    def bearer(self, token: str) -> Caller | None: ...
    def named(self, name: str) -> Caller | None: ...


class Pushers:
    """Tells by a token who asks; each answer raises Forbidden for a person who may not operate."""

    def __init__(self, people: People, tokens: PushTokens) -> None:
        self._people = people
        self._tokens = tokens

    def by_own_token(self, token: str) -> Caller | None:
        """Whose own token this is."""
        return _operating(self._people.bearer(token))

    def by_any_token(self, token: str) -> Caller | None:
        """Whose own token this is, or whose push token, as long as that person is known."""
        name = self._tokens.owner(token)
        return self.by_own_token(token) if name is None else _operating(self._people.named(name))

    def push_token(self, person: Caller) -> str:
        """A push token for that person."""
        return self._tokens.issue(person.name)


def _operating(person: Caller | None) -> Caller | None:
    if person is not None:
        person.require(Right.OPERATE)
    return person
