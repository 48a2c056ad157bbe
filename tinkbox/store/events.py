"""Events: past facts, numbered per workflow without gaps and over everything without repetition."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import aiosqlite

from tinkbox.model.workflow import Event


class EventTable:
    """Questions about what happened."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._sql = connection

    async def add(self, workflow_id: str, at: datetime, kind: str, data: Mapping[str, Any]) -> None:
        """Append a fact to its workflow."""
        await self._sql.execute(
            "INSERT INTO event (workflow_id, number, at, kind, data) "
            "SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4 FROM event WHERE workflow_id = ?1",
            (workflow_id, at.isoformat(), kind, json.dumps(data)),
        )

    async def of(self, workflow_id: str) -> list[Event]:
        """A workflow's events in their order."""
        rows = await self._sql.execute_fetchall(
            "SELECT * FROM event WHERE workflow_id = ? ORDER BY number", (workflow_id,)
        )
        return [_event(row) for row in rows]

    async def after(self, sequence: int, limit: int) -> list[tuple[int, Event]]:
        """The next events of any workflow, each with its place in the whole."""
        rows = await self._sql.execute_fetchall(
            "SELECT * FROM event WHERE sequence > ? ORDER BY sequence LIMIT ?", (sequence, limit)
        )
        return [(row["sequence"], _event(row)) for row in rows]

    async def newest(self) -> int:
        """The place of the newest event in the whole, 0 when there is none."""
        rows = await self._sql.execute_fetchall("SELECT coalesce(max(sequence), 0) AS newest FROM event")
        return next(int(row["newest"]) for row in rows)


def _event(row: aiosqlite.Row) -> Event:
    return Event(
        workflow_id=row["workflow_id"],
        number=row["number"],
        at=datetime.fromisoformat(row["at"]),
        kind=row["kind"],
        data=json.loads(row["data"]),
    )
