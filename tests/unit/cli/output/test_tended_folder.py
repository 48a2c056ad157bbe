"""A folder that Git keeps: written again and again, never through a link."""

from pathlib import Path

import pytest

from tinkbox.cli.output.tended_folder import TendedFolder
from tinkbox.model.errors import Conflict, Unavailable


def write(folder: Path, name: str = "node7", text: str = "x\n") -> tuple[Path, bool]:
    with TendedFolder(folder) as tended:
        return tended.write("hardware", name, ".yaml", text)


def test_a_file_that_says_the_same_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "new" / "hardware" / "node7.yaml"
    assert write(tmp_path / "new") == (path, True)
    written = path.stat()
    assert write(tmp_path / "new") == (path, False)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (written.st_ino, written.st_mtime_ns)
    assert write(tmp_path / "new", text="y\n") == (path, True)
    assert path.read_text() == "y\n"
    assert [each.name for each in path.parent.iterdir()] == ["node7.yaml"]


def test_no_file_is_removed(tmp_path: Path) -> None:
    (tmp_path / "hardware").mkdir()
    (tmp_path / "hardware" / "old.yaml").write_text("mine")
    write(tmp_path)
    assert (tmp_path / "hardware" / "old.yaml").read_text() == "mine"


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    outside.mkdir()
    folder.mkdir()
    (folder / "hardware").symlink_to(outside)
    with pytest.raises(Conflict, match="is a link"):
        write(folder)
    (folder / "hardware").unlink()
    (folder / "hardware").mkdir()
    (outside / "target").write_text("mine")
    (folder / "hardware" / "node7.yaml").symlink_to(outside / "target")
    with pytest.raises(Conflict, match="is a link"):
        write(folder)
    assert (outside / "target").read_text() == "mine"
    assert [each.name for each in outside.iterdir()] == ["target"]


def test_a_link_in_place_of_the_temporary_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "hardware").mkdir()
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "hardware" / ".tinkbox-export").symlink_to(tmp_path / "mine")
    with pytest.raises(Unavailable):
        write(tmp_path)
    assert (tmp_path / "mine").read_text() == "mine"


def test_names_lead_nowhere_and_are_told_apart(tmp_path: Path) -> None:
    with TendedFolder(tmp_path / "folder") as tended:
        paths = [
            tended.write("hardware", name, ".yaml", name)[0].name for name in ("../../x", "..", "a/b", "a b", ".x", "")
        ]
    assert paths == ["x.yaml", "unnamed.yaml", "a-b.yaml", "a-b-2.yaml", "x-2.yaml", "unnamed-2.yaml"]
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]


def test_what_is_no_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(Unavailable, match="cannot write to"):
        write(tmp_path / "file")
