"""What the keys on the command line mean, looked up before anything is changed."""

import argparse
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tinkbox.cli.connection import ask
from tinkbox.model.errors import Conflict, Forbidden, NotFound, Refusal
from tinkbox.model.key_kinds import KeyKind

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """What was `typed`, and the `document` of what that means; or the `refusal` of it.

    `key` is what it is changed by: its id, and for a workflow's name that name, which the appliance refuses where several
    have it.
    """

    typed: str
    key: str
    identity: str = ""
    document: Document | None = None
    refusal: Refusal | None = None

    @property
    def by_name(self) -> bool:
        return self.refusal is None and self.key != self.identity


def look_up(chosen: argparse.Namespace, *, single: bool = False) -> None:
    """Let several keys of a command (`flags.add_keys`) be those of different things, a `single` one too where that is said.

    What is changed first can let a later key mean something else: a machine means its newest workflow, and a beginning of
    an id may fit another one when the first is gone.  So all are looked up before, and what is meant twice is done once.
    A key that means nothing stays, and `chosen.meant` has its refusal.  What labels select is known already.
    """
    kind = getattr(chosen, "key_kind", None)
    if kind is None or chosen.meant is not None or getattr(chosen, "label", None) is not None:
        return
    chosen.keys = list(dict.fromkeys(chosen.keys))
    question = _QUESTIONS.get(kind)
    if question is None or (len(chosen.keys) == 1 and not single):
        return

    async def looked_up(operator: "Operator") -> list[Meant]:
        return [await _meant(operator, kind, each) for each in chosen.keys]

    try:
        meant = ask(chosen, looked_up)
    except Forbidden:  # who may change things and look at none has the appliance look up each in its turn
        return
    # Names first: an id beside the name of the same workflow is done when the name was refused.
    meant.sort(key=lambda each: not each.by_name)
    chosen.meant = {}
    for each in meant:
        chosen.meant.setdefault(each.key, each)
    chosen.keys = list(chosen.meant)
    chosen.names = {each.key: each.typed for each in chosen.meant.values()}


async def _meant(operator: "Operator", kind: KeyKind, key: str) -> Meant:
    try:
        document = await _QUESTIONS[kind](operator, key)
    except (NotFound, Conflict) as refusal:
        return Meant(typed=key, key=key, refusal=refusal)
    if kind is not KeyKind.WORKFLOW:
        # A template of the program has no id.
        identity = str(document["id"] or key)
        return Meant(typed=key, key=identity, identity=identity, document=document)
    identity = str(document["workflow_id"])
    by_name = key == document["name"] != identity
    return Meant(typed=key, key=key if by_name else identity, identity=identity, document=document)


_QUESTIONS: "Final[Mapping[KeyKind, Callable[[Operator, str], Awaitable[Document]]]]" = {
    KeyKind.MACHINE: lambda operator, key: operator.hardware.get(key),
    KeyKind.TEMPLATE: lambda operator, key: operator.templates.get(key),
    KeyKind.WORKFLOW: lambda operator, key: operator.workflows.state(key, to_change=True),
    KeyKind.ROLLOUT: lambda operator, key: operator.rollouts.get(key),
}
