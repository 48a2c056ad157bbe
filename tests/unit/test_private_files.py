"""Folders of ours, which no other user of the host may read."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.everybodys_checkout import BEFORE, PYTHON
from tinkbox.model.errors import Unavailable
from tinkbox.private_files import Layout, make_private

LAYOUT = Layout(private=("own", "own.*"), shared=("given", "own/*/given"))
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="makes files of other users")


def modes(folder: Path, *names: str) -> list[int]:
    return [(folder / name).stat().st_mode & 0o7777 for name in names]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """As wide as files can be."""
    folder = tmp_path / "data"
    for name in ("own/deep/given", "given"):
        (folder / name).mkdir(parents=True)
    for name in ("own.token", "own/deep/secret", "own/deep/given/x", "given/x", "other"):
        (folder / name).touch()
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o777)
    return folder


def test_what_is_private_is_tightened_and_what_is_shared_is_left(folder: Path) -> None:
    make_private(folder, LAYOUT)
    assert modes(folder, ".", "own", "own/deep", "own/deep/secret", "own.token") == [0o700] * 5
    assert modes(folder, "own/deep/given", "own/deep/given/x", "given", "given/x", "other") == [0o777] * 5


def test_a_folder_that_is_missing_is_made(tmp_path: Path) -> None:
    make_private(tmp_path / "a" / "b", LAYOUT)
    assert modes(tmp_path, "a/b") == [0o700]


def test_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.touch()
    elsewhere.chmod(0o644)
    (folder / "own" / "link").symlink_to(elsewhere)
    make_private(folder, LAYOUT)
    assert modes(tmp_path, "elsewhere") == [0o644]


def test_a_folder_for_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    tmp_path.chmod(0o755)
    with pytest.raises(Unavailable, match="is for other things, such as letters: name a folder of its own"):
        make_private(tmp_path, LAYOUT)
    assert modes(tmp_path, ".") == [0o755]


@needs_root
@pytest.mark.parametrize("name", [".", "own.token", "own/deep/secret"])
def test_what_another_user_owns_is_refused_with_the_remedy(folder: Path, name: str) -> None:
    os.chown(folder / name, 4711, 4711)
    with pytest.raises(Unavailable, match=r"belongs to user 4711: `chown -R root .*` gives it to root"):
        make_private(folder, LAYOUT)


@needs_root
def test_a_folder_of_root_is_refused_to_another_user(tmp_path: Path) -> None:
    text = f"from tests.unit.test_private_files import *; make_private(Path({str(tmp_path / 'data')!r}), LAYOUT)"
    tmp_path.chmod(0o700)
    command = [*BEFORE, "setpriv", "--reuid", "4711", "--clear-groups", PYTHON, "-c", text]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "cannot use the data directory" in ended.stderr
    assert "`chown -R 4711 " in ended.stderr
