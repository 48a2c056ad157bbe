"""What a key can name, for those who suggest names to a person who types."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MOST_SUGGESTED: Final = 200


class KeyKind(StrEnum):
    """The value is the word for it in helps and usages: `tinkbox workflow state WORKFLOW`."""

    MACHINE = "MACHINE"
    RETIRED_MACHINE = "RETIRED-MACHINE"
    TEMPLATE = "TEMPLATE"
    WORKFLOW = "WORKFLOW"
    ROLLOUT = "ROLLOUT"
    SERVICE = "SERVICE"
    SYSTEM_IMAGE = "IMAGE"
    IMAGE = "NAME:TAG"


class ToChange(StrEnum):
    """What is looked up for, in the query `to_change`: which workflow or rollout a key means depends on it, and whether it can be done."""

    NO = "0"  # it is only shown: the newest of the name
    ANY = "1"  # any, but by no name that several have
    UNFINISHED = "unfinished"  # of those that have a name, or of a machine's, the one that is not over
    HELD = "held"  # as `UNFINISHED`, but of a machine's workflows the one that is held
    DELETE = "delete"  # as `ANY`, and refused as deletion is
    RETIRE = "retire"  # as `ANY`, and of a machine refused as its retirement is


_MACHINE: Final = "a name, a MAC, an IP address, an id, or a unique beginning of an id"
# What may be typed for a key of some kind, for helps; of the others an id, a name, or a unique beginning of an id.
TYPED: Final[Mapping[str, str]] = {
    KeyKind.MACHINE: _MACHINE,
    KeyKind.RETIRED_MACHINE: _MACHINE,
    KeyKind.WORKFLOW: "an id, a name, a unique beginning of an id, or a machine, whose newest workflow it is",
    KeyKind.ROLLOUT: "an id, the name of its template, or a unique beginning of an id",
    KeyKind.IMAGE: "a name with a tag (default latest), or NAME@sha256:…",
    "MAC": "a MAC address",
    "IP": "an IPv4 address",
}
_OF_MACHINE: Final = {ToChange.UNFINISHED: "not over", ToChange.HELD: "held"}
LABELLED: Final = frozenset({KeyKind.MACHINE, KeyKind.TEMPLATE, KeyKind.WORKFLOW})


@dataclass(frozen=True, slots=True)
class SuggestedName:
    """A name that may be typed, and what tells it apart from the others."""

    name: str
    about: str = ""


def typed_for(kind: str, to_change: ToChange) -> str:
    """What may be typed for a key of a kind (`TYPED`) that is looked up `to_change` it so; empty where that is said of none."""
    about = TYPED.get(kind, "")
    if kind == KeyKind.WORKFLOW and (state := _OF_MACHINE.get(to_change)):
        return about.replace("whose newest workflow it is", f"whose only workflow that is {state} it is")
    return about
