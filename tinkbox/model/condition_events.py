"""Conditions of the appliance as events: that one began, and that it is over.

They are events of no workflow: `workflow_id` is empty.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from tinkbox.model.diagnosis import Diagnosis
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


def over(rule: str, subject: str, cause: str, lasted: int) -> dict[str, object]:
    """It is over after it `lasted` so many seconds."""
    return {"rule": rule, "subject": subject, "message": shortened(cause, LONGEST), "lasted": lasted}


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
