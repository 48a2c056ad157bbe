"""Labels of machines, templates and workflows."""

import json
import sqlite3
from collections.abc import Iterable

from tinkbox.model.labels import LabelChange, LabelKind, Labels


class LabelTable:
    """Questions about labels; an `owner` is the id of what has them, and they go when it is deleted."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def of(self, kind: LabelKind, owner: str) -> dict[str, str]:
        return self.of_many(kind, [owner]).get(owner, {})

    def of_many(self, kind: LabelKind, owners: Iterable[str]) -> dict[str, dict[str, str]]:
        """The labels of those of these that have any, by their ids."""
        rows = self._sql.execute(
            "SELECT owner, key, value FROM label WHERE kind = ? AND owner IN (SELECT value FROM json_each(?)) "
            "ORDER BY owner, key",
            (kind, json.dumps(list(owners))),
        ).fetchall()
        found: dict[str, dict[str, str]] = {}
        for row in rows:
            found.setdefault(row["owner"], {})[row["key"]] = row["value"]
        return found

    def change(self, kind: LabelKind, owner: str, change: LabelChange) -> dict[str, str]:
        """Set and take away; returns what it has then.  Raises Invalid for too many."""
        changed = change.applied_to(self.of(kind, owner))
        self.replace(kind, owner, changed)
        return changed

    def replace(self, kind: LabelKind, owner: str, labels: Labels) -> None:
        """Let it have these labels and no others."""
        self._sql.execute("DELETE FROM label WHERE kind = ? AND owner = ?", (kind, owner))
        self._sql.executemany(
            "INSERT INTO label (kind, owner, key, value) VALUES (?, ?, ?, ?)",
            [(kind, owner, key, value) for key, value in labels.items()],
        )
