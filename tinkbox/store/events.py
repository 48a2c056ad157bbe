"""Events: past facts, numbered per workflow and over everything without repetition; a workflow's own without gaps."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from tinkbox.model.workflow import Event


class EventTable:
    """Questions about what happened."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def add(self, workflow_id: str, at: datetime, kind: str, data: Mapping[str, Any]) -> None:
        """Append a fact to its workflow."""
        self._sql.execute(
            "INSERT INTO event (workflow_id, number, at, kind, data) "
            "SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4 FROM event WHERE workflow_id = ?1",
            (workflow_id, at.isoformat(), kind, json.dumps(data)),
        )

    def keep_newest(self, workflow_id: str, number: int, *, alike: Mapping[tuple[str, ...], int]) -> None:
        """Delete all but so many of its newest, and but so many of those that are `alike` in these fields of their data.

        The numbers of those that are left go on, with gaps where others were.
        """
        for fields, most in alike.items():
            self._sql.execute(
                "DELETE FROM event WHERE sequence IN (SELECT sequence FROM ("
                "SELECT sequence, row_number() OVER (PARTITION BY alike ORDER BY number DESC) AS age FROM ("
                "SELECT sequence, number, (SELECT json_group_array(json_extract(event.data, '$.' || field.value)) "
                "FROM json_each(?) AS field) AS alike FROM event WHERE workflow_id = ?)) WHERE age > ?)",
                (json.dumps(fields), workflow_id, most),
            )
        self._sql.execute(
            "DELETE FROM event WHERE workflow_id = ?1 AND number <= (SELECT number FROM event WHERE workflow_id = ?1 "
            "ORDER BY number DESC LIMIT 1 OFFSET ?2)",
            (workflow_id, number),
        )

    def count(self, workflow_id: str) -> int:
        """How many a workflow has."""
        rows = self._sql.execute(
            "SELECT coalesce(max(number), 0) AS n FROM event WHERE workflow_id = ?", (workflow_id,)
        )
        return next(int(row["n"]) for row in rows.fetchall())

    def of(self, workflow_id: str) -> list[Event]:
        """A workflow's events in their order."""
        rows = self._sql.execute("SELECT * FROM event WHERE workflow_id = ? ORDER BY number", (workflow_id,)).fetchall()
        return [_event(row) for row in rows]

    def after(self, sequence: int, limit: int) -> list[tuple[int, Event]]:
        """The next events of any workflow, each with its place in the whole."""
        rows = self._sql.execute(
            "SELECT * FROM event WHERE sequence > ? ORDER BY sequence LIMIT ?", (sequence, limit)
        ).fetchall()
        return [(row["sequence"], _event(row)) for row in rows]

    def place_of(self, workflow_id: str, number: int) -> int | None:
        """The place in the whole of one of a workflow's events; None where it is not there."""
        rows = self._sql.execute(
            "SELECT sequence FROM event WHERE workflow_id = ? AND number = ?", (workflow_id, number)
        ).fetchall()
        return next((int(row["sequence"]) for row in rows), None)

    def newest_of(self, workflow_ids: Sequence[str]) -> Event | None:
        """The newest event of these workflows."""
        rows = self._sql.execute(
            "SELECT * FROM event WHERE workflow_id IN (SELECT value FROM json_each(?)) ORDER BY sequence DESC LIMIT 1",
            (json.dumps(list(workflow_ids)),),
        ).fetchall()
        return next(map(_event, rows), None)

    def newest(self) -> int:
        """The place of the newest event in the whole, also of one that was deleted with its workflow; 0 when there never was one."""
        rows = self._sql.execute(
            "SELECT coalesce(max(seq), 0) AS newest FROM sqlite_sequence WHERE name = 'event'"
        ).fetchall()
        return next(int(row["newest"]) for row in rows)

    def newest_at(self) -> datetime | None:
        """The time of the newest event of all that are kept."""
        rows = self._sql.execute("SELECT at FROM event ORDER BY sequence DESC LIMIT 1").fetchall()
        return datetime.fromisoformat(rows[0]["at"]) if rows else None

    def newest_before(self, moment: datetime) -> datetime | None:
        """The time of the newest event that is no later than a moment."""
        rows = self._sql.execute(
            "SELECT at FROM event WHERE at <= ? ORDER BY sequence DESC LIMIT 1", (moment.isoformat(),)
        ).fetchall()
        return datetime.fromisoformat(rows[0]["at"]) if rows else None


def _event(row: sqlite3.Row) -> Event:
    return Event(
        workflow_id=row["workflow_id"],
        number=row["number"],
        at=datetime.fromisoformat(row["at"]),
        kind=row["kind"],
        data=json.loads(row["data"]),
    )
