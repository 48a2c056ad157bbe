"""One folder, two names, and nothing that lists the second."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tinkbox.worker.host.mounts import among_mounts_of
from tinkbox.worker.host.unlisted_name import forget_name, name_within

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "a,b:c" / "data"
    folder.mkdir(parents=True)
    yield folder
    forget_name(folder, tmp_path / "working")


def test_it_is_found_and_not_listed(folder: Path, tmp_path: Path) -> None:
    name_within(folder, "w1", tmp_path / "working")
    assert list(folder.iterdir()) == []
    (folder / "w1" / "file").write_text("one")
    assert (folder / "file").read_text() == "one"
    assert [path.name for path in folder.rglob("*")] == ["file"]
    (folder / "inner").mkdir()
    (folder / "w1" / "inner" / "deep").write_text("two")
    for each in list(folder.iterdir()):
        shutil.rmtree(each) if each.is_dir() else each.unlink()
    assert list((folder / "w1").iterdir()) == []


def test_asked_again_it_stays_and_forgotten_the_folder_is_what_it_was(folder: Path, tmp_path: Path) -> None:
    (folder / "before").write_text("1")
    for _ in range(2):
        name_within(folder, "w1", tmp_path / "working")
    (folder / "w1" / "within").write_text("2")
    forget_name(folder, tmp_path / "working")
    assert sorted(path.name for path in folder.iterdir()) == ["before", "within"]
    assert not (folder / "w1").exists()
    assert not (tmp_path / "working").exists()
    name_within(folder, "w1", tmp_path / "working")
    assert (folder / "w1" / "within").read_text() == "2"


def test_what_has_that_name_already_stays(folder: Path, tmp_path: Path) -> None:
    (folder / "w1").mkdir()
    (folder / "w1" / "mine").touch()
    with pytest.raises(FileExistsError):
        name_within(folder, "w1", tmp_path / "working")
    assert (folder / "w1" / "mine").exists()
    assert not os.path.ismount(folder)


def test_one_that_was_killed_while_it_gave_the_name_is_followed_by_one_that_does(folder: Path, tmp_path: Path) -> None:
    (folder / "w1").mkdir()
    name_within(folder, "w1", tmp_path / "working")
    assert list(folder.iterdir()) == []


def test_what_one_left_that_was_killed_half_way_is_forgotten(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        """It ends here, and tidies nothing up."""

    def kill(*_: object, **__: object) -> None:
        raise Killed

    for call in ("bind", "os.rmdir"):
        with monkeypatch.context() as dying:
            dying.setattr("os.rmdir", kill)
            dying.setattr(f"tinkbox.worker.host.unlisted_name.{call}", kill)
            with pytest.raises(Killed):
                name_within(folder, "w1", tmp_path / "working")
        assert os.path.ismount(folder)
        forget_name(folder, tmp_path / "working")
        name_within(folder, "w1", tmp_path / "working")
        assert list(folder.iterdir()) == []
        assert (folder / "w1").samefile(folder)
        forget_name(folder, tmp_path / "working")


def test_where_nothing_can_be_mounted_nothing_is_changed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError("not here")

    for call in ("bind", "mount_overlay"):
        monkeypatch.setattr(f"tinkbox.worker.host.unlisted_name.{call}", refused)
        with pytest.raises(OSError, match="not here"):
            name_within(folder, "w1", tmp_path / "working")
        assert list(folder.iterdir()) == []
        assert not os.path.ismount(folder)
        assert not (tmp_path / "working").exists()


def test_a_process_that_is_not_there_has_no_mounts() -> None:
    with pytest.raises(FileNotFoundError):
        among_mounts_of(0, lambda: pytest.fail("nothing is done"))


def test_it_is_done_where_another_process_sees_it() -> None:
    ours = os.stat("/proc/self/ns/mnt").st_ino  # noqa: PTH116
    seen: list[int] = []
    among_mounts_of(os.getpid(), lambda: seen.append(os.stat("/proc/thread-self/ns/mnt").st_ino))  # noqa: PTH116
    assert seen == [ours]
