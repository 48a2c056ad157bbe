"""The room on the disk of a folder that may be gone."""

import shutil
from pathlib import Path

import pytest

from tinkbox.disk_room import free_in, inodes_in, size_in


def test_the_room_of_a_folder_that_was_moved_away_is_that_of_where_it_was(tmp_path: Path) -> None:
    assert free_in(tmp_path / "gone" / "too") > 0
    assert size_in(tmp_path / "gone" / "too") == size_in(tmp_path)
    assert size_in(tmp_path) <= shutil.disk_usage(tmp_path).total, "some is for root"


def test_a_disk_that_does_not_answer_has_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: Path) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(shutil, "disk_usage", fails)
    assert (free_in(tmp_path), size_in(tmp_path)) == (0, 0)


def test_inodes_are_those_of_the_file_system_of_a_folder(tmp_path: Path) -> None:
    assert inodes_in(tmp_path / "gone") is None
    found = inodes_in(tmp_path)
    assert found is None or 0 <= found.free <= found.total
