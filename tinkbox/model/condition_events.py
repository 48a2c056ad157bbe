"""Conditions of the appliance as events: that one began, and that it is over.

They are events of no workflow: `workflow_id` is empty.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from tinkbox.model.diagnosis import Diagnosis, Gravity
from tinkbox.model.text import shortened
from tinkbox.model.workflow import Event

BEGAN: Final = "condition.began"
OVER: Final = "condition.over"
LONGEST: Final = 600  # letters of a sentence
EVIDENCE: Final = 20  # lines

# A condition of the appliance: its rule, and what tells it from others of that rule.
Identity = tuple[str, str]


def began(found: Diagnosis, subject: str) -> dict[str, object]:
    """A condition began."""
    return {
        "rule": found.rule,
        "subject": subject,
        "gravity": str(found.gravity),
        "message": shortened(found.cause, LONGEST),
        "evidence": [shortened(each, LONGEST) for each in found.evidence[:EVIDENCE]],
        "remedy": shortened(found.remedy, LONGEST),
    }


def over(rule: str, subject: str, gravity: Gravity, cause: str, lasted: int) -> dict[str, object]:
    """It is over after it `lasted` so many seconds, until it was found for the last time."""
    return {
        "rule": rule,
        "subject": subject,
        "gravity": str(gravity),
        "message": shortened(cause, LONGEST),
        "lasted": lasted,
    }


def recalled(event: Event) -> Diagnosis:
    """The condition that an event tells the beginning of, as it was found before the appliance started anew."""
    gravity, evidence = _text(event.data, "gravity"), event.data.get("evidence")
    return Diagnosis(
        rule=_text(event.data, "rule"),
        gravity=Gravity(gravity) if gravity in [*Gravity] else Gravity.SUSPECT,
        cause=_text(event.data, "message"),
        evidence=(
            *(map(str, evidence) if isinstance(evidence, list) else ()),
            "that was before tinkbox started anew; it was not examined since",
        ),
        remedy=_text(event.data, "remedy"),
        subject=_text(event.data, "subject"),
    )


def lasting(events: Iterable[Event]) -> dict[Identity, Event]:
    """Which conditions lasted after these events, each with the event that it began."""
    found: dict[Identity, Event] = {}
    for each in events:
        identity = _text(each.data, "rule"), _text(each.data, "subject")
        if each.kind == BEGAN:
            found[identity] = each
        elif each.kind == OVER:
            found.pop(identity, None)
    return found


def _text(data: Mapping[str, object], name: str) -> str:
    return str(data.get(name, ""))
