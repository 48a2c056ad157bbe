from pathlib import Path

import pytest

from tinkbox.hosting.folder import RunFolder, is_run, runs
from tinkbox.hosting.restarts import Note
from tinkbox.model.services import Phase, Standing

NOTE = Note(standing=Standing(run="r1", phase=Phase.READY), row=2, decided="t2", ready="t1")


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path / "services", "r1")
    made.make()
    return made


def test_everybody_may_write_to_workflow_and_nobody_else_on_the_machine_gets_there(
    folder: RunFolder, tmp_path: Path
) -> None:
    folder.make()
    assert folder.workflow.stat().st_mode & 0o777 == 0o777
    assert (tmp_path / "services").stat().st_mode & 0o777 == 0o700


def test_a_note_is_there_for_the_next_host(folder: RunFolder, tmp_path: Path) -> None:
    assert folder.note() is None
    folder.keep(NOTE)
    assert RunFolder(tmp_path / "services", "r1").note() == NOTE
    assert RunFolder(tmp_path / "services", "r2").note() is None


def test_a_note_that_cannot_be_read_or_written_is_done_without(folder: RunFolder, tmp_path: Path) -> None:
    RunFolder(tmp_path / "nowhere", "r1").keep(NOTE)
    folder.keep(NOTE)
    (tmp_path / "services" / "r1" / "note.json").write_bytes(b'{"standing": 1')
    assert folder.note() is None


def test_nothing_is_left_of_what_was_removed(folder: RunFolder, tmp_path: Path) -> None:
    folder.keep(NOTE)
    (folder.workflow / "key").write_text("1")
    folder.remove()
    folder.remove()
    assert list((tmp_path / "services").iterdir()) == []


def test_only_folders_named_as_runs_are_runs(folder: RunFolder, tmp_path: Path) -> None:
    root = tmp_path / "services"
    (root / "file").touch()
    (root / "link").symlink_to(tmp_path)
    (root / "not a run").mkdir()
    assert runs(root) == ["r1"]
    assert runs(tmp_path / "nowhere") == []


@pytest.mark.parametrize(
    ("name", "is_one"), [("aZ9_-", True), ("", False), ("..", False), ("a/b", False), ("a\n", False)]
)
def test_a_run_is_a_token_that_can_be_a_files_name(name: str, is_one: bool) -> None:
    assert is_run(name) is is_one
