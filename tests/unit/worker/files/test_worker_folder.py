from pathlib import Path

from tinkbox.worker.files.worker_folder import WorkerFolder


def test_an_action_asks_for_a_reboot_by_a_file(tmp_path: Path) -> None:
    folder = WorkerFolder(tmp_path)
    assert not folder.reboot_wanted
    (tmp_path / "reboot").touch()
    assert folder.reboot_wanted


def test_what_actions_are_given_lies_apart_from_the_workers_own(tmp_path: Path) -> None:
    folder = WorkerFolder(tmp_path)
    folder.data.unpack("w1", b"")
    folder.notes.begin("a1")
    folder.words.prepare("a1", "action", (), bounded=False)
    assert {path.name for path in tmp_path.iterdir()} == {"workflow", "attempts", "words"}
    assert folder.services == tmp_path / "services"
