"""What machines said by syslog, by their MACs."""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from tinkbox.model.hardware import MacAddress
from tinkbox.model.sightings import Line

KEPT_LINES = 500


class SyslogTable:
    """Questions about lines.  They are numbered in the order in which they came."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def save(self, lines: Mapping[int, Line]) -> None:
        """Add lines, once each; the newest five hundred of each machine are kept."""
        self._sql.executemany(
            "INSERT INTO syslog (number, mac, at, severity, program, text) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (number) DO NOTHING",
            [
                (number, each.mac, each.at.isoformat(), each.severity, each.program, each.text)
                for number, each in lines.items()
            ],
        )
        self._sql.executemany(
            "DELETE FROM syslog WHERE mac = ?1 AND number <= "
            "(SELECT number FROM syslog WHERE mac = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)",
            [(mac, KEPT_LINES) for mac in {each.mac for each in lines.values()}],
        )

    def forget(self, macs: Iterable[str]) -> None:
        """Delete everything that these machines said."""
        self._sql.executemany("DELETE FROM syslog WHERE mac = ?", [(each,) for each in macs])

    def of(self, macs: Sequence[str], most: int) -> dict[int, Line]:
        """The newest lines of these machines by their numbers, oldest first."""
        rows = self._sql.execute(
            "SELECT * FROM (SELECT * FROM syslog WHERE mac IN (SELECT value FROM json_each(?)) "
            "ORDER BY number DESC LIMIT ?) ORDER BY number",
            (json.dumps(list(macs)), most),
        ).fetchall()
        return {row["number"]: _line(row) for row in rows}

    def last_number(self) -> int:
        """The number of the newest line, 0 when there is none."""
        rows = self._sql.execute("SELECT coalesce(max(number), 0) AS last FROM syslog").fetchall()
        return next((int(row["last"]) for row in rows), 0)


def _line(row: sqlite3.Row) -> Line:
    return Line(
        mac=MacAddress(row["mac"]),
        at=datetime.fromisoformat(row["at"]),
        severity=row["severity"],
        program=row["program"],
        text=row["text"],
    )
