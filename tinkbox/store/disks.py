"""What is remembered of machines' disks."""

import sqlite3
from dataclasses import replace
from datetime import datetime

from tinkbox.model.disks.disks import Remembered
from tinkbox.store.formats.disks import contents_of, contents_text

# Of one machine; one that says it has more loses the oldest.
MAX_DISKS = 256
_NOTHING = Remembered()


class DiskTable:
    """Questions about disks, each by its machine and its name."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def get(self, hardware_id: str, name: str, workflow_id: str) -> Remembered:
        """What is remembered of a disk, be it nothing.

        What an attempt may have left of which nobody heard the end counts for its own workflow alone.
        """
        rows = self._sql.execute(
            "SELECT * FROM disk WHERE hardware_id = ? AND name = ?", (hardware_id, name)
        ).fetchall()
        for row in rows:
            found = _remembered(row)
            return found if row["workflow_id"] == workflow_id else replace(found, foreign=None)
        return _NOTHING

    def written_by(self, attempt: str) -> dict[str, Remembered]:
        """The disks, by name, that this attempt was allowed to wipe and that nobody said more of since."""
        rows = self._sql.execute("SELECT * FROM disk WHERE attempt = ? AND not_ours IS NOT NULL", (attempt,)).fetchall()
        return {row["name"]: _remembered(row) for row in rows}

    def keep(
        self, hardware_id: str, name: str, disk: Remembered, workflow_id: str, attempt: str, now: datetime
    ) -> None:
        """Remember this of a disk, and nothing else."""
        not_ours = None if disk.foreign is None else contents_text(disk.foreign)
        self._sql.execute(
            "INSERT OR REPLACE INTO disk (hardware_id, name, ours, not_ours, workflow_id, attempt, changed_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (hardware_id, name, contents_text(disk.ours), not_ours, workflow_id, attempt, now.isoformat()),
        )
        self._sql.execute(
            "DELETE FROM disk WHERE hardware_id = ?1 AND name NOT IN "
            "(SELECT name FROM disk WHERE hardware_id = ?1 ORDER BY changed_at DESC LIMIT ?2)",
            (hardware_id, MAX_DISKS),
        )


def _remembered(row: sqlite3.Row) -> Remembered:
    return Remembered(
        ours=contents_of(row["ours"]),
        foreign=None if row["not_ours"] is None else contents_of(row["not_ours"]),
    )
