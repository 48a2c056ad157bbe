"""What worker and appliance say to each other of the history that they share, as JSON.

    POST /worker/history    History -> Answer, or 204 while a person has not decided (long poll)

Asked whenever the appliance does not know what the worker does: before an attempt is given up, an answer to this says
that the store has not merely forgotten it.
"""

from dataclasses import dataclass
from typing import Any, Final

from tinkbox.model import template
from tinkbox.model.documents.hardware import parse_uuid
from tinkbox.model.errors import Invalid
from tinkbox.model.journal import Entry, Seen, Standing
from tinkbox.wire.messages.json_fields import flag, member, number, read_object, text, write
from tinkbox.wire.messages.worker import MAX_NAME, outcome_from_document, position_of, seen_from_document

MAX_ENTRIES: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All that a worker remembers of this boot, oldest first."""

    boot_id: str
    seen: Seen
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`seen` is where the worker's journal begins anew when it was DISCARDED, and all its containers are removed."""

    standing: Standing
    seen: Seen | None = None


def encode(message: History | Answer) -> str:
    """Either message as one line of JSON."""
    return write(message)


def decode_history(content: str | bytes) -> History:
    """Raises Invalid when it is not what a worker remembers."""
    entry = read_object(content, "history")
    entries = entry.get("entries", [])
    if not isinstance(entries, list) or len(entries) > MAX_ENTRIES:
        raise Invalid(f"history: entries is a list of at most {MAX_ENTRIES}")
    seen = seen_from_document(entry.get("seen"))
    if seen is None:
        raise Invalid("history: seen is missing")
    return History(
        boot_id=text(entry, "boot_id")[:MAX_NAME],
        seen=seen,
        entries=tuple(entry_from_document(each) for each in entries),
    )


def decode_answer(content: str | bytes) -> Answer:
    """Raises Invalid when it is no answer to a history."""
    entry = read_object(content, "history")
    return Answer(standing=member(entry, "standing", Standing), seen=seen_from_document(entry.get("seen")))


def entry_from_document(entry: Any) -> Entry:
    """The same for an attempt in the journal."""
    if not isinstance(entry, dict):
        raise Invalid("history: expected objects")
    return Entry(
        position=position_of(entry),
        attempt=text(entry, "attempt")[:MAX_NAME],
        workflow_id=parse_uuid(text(entry, "workflow_id")),
        index=number(entry, "index"),
        task=text(entry, "task")[: template.MAX_NAME],
        action=text(entry, "action")[: template.MAX_NAME],
        outcome=None if entry.get("outcome") is None else outcome_from_document(entry["outcome"]),
        over=flag(entry, "over"),
    )
