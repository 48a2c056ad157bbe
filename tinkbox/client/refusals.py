"""The other side of `door.problems`: problem documents become refusals again."""

import json
from typing import Final

from tinkbox.model.errors import Invalid, Problem, Refusal, Unavailable
from tinkbox.wire.refusal_statuses import BY_STATUS

_SHOWN: Final = 200  # letters


class Unreachable(Unavailable):
    """No appliance answers where one should be."""


class Untrusted(Unreachable):
    """What answers is not proven to be the box that is meant; `lines` are the same, as people read it: a line for each thing that is said."""

    def __init__(self, told: str) -> None:
        self.lines = told.split("\n")
        *others, last = (" ".join(each.split()) for each in self.lines)
        super().__init__(" ".join([*(each if each.endswith((".", ":")) else f"{each};" for each in others), last]))


class CutOff(Unreachable):
    """The connection ended in the middle of an answer."""


class Unanswered(Unavailable):
    """The connection ended before the answer came, so that what was asked may be done; `what` is that without the way out."""

    def __init__(self, what: str, then: str) -> None:
        super().__init__(f"{what}: {then}")
        self.what = what


def raise_refusal(status: int, reason: str, answer: bytes) -> None:
    """Raise what an answer that is no success says; `reason` is that of its status line."""
    if status >= 400:
        raise refusal_of(status, answer) or kind_of(status)(quoted(status, reason, answer))


def quoted(status: int, reason: str, answer: bytes) -> str:
    """An answer that is no problem document, as far as it is shown."""
    return f"{status} {reason}: {answer.decode(errors='replace')[:_SHOWN]}"


def kind_of(status: int) -> type[Refusal]:
    """The refusal that a status of 400 or more is."""
    return Invalid if status in (400, 422) else BY_STATUS.get(status, Unavailable)


def refusal_of(status: int, answer: bytes) -> Refusal | None:
    """What a problem document says; None for an answer that is none, and so no appliance's."""
    try:
        document = json.loads(answer.decode(errors="replace"))
        detail = str(document["detail"])
        more = int(document.get("more", 0))
        problems = [
            Problem(text=str(each["text"]), line=each.get("line"), key=str(each.get("key") or ""))
            for each in document.get("problems", [])
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    kind = kind_of(status)
    return Invalid(detail, problems, more) if kind is Invalid else kind(detail)
