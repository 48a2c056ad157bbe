"""Room in the database's file that is free, and goes back to the disk."""

import sqlite3


class RoomTable:
    """Questions about pages, of 4096 bytes mostly.  Files of earlier releases keep what is free, and use it again."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def free(self) -> int:
        """Pages that nothing is in."""
        (pages,) = self._sql.execute("PRAGMA freelist_count").fetchone()
        return int(pages)

    def give_back(self, most: int) -> None:
        """Give so many free pages back to the disk."""
        self._sql.execute(f"PRAGMA incremental_vacuum({most:d})").fetchall()
