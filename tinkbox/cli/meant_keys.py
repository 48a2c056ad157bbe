"""What the keys on the command line mean, looked up before anything is changed."""

import argparse
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tinkbox.cli.connection import ask
from tinkbox.model.errors import Conflict, Forbidden, Invalid, NotFound, Refusal, Unavailable
from tinkbox.model.key_kinds import KeyKind, ToChange

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

Document = Mapping[str, Any]
_Question = Callable[["Operator", str, ToChange], Awaitable[Document]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """What was `typed`, and the `document` of what that means; or the `refusal` of it.

    `key` is what it is changed by: its id.
    """

    typed: str
    key: str
    identity: str = ""
    document: Document | None = None
    refusal: Refusal | None = None


def look_up(chosen: argparse.Namespace, *, to_ask: bool = False, only_looks: bool = False) -> None:
    """Let several keys of a command (`flags.add_keys`) be those of different things; `to_ask` a person about them, a single one too.

    What is changed first can let a later key mean something else: a machine means its newest workflow, and a beginning of
    an id may fit another one when the first is gone.  So all are looked up before, and what is meant twice is done once.
    A key that means nothing stays, and `chosen.meant` has its refusal.  What labels select is known already.  A command that
    `only_looks` takes the newest workflow of a name.
    """
    kind = getattr(chosen, "key_kind", None)
    if kind is None or chosen.meant is not None or getattr(chosen, "label", None) is not None:
        return
    chosen.keys = list(dict.fromkeys(chosen.keys))
    if kind not in _QUESTIONS or not (to_ask or len(chosen.keys) > 1):
        return

    question = _image_with_names if to_ask and kind is KeyKind.IMAGE else _QUESTIONS[kind]

    async def looked_up(operator: "Operator") -> list[Meant]:
        return [await _meant(operator, kind, each, question, to_change) for each in chosen.keys]

    to_change = ToChange.NO if only_looks else chosen.to_change

    try:
        meant = ask(chosen, looked_up)
    except Forbidden:  # who may change things and look at none has the appliance look up each in its turn
        return
    chosen.meant = {}
    for each in meant:
        chosen.meant.setdefault(each.key, each)
    chosen.keys = list(chosen.meant)
    chosen.names = {each.key: each.typed for each in chosen.meant.values()}


def registered_at(chosen: argparse.Namespace, key: str) -> str:
    """When the machine was registered that a key of a command means, as it was looked up or selected; empty: it was not."""
    return str(_seen(chosen, key).get("created_at") or "")


def run_of(chosen: argparse.Namespace, key: str) -> int:
    """Which run of a workflow a key of a command means, as it was looked up or selected; 0: it was not."""
    return int(_seen(chosen, key).get("run") or 0)


def hold_of(chosen: argparse.Namespace, key: str) -> str:
    """The id of the hold that a key of a command means, as it was looked up or selected; empty: it was not."""
    return hold_id(_seen(chosen, key))


def digest_of(chosen: argparse.Namespace, key: str) -> str:
    """The digest of the image that a key of a command means, as it was looked up; empty: it was not, or is not known."""
    return str(_seen(chosen, key).get("digest") or "")


def hold_id(standing: Document) -> str:
    """The id of the hold that a workflow is in by its document; empty: in none, or an earlier release does not tell it."""
    return str((standing.get("held") or {}).get("id") or "")


def _seen(chosen: argparse.Namespace, key: str) -> Document:
    """What a key of a command means, as it was looked up or selected; nothing where it was not."""
    meant = (chosen.meant or {}).get(key)
    return (meant.document if meant is not None else chosen.selected.get(key)) or {}


async def _meant(operator: "Operator", kind: KeyKind, key: str, question: "_Question", to_change: ToChange) -> Meant:
    try:
        document = await question(operator, key, to_change)
    except (NotFound, Conflict, Invalid) as refusal:
        return Meant(typed=key, key=key, refusal=refusal)
    # A template of the program has no id.
    identity = str(document["workflow_id"] if kind is KeyKind.WORKFLOW else document["id"] or key)
    return Meant(typed=key, key=identity, identity=identity, document=document)


async def _image(operator: "Operator", key: str, _: ToChange) -> Document:
    """What an image is called, and its `digest`; that is empty where the appliance does not say it, as of a damaged tag."""
    from tinkbox.model.images.references import as_typed, parse_reference

    reference = parse_reference(key)
    try:
        found = await operator.images.described(key)
    except (NotFound, Unavailable) as refusal:  # an earlier appliance tells of none, and this one of no damaged one
        name = as_typed(reference.kept_as)
        whole = f"{name}{'@' if reference.digest else ':'}{reference.selector}"
        lines = [each for each in await operator.images.all() if each["name"] == name]
        if not any(reference.selector in (each["tag"], each["digest"]) for each in lines):
            raise refusal from None
        return {"id": whole, "name": whole, "digest": ""}
    whole = str(found["reference"])
    return {"id": whole, "name": whole, "digest": found["digest"]}


async def _image_with_names(operator: "Operator", key: str, to_change: ToChange) -> Document:
    """The same, with the names that go with it, where `image delete` says so: all of a system image, and all of a digest."""
    image = await _image(operator, key, to_change)
    whole = str(image["id"])
    name, at, digest = whole.partition("@")
    if not at:
        name = whole.rpartition(":")[0]
    lines = [each for each in await operator.images.all() if each["name"] == name]
    here = digest or next((each["digest"] for each in lines if f"{name}:{each['tag']}" == whole), "")
    same = [each for each in lines if here and each["digest"] == here and (at or each["kind"] == "system")]
    also = [tagged for each in same if each["tag"] and (tagged := f"{name}:{each['tag']}") != whole]
    return {**image, "name": f"{whole} (also {', '.join(also)})" if also else whole}


_QUESTIONS: "Final[Mapping[KeyKind, _Question]]" = {
    KeyKind.MACHINE: lambda operator, key, to_change: operator.hardware.get(key, to_change),
    KeyKind.TEMPLATE: lambda operator, key, _: operator.templates.get(key),
    KeyKind.WORKFLOW: lambda operator, key, to_change: operator.workflows.state(key, to_change),
    KeyKind.ROLLOUT: lambda operator, key, to_change: operator.rollouts.get(key, to_change),
    KeyKind.IMAGE: _image,
}
