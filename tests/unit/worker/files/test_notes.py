import math
from pathlib import Path

import pytest

from tinkbox.model.workflow import Outcome, State
from tinkbox.wire.messages.worker import Order
from tinkbox.worker.files.notes import Notes

ORDER = Order(state=State.CANCELED, message="on behalf of the operator")
OUTCOME = Outcome(state=State.FAILED, exit_code=137, signal="SIGKILL", reason="Signal", message="é", tail=("a", "b"))


def test_what_is_noted_is_there_for_the_next_life_until_it_is_forgotten(tmp_path: Path) -> None:
    Notes(tmp_path).begin("a1")
    assert (Notes(tmp_path).stop("a1"), Notes(tmp_path).outcome("a1")) == (None, None)
    Notes(tmp_path).keep_start("a1", "action")
    assert (Notes(tmp_path).start("a1", "action"), Notes(tmp_path).start("a1", "on-failure")) == (True, False)
    assert Notes(tmp_path).started_at("a1", "action") == math.inf
    Notes(tmp_path).keep_start("a1", "action", 12.5)
    assert Notes(tmp_path).started_at("a1", "action") == 12.5
    (tmp_path / "a1" / "start-action.json").write_text('{"at": "soon"}')
    assert Notes(tmp_path).started_at("a1", "action") == math.inf
    Notes(tmp_path).keep_stop("a1", ORDER)
    Notes(tmp_path).keep_outcome("a1", OUTCOME)
    notes = Notes(tmp_path)
    assert (notes.unfinished(), notes.stop("a1"), notes.outcome("a1")) == (["a1"], ORDER, OUTCOME)
    notes.forget("a1")
    assert (notes.unfinished(), notes.stop("a1"), notes.outcome("a1")) == ([], None, None)
    assert not notes.start("a1", "action")


def test_half_a_note_is_none(tmp_path: Path) -> None:
    notes = Notes(tmp_path)
    notes.begin("a1")
    notes.keep_stop("a1", ORDER)
    notes.keep_outcome("a1", OUTCOME)
    for path in (tmp_path / "a1").iterdir():
        path.write_bytes(path.read_bytes()[:20])
    assert (notes.stop("a1"), notes.outcome("a1")) == (None, None)


def test_what_cannot_be_noted_is_done_without(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "notes").touch()
    notes = Notes(tmp_path / "notes" / "below a file")
    notes.begin("a1")
    notes.keep_stop("a1", ORDER)
    notes.keep_outcome("a1", OUTCOME)
    assert (notes.unfinished(), notes.stop("a1"), notes.outcome("a1")) == ([], None, None)
    assert len(caplog.records) == 3
