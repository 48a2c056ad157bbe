"""What people noted about machines, and which of them are out of service."""

import json
import sqlite3
from collections.abc import Iterable
from datetime import datetime

from tinkbox.model.notes import Note, Retirement


class NoteTable:
    """Questions about notes."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def of(self, hardware_id: str) -> list[Note]:
        """Those of a machine, oldest first."""
        return self.of_many([hardware_id]).get(hardware_id, [])

    def of_many(self, ids: Iterable[str]) -> dict[str, list[Note]]:
        """Those of the machines that have any, by their ids."""
        rows = self._sql.execute(
            "SELECT * FROM note WHERE hardware_id IN (SELECT value FROM json_each(?)) ORDER BY hardware_id, number",
            (json.dumps(list(ids)),),
        ).fetchall()
        found: dict[str, list[Note]] = {}
        for row in rows:
            at = datetime.fromisoformat(row["at"])
            note = Note(number=row["number"], at=at, who=row["who"], text=row["text"])
            found.setdefault(row["hardware_id"], []).append(note)
        return found

    def add(self, hardware_id: str, at: datetime, who: str, text: str) -> None:
        self._sql.execute(
            "INSERT INTO note (hardware_id, number, at, who, text) "
            "SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4 FROM note WHERE hardware_id = ?1",
            (hardware_id, at.isoformat(), who, text),
        )

    def remove(self, hardware_id: str, number: int) -> bool:
        """Whether there was one of this number."""
        asked = (hardware_id, number)
        return bool(self._sql.execute("DELETE FROM note WHERE hardware_id = ? AND number = ?", asked).rowcount)


class RetirementTable:
    """Questions about machines that are out of service."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def of(self, hardware_id: str) -> Retirement | None:
        row = self._sql.execute(
            "SELECT at, who, reason FROM retirement WHERE hardware_id = ?", (hardware_id,)
        ).fetchone()
        if row is None:
            return None
        return Retirement(at=datetime.fromisoformat(row["at"]), who=row["who"], reason=row["reason"])

    def all(self) -> dict[str, Retirement]:
        """By the ids of the machines."""
        rows = self._sql.execute("SELECT * FROM retirement").fetchall()
        return {
            row["hardware_id"]: Retirement(at=datetime.fromisoformat(row["at"]), who=row["who"], reason=row["reason"])
            for row in rows
        }

    def put(self, hardware_id: str, retirement: Retirement) -> None:
        self._sql.execute(
            "INSERT INTO retirement (hardware_id, at, who, reason) VALUES (?, ?, ?, ?)",
            (hardware_id, retirement.at.isoformat(), retirement.who, retirement.reason),
        )

    def remove(self, hardware_id: str) -> None:
        self._sql.execute("DELETE FROM retirement WHERE hardware_id = ?", (hardware_id,))
