"""Conditions of the appliance as events: that one began, and that it is over.

They are events of no workflow: `workflow_id` is empty.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from tinkbox.model.diagnosis import Diagnosis, Gravity
from tinkbox.model.text import counted, shortened

BEGAN: Final = "condition.began"
OVER: Final = "condition.over"
LONGEST: Final = 600  # letters of a sentence
LONGEST_REMEDY: Final = 4_000  # of one that is cut no command can be typed
EVIDENCE: Final = 20  # lines

# What tells a condition from all others: its rule, machine and workflow, and what its rule tells several apart by.
Identity = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lasting:
    """A condition that is not over: `since` it was found first, and what its event `told`; nothing of machines and workflows."""

    since: datetime
    told: Mapping[str, object] = field(default_factory=dict)


def began(found: Diagnosis, subject: str, before: str = "") -> dict[str, object]:
    """A condition began; `before` is a sentence about how often it came and went before, or empty."""
    return {
        "rule": found.rule,
        "subject": subject,
        "gravity": str(found.gravity),
        "message": _message(found.cause, before),
        "evidence": [shortened(each, LONGEST) for each in found.evidence[:EVIDENCE]],
        "remedy": shortened(found.remedy, LONGEST_REMEDY),
    }


def over(rule: str, subject: str, gravity: Gravity, cause: str, lasted: int, before: str = "") -> dict[str, object]:
    """It is over after it `lasted` so many seconds, until it was found for the last time; `before` as in `began`."""
    return {
        "rule": rule,
        "subject": subject,
        "gravity": str(gravity),
        "message": _message(cause, before),
        "lasted": lasted,
    }


def came_and_went(times: int, since: datetime) -> str:
    """That a condition came and went so often since then; empty where it did not."""
    if not times:
        return ""
    return f"It came and went {counted(times, 'time')} since {since:%Y-%m-%d %H:%M:%S} UTC."


def recalled(told: Mapping[str, object]) -> Diagnosis:
    """The condition that an event `told` the beginning of, as it was found before the appliance started anew."""
    gravity, evidence = _text(told, "gravity"), told.get("evidence")
    return Diagnosis(
        rule=_text(told, "rule"),
        gravity=Gravity(gravity) if gravity in [*Gravity] else Gravity.SUSPECT,
        cause=_text(told, "message"),
        evidence=(
            *(map(str, evidence) if isinstance(evidence, list) else ()),
            "that was before tinkbox started anew; it was not examined since",
        ),
        remedy=_text(told, "remedy"),
        subject=_text(told, "subject"),
    )


def _message(cause: str, before: str) -> str:
    return " ".join(filter(None, (shortened(cause, LONGEST), before)))


def _text(data: Mapping[str, object], name: str) -> str:
    return str(data.get(name, ""))
