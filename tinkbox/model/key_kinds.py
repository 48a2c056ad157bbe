"""What a key can name, for those who suggest names to a person who types."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MOST_SUGGESTED: Final = 200


class KeyKind(StrEnum):
    """The value is the word for it in helps and usages: `tinkbox workflow state WORKFLOW`."""

    MACHINE = "MACHINE"
    TEMPLATE = "TEMPLATE"
    WORKFLOW = "WORKFLOW"
    ROLLOUT = "ROLLOUT"
    SERVICE = "SERVICE"
    SYSTEM_IMAGE = "IMAGE"
    IMAGE = "NAME:TAG"


LABELLED: Final = frozenset({KeyKind.MACHINE, KeyKind.TEMPLATE, KeyKind.WORKFLOW})


@dataclass(frozen=True, slots=True)
class SuggestedName:
    """A name that may be typed, and what tells it apart from the others."""

    name: str
    about: str = ""
