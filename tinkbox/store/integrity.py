"""Whether the database's file is sound, by a connection of its own: nothing waits for it.  This blocks."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

# Every word of a damaged file would be too many.
_MOST: Final = 3


# A file of so many bytes at most is looked through in a tenth of a second.
_SMALL: Final = 32 << 20


def damage_at_start(path: Path) -> str:
    """As `damage_of`, of a file that is small enough to be looked through before anything is served; of a larger one nothing."""
    try:
        return damage_of(path) if path.stat().st_size <= _SMALL else ""
    except OSError:
        return ""


def damage_of(path: Path) -> str:
    """What SQLite finds wrong with the pages of a file, in one line; empty: nothing.  It reads the whole file."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            found = [str(row[0]) for row in connection.execute(f"PRAGMA quick_check({_MOST})")]
    except sqlite3.DatabaseError as error:
        return str(error)
    return "" if found == ["ok"] else "; ".join(line for each in found for line in each.splitlines() if line.strip())
