"""Keys on the command line, and beside them what `-l` selects by labels."""

import argparse
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from tinkbox.cli.connection import ask
from tinkbox.cli.output.printable import clean
from tinkbox.cli.terminal.questions import confirm, will_ask
from tinkbox.cli.wording.workflows import workflow_name
from tinkbox.model.errors import Conflict, NotFound
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

    async def selected(operator: "Operator") -> dict[str, str]:
        state = {"state": chosen.selects_state} if chosen.selects_state else {}
        # Workflows stay in the order in which they were created.
        order = {} if kind is KeyKind.WORKFLOW else {"sort": "name"}
        found = await _client(operator, kind).found({**state, "label": chosen.label, **order})
        return {_key(kind, each): _name(kind, each) for each in found.documents}

    chosen.names = ask(chosen, selected)
    if not chosen.names:
        which = f"{chosen.selects_state.lower().replace(',', ' or ')} {kind.lower()}".strip()
        those = f" --state {chosen.selects_state}" if chosen.selects_state else ""
        raise NotFound(
            f"no {which} has the labels {chosen.label}: `tinkbox {_NOUNS[kind]} list{those}` shows which have any"
        )
    chosen.keys = list(dict.fromkeys([*chosen.keys, *chosen.names]))


def confirm_keys(
    chosen: argparse.Namespace,
    what: str,
    kind: KeyKind,
    named: "Callable[[Operator, str], Awaitable[tuple[str, str]]] | None" = None,
    *,
    careful: bool = False,
) -> None:
    """Ask before the command is done to its keys: the rule of all verbs that destroy something.

    At a terminal it asks `what`, such as `Forget`; of each key that was typed `named` gives the key that is changed then, and
    what people call it.  Without a terminal keys that are named are done, as 2020's scripts have it; what `-l` selects, or is
    `careful`, needs --yes.  Raises Invalid for a no.
    """
    if named is not None and will_ask(chosen):
        _look_up(chosen, named)
    line = chosen.line if careful or getattr(chosen, "label", None) is not None else ""
    names = [chosen.names.get(each, each) for each in chosen.keys]
    confirm(chosen, f"{what} {in_words(names, kind)}", line=clean(line))


def _look_up(chosen: argparse.Namespace, named: "Callable[[Operator, str], Awaitable[tuple[str, str]]]") -> None:
    async def looked_up(operator: "Operator") -> dict[str, str]:
        found: dict[str, str] = {}
        for key in chosen.keys:
            known, name = key, chosen.names.get(key, key)
            if key not in chosen.names:
                with suppress(NotFound, Conflict):  # it is told when the key's turn comes
                    known, name = await named(operator, key)
            found[known] = name
        return found

    chosen.names = ask(chosen, looked_up)
    chosen.keys = list(chosen.names)


def in_words(keys: Sequence[str], kind: KeyKind) -> str:
    """What a question names: `machine node7`, `12 workflows: 1b2c3d4e, …`."""
    noun = "image" if kind is KeyKind.IMAGE else kind.lower()
    if len(keys) == 1:
        return clean(f"{noun} {keys[0]}")
    more = f" and {len(keys) - SHOWN} more" if len(keys) > SHOWN else ""
    return clean(f"{len(keys)} {noun}s: {', '.join(keys[:SHOWN])}{more}")


_NOUNS: Final = {KeyKind.MACHINE: "hardware", KeyKind.TEMPLATE: "template", KeyKind.WORKFLOW: "workflow"}


def _client(operator: "Operator", kind: KeyKind) -> Listed:
    clients: Mapping[KeyKind, Listed] = {
        KeyKind.MACHINE: operator.hardware,
        KeyKind.TEMPLATE: operator.templates,
        KeyKind.WORKFLOW: operator.workflows,
    }
    return clients[kind]


def _key(kind: KeyKind, document: Mapping[str, Any]) -> str:
    """What means it and nothing else: several workflows have one name, and machines may."""
    return str(document["name"] if kind is KeyKind.TEMPLATE else document["id"])


def _name(kind: KeyKind, document: Mapping[str, Any]) -> str:
    """What people call it."""
    return workflow_name(document) if kind is KeyKind.WORKFLOW else str(document["name"] or document["id"])
