"""Each error of SQLite has a way out of its own."""

import sqlite3
from pathlib import Path

import pytest

from tinkbox.model.write_fault import WriteFault
from tinkbox.store.sqlite_errors import at_start, in_use, is_damage, is_of_the_file, what_refused


def error(code: int, text: str = "it failed") -> sqlite3.Error:
    made = sqlite3.OperationalError(text)
    made.sqlite_errorcode = code
    return made


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (sqlite3.SQLITE_FULL, "free space where the data folder {folder} is (`df -h {folder}`)"),
        (sqlite3.SQLITE_CORRUPT, "put a backup of the data folder in its place; without one, move tinkbox.sqlite away"),
        (sqlite3.SQLITE_NOTADB, "put a backup of the data folder in its place"),
        (sqlite3.SQLITE_READONLY, "see whether its file system is read-only (`findmnt -T {folder}`)"),
        (sqlite3.SQLITE_IOERR_FSYNC, "its disk fails: look for its errors with `dmesg`"),
        (sqlite3.SQLITE_BUSY, "another program holds it: `fuser -v {folder}/tinkbox.sqlite` tells which"),
        (sqlite3.SQLITE_LOCKED, "another program holds it"),
        (sqlite3.SQLITE_NOMEM, "no memory is left"),
        (sqlite3.SQLITE_CANTOPEN, "it must be a file that "),
        (sqlite3.SQLITE_ERROR, "check the file with `sqlite3 {folder}/tinkbox.sqlite 'PRAGMA integrity_check'`"),
    ],
)
def test_each_error_has_its_remedy(tmp_path: Path, code: int, remedy: str) -> None:
    path = tmp_path / "tinkbox.sqlite"
    told = str(in_use(path, error(code), doing="written"))
    assert remedy.format(folder=tmp_path) in told
    assert ("free space" in told) is (code == sqlite3.SQLITE_FULL)


def test_a_lock_of_another_program_is_no_fault_of_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "tinkbox.sqlite"
    assert {
        code: what_refused(path, error(code)).fault
        for code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_NOMEM)
    } == {
        sqlite3.SQLITE_BUSY: WriteFault.LOCKED,
        sqlite3.SQLITE_FULL: WriteFault.FULL,
        sqlite3.SQLITE_IOERR_FSYNC: WriteFault.FAILING,
        sqlite3.SQLITE_NOMEM: WriteFault.OTHER,
    }


def test_only_damage_does_not_pass() -> None:
    assert is_damage(error(sqlite3.SQLITE_CORRUPT_INDEX))
    assert not is_damage(error(sqlite3.SQLITE_FULL))
    assert is_of_the_file(error(sqlite3.SQLITE_IOERR_SHORT_READ))
    assert not is_of_the_file(error(sqlite3.SQLITE_CONSTRAINT_UNIQUE))
    assert not is_of_the_file(sqlite3.ProgrammingError("of Python's own"))


def test_a_folder_in_its_place_is_called_so(tmp_path: Path) -> None:
    told = str(at_start(tmp_path, error(sqlite3.SQLITE_CANTOPEN, "unable to open database file")))
    assert told == (
        f"cannot use the store {tmp_path}: unable to open database file: it is a folder; move it away, or put a backup of "
        "the file in its place"
    )
