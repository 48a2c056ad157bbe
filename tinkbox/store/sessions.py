"""Sessions of workers, one for each machine."""

import json
import sqlite3
from collections.abc import Iterable
from datetime import datetime

from tinkbox.model.session import ENDED, Session


class SessionTable:
    """Questions about sessions.  A holder is a machine's id, or the MAC of one that nobody knows."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def all(self) -> list[Session]:
        return [_session(row) for row in self._sql.execute("SELECT * FROM session").fetchall()]

    def some(self, holders: Iterable[str]) -> list[Session]:
        """Those that these holders have."""
        wanted = json.dumps(list(holders))
        rows = self._sql.execute("SELECT * FROM session WHERE holder IN (SELECT value FROM json_each(?))", (wanted,))
        return [_session(row) for row in rows.fetchall()]

    def of_secret(self, secret: str) -> Session | None:
        """The one with this secret's SHA-256."""
        rows = self._sql.execute("SELECT * FROM session WHERE secret = ? AND secret != ?", (secret, ENDED)).fetchall()
        return _session(rows[0]) if rows else None

    def serial(self, holder: str) -> int:
        """The serial of a machine's session, 0 when it has none."""
        rows = self._sql.execute("SELECT serial FROM session WHERE holder = ?", (holder,)).fetchall()
        return int(rows[0]["serial"]) if rows else 0

    def put(self, session: Session) -> None:
        """Keep it, instead of the one that its holder had."""
        self._sql.execute(
            "INSERT OR REPLACE INTO session "
            "(holder, secret, serial, voided, boot_id, address, instance, begun_at, tpm, tpm_accepted, without_tpm, neighbour) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                session.holder,
                session.secret,
                session.serial,
                session.voided,
                session.boot_id,
                session.address,
                session.instance,
                session.begun_at.isoformat(),
                session.tpm,
                session.tpm_accepted,
                session.without_tpm,
                session.neighbour,
            ),
        )

    def void(self, holder: str, serial: int, now: datetime) -> None:
        """Take no ticket up to this serial that was not exchanged yet."""
        self._sql.execute(
            "INSERT INTO session (holder, secret, serial, voided, boot_id, address, instance, begun_at) "
            "VALUES (?, ?, 0, ?, '', '', '', ?) ON CONFLICT (holder) DO UPDATE SET voided = max(voided, excluded.voided)",
            (holder, ENDED, serial, now.isoformat()),
        )

    def accept_tpm(self, holder: str, fingerprint: str, now: datetime) -> None:
        """Have a machine show this TPM from its next session on; empty: none yet, and its next boot counts as its first."""
        self._sql.execute(
            "INSERT INTO session (holder, secret, serial, voided, boot_id, address, instance, begun_at, tpm_accepted) "
            "VALUES (?, ?, 0, 0, '', '', '', ?, ?) ON CONFLICT (holder) DO UPDATE SET tpm_accepted = excluded.tpm_accepted, without_tpm = 0",
            (holder, ENDED, now.isoformat(), fingerprint),
        )

    def end(self, holders: Iterable[str], how: str = ENDED) -> None:
        """Let nobody work with these any more; what was exchanged for them stays exchanged.  `how` is ENDED or BOOTED."""
        self._sql.executemany("UPDATE session SET secret = ? WHERE holder = ?", [(how, each) for each in holders])

    def hand_over(self, holder: str, heir: str) -> None:
        """Make the session of a machine that nobody knew that of the one it is now, and its TPM the accepted one."""
        self._sql.execute(
            "UPDATE OR REPLACE session SET holder = ?, tpm_accepted = tpm WHERE holder = ?", (heir, holder)
        )

    def forget(self, holders: Iterable[str]) -> None:
        self._sql.executemany("DELETE FROM session WHERE holder = ?", [(each,) for each in holders])


def _session(row: sqlite3.Row) -> Session:
    return Session(
        holder=row["holder"],
        secret=row["secret"],
        serial=row["serial"],
        voided=row["voided"],
        boot_id=row["boot_id"],
        address=row["address"],
        instance=row["instance"],
        begun_at=datetime.fromisoformat(row["begun_at"]),
        tpm=row["tpm"],
        tpm_accepted=row["tpm_accepted"],
        without_tpm=bool(row["without_tpm"]),
        neighbour=row["neighbour"],
    )
