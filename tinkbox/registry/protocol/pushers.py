"""Who may push and delete images: who has the right to, by their own token or by a push token that they fetched with it."""

from typing import Protocol

from tinkbox.model.access import Caller, Right
from tinkbox.model.errors import Forbidden
from tinkbox.registry.protocol.push_tokens import PushTokens


class People(Protocol):
    """Everybody who has a token.

    A Protocol because a floor is to be kept: the registry knows nothing of the engine, which has them.
    """

    def bearer(self, text: str) -> Caller | None: ...
    def with_id(self, token_id: str) -> Caller | None: ...


class Pushers:
    """Tells by a token who asks, whatever they may."""

    def __init__(self, people: People, tokens: PushTokens) -> None:
        self._people = people
        self._tokens = tokens

    def by_own_token(self, token: str) -> Caller | None:
        """Whose own token this is."""
        return self._people.bearer(token)

    def by_any_token(self, token: str) -> Caller | None:
        """Whose own token this is, or whose push token, as long as their own counts."""
        token_id = self._tokens.owner(token)
        return self.by_own_token(token) if token_id is None else self._people.with_id(token_id)

    def push_token(self, person: Caller) -> str:
        """A push token for that person."""
        return self._tokens.issue(person.token)


def require_push(person: Caller) -> Caller:
    """The same person; raises Forbidden for somebody who may not push."""
    person.require(Right.PUSH)
    if person.scope is not None:
        raise Forbidden(
            f"{person.name} has the scope {person.scope}, and images are of all machines: "
            f"`tinkbox token create NAME --right {Right.PUSH}` makes a token without a scope"
        )
    return person
