"""What worker and appliance say to each other about breakpoints, as JSON.

    POST /worker/attempts/{token}/held             Held -> {}, an action is at a breakpoint
    POST /worker/attempts/{token}/resumed          Resumed -> {}, its verdict was carried out and it runs (again)
    POST /worker/attempts/{token}/verdict          Asked -> {}, a verdict that was asked for inside the container
    GET  /worker/attempts/{token}/orders?seen=...  Orders, or 204 while they are what was seen last (long poll)
    GET  /worker/attempts/{token}/shells/{id}      WebSocket: the worker serves a shell (`wire.messages.shell`)

Orders are the whole of what the appliance wants of an attempt, not a change: whoever lost an answer asks again.
A hold is named by its attempt and its number there, so the same held, resumed or verdict again changes nothing.
Orders name the hold that the appliance knows, so that a worker tells once more what a store that was put back lost.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tinkbox.model.breakpoint import Armed, Kind, Verb, Verdict
from tinkbox.model.errors import Invalid
from tinkbox.model.shells import ShellWish
from tinkbox.model.workflow import Outcome
from tinkbox.wire.messages.json_fields import fields_of, flag, mapping, member, number, read_object, text, texts, write
from tinkbox.wire.messages.shell import MAX_SIZE
from tinkbox.wire.messages.worker import (
    MAX_MESSAGE,
    Order,
    armed_from_document,
    order_from_document,
    outcome_from_document,
)

MAX_WORDS = 256
MAX_WHY = 2_048


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """An attempt's action is held; `model.breakpoint.Hold` explains the fields."""

    workflow_id: str
    boot_id: str
    sequence: int
    kind: Kind
    outcome: Outcome | None = None
    container: bool = True
    in_place: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """The verdict on the hold of this number was carried out, and the action runs."""

    workflow_id: str
    boot_id: str
    sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Somebody inside the container of the hold of this number gave a verdict; `shell` is the session it came from."""

    workflow_id: str
    boot_id: str
    sequence: int
    verb: Verb
    why: str = ""
    fresh: bool = False
    shell: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """A verdict on the hold of this number."""

    sequence: int
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """Everything the appliance wants of an attempt at this moment.

    `hold` is the number of the hold that it has the attempt in, None: in none.
    """

    armed: Armed = field(default_factory=Armed)
    stop: Order | None = None
    ruling: Ruling | None = None
    shells: tuple[ShellWish, ...] = ()
    hold: int | None = None

    @property
    def mark(self) -> str:
        """What tells these orders from any others."""
        return hashlib.sha256(encode(self).encode()).hexdigest()[:16]


def encode(message: Held | Resumed | Asked | Orders) -> str:
    """Any of the messages as one line of JSON."""
    if isinstance(message, Orders) and message.hold is None:
        # A worker of an earlier release makes the mark of the fields that it knows: with another in it, what it saw
        # would never be what there is, and it would ask every second.
        return write({name: value for name, value in fields_of(message).items() if name != "hold"})
    return write(message)


def decode_held(content: str | bytes) -> Held:
    """Raises Invalid when it does not say where an action is held."""
    entry = read_object(content, "held")
    outcome = entry.get("outcome")
    return Held(
        **_which(entry),
        kind=member(entry, "kind", Kind),
        outcome=None if outcome is None else outcome_from_document(outcome),
        container=flag(entry, "container", default=True),
        in_place=flag(entry, "in_place", default=True),
    )


def decode_resumed(content: str | bytes) -> Resumed:
    """Raises Invalid when it does not say what runs again."""
    return Resumed(**_which(read_object(content, "resumed")))


def decode_asked(content: str | bytes) -> Asked:
    """Raises Invalid when it is no verdict."""
    entry = read_object(content, "verdict")
    return Asked(
        **_which(entry),
        verb=member(entry, "verb", Verb),
        why=text(entry, "why", "")[:MAX_WHY],
        fresh=flag(entry, "fresh"),
        shell=text(entry, "shell", ""),
    )


def decode_orders(content: str | bytes) -> Orders:
    """Raises Invalid when they are not orders."""
    entry = read_object(content, "orders")
    stop, ruling = entry.get("stop"), entry.get("ruling")
    shells = entry.get("shells", [])
    if not isinstance(shells, list) or not all(isinstance(each, dict) for each in shells):
        raise Invalid("orders: shells is a list of objects")
    return Orders(
        armed=armed_from_document(entry.get("armed", {})),
        stop=None if stop is None else order_from_document(stop),
        ruling=None if ruling is None else _ruling(ruling),
        shells=tuple(wish_from_document(each) for each in shells),
        hold=None if entry.get("hold") is None else number(entry, "hold"),
    )


def verdict_from_document(entry: object) -> Verdict:
    """The inverse of `dataclasses.asdict`; raises Invalid.  What is longer than the limits is cut."""
    if not isinstance(entry, dict):
        raise Invalid("verdict: expected an object")
    return Verdict(
        verb=member(entry, "verb", Verb),
        who=text(entry, "who")[:MAX_WHY],
        why=text(entry, "why", "")[:MAX_MESSAGE],
        fresh=flag(entry, "fresh"),
        command=None if entry.get("command") is None else texts(entry, "command")[:MAX_WORDS],
        environment=mapping(entry, "environment"),
    )


def wish_from_document(entry: Mapping[str, Any]) -> ShellWish:
    """The inverse of `dataclasses.asdict`; raises Invalid.  A terminal's size is kept within what there is."""
    return ShellWish(
        id=text(entry, "id"),
        tty=flag(entry, "tty"),
        command=texts(entry, "command")[:MAX_WORDS],
        user=text(entry, "user", ""),
        folder=text(entry, "folder", ""),
        environment=mapping(entry, "environment"),
        term=text(entry, "term", "xterm"),
        rows=max(1, min(number(entry, "rows", 24), MAX_SIZE)),
        columns=max(1, min(number(entry, "columns", 80), MAX_SIZE)),
    )


def _ruling(entry: object) -> Ruling:
    if not isinstance(entry, dict):
        raise Invalid("ruling: expected an object")
    return Ruling(sequence=number(entry, "sequence"), verdict=verdict_from_document(entry.get("verdict")))


def _which(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "workflow_id": text(entry, "workflow_id"),
        "boot_id": text(entry, "boot_id"),
        "sequence": number(entry, "sequence"),
    }
