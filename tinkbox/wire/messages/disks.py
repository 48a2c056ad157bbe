"""What worker and appliance say to each other of disks that an action wipes, as JSON.

    POST /worker/attempts/{token}/disks    Looked -> {} or {"refused": {"reason": ..., "message": ...}}

Asked before the action begins.  How the disks look at its end comes with the report (`wire.messages.worker`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tinkbox.model.disks.disks import MAX_DISKS, Content, Disk, Refused
from tinkbox.model.errors import Invalid
from tinkbox.model.reasons import ReasonText
from tinkbox.wire.messages.json_fields import fields_of, number, read_object, text, write

MAX_CONTENTS: Final = 256
MAX_TEXT: Final = 256
MAX_PROBLEM: Final = 1_024
_LARGEST: Final = 2**63 - 1
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """The disks that an attempt is about to wipe, as they are."""

    workflow_id: str
    boot_id: str
    disks: tuple[Disk, ...]


def encode(looked: Looked) -> str:
    return write({**fields_of(looked), "disks": disk_documents(looked.disks)})


def disk_documents(disks: Sequence[Disk]) -> list[dict[str, Any]]:
    """Each as an object; its `device`, which the first release did not know, only where it says something."""
    return [{name: value for name, value in fields_of(disk).items() if value or name != "device"} for disk in disks]


def decode_looked(content: str | bytes) -> Looked:
    """Raises Invalid when it does not say what disks there are."""
    entry = read_object(content, "disks")
    return Looked(
        workflow_id=text(entry, "workflow_id"),
        boot_id=text(entry, "boot_id"),
        disks=disks_from_document(entry.get("disks")),
    )


def disks_from_document(entries: Any) -> tuple[Disk, ...]:
    """The inverse of `dataclasses.asdict` for each; text is cut and cleaned.  Raises Invalid."""
    if not isinstance(entries, list) or len(entries) > MAX_DISKS:
        raise Invalid(f"disks: expected a list of at most {MAX_DISKS}")
    return tuple(_disk(entry) for entry in entries)


def contents_from_document(entries: Any) -> tuple[Content, ...]:
    """The same for what is on one disk."""
    if not isinstance(entries, list) or len(entries) > MAX_CONTENTS:
        raise Invalid(f"disks: expected at most {MAX_CONTENTS} things on one disk")
    return tuple(_content(entry) for entry in entries)


def encode_answer(refused: Refused | None) -> str:
    return write({} if refused is None else {"refused": refused})


def decode_answer(content: str | bytes) -> Refused | None:
    """Raises Invalid when it is no answer to what was looked at."""
    entry = read_object(content, "disks")
    refused = entry.get("refused")
    if refused is None:
        return None
    if not isinstance(refused, dict):
        raise Invalid("disks: refused is an object")
    return Refused(reason=ReasonText(text(refused, "reason")), message=text(refused, "message"))


def _disk(entry: Any) -> Disk:
    if not isinstance(entry, dict):
        raise Invalid("disks: expected objects")
    return Disk(
        path=_clean(text(entry, "path")),
        name=_clean(text(entry, "name", "")),
        size=_bytes(entry, "size"),
        contents=contents_from_document(entry.get("contents", [])),
        reason=ReasonText(_clean(text(entry, "reason", ""))),
        problem=_clean(text(entry, "problem", ""), MAX_PROBLEM),
        device=_clean(text(entry, "device", "")),
    )


def _content(entry: Any) -> Content:
    if not isinstance(entry, dict):
        raise Invalid("disks: expected objects")
    return Content(
        kind=_clean(text(entry, "kind")),
        id=_clean(text(entry, "id", "")),
        label=_clean(text(entry, "label", "")),
        offset=_bytes(entry, "offset"),
    )


def _bytes(entry: Mapping[str, Any], name: str) -> int:
    amount = number(entry, name, 0)
    if not 0 <= amount <= _LARGEST:
        raise Invalid(f"disks: {name} is no number of bytes")
    return amount


def _clean(value: str, limit: int = MAX_TEXT) -> str:
    return _CONTROL.sub("", value)[:limit]
