"""The file is written anew at a start, so that nothing is left in it of what was deleted.

SQLite overwrites what it deletes (`secure_delete`), but not what it moved between pages before: of one row in some hundreds
a copy lies on where nothing is.  Releases before schema 51 overwrote nothing, so their files are written anew once, whatever
that takes; beyond that, files that take no time.
"""

import asyncio
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tinkbox.model.disk_usage import LAST_ROOM
from tinkbox.model.sizes import show_size
from tinkbox.store.threads import ConnectionThread

# It takes less than half a second on a quick disk.
SMALL: Final = 32 << 20
SAY_EVERY: Final = 30.0  # seconds


async def rewrite(thread: ConnectionThread, path: Path, say: Callable[[str], None]) -> None:
    """Write the file anew where it is small, or where that is due; say what takes long, and why what is due cannot be done.

    Then the next start tries again.
    """
    due = await thread.call(lambda: _is_due(thread.connection))
    size, free = path.stat().st_size, shutil.disk_usage(path.parent).free
    if not due and size > SMALL:
        return
    left = f"what earlier releases deleted, such as secrets, may still be in {path}, for it could not be written anew"
    # SQLite's copy, and the log that this goes through.
    needed = 2 * size + LAST_ROOM
    if free < needed:
        if due:
            say(
                f"warning: {left}: that takes {show_size(needed)} on its disk, and {show_size(free)} is free. Free some, then "
                "restart tinkbox"
            )
        return
    if size > SMALL:
        say(
            f"{path} ({show_size(size)}) is written anew, this once, so that nothing is left in it of what earlier releases "
            "deleted; tinkbox answers after that. When you stop it meanwhile, the next start begins again"
        )
    begun = time.monotonic()
    writing = thread.call(lambda: _write_anew(thread.connection, path.parent))
    while not (await asyncio.wait([writing], timeout=SAY_EVERY))[0]:
        say(f"{path} is written anew: {time.monotonic() - begun:.0f} s so far")
    try:
        await writing
    except sqlite3.Error as error:
        if due:
            say(f"warning: {left} ({error}): see that its disk has room and no errors (`dmesg`), then restart tinkbox")


def _is_due(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM rewriting").fetchone() is not None


def _write_anew(connection: sqlite3.Connection, folder: Path) -> None:
    # SQLite makes its copy where temporary files are, which may be another disk, or memory.  This is for the whole process:
    # no other connection is open yet.
    _keep_temporary_files(connection, str(folder))
    try:
        # Files of schema 13 and earlier give free room back once they are written with this.
        connection.executescript("PRAGMA auto_vacuum = INCREMENTAL; VACUUM; DELETE FROM rewriting")
    finally:
        _keep_temporary_files(connection, "")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _keep_temporary_files(connection: sqlite3.Connection, folder: str) -> None:
    quoted = folder.replace("'", "''")
    connection.execute(f"PRAGMA temp_store_directory = '{quoted}'")
