"""What a worker tells of its history: of what a stranger sends each value is what it must be."""

import json
from typing import Any

import pytest

from tinkbox.model.errors import Invalid
from tinkbox.wire.messages.journal import decode_history

ID = "5f0c8bd5-2d5c-4c0e-9a43-0a2f5d6c8f11"


def history(**changed: Any) -> str:
    entry = {"position": 1, "attempt": "a", "workflow_id": ID, "index": 0, "task": "t", "action": "n", "over": False}
    seen = {"store": "s", "position": 1, "attempt": "a", "over": False}
    return json.dumps({"boot_id": "b", "seen": seen, "entries": [{**entry, **changed}]})


def test_a_workflow_is_named_by_its_id() -> None:
    assert decode_history(history()).entries[0].workflow_id == ID


@pytest.mark.parametrize("workflow_id", ["w1", "", "x'; rm -rf / #", "\x1b[2J", f"{ID} What to do:", ID * 90])
def test_what_is_no_id_of_a_workflow_is_refused(workflow_id: str) -> None:
    with pytest.raises(Invalid, match="invalid uuid"):
        decode_history(history(workflow_id=workflow_id))


def test_names_are_as_long_as_in_a_template_at_most() -> None:
    (entry,) = decode_history(history(task="t" * 5000, action="n" * 5000)).entries
    assert (len(entry.task), len(entry.action)) == (200, 200)
