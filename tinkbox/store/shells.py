"""Shells: the sessions in held containers, one of them at most as long as its attempt."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime

from tinkbox.model.shells import ShellEnd, ShellWish
from tinkbox.store.formats.shells import is_masked, wish_of, wish_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One shell, or one command, in the container of an attempt.

    `who` opened it, `driver` types in it or was the last to, and came with the token of the id `token`: empty over the unix
    socket, None where an earlier release did not keep it.  It is served from `begun_at` on, when the first client
    came, until `ended_at`; then `end` says how it ended, and `digest` (SHA-256) and `size` are those of its recording.
    With `masked` its wish is not what was typed: that had a secret in it.
    """

    id: str
    attempt: str
    workflow_id: str
    who: str
    driver: str
    token: str | None = ""
    wish: ShellWish
    record_input: bool
    opened_at: datetime
    masked: bool = False
    begun_at: datetime | None = None
    ended_at: datetime | None = None
    end: ShellEnd | None = None
    digest: str = ""
    size: int = 0


class ShellTable:
    """Questions about shells."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def add(self, session: Session) -> None:
        """Store a new session that nobody came to yet."""
        self._sql.execute(
            "INSERT INTO shell (id, attempt, workflow_id, who, driver, token, wish, record_input, opened_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                session.id,
                session.attempt,
                session.workflow_id,
                session.who,
                session.driver,
                session.token,
                wish_text(session.wish, masked=session.masked),
                session.record_input,
                session.opened_at.isoformat(),
            ),
        )

    def get(self, session_id: str) -> Session | None:
        found = self._sessions("WHERE id = ?", session_id)
        return found[0] if found else None

    def matching(self, key: str) -> list[Session]:
        """The session of this id, else those whose id begins with it."""
        found = self._sessions("WHERE substr(id, 1, length(?1)) = ?1 ORDER BY rowid", key)
        return [each for each in found if each.id == key] or found

    def of(self, workflow_id: str) -> list[Session]:
        """A workflow's sessions, oldest first."""
        return self._sessions("WHERE workflow_id = ? ORDER BY rowid", workflow_id)

    def open_of(self, attempt: str) -> list[Session]:
        """What the attempt's worker is to serve, oldest first; nothing once the attempt is over."""
        return [session for session in self.live_of(attempt) if session.begun_at is not None]

    def live_of(self, attempt: str) -> list[Session]:
        """The attempt's sessions that are not over, begun or not, oldest first; none once the attempt is."""
        return self._sessions(
            "WHERE attempt = ? AND ended_at IS NULL "
            "AND EXISTS (SELECT 1 FROM attempt WHERE token = shell.attempt AND attempt.ended_at IS NULL) ORDER BY rowid",
            attempt,
        )

    def live(self) -> list[Session]:
        """Every session that is not over, also those whose attempt is."""
        return self._sessions("WHERE ended_at IS NULL ORDER BY rowid")

    def left_behind(self) -> list[str]:
        """Ids of the sessions that are not over though their attempt is."""
        rows = self._sql.execute(
            "SELECT shell.id FROM shell JOIN attempt ON attempt.token = shell.attempt "
            "WHERE shell.ended_at IS NULL AND attempt.ended_at IS NOT NULL ORDER BY shell.rowid"
        ).fetchall()
        return [row["id"] for row in rows]

    def in_attempt(self, session_id: str, attempt: str) -> Session | None:
        """The session of this id, be it over; None where there is no such one of that attempt."""
        session = self.get(session_id)
        return session if session is not None and session.attempt == attempt else None

    def begin(self, session_id: str, now: datetime) -> None:
        """Its first client came."""
        self._sql.execute(
            "UPDATE shell SET begun_at = ? WHERE id = ? AND begun_at IS NULL", (now.isoformat(), session_id)
        )

    def set_driver(self, session_id: str, who: str, token: str) -> None:
        """Who types in it from now on, and the id of the token that they came with, empty for none."""
        self._sql.execute("UPDATE shell SET driver = ?, token = ? WHERE id = ?", (who, token, session_id))

    def end(self, session_id: str, end: ShellEnd, now: datetime, *, digest: str, size: int) -> None:
        """It is over, and its recording of `size` bytes complete."""
        self._sql.execute(
            "UPDATE shell SET ended_at = ?, exit_code = ?, reason = ?, message = ?, digest = ?, size = ? WHERE id = ?",
            (now.isoformat(), end.exit_code, end.reason, end.message, digest, size, session_id),
        )

    def _sessions(self, condition: str, *values: object) -> list[Session]:
        rows = self._sql.execute(f"SELECT * FROM shell {condition}", values).fetchall()  # noqa: S608  our own conditions
        return [_session(row) for row in rows]


def _session(row: sqlite3.Row) -> Session:
    over = row["ended_at"] is not None
    return Session(
        id=row["id"],
        attempt=row["attempt"],
        workflow_id=row["workflow_id"],
        who=row["who"],
        driver=row["driver"],
        token=row["token"],
        wish=wish_of(row["wish"]),
        record_input=bool(row["record_input"]),
        opened_at=datetime.fromisoformat(row["opened_at"]),
        masked=is_masked(row["wish"]),
        begun_at=datetime.fromisoformat(row["begun_at"]) if row["begun_at"] else None,
        ended_at=datetime.fromisoformat(row["ended_at"]) if over else None,
        end=ShellEnd(row["exit_code"], row["reason"], row["message"]) if over else None,
        digest=row["digest"],
        size=row["size"],
    )
