"""The other side of `door.problems`: problem documents become refusals again."""

import json

from tinkbox.model.errors import Invalid, Problem, Unavailable
from tinkbox.wire.refusal_statuses import BY_STATUS


class Unreachable(Unavailable):
    """No appliance answers where one should be."""


class Unanswered(Unavailable):
    """The connection ended before the answer came, so that what was asked may be done; `what` is that without the way out."""

    def __init__(self, what: str, then: str) -> None:
        super().__init__(f"{what}: {then}")
        self.what = what


def raise_refusal(status: int, reason: str, answer: bytes) -> None:
    """Raise what an answer that is no success says; `reason` is that of its status line."""
    if status < 400:
        return
    text = answer.decode(errors="replace")
    try:
        document = json.loads(text)
        detail = str(document["detail"])
        more = int(document.get("more", 0))
        problems = [
            Problem(text=str(each["text"]), line=each.get("line"), key=str(each.get("key") or ""))
            for each in document.get("problems", [])
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        detail, problems, more = f"{status} {reason}: {text[:200]}", [], 0
    if status in (400, 422):
        raise Invalid(detail, problems, more)
    raise BY_STATUS.get(status, Unavailable)(detail)
