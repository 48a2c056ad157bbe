"""The verb `label` of what has labels, as `kubectl label` has it."""

import argparse
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from tinkbox.cli.flags import Verbs, add_keys, add_verb
from tinkbox.cli.output.changes import change_each
from tinkbox.cli.output.printable import clean
from tinkbox.model.errors import Invalid, Refusal
from tinkbox.model.key_kinds import KeyKind
from tinkbox.model.labels import LabelChange, Labels, is_change, parse_change, show_labels

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator


class Labelled(Protocol):
    """The client of something that has labels."""

    def get(self, key: str) -> Awaitable[dict[str, Any]]: ...
    def label(self, key: str, change: LabelChange) -> Awaitable[dict[str, Any]]: ...


def declare_label(
    verbs: "Verbs[argparse.ArgumentParser]", kind: KeyKind, client: "Callable[[Operator], Labelled]"
) -> None:
    """Have a noun's verbs include `label`, for what `client` reaches."""
    verb = add_verb(
        verbs,
        "label",
        lambda chosen: _label(chosen, client),
        "set, remove or show labels",
        "rack=r1 sets a label, rack- removes it. Without either the labels are shown.",
    )
    add_keys(verb, kind, is_other=is_change)
    verb.usage = f"{verb.prog} [-h] [-l SELECTOR] [{kind} ...] [KEY=VALUE ...] [KEY- ...]"


def _label(chosen: argparse.Namespace, client: "Callable[[Operator], Labelled]") -> int:
    """Keys and changes stand in one row, as in `kubectl label`: what has a = in it, or ends with a dash, is a change."""
    chosen.keys, changes = _apart(chosen.keys)
    try:
        change = parse_change(changes)
    except Invalid as refusal:
        chosen.usage_error(str(refusal))
    if not chosen.keys:
        chosen.usage_error(f"name at least one {chosen.selects}, or select some by their labels, such as -l rack=r1")

    async def asked(operator: "Operator", key: str) -> dict[str, Any]:
        if not change:
            return await client(operator).get(key)
        before = await _labels(client(operator), key) if change.removed else None
        changed = await client(operator).label(key, change)
        for each in change.removed:
            if before is not None and each not in before:
                print(clean(f"{chosen.names.get(key, key)}: label {each} not found"), file=sys.stderr)
        return changed

    def told(key: str, document: dict[str, Any]) -> None:
        print(clean(f"{chosen.names.get(key, key)}: {show_labels(document['labels']) or 'no labels'}"), flush=True)

    async def labelled(operator: "Operator", key: str) -> tuple[str, dict[str, Any]]:
        return key, await asked(operator, key)

    return change_each(chosen, labelled, lambda done: told(*done), only_looks=not change)


async def _labels(labelled: Labelled, key: str) -> Labels | None:
    """The labels that it has; None where the person may not look, or the key means nothing: its change says so."""
    try:
        return (await labelled.get(key))["labels"]  # type: ignore[no-any-return]
    except Refusal:
        return None


def _apart(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Keys, and changes."""
    changes = [each for each in words if is_change(each)]
    return [each for each in words if each not in changes], changes
