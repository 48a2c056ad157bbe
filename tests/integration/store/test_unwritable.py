"""Why a folder takes no write: each cause for real, on a file system of its own."""

import errno
import fcntl
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from tests.integration.store.test_templates import template
from tinkbox.model.errors import Full, Unavailable
from tinkbox.registry.blobs.blobs import writing
from tinkbox.store.database import Store
from tinkbox.unwritable import why_unwritable
from tinkbox.worker.host.mounts import mount_tmpfs, unmount

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts file systems and makes files immutable")
INODES = 200
_GET_FLAGS, _SET_FLAGS = 0x80086601, 0x40086602  # ioctl_iflags(2)
IMMUTABLE, APPEND_ONLY = 0x10, 0x20


@contextmanager
def flagged(file: Path, flag: int) -> Iterator[None]:
    """As chattr has it; the test is skipped where the file system has no such flags."""
    opened = os.open(file, os.O_RDONLY)
    try:
        try:
            before = int.from_bytes(fcntl.ioctl(opened, _GET_FLAGS, bytes(8))[:4], sys.byteorder)
            fcntl.ioctl(opened, _SET_FLAGS, (before | flag).to_bytes(8, sys.byteorder))
        except OSError:
            pytest.skip("this file system has no such flags")
        try:
            yield
        finally:
            fcntl.ioctl(opened, _SET_FLAGS, before.to_bytes(8, sys.byteorder))
    finally:
        os.close(opened)


def holds_for_what_is_open(folder: Path) -> bool:
    """Whether a flag also keeps out who has the file open already: on some file systems, as overlayfs, it does not."""
    probe = folder / "probe"
    with probe.open("wb", buffering=0) as file, flagged(probe, IMMUTABLE):
        try:
            file.write(b"x")
        except OSError:
            return True
    return False


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Gives a folder of a tmpfs with these options."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounts: list[Path] = []

    def mount(options: str) -> Path:
        mount_tmpfs(folder, options)
        mounts.append(folder)
        return folder

    yield mount
    for each in mounts:
        unmount(each)


def remount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", folder], check=True)


def test_a_folder_that_takes_writes_is_told_nothing_of(tmp_path: Path) -> None:
    assert why_unwritable(tmp_path, tmp_path / "none") == ""
    assert why_unwritable(tmp_path / "gone") == ""


def test_inodes_that_are_used_up_are_no_lack_of_room(mounted: Callable[[str], Path]) -> None:
    folder = mounted(f"size=64m,nr_inodes={INODES}")
    for number in range(os.statvfs(folder).f_favail):
        (folder / str(number)).touch()
    told = why_unwritable(folder)
    assert told.startswith("its file system has no inode left for another file, though 64MiB are free (`df -i ")
    with (
        pytest.raises(
            Full, match=r"the registry's disk is full \(No space left on device\): its file system has no inode"
        ),
        writing(folder),
    ):
        (folder / "another").touch()
    assert f"`du --inodes -x {folder} | sort -n | tail`" in told
    (folder / "0").unlink()
    assert why_unwritable(folder) == ""


def test_a_full_disk_is_one_of_room(mounted: Callable[[str], Path]) -> None:
    folder = mounted("size=4m")
    with pytest.raises(OSError, match="No space left"):
        (folder / "large").write_bytes(bytes(8 << 20))
    assert (
        why_unwritable(folder)
        == f"its disk has 0 bytes free; free space where the data folder {folder} is (`df -h {folder}`)"
    )


def test_a_file_system_that_became_read_only_is_called_so(mounted: Callable[[str], Path]) -> None:
    folder = mounted("size=4m")
    with pytest.raises(OSError, match="No space left"):
        (folder / "large").write_bytes(bytes(8 << 20))
    remount(folder, "ro")
    told = why_unwritable(folder)
    assert told.startswith(f"its file system, mounted at {folder}, is read-only: `dmesg` tells")
    assert f"`mount -o remount,rw {folder}`" in told
    with pytest.raises(Unavailable, match="is read-only"), writing(folder):
        (folder / "x").touch()


async def test_a_store_whose_file_is_made_immutable_names_it_and_goes_on_when_it_is_not(tmp_path: Path) -> None:
    store = await Store.open(tmp_path / "tinkbox.sqlite")
    file = tmp_path / "tinkbox.sqlite-wal"
    try:
        refused = rf"{file} is immutable: `chattr -i {file}`"
        keeps_out = holds_for_what_is_open(tmp_path)
        with flagged(file, IMMUTABLE), pytest.raises(Unavailable, match=refused) if keeps_out else nullcontext():
            await store.write(lambda tables: tables.templates.put(template("one", "one")))
        await store.write(lambda tables: tables.templates.put(template("one", "one")))
    finally:
        await store.close()


def test_all_files_that_are_immutable_are_named_at_once(tmp_path: Path) -> None:
    files = tmp_path / "one", tmp_path / "two"
    for each in files:
        each.touch()
    one, two = files
    with flagged(one, IMMUTABLE), flagged(two, IMMUTABLE):
        assert (
            why_unwritable(tmp_path, *files)
            == f"{one} and {two} are immutable: `chattr -i {one} {two}` has them take writes again"
        )


@pytest.mark.parametrize(("flag", "letter"), [(IMMUTABLE, "i"), (APPEND_ONLY, "a")])
def test_a_file_that_may_not_be_changed_is_named_with_the_command_that_frees_it(
    tmp_path: Path, flag: int, letter: str
) -> None:
    file = tmp_path / "file"
    file.touch()
    with flagged(file, flag):
        assert f"`chattr -{letter} {file}` has it take writes again" in why_unwritable(tmp_path, file)
    assert why_unwritable(tmp_path, file) == ""


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.EDQUOT, "the disk quota of root is used up: `quota -s -u root` shows it"),
        (errno.EROFS, "is read-only"),
        (errno.EACCES, "root may not write there: see whose it is, and its mode, with `ls -ld "),
        (errno.EIO, "its disk fails: look for its errors with `dmesg`"),
        (errno.ENOMEM, ""),
    ],
)
def test_what_a_new_file_meets_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, told: str) -> None:
    def refuses(**_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(tempfile, "TemporaryFile", refuses)
    why = why_unwritable(tmp_path)
    assert told in why
    assert bool(why) is bool(told)
