"""Who was given credentials of machines, for as long as these may count."""

import sqlite3
from collections.abc import Iterable
from datetime import datetime

from tinkbox.model.given_credential import GivenCredential
from tinkbox.model.session import BOOTED, ENDED


class GivenCredentialTable:
    """Questions about credentials by hand: of each machine the newest that each person was given."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def put(self, given: GivenCredential) -> None:
        """Keep it, instead of an earlier one of the same machine and person; nothing of a machine that is gone."""
        self._sql.execute(
            "INSERT INTO given_credential (hardware_id, who, first, serial, at) SELECT id, ?2, ?3, ?3, ?4 FROM hardware WHERE id = ?1 "
            "ON CONFLICT (hardware_id, who) DO UPDATE SET serial = excluded.serial, at = excluded.at",
            (given.hardware_id, given.who, given.serial, given.at.isoformat()),
        )

    def counting(self, who: str) -> list[GivenCredential]:
        """Those of a person with which a worker works, or may begin to (`engine.machines.sessions`), the oldest first."""
        rows = self._sql.execute(
            "SELECT given.* FROM given_credential AS given LEFT JOIN session ON session.holder = given.hardware_id WHERE given.who = ? "
            "AND (session.holder IS NULL OR given.serial > max(session.serial, session.voided) "
            "OR (session.secret NOT IN (?, ?) AND session.serial BETWEEN given.first AND given.serial)) ORDER BY given.at, given.hardware_id",
            (who, ENDED, BOOTED),
        ).fetchall()
        return [
            GivenCredential(
                hardware_id=row["hardware_id"],
                who=row["who"],
                serial=row["serial"],
                at=datetime.fromisoformat(row["at"]),
            )
            for row in rows
        ]

    def forget(self, hardware_ids: Iterable[str]) -> None:
        """All that was given of these machines."""
        self._sql.executemany("DELETE FROM given_credential WHERE hardware_id = ?", [(each,) for each in hardware_ids])
