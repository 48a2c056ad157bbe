"""What a worker tells of a running action's progress, as JSON.

    POST /worker/attempts/{token}/progress    Telling -> {}

Sent when it changed, every two seconds at most, and now and then when it did not: the appliance keeps it in memory.
Nothing is lost by losing one, and an appliance that answers 404 knows of no progress.
"""

from dataclasses import dataclass

from tinkbox.model.actions.progress import MAX_UNIT, Told
from tinkbox.model.errors import Invalid
from tinkbox.wire.messages.json_fields import number, read_object, text, write


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """What an attempt's action said last; None: it took back what it said, as one that begins anew."""

    workflow_id: str
    boot_id: str
    progress: Told | None


def encode(telling: Telling) -> str:
    return write(telling)


def decode_telling(content: str | bytes) -> Telling:
    """Raises Invalid when it tells of no progress."""
    entry = read_object(content, "progress")
    told = entry.get("progress")
    if told is None:
        return Telling(workflow_id=text(entry, "workflow_id"), boot_id=text(entry, "boot_id"), progress=None)
    if not isinstance(told, dict):
        raise Invalid("progress: expected an object")
    done, total, unit = number(told, "done"), number(told, "total"), text(told, "unit", "")
    if min(done, total) < 0:
        raise Invalid("progress: done and total are no numbers that are counted to")
    if len(unit) > MAX_UNIT or not unit.isprintable():
        raise Invalid(f"progress: unit is a word of at most {MAX_UNIT} letters")
    return Telling(
        workflow_id=text(entry, "workflow_id"),
        boot_id=text(entry, "boot_id"),
        progress=Told(done=done, total=total, unit=unit),
    )
