"""Tokens in files of the data folder: the operator's own, and those that earlier releases made for `operator.people`."""

import hmac
import secrets
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Protocol

from tinkbox.model.access import Right
from tinkbox.model.errors import Unavailable
from tinkbox.model.tokens import PREFIX, TAKEN_OVER
from tinkbox.private_files import ANOTHER, kept_secret, new_secret, stored_secret

OPERATORS: Final = "operator.token"
PEOPLE: Final = "people"
_ANOTHER_OPERATORS: Final = f"{ANOTHER}. Scripts that use the operator's token need the new one"
_WAY: Final = "take it out of tinkbox.yaml. `tinkbox token` makes, lists and revokes tokens while tinkbox runs"


class Kept(Protocol):
    """Where tokens are kept now.

    A Protocol so that this is tested without a store.
    """

    async def take_in(self, name: str, rights: frozenset[Right], text: str, by: str) -> bool: ...


def operators_token(data: Path) -> str:
    """The operator's own token; it is made where there is none, readable by its owner only.  Raises Unavailable for no secret."""
    return kept_secret(data / OPERATORS, _new_text, remedy=_ANOTHER_OPERATORS)


def another_operators_token(data: Path) -> str:
    """Put another one in its place, and return that; raises Unavailable."""
    return new_secret(data / OPERATORS, _new_text)


def _new_text() -> str:
    return f"{PREFIX}{secrets.token_hex(24)}"


def examine_tokens(data: Path, named: Mapping[str, frozenset[Right]]) -> None:
    """Raise what the start would raise; change nothing."""
    own = stored_secret(data / OPERATORS, remedy=_ANOTHER_OPERATORS)
    for name in named:
        _refuse_operators(data, name, _persons_token(data, name), own)


def told_before(data: Path, named: Mapping[str, frozenset[Right]]) -> list[str]:
    """What the next start does with the files of people's tokens, for who checks before; change nothing."""
    if not named:
        return []
    there = sorted(path.stem for path in (data / PEOPLE).glob("*.token"))
    said = [f"warning: {TAKEN_OVER} does nothing any more: {_WAY}"]
    if kept := [name for name in there if name in named]:
        said.append(
            f"the next start takes over the tokens of {', '.join(kept)}, which go on working, and deletes their files in "
            f"{data / PEOPLE}: if a script reads one, type `cp -a {shlex.quote(str(data / PEOPLE))} FOLDER` before"
        )
    if gone := [name for name in there if name not in named]:
        said.append(f"the next start deletes the tokens of {', '.join(gone)}, whom {TAKEN_OVER} does not name")
    return said


async def take_in_files(data: Path, named: Mapping[str, frozenset[Right]], kept: Kept) -> list[str]:
    """Keep the tokens of people that the configuration names as what `tinkbox token` shows, each once, and delete their files.

    Who could operate could push.  Returns what the operator has to know.  The files of people who are named no more are
    deleted, and their tokens end.  Raises Unavailable where a file is no secret, has the operator's token, or cannot be
    deleted.
    """
    own = stored_secret(data / OPERATORS, remedy=_ANOTHER_OPERATORS)
    for path in sorted((data / PEOPLE).glob("*.token")):
        if path.stem not in named:
            _delete(path)
    taken, without = list[str](), list[str]()
    for name, rights in named.items():
        path = _file(data, name)
        token = _persons_token(data, name)
        if not token:
            continue
        _refuse_operators(data, name, token, own)
        if await kept.take_in(name, rights | ({Right.PUSH} if Right.OPERATE in rights else set()), token, TAKEN_OVER):
            _delete(path)
            taken.append(name)
        else:
            without.append(name)
    said = list[str]()
    if taken:
        said.append(
            f"the tokens of {', '.join(taken)} go on working: `tinkbox token list` shows them, `tinkbox token revoke NAME` ends "
            f"one, and their files in {data / PEOPLE} are deleted"
        )
    said += (
        f"warning: {_file(data, name)} counts no more, for there is another token {name}: delete the file, or type "
        f"`tinkbox token revoke {name}` and restart tinkbox to have it count"
        for name in without
    )
    return said


def retired_people(named: Mapping[str, frozenset[Right]], is_known: Callable[[str], bool]) -> list[str]:
    """What there is to say of `operator.people` in the configuration, where `is_known` tells which names tokens have."""
    if not named:
        return []
    said = [f"warning: {TAKEN_OVER} does nothing any more: {_WAY}"]
    for name, rights in named.items():
        if not is_known(name):
            words = " ".join(f"--right {each}" for each in Right if each in rights)
            said.append(
                f"warning: {name} of {TAKEN_OVER} has no token: `tinkbox token create {name} {words} --expires never`"
            )
    return said


def _file(data: Path, name: str) -> Path:
    return data / PEOPLE / f"{name}.token"


def _persons_token(data: Path, name: str) -> str:
    """The token in a person's file, empty when there is none; raises Unavailable for no secret."""
    remedy = f"put it back from a backup, or delete it and, once tinkbox runs, type `tinkbox token create {name}`"
    return stored_secret(_file(data, name), remedy=remedy)


def _delete(path: Path) -> None:
    try:
        path.unlink()
    except OSError as error:
        raise Unavailable(
            f"cannot delete {path}, which would count again: {error.strerror}: delete it, and start tinkbox again"
        ) from None


def _refuse_operators(data: Path, name: str, token: str, own: str) -> None:
    if token and hmac.compare_digest(token.encode(errors="replace"), own.encode(errors="replace")):
        raise Unavailable(
            f"{_file(data, name)} holds the token of operator: delete it, and make one with `tinkbox token create {name}`"
        )
