"""What SQLite's errors mean for the operator, and the way out of each."""

import os
import shutil
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from tinkbox.host_users import user_name
from tinkbox.model.errors import Unavailable
from tinkbox.model.write_fault import WriteFault
from tinkbox.unwritable import Unwritable, failing, no_room, unwritable

READ, WRITTEN = "read", "written"  # what was being done with the file
# Of SQLite's result codes, the last byte says which kind of failure it is.
_PRIMARY: Final = 0xFF
_DAMAGED: Final = frozenset({sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT})
_LOCKED: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_OF_THE_FILE: Final = frozenset(
    {
        *_DAMAGED,
        *_LOCKED,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_AUTH,
        sqlite3.SQLITE_NOLFS,
    }
)
# What the disk, or the rights to it, may be the cause of.
_OF_THE_DISK: Final = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PERM,
    }
)
_OF_ANOTHER_PROGRAM: Final = frozenset({sqlite3.SQLITE_CONSTRAINT_TRIGGER, sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY})
_BESIDE: Final = ("-wal", "-shm", "-journal")
# For so long a file is looked through at most, between two looks at the clock so many steps of SQLite.
SECONDS: Final = 30.0
_STEPS: Final = 100_000


def is_of_the_file(error: sqlite3.Error, *, doing: str = WRITTEN) -> bool:
    """Whether the file or its disk failed, and not the statement: to write where only reading is allowed is our fault."""
    code = _code(error)
    return code in _OF_THE_FILE and not (doing == READ and code == sqlite3.SQLITE_READONLY)


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file has lost what it held, which does not pass."""
    return _code(error) in _DAMAGED


def is_by_another_program(error: sqlite3.Error) -> bool:
    """Whether a trigger refused it, or a row that refers to one that is deleted: ours refuse nothing that tinkbox does."""
    return isinstance(error, sqlite3.IntegrityError) and error.sqlite_errorcode in _OF_ANOTHER_PROGRAM


def refused_by_another_program(error: sqlite3.Error) -> Unavailable:
    """What to say then."""
    return Unavailable(
        f"the database refuses it ({error}), for another program put a trigger or a table there: `tinkbox doctor` names it. The next start of "
        "tinkbox takes it out, and records it"
    )


def in_use(path: Path, error: sqlite3.Error, *, doing: str) -> Unavailable:
    """What to say where a file cannot be read or written that was open already: `doing` is READ or WRITTEN."""
    code = _code(error)
    if code in _DAMAGED:
        return Unavailable(damaged_in_use(path, str(error)))
    return Unavailable(f"the store cannot be {doing} ({error}): {_way_out(path, code).text}, then try again")


def what_refused(path: Path, error: sqlite3.Error) -> Unwritable:
    """What kept the file from being written."""
    return _way_out(path, _code(error))


def damaged_in_use(path: Path, why: str) -> str:
    """What to say of a damaged file that is used; `why` is what SQLite found."""
    return f"the store {path} is damaged ({why}): stop tinkbox, then {_rescue(path)}"


def at_start(path: Path, error: sqlite3.Error) -> Unavailable:
    """What to say where the file cannot be used at all."""
    what, code = f"cannot use the store {path}: {error}", _code(error)
    if path.is_dir():
        return Unavailable(f"{what}: it is a folder; move it away, or put a backup of the file in its place")
    if code in _DAMAGED:
        return Unavailable(f"{what}: {_rescue(path)}")
    if code in _OF_THE_FILE and code != sqlite3.SQLITE_CANTOPEN:
        return Unavailable(f"{what}: {_way_out(path, code).text}")
    return Unavailable(f"{what}: {_must_be()}")


def refuse_damaged(connection: sqlite3.Connection, path: Path) -> None:
    """Raise Unavailable where SQLite finds damage in the whole file, as far as it comes within SECONDS."""
    end = time.monotonic() + SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
    try:
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.OperationalError as error:
        if _code(error) == sqlite3.SQLITE_INTERRUPT:
            return
        raise
    finally:
        connection.set_progress_handler(None, 0)
    if found != "ok":
        raise Unavailable(f"the store {path} is damaged ({' '.join(found.split())}): {_rescue(path)}")


def _rescue(path: Path) -> str:
    # Some builds of the shell have a .recover that yields nothing, so no command is told that would put that in its place.
    return (
        f"put a backup of the data folder in its place; without one, move {path.name} away with its {path.name}-wal to begin "
        "with an empty store, and try to rescue what can be read (sqlite3's `.recover`, https://sqlite.org/recovery.html)"
    )


def _way_out(path: Path, code: int) -> Unwritable:
    folder = path.parent
    files = (path, *(Path(f"{path}{each}") for each in _BESIDE))
    if code in _OF_THE_DISK and (seen := unwritable(folder, *files)).text:
        return seen
    if code == sqlite3.SQLITE_FULL:
        return Unwritable(WriteFault.FULL, no_room(folder, _free(folder)))
    if code == sqlite3.SQLITE_IOERR:
        return failing(folder)
    if code in _LOCKED:
        text = f"another program holds it: `fuser -v {path}` tells which; end that program"
        return Unwritable(WriteFault.LOCKED, text)
    return Unwritable(WriteFault.OTHER, _other_way_out(path, code))


def _other_way_out(path: Path, code: int) -> str:
    folder = path.parent
    if code == sqlite3.SQLITE_NOMEM:
        return "no memory is left: `free -m` and `ps aux --sort=-rss` tell what takes it"
    if code not in _OF_THE_FILE:
        return f"check the file with `sqlite3 {path} 'PRAGMA integrity_check'`"
    if code == sqlite3.SQLITE_READONLY:
        return f"see whether its file system is read-only (`findmnt -T {folder}`) and whose it is (`ls -l {folder}`): {_must_be()}"
    return _must_be()


def _must_be() -> str:
    return f"it must be a file that {user_name(os.geteuid())} can read and write, in such a folder"


def _free(folder: Path) -> int | None:
    with suppress(OSError):
        return shutil.disk_usage(folder).free
    return None


def _code(error: sqlite3.Error) -> int:
    """Of its primary kind; 0 for an error that Python raises by itself."""
    return int(getattr(error, "sqlite_errorcode", 0)) & _PRIMARY
