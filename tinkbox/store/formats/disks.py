"""What is on a machine's disk."""

from collections.abc import Sequence

from tinkbox.model.disks.disks import Content
from tinkbox.store.formats.json_text import read, write


def contents_text(contents: Sequence[Content]) -> str:
    """The columns `ours` and `not_ours` of a disk."""
    return write(
        [{"kind": each.kind, "id": each.id, "label": each.label, "offset": each.offset} for each in contents],
        small=True,
    )


def contents_of(text: str) -> tuple[Content, ...]:
    """Reads `contents_text`."""
    return tuple(
        Content(kind=each["kind"], id=each["id"], label=each["label"], offset=each["offset"]) for each in read(text)
    )
