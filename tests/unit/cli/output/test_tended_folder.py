"""A folder that Git keeps: written again and again, never through a link."""

import errno
import os
import re
from pathlib import Path

import pytest

from tinkbox.cli.output import tended_folder
from tinkbox.cli.output.tended_folder import TendedFolder, file_name
from tinkbox.model.errors import Conflict, Unavailable


def write(folder: Path, name: str = "node7", text: str = "x\n") -> tuple[Path, bool]:
    with TendedFolder(folder) as tended:
        return tended.write("hardware", name, "", ".yaml", text)


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


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "folder").symlink_to("real")
    write(tmp_path / "folder")
    assert (tmp_path / "real" / "hardware" / "node7.yaml").is_file()


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


def test_two_runs_at_once_and_what_has_the_name_of_a_temporary_file_do_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another run has not finished is its own, and neither a link nor a pipe of that name is opened."""
    folder = tmp_path / "hardware"
    folder.mkdir()
    (tmp_path / "mine").write_text("mine")
    (folder / ".tinkbox-export").write_text("of another run")
    os.mkfifo(folder / ".tinkbox-export-1")
    (folder / ".tinkbox-export-2").symlink_to(tmp_path / "mine")
    for name in ("1", "2"):
        monkeypatch.setattr(tended_folder.secrets, "token_hex", lambda _, name=name: name)
        with pytest.raises(Unavailable, match="File exists"):
            write(tmp_path)
    monkeypatch.undo()
    replace, others = os.replace, []

    def meanwhile(*names: str, **folders: int) -> None:
        monkeypatch.undo()
        others.append(write(tmp_path, text="of the other run\n"))
        replace(*names, **folders)

    monkeypatch.setattr(os, "replace", meanwhile)
    path, written = write(tmp_path)
    assert (written, others) == (True, [(path, True)])
    assert path.read_text() == "x\n"
    assert (tmp_path / "mine").read_text() == "mine"
    kept = [".tinkbox-export", ".tinkbox-export-1", ".tinkbox-export-2", "node7.yaml"]
    assert sorted(each.name for each in folder.iterdir()) == kept


def test_a_disk_that_fills_up_leaves_no_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(Unavailable, match="No space left"):
        write(tmp_path)
    assert list((tmp_path / "hardware").iterdir()) == []


NAMES = [
    "x", "-x", ".x", "x-2", "X", "", ".", "..", "-", "/x", "../../x", "a b", "a/b", "a-b", "x@y", "x~y", "kustomization", "x\0y",
    "x" * 300, "x" * 301, "é", "rf", "-rf", "dup", "dup-2",
]  # fmt: skip
APART = ["", "aa", "bb", "y", "id:1", "id-1", "n" * 253, "a/b", "-"]


def test_what_a_file_is_called_depends_on_its_thing_alone_and_is_its_own(tmp_path: Path) -> None:
    names = {(name, apart): file_name(name, apart) for name in NAMES for apart in APART}
    assert len(set(names.values())) == len(NAMES) * len(APART)
    for each in names.values():
        assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._~@-]*", each), each
        (tmp_path / f"{each}.yaml").touch()
    assert file_name("node7", "") == "node7"
    assert file_name("node7", "lab") == "node7@lab"
    assert file_name("kustomization", "").startswith("kustomization~")
    with TendedFolder(tmp_path / "folder") as tended:
        paths = [tended.write("hardware", *each, ".yaml", repr(each))[0] for each in names]
    assert [each.read_text() for each in paths] == list(map(repr, names))
    assert {each.parent for each in paths} == {tmp_path / "folder" / "hardware"}


def test_what_is_no_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(Unavailable, match="cannot write to"):
        write(tmp_path / "file")
