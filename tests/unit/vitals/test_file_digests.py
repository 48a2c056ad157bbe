"""Files against their descriptions."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tinkbox.vitals.file_digests import AGAIN, DescribedFile, FileDigests

CONTENT = bytes(3 << 20)


class Files:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "vmlinuz"
        self.path.write_bytes(CONTENT)
        self.now = 0.0
        self.rests = 0
        self.digests = FileDigests(lambda: self.now, self.rest)
        self.described = DescribedFile(path=self.path, size=len(CONTENT), sha256=hashlib.sha256(CONTENT).hexdigest())

    def rest(self, _: float) -> None:
        self.rests += 1

    def told(self) -> list[str]:
        return [each.how for each in self.digests.look([self.described])]

    def flip(self, *, silently: bool = False) -> None:
        before = self.path.stat()
        with self.path.open("r+b") as file:
            file.seek(5)
            file.write(b"\1")
        if silently:
            os.utime(self.path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_a_file_that_did_not_change_is_read_once_an_hour(files: Files) -> None:
    assert files.told() == []
    read = files.rests
    assert read >= 3  # with rests between its pieces
    assert files.told() == []
    assert files.rests == read
    files.now += AGAIN
    assert files.told() == []
    assert files.rests == 2 * read


@pytest.mark.parametrize(
    ("change", "how"),
    [
        (lambda files: files.flip(), "its SHA-256 is "),
        (lambda files: files.path.unlink(), "it is missing"),
        (lambda files: os.truncate(files.path, 9), "it has 9 bytes, and 3145728 when it was built"),
        (lambda files: (files.path.unlink(), files.path.mkdir()), "it has "),
    ],
)
def test_a_file_that_changed_is_told_at_once_and_until_it_is_mended(
    files: Files, change: Callable[[Files], object], how: str
) -> None:
    assert files.told() == []
    change(files)
    (told,) = files.told()
    assert told.startswith(how)
    assert files.told() == [told]
    if files.path.is_dir():
        files.path.rmdir()
    files.path.write_bytes(CONTENT)
    assert files.told() == []


def test_a_byte_that_changes_beside_its_times_is_found_within_the_hour(files: Files) -> None:
    assert files.told() == []
    known = files.digests._read[files.path]
    files.flip(silently=True)
    now = files.path.stat()
    # What a disk changes leaves even the time of the last change of status; a test cannot.
    identity = (now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns)
    files.digests._read[files.path] = type(known)(identity=identity, expected=known.expected, at=known.at, how="")
    assert files.told() == []
    files.now += AGAIN
    assert files.told()[0].startswith("its SHA-256 is ")
