"""Values that several documents have."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal, TypedDict

from tinkbox.model.errors import Problem
from tinkbox.model.hardware import Hardware
from tinkbox.model.workflow import Outcome

Document = dict[str, Any]
Time = Annotated[str, datetime]
OutcomeDocument = Annotated[Document, Outcome]
# What is told but not refused, or why something is.
ProblemFields = Annotated[Document, Problem]


class Identity(TypedDict):
    """Which one it is that was changed."""

    id: str


class NamedIdentity(Identity):
    """The same with its name."""

    name: str


class CreationResult(NamedIdentity):
    """What became of a document that was to be created, in the words of `apply`: `unchanged` was there with the same content."""

    outcome: Literal["created", "unchanged"]


class TextNote(TypedDict):
    """What is told but not refused, of no line."""

    text: str


def creation_result(key: str, name: str, *, is_new: bool) -> CreationResult:
    """`key` is the id of what is there now."""
    return {"id": key, "name": name, "outcome": "created" if is_new else "unchanged"}


def time(moment: datetime | None) -> Time | None:
    """ISO 8601 in UTC."""
    return moment.isoformat() if moment else None


def outcome(ended: Outcome | None) -> OutcomeDocument | None:
    return asdict(ended) if ended else None


def machine_names(machine: Hardware) -> list[str]:
    """What people may call a machine; some may be empty."""
    return [machine.name, *(each.hostname for each in machine.interfaces)]
