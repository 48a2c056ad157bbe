"""What a worker tells of a running action's progress."""

import json

import pytest

from tinkbox.model.actions.progress import Told
from tinkbox.model.errors import Invalid
from tinkbox.wire.messages.progress import Telling, decode_telling, encode


@pytest.mark.parametrize("progress", [None, Told(done=1, total=4), Told(done=2**53 - 1, total=0, unit="bytes")])
def test_it_arrives_as_it_was_sent(progress: Told | None) -> None:
    telling = Telling(workflow_id="w", boot_id="b", progress=progress)
    assert decode_telling(encode(telling)) == telling


@pytest.mark.parametrize(
    "changes",
    [
        {"workflow_id": None}, {"boot_id": 1}, {"progress": []}, {"progress": {}}, {"progress": {"done": 1}},
        {"progress": {"done": -1, "total": 4}}, {"progress": {"done": 1, "total": 2**53}}, {"progress": {"done": 1.5, "total": 4}},
        {"progress": {"done": True, "total": 4}}, {"progress": {"done": 1, "total": 4, "unit": "u" * 17}},
        {"progress": {"done": 1, "total": 4, "unit": "\x1b[31m"}}, {"progress": {"done": 1, "total": 4, "unit": 1}},
    ],
)  # fmt: skip
def test_what_tells_of_no_progress_is_refused(changes: dict[str, object]) -> None:
    entry = json.loads(encode(Telling(workflow_id="w", boot_id="b", progress=Told(done=1, total=4))))
    with pytest.raises(Invalid):
        decode_telling(json.dumps({**entry, **changes}))


@pytest.mark.parametrize("content", ["", "[]", "null", b"\xff"])
def test_what_is_no_object_is_refused(content: str | bytes) -> None:
    with pytest.raises(Invalid, match="progress"):
        decode_telling(content)
