"""People with tokens, in place of those that an appliance keeps."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tinkbox.engine.people.tokens import Tokens
from tinkbox.model.access import OPERATOR, Caller


class People:
    """Who bears which token; the id of a token is the name of its bearer, and the operator's has none."""

    def __init__(self, tokens: Mapping[str, Caller]) -> None:
        self._tokens = {
            text: person if person.name == OPERATOR else replace(person, token=person.name)
            for text, person in tokens.items()
        }

    def bearer(self, text: str) -> Caller | None:
        return self._tokens.get(text)

    def with_id(self, token_id: str) -> Caller | None:
        return next((each for each in self._tokens.values() if each.token == token_id), None)

    def counts(self, token_id: str) -> bool:
        return self.with_id(token_id) is not None

    def why_over(self, _: str) -> str:
        return "was revoked"

    def forget(self, token_id: str) -> None:
        """As when a token is revoked."""
        self._tokens = {text: person for text, person in self._tokens.items() if person.token != token_id}


class Bearers:
    """Who bears which token, of several that know some, asked one after the other; the last knows why one is over."""

    def __init__(self) -> None:
        self.known: Sequence[People | Tokens] = ()

    def with_id(self, token_id: str) -> Caller | None:
        return next((found for each in self.known if (found := each.with_id(token_id)) is not None), None)

    def why_over(self, token_id: str) -> str:
        return self.known[-1].why_over(token_id)
