"""What takes room in the database's file, and room in it that is free and goes back to the disk."""

import sqlite3
from collections.abc import Mapping
from datetime import datetime

from tinkbox.model.disk_usage import EarlyDeletion, Share, Stored

_KINDS = {each.title: each for each in Stored}


class RoomTable:
    """Questions about bytes, which triggers count as rows come and go, and about pages, of 4096 bytes mostly.

    Files of earlier releases keep what is free, and use it again.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def file(self) -> int:
        """The bytes of the file."""
        (octets,) = self._sql.execute(
            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
        ).fetchone()
        return int(octets)

    def free(self) -> int:
        """Pages that nothing is in."""
        (pages,) = self._sql.execute("PRAGMA freelist_count").fetchone()
        return int(pages)

    def give_back(self, most: int) -> None:
        """Give so many free pages back to the disk."""
        for _ in range(most):
            # Python takes the first step of a statement without columns, whatever number stands in it: one page.
            self._sql.execute("PRAGMA incremental_vacuum(1)")

    def shares(self) -> Mapping[Stored, Share]:
        """What each kind takes that lies in the database: its content, and about what its rows cost beside that."""
        rows = self._sql.execute("SELECT kind, octets, number FROM room").fetchall()
        return {_KINDS[row["kind"]]: Share(octets=row["octets"], number=row["number"]) for row in rows}

    def taken(self) -> int:
        """The bytes of all kinds together."""
        (octets,) = self._sql.execute("SELECT sum(octets) FROM room").fetchone()
        return int(octets)

    def early_deletion(self) -> EarlyDeletion | None:
        """What was deleted early the last time."""
        rows = self._sql.execute("SELECT * FROM early_deletion").fetchall()
        for row in rows:
            return EarlyDeletion(
                workflows=row["workflows"],
                octets=row["octets"],
                since=datetime.fromisoformat(row["since"]),
                until=datetime.fromisoformat(row["until"]),
            )
        return None

    def note_early_deletion(self, deletion: EarlyDeletion) -> None:
        """Remember it instead of the one before."""
        self._sql.execute("DELETE FROM early_deletion")
        self._sql.execute(
            "INSERT INTO early_deletion (workflows, octets, since, until) VALUES (?, ?, ?, ?)",
            (deletion.workflows, deletion.octets, deletion.since.isoformat(), deletion.until.isoformat()),
        )
