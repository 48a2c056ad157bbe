"""Machines whose firmware was given the appliance's authority."""

import sqlite3
from datetime import datetime

from tinkbox.model.enrolment import Enrolment


class EnrolmentTable:
    """Questions about enrolments, at most one of each registered machine."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def all(self) -> list[Enrolment]:
        rows = self._sql.execute("SELECT hardware_id, authority, at FROM enrolment").fetchall()
        return [
            Enrolment(hardware_id=row["hardware_id"], authority=row["authority"], at=datetime.fromisoformat(row["at"]))
            for row in rows
        ]

    def put(self, enrolment: Enrolment) -> bool:
        """Keep it, instead of the one of its machine; False for a machine that is gone."""
        done = self._sql.execute(
            "INSERT OR REPLACE INTO enrolment (hardware_id, authority, at) SELECT id, ?, ? FROM hardware WHERE id = ?",
            (enrolment.authority, enrolment.at.isoformat(), enrolment.hardware_id),
        )
        return done.rowcount > 0

    def forget(self, hardware_id: str) -> None:
        self._sql.execute("DELETE FROM enrolment WHERE hardware_id = ?", (hardware_id,))
