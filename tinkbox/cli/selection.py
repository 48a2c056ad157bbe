"""Keys on the command line, and beside them what `-l` selects by labels."""

import argparse
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from tinkbox.cli.connection import ask
from tinkbox.cli.output.printable import clean
from tinkbox.model.errors import NotFound
from tinkbox.model.key_kinds import KeyKind

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator
    from tinkbox.client.operator.connection import Found

SHOWN: Final = 8  # names in a question


class Listed(Protocol):
    """The client of something that is found by its labels."""

    def found(self, asked: Mapping[str, str]) -> "Awaitable[Found]": ...


def take_selected(chosen: argparse.Namespace) -> None:
    """Let the keys of a command that selects (`flags.add_keys`) be those that are named, and behind them those that `-l` selects.

    Ends the program as for a wrong command line when there is neither; raises NotFound when nothing has such labels.
    """
    kind = getattr(chosen, "selects", None)
    if kind is None or (chosen.keys and chosen.label is None):
        return
    if chosen.label is None:
        chosen.usage_error(f"name at least one {kind}, or select some by their labels, such as -l rack=r1")

    async def selected(operator: "Operator") -> list[str]:
        found = await _client(operator, kind).found({"label": chosen.label})
        return [_key(kind, each) for each in found.documents]

    keys = ask(chosen, selected)
    if not keys:
        raise NotFound(
            f"no {kind.lower()} has the labels {chosen.label}: `tinkbox {_NOUNS[kind]} list` shows which have any"
        )
    chosen.keys = list(dict.fromkeys([*chosen.keys, *keys]))


def in_words(keys: Sequence[str], kind: KeyKind) -> str:
    """What a question names: `machine node7`, `12 workflows: 1b2c3d4e, …`."""
    if len(keys) == 1:
        return clean(f"{kind.lower()} {keys[0]}")
    more = f" and {len(keys) - SHOWN} more" if len(keys) > SHOWN else ""
    return clean(f"{len(keys)} {kind.lower()}s: {', '.join(keys[:SHOWN])}{more}")


_NOUNS: Final = {KeyKind.MACHINE: "hardware", KeyKind.TEMPLATE: "template", KeyKind.WORKFLOW: "workflow"}


def _client(operator: "Operator", kind: KeyKind) -> Listed:
    clients: Mapping[KeyKind, Listed] = {
        KeyKind.MACHINE: operator.hardware,
        KeyKind.TEMPLATE: operator.templates,
        KeyKind.WORKFLOW: operator.workflows,
    }
    return clients[kind]


def _key(kind: KeyKind, document: Mapping[str, str]) -> str:
    """What names it for a person: several workflows have one name, and machines may."""
    return str(document["name"] if kind is KeyKind.TEMPLATE else document["id"])
