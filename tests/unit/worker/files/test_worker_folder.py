from pathlib import Path

import pytest

from tinkbox.worker.files.worker_folder import WorkerFolder


def test_an_action_asks_for_a_reboot_by_a_file(tmp_path: Path) -> None:
    folder = WorkerFolder(tmp_path)
    assert not folder.reboot_wanted
    (tmp_path / "reboot").touch()
    assert folder.reboot_wanted
    assert not folder.kexec_wanted


@pytest.mark.parametrize(("said", "wanted"), [("kexec\n", True), ("kexec", True), ("reboot\n", False), ("", False)])
def test_an_action_that_loaded_another_kernel_says_so_there(tmp_path: Path, said: str, *, wanted: bool) -> None:
    folder = WorkerFolder(tmp_path)
    assert not folder.kexec_wanted
    (tmp_path / "reboot").write_text(said)
    assert folder.reboot_wanted
    assert folder.kexec_wanted is wanted


def test_what_actions_are_given_lies_apart_from_the_workers_own(tmp_path: Path) -> None:
    folder = WorkerFolder(tmp_path)
    folder.data.unpack("w1", b"")
    folder.notes.begin("a1")
    folder.words.prepare("a1", "action", (), bounded=False)
    assert {path.name for path in tmp_path.iterdir()} == {"workflow", "attempts", "words"}
    assert folder.services == tmp_path / "services"
