"""Files from machines, written below a folder and nowhere else."""

import errno
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tinkbox.cli.output.saved_files import leads_out, save
from tinkbox.model.errors import Conflict, Invalid, Unavailable
from tinkbox.wire.ephemeral_data import Entry
from tinkbox.wire.ephemeral_limits import MAX_DEPTH


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def file(path: str, content: bytes = b"x", mode: int = 0o644) -> Entry:
    return Entry(path=path, content=content, mode=mode)


def test_files_folders_and_links_are_written_with_their_modes(tmp_path: Path) -> None:
    entries = [
        Entry(path="a", mode=0o555),
        file("a/tool", b"\x00\xff", 0o4755),
        Entry(path="a/up", link="../b/c"),
        Entry(path="empty", mode=0o700),
        file("b/c", b"through a link"),
    ]
    assert save(entries, tmp_path / "new" / "folder") == []
    saved = tmp_path / "new" / "folder"
    assert (saved / "a" / "tool").read_bytes() == b"\x00\xff"
    assert (saved / "a" / "tool").stat().st_mode & 0o7777 == 0o755
    assert (saved / "a").stat().st_mode & 0o777 == 0o555
    assert (saved / "a" / "up").read_bytes() == b"through a link"
    assert list((saved / "empty").iterdir()) == []


@pytest.mark.parametrize(("umask", "modes"), [(0o077, [0o700, 0o700, 0o400]), (0o002, [0o775, 0o775, 0o440])])
def test_modes_are_within_the_umask_and_give_nobody_elses_rights(
    tmp_path: Path, umask: int, modes: Sequence[int]
) -> None:
    entries = [Entry(path="d", mode=0o7777), file("d/tool", mode=0o6777), file("secret", mode=0o440)]
    os.umask(umask)
    assert save(entries, tmp_path / "new") == []
    saved = [tmp_path / "new" / each for each in ("d", "d/tool", "secret")]
    assert [each.stat().st_mode & 0o7777 for each in saved] == modes


def test_names_are_written_as_they_are_as_tar_writes_them(tmp_path: Path) -> None:
    names = ["a\x1b[2Jb", "line\nline", "back\\slash", "\u200bhidden"]
    assert save([file(each) for each in names], tmp_path / "new") == []
    assert sorted(each.name for each in (tmp_path / "new").iterdir()) == sorted(names)


def test_an_empty_folder_will_do_and_one_with_anything_in_it_will_not(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert save([file("one")], tmp_path / "empty") == []
    with pytest.raises(Conflict, match="nothing is overwritten"):
        save([file("one", b"other"), file("two")], tmp_path / "empty")
    assert (tmp_path / "empty" / "one").read_bytes() == b"x"
    assert not (tmp_path / "empty" / "two").exists()


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", "a//x", "./x", "", "a/", "a\0b", ".."])
def test_a_path_that_leaves_the_folder_saves_nothing_at_all(tmp_path: Path, path: str) -> None:
    with pytest.raises(Invalid, match="nothing was saved"):
        save([file("fine"), file(path)], tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_folders_nested_too_deep_are_refused_in_a_line(tmp_path: Path) -> None:
    assert save([file("d/" * MAX_DEPTH + "f")], tmp_path / "deep") == []
    with pytest.raises(Invalid, match="nested more than 64 folders deep: nothing was saved"):
        save([file("d/" * 5000 + "f")], tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("order", [1, -1])
def test_nothing_is_written_through_a_link(tmp_path: Path, order: int) -> None:
    with pytest.raises(Invalid):
        save([Entry(path="a", link="b"), Entry(path="b"), file("a/x")][::order], tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("path", "target", "out"),
    [
        ("a", "b", False),
        ("a", "./b/c", False),
        ("a", "..", True),
        ("a", "../x", True),
        ("a", "/etc/passwd", True),
        ("a", "b/../../x", True),
        ("d/a", "../b", False),
        ("d/a", ".././../b", True),
        ("d/e/a", "../..", False),
        ("d/e/a", "../../..", True),
        # What is above a name may be elsewhere when the name is a link itself.
        ("a", "link/..", True),
    ],
)
def test_a_link_may_not_lead_out(tmp_path: Path, path: str, target: str, out: bool) -> None:
    assert leads_out(path, target) is out
    assert len(save([Entry(path=path, link=target), file("fine")], tmp_path / "new")) == out
    assert (tmp_path / "new" / path).is_symlink() is not out


def test_a_file_that_comes_twice_cannot_replace_a_link(tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"untouched")
    with pytest.raises(Unavailable, match="cannot save to"):
        save([Entry(path="a", link="b"), file("a", b"gone")], tmp_path / "new")
    assert (tmp_path / "victim").read_bytes() == b"untouched"


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(Unavailable, match="cannot save to"):
        save([file("one")], tmp_path / "file" / "folder")


names = some.sampled_from(["a", "b", "c"])
paths = some.lists(names, min_size=1, max_size=3).map("/".join)
targets = some.lists(some.sampled_from(["..", ".", "a", "b", "c", ""]), min_size=1, max_size=6).map("/".join)
entries = some.one_of(
    some.builds(lambda path: Entry(path=path, mode=0o755), paths),
    some.builds(lambda path: Entry(path=path, content=b"written"), paths),
    some.builds(lambda path, target: Entry(path=path, link=target), paths, targets.filter(bool)),
)


@given(some.lists(entries, max_size=8))
def test_whatever_comes_nothing_leaves_the_folder(listed: list[Entry]) -> None:
    """No file appears beside the folder, and no link that was made leads out of it, through other links neither."""
    with tempfile.TemporaryDirectory() as made:
        root = Path(made).resolve()
        folder = root / "deep" / "folder"
        with suppress(Invalid, Unavailable, Conflict):
            save(listed, folder)
        assert {path.name for path in root.iterdir()} <= {"deep"}
        for parent, folders, files in os.walk(folder):
            for name in folders + files:
                path = Path(parent, name)
                if not is_loop(path):
                    assert path.resolve().is_relative_to(folder), listed


def is_loop(path: Path) -> bool:
    """Whether links lead in a circle, and so nowhere."""
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False
