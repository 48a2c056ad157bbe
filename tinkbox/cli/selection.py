"""Keys on the command line, and beside them what `-l` selects by labels."""

import argparse
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from tinkbox.cli.connection import ask
from tinkbox.cli.meant_keys import look_up
from tinkbox.cli.output.formats import short
from tinkbox.cli.output.printable import clean
from tinkbox.cli.output.refusals import tell_refusal
from tinkbox.cli.terminal.questions import confirm, will_ask
from tinkbox.cli.wording.workflows import workflow_name
from tinkbox.model.errors import NotFound
from tinkbox.model.key_kinds import KeyKind
from tinkbox.model.text import counted

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator
    from tinkbox.client.operator.connection import Found

SHOWN: Final = 8  # names in a question


class Listed(Protocol):
    """The client of something that is found by its labels."""

    def found(self, asked: Mapping[str, str]) -> "Awaitable[Found]": ...


def take_selected(chosen: argparse.Namespace) -> bool:
    """Let the keys of a command that selects (`flags.add_keys`) be those that are named, or those that `-l` selects.

    Ends the program as for a wrong command line when there is neither, unless that means all, or both: whether those of the
    named ones are meant that have the labels, or these and those, cannot be seen.  Words that are no keys are left behind the
    selected ones.

    Returns whether there is something to do: what has such labels may be in no state for the command, which is said on standard
    error.  Raises NotFound when nothing has such labels.
    """
    kind = getattr(chosen, "selects", None)
    if kind is None or (chosen.label is None and (chosen.keys or chosen.all_without)):
        return True
    if chosen.label is None:
        chosen.usage_error(f"name at least one {kind}, or select some by their labels, such as -l rack=r1")

    named = [each for each in chosen.keys if not chosen.is_other(each)]
    if named:
        chosen.usage_error(named_and_selected(named[0], kind))
    noun = chosen.selects_by or _NOUNS[kind]

    async def selected(operator: "Operator") -> dict[str, Mapping[str, Any]]:
        state = {"state": chosen.selects_state} if chosen.selects_state else {}
        # Workflows stay in the order in which they were created, or come in the other.
        newest_first = {"sort": "-created_at"} if getattr(chosen, "newest_first", False) else {}
        order = newest_first if kind is KeyKind.WORKFLOW else {"sort": "name"}
        found = await _client(operator, noun).found({**state, "label": chosen.label, **order})
        return {_key(kind, each): each for each in found.documents}

    chosen.selected = ask(chosen, selected)
    chosen.names = {key: _name(kind, each) for key, each in chosen.selected.items()}
    if not chosen.names:
        # A list that is not the kind's own has what is concerned alone.
        which = f"{kind.lower()}{'' if noun == _NOUNS[kind] or chosen.selects_state else f' with a {noun}'}"
        which = f"{chosen.selects_state.lower().replace(',', ' or ')} {which}".strip()
        nothing = f"no {which} has the labels {chosen.label}"
        if _has_others(chosen, kind, noun):
            print(clean(f"tinkbox: {nothing}: there is nothing to do"), file=sys.stderr)
            return False
        those = f" --state {chosen.selects_state}" if chosen.selects_state else ""
        raise NotFound(f"{nothing}: `tinkbox {noun} list{those}` shows which have any")
    chosen.keys = [*chosen.names, *chosen.keys]
    return True


def _has_others(chosen: argparse.Namespace, kind: KeyKind, noun: str) -> bool:
    """Whether the labels select what is in another state, or on no list of `noun`."""
    if not chosen.selects_state and noun == _NOUNS[kind]:
        return False

    async def others(operator: "Operator") -> bool:
        found = await _client(operator, _NOUNS[kind]).found({"label": chosen.label, "limit": "1"})
        return bool(found.documents)

    return ask(chosen, others)


def named_and_selected(key: str, kind: str) -> str:
    """Why a command that names and selects at once is refused."""
    return clean(f"{key[:80]} is named beside -l: name each {kind}, or select some by their labels, not both")


def confirm_keys(chosen: argparse.Namespace, what: str, kind: KeyKind, *, careful: bool = False) -> None:
    """Ask before the command is done to its keys: the rule of all verbs that destroy something.

    At a terminal it asks `what`, such as `Forget`, with what people call what the keys mean; those that mean nothing are
    told before, and are no keys of the command from then on.  Without a terminal keys that are named are done, as 2020's
    scripts have it; what `-l` selects, or is `careful`, needs --yes.  Raises Invalid for a no, and without a question the
    refusal of the last key when none means anything.
    """
    line = chosen.line if careful or getattr(chosen, "label", None) is not None else ""
    if will_ask(chosen, line=line):
        look_up(chosen, to_ask=True)
        _tell_unknown(chosen)
        for key, each in (chosen.meant or {}).items():
            if each.document is not None:
                chosen.names[key] = _called(kind, each.typed, each.document)
    selected = {key: _told_apart(kind, each) for key, each in getattr(chosen, "selected", {}).items()}
    names = [selected.get(each) or chosen.names.get(each, each) for each in chosen.keys]
    confirm(chosen, f"{what} {in_words(names, kind)}", line=clean(line))


def _tell_unknown(chosen: argparse.Namespace) -> None:
    """Leave the keys that mean something; `chosen.meant` keeps what the others were refused with (`changes.change_each`)."""
    refusals = [each.refusal for each in (chosen.meant or {}).values() if each.refusal is not None]
    if not refusals:
        return
    chosen.keys = [key for key in chosen.keys if chosen.meant[key].refusal is None]
    *others, last = refusals
    for each in others:
        tell_refusal(each)
    if not chosen.keys:
        raise last
    tell_refusal(last)


def _called(kind: KeyKind, typed: str, document: Mapping[str, Any]) -> str:
    """What people call what was typed; what has a name of its own stands beside that, where it is something else."""
    if kind in _IN_WORDS:
        return _IN_WORDS[kind](document)
    name = str(document["name"] or document["id"])
    return name if name == typed else f"{name} ({typed})"


def _told_apart(kind: KeyKind, document: Mapping[str, Any]) -> str:
    """What people call what labels selected; beside a machine's name stands its MAC where that name means others too."""
    name = _name(kind, document)
    is_shared = kind is KeyKind.MACHINE and document.get("key", name) != name
    return f"{name} ({document['mac']})" if is_shared else name


def _rollout(document: Mapping[str, Any]) -> str:
    return f"{short(document['id'])} ({document['template']} on {counted(document['total'], 'machine')})"


# What people call what may be called otherwise tomorrow, and has no name of its own.
_IN_WORDS: Final[Mapping[KeyKind, Callable[[Mapping[str, Any]], str]]] = {
    KeyKind.WORKFLOW: lambda state: workflow_name({**state, "id": state["workflow_id"]}),
    KeyKind.ROLLOUT: _rollout,
    KeyKind.IMAGE: lambda image: str(image["name"]),
}


def in_words(keys: Sequence[str], kind: KeyKind) -> str:
    """What a question names: `machine node7`, `12 workflows: 1b2c3d4e, …`."""
    noun = "image" if kind is KeyKind.IMAGE else kind.lower()
    if len(keys) == 1:
        return clean(f"{noun} {keys[0]}")
    more = f" and {len(keys) - SHOWN} more" if len(keys) > SHOWN else ""
    return clean(f"{len(keys)} {noun}s: {', '.join(keys[:SHOWN])}{more}")


_NOUNS: Final = {KeyKind.MACHINE: "hardware", KeyKind.TEMPLATE: "template", KeyKind.WORKFLOW: "workflow"}


def _client(operator: "Operator", noun: str) -> Listed:
    clients: Mapping[str, Listed] = {
        "hardware": operator.hardware,
        "template": operator.templates,
        "workflow": operator.workflows,
        "breakpoint": operator.breakpoints,
    }
    return clients[noun]


def _key(kind: KeyKind, document: Mapping[str, Any]) -> str:
    """What means it and nothing else: several workflows have one name, and machines may."""
    return str(document["name"] if kind is KeyKind.TEMPLATE else document["id"])


def _name(kind: KeyKind, document: Mapping[str, Any]) -> str:
    """What people call it."""
    return workflow_name(document) if kind is KeyKind.WORKFLOW else str(document["name"] or document["id"])
