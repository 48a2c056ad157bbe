"""Large files, read piece by piece by many."""

import os
from pathlib import Path

import pytest

from tinkbox.boot.tftp.shared_files import SharedFiles


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "ramdisk").write_bytes(b"abcdefgh")
    return tmp_path / "ramdisk"


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


def test_a_file_is_read_where_it_is_wanted(path: Path) -> None:
    file = SharedFiles().open(path)
    assert len(file) == 8
    assert file[2:5] == b"cde"
    assert file[6:99] == b"gh"
    assert file[8:12] == b""
    file.release()


def test_those_who_read_the_same_file_share_its_descriptor(path: Path) -> None:
    files, before = SharedFiles(), descriptors()
    first, second = files.open(path), files.open(path)
    assert descriptors() == before + 1
    first.release()
    assert second[0:2] == b"ab"
    second.release()
    assert descriptors() == before
    assert len(files) == 0


def test_who_reads_a_file_that_was_replaced_goes_on_reading_the_old_one(path: Path) -> None:
    files = SharedFiles()
    old = files.open(path)
    path.with_name("new").write_bytes(b"ABCDEFGHI")
    path.with_name("new").replace(path)
    new = files.open(path)
    assert (old[0:4], new[0:4]) == (b"abcd", b"ABCD")
    old.release()
    assert new[4:] == b"EFGHI"
    new.release()
    assert len(files) == 0


def test_a_file_that_became_shorter_is_no_longer_read(path: Path) -> None:
    file = SharedFiles().open(path)
    path.write_bytes(b"abc")
    assert file[0:3] == b"abc"
    with pytest.raises(OSError, match="shorter"):
        file[2:6]
    file.release()


def test_a_file_that_is_not_there_cannot_be_opened(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        SharedFiles().open(path.with_name("nothing"))
