"""The store's id, each machine's position in its history, and the histories that were lost.

Rule 1: a position goes up with every attempt, in the transaction that begins it, and never down.
Rule 2: what a worker has seen and the store does not know was lost with a disk that was put back to an earlier day.
"""

import sqlite3
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final

from tinkbox.model.journal import Entry, Seen
from tinkbox.store.formats.journals import entries_of, entries_text, restart_of, restart_text

# Of each machine; a worker keeps as many.
KEPT: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LostHistory:
    """What a machine's worker did in the boot `boot_id` that the store does not know, oldest first.

    `seen` is how far the worker is.  `restart` is where its journal begins anew, None before a person discarded it.
    """

    worker: str
    since: datetime
    boot_id: str
    seen: Seen
    entries: tuple[Entry, ...]
    restart: Seen | None = None


class JournalTable:
    """Questions about what workers have seen."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    @cached_property
    def store(self) -> str:
        """The store's id."""
        return str(self._sql.execute("SELECT id FROM store").fetchone()["id"])

    def append(self, worker: str, attempt: str, position: int | None = None) -> int:
        """Note that an attempt is begun for this machine, behind all others or at `position`; returns its position."""
        if position is None:
            position = self.newest(worker) + 1
        self._sql.execute(
            "INSERT INTO journal (worker, position, attempt) VALUES (?, ?, ?)", (worker, position, attempt)
        )
        self._sql.execute("DELETE FROM journal WHERE worker = ? AND position <= ?", (worker, position - KEPT))
        return position

    def newest(self, worker: str) -> int:
        """The machine's position, 0 before its first attempt."""
        row = self._sql.execute(
            "SELECT coalesce(max(position), 0) AS newest FROM journal WHERE worker = ?", (worker,)
        ).fetchone()
        return int(row["newest"])

    def mark_deleted(self, workflow_id: str) -> None:
        """Note that a workflow is deleted: its attempts stay in the histories of its machines."""
        self._sql.execute(
            "UPDATE journal SET deleted_workflow = ?1, deleted_began = (SELECT started_at FROM attempt WHERE token = journal.attempt) "
            "WHERE worker IN (SELECT worker FROM action WHERE workflow_id = ?1) "
            "AND attempt IN (SELECT token FROM attempt WHERE workflow_id = ?1)",
            (workflow_id,),
        )

    def newest_deleted(self, worker: str) -> tuple[str, datetime] | None:
        """The workflow of the newest attempt of this machine that a store began, and when that was, if it was deleted since."""
        row = self._sql.execute(
            "SELECT deleted_workflow, deleted_began FROM journal "
            "WHERE worker = ? AND (deleted_workflow != '' OR EXISTS (SELECT 1 FROM attempt WHERE token = attempt)) "
            "ORDER BY position DESC LIMIT 1",
            (worker,),
        ).fetchone()
        if row is None or not row["deleted_workflow"]:
            return None
        return row["deleted_workflow"], datetime.fromisoformat(row["deleted_began"])

    def position(self, worker: str, attempt: str) -> int:
        """Where an attempt stands, 0 when it is too old to be kept."""
        row = self._sql.execute(
            "SELECT position FROM journal WHERE worker = ? AND attempt = ? ORDER BY position DESC", (worker, attempt)
        ).fetchone()
        return int(row["position"]) if row else 0

    def has(self, worker: str, seen: Seen) -> bool:
        """Whether this store began that attempt at that position."""
        if seen.store != self.store:
            return False
        row = self._sql.execute(
            "SELECT 1 FROM journal WHERE worker = ? AND position = ? AND attempt = ?",
            (worker, seen.position, seen.attempt),
        ).fetchone()
        return row is not None

    def lost(self) -> list[LostHistory]:
        """Every lost history, the oldest first."""
        rows = self._sql.execute("SELECT * FROM lost_history ORDER BY since, worker").fetchall()
        return [_lost(row) for row in rows]

    def lost_of(self, worker: str) -> LostHistory | None:
        """That of this machine, if its history was lost."""
        row = self._sql.execute("SELECT * FROM lost_history WHERE worker = ?", (worker,)).fetchone()
        return _lost(row) if row else None

    def keep(self, lost: LostHistory) -> None:
        """Remember what a worker told, instead of what it told before."""
        told = entries_text(lost.boot_id, lost.seen, lost.entries)
        restart = "" if lost.restart is None else restart_text(lost.restart)
        self._sql.execute(
            "INSERT OR REPLACE INTO lost_history (worker, since, told, restart) VALUES (?, ?, ?, ?)",
            (lost.worker, lost.since.isoformat(), told, restart),
        )

    def forget(self, worker: str) -> None:
        """Nothing of this machine is lost any more."""
        self._sql.execute("DELETE FROM lost_history WHERE worker = ?", (worker,))


def _lost(row: sqlite3.Row) -> LostHistory:
    boot_id, seen, entries = entries_of(row["told"])
    return LostHistory(
        worker=row["worker"],
        since=datetime.fromisoformat(row["since"]),
        boot_id=boot_id,
        seen=seen,
        entries=entries,
        restart=restart_of(row["restart"]),
    )
