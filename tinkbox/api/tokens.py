"""The tokens of the operator door: the operator's, and one for each person that the configuration names."""

import hmac
from collections.abc import Callable, Mapping
from pathlib import Path

from tinkbox.model.access import Caller, Right, operator
from tinkbox.model.errors import Unavailable
from tinkbox.private_files import kept_secret, stored_secret


class People:
    """Who bears which token."""

    def __init__(self, tokens: Mapping[str, Caller]) -> None:
        self._tokens = {token.encode(): person for token, person in tokens.items()}

    def bearer(self, token: str) -> Caller | None:
        """Whose token this is; it takes the same time whatever it is given."""
        given, found = token.encode(errors="replace"), None
        for known, person in self._tokens.items():
            found = person if hmac.compare_digest(given, known) else found
        return found

    def named(self, name: str) -> Caller | None:
        """Who has this name."""
        return next((person for person in self._tokens.values() if person.name == name), None)


def read_people(data: Path, named: Mapping[str, frozenset[Right]]) -> People:
    """Everybody's tokens from the data directory; what is missing is made, readable by its owner only.

    The tokens of people who are named no more are deleted, so that none of them works again when their name does.
    Raises Unavailable when one is no secret, or is that of two.
    """
    folder = data / "people"
    folder.mkdir(exist_ok=True, mode=0o700)
    for path in folder.glob("*.token"):
        if path.stem not in named:
            path.unlink()
    return People(_tokens(data, named, kept_secret))


def examine_people(data: Path, named: Mapping[str, frozenset[Right]]) -> None:
    """Raise what `read_people` would raise; change nothing."""
    _tokens(data, named, stored_secret)


def _tokens(
    data: Path, named: Mapping[str, frozenset[Right]], secret_in: Callable[[Path], str]
) -> Mapping[str, Caller]:
    """Who bears which token; those that are not there are left out."""
    bearers = {data / "operator.token": operator()}
    bearers |= {data / "people" / f"{name}.token": Caller(name=name, rights=rights) for name, rights in named.items()}
    tokens: dict[str, Caller] = {}
    for path, caller in bearers.items():
        token = secret_in(path)
        if token in tokens:
            raise Unavailable(
                f"{path} holds the token of {tokens[token].name}: delete it, and the next start makes one"
            )
        if token:
            tokens[token] = caller
    return tokens
