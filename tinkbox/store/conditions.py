"""Conditions that the doctor's rounds found and that are not over."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from datetime import datetime

from tinkbox.model.condition_events import Identity, Lasting


class ConditionTable:
    """Questions about what lasts."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def all(self) -> dict[Identity, Lasting]:
        """Those that are not over, the oldest first."""
        rows = self._sql.execute("SELECT * FROM condition ORDER BY since, rowid").fetchall()
        return {
            (row["rule"], row["machine"], row["workflow"], row["subject"]): Lasting(
                since=datetime.fromisoformat(row["since"]), told=json.loads(row["told"])
            )
            for row in rows
        }

    def save(self, lasting: Mapping[Identity, Lasting], over: Iterable[Identity]) -> None:
        """Keep these, and no more those that are over."""
        self._sql.executemany(
            "DELETE FROM condition WHERE rule = ? AND machine = ? AND workflow = ? AND subject = ?", over
        )
        self._sql.executemany(
            "INSERT OR REPLACE INTO condition (rule, machine, workflow, subject, since, told) VALUES (?, ?, ?, ?, ?, ?)",
            [(*identity, each.since.isoformat(), json.dumps(each.told)) for identity, each in lasting.items()],
        )
