"""Scratch folders, and those of processes that were killed."""

import os
import shutil
from pathlib import Path

import pytest

from tinkbox.system_images.room import scratch_folder

PREFIX = "tinkbox-image-"


def abandoned(parent: Path, name: str) -> Path:
    """A folder as a process leaves it that is killed."""
    with scratch_folder(parent, PREFIX) as used:
        (used / "below").mkdir()
        (used / "below" / "image.tar").write_bytes(b"image")
        # A copy has a lock file that nobody locks.
        return Path(shutil.copytree(used, parent / name))


def names(parent: Path) -> list[str]:
    return sorted(each.name for each in parent.iterdir())


def test_a_scratch_folder_is_gone_at_the_end(tmp_path: Path) -> None:
    with scratch_folder(tmp_path, PREFIX) as used:
        assert names(tmp_path) == [used.name]
        (used / "image.tar").write_bytes(b"image")
    assert names(tmp_path) == []


def test_a_folder_that_nobody_uses_is_removed_and_one_in_use_stays(tmp_path: Path) -> None:
    abandoned(tmp_path, f"{PREFIX}abcd_123")
    with scratch_folder(tmp_path, PREFIX) as first:
        assert names(tmp_path) == [first.name]
        with scratch_folder(tmp_path, PREFIX) as second:
            assert names(tmp_path) == sorted([first.name, second.name])


def test_what_is_no_scratch_folder_of_ours_stays(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    abandoned(tmp_path, "elsewhere")
    for name in (f"{PREFIX}of-mine", "another-abcd_123", f"my-{PREFIX}abcd_123"):
        shutil.copytree(elsewhere, tmp_path / name)
    (tmp_path / f"{PREFIX}00000000").symlink_to(elsewhere)
    (tmp_path / f"{PREFIX}11111111").write_bytes(b"a file")
    (tmp_path / f"{PREFIX}22222222").mkdir()
    (tmp_path / f"{PREFIX}33333333").mkdir()
    os.mkfifo(tmp_path / f"{PREFIX}33333333" / ".tinkbox-lock")
    before = names(tmp_path)
    with scratch_folder(tmp_path, PREFIX):
        pass
    assert names(tmp_path) == before
    assert (elsewhere / "below" / "image.tar").read_bytes() == b"image"


def test_another_users_folder_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = abandoned(tmp_path, f"{PREFIX}abcd_123")
    monkeypatch.setattr("os.geteuid", lambda: theirs.stat().st_uid + 1)
    with scratch_folder(tmp_path, PREFIX):
        pass
    assert names(tmp_path) == [theirs.name]
