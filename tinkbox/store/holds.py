"""Breakpoints: what is armed of a workflow, and the holds of its attempts; an attempt has at most one open hold."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from tinkbox.model.breakpoint import THE_TEMPLATE, Breakpoints, Hold, Kind, Override, Verb, Verdict
from tinkbox.store.formats.actions import outcome_of, outcome_text, override_of, override_text
from tinkbox.store.formats.breakpoints import breakpoints_of, breakpoints_text, verdict_of, verdict_text

# The one meaning of `held` in lists, of holds of workflows that are RUNNING: what waits for a person's verdict.
AWAITS_VERDICT: Final = "hold.ended_at IS NULL AND hold.verdict IS NULL"


class HoldTable:
    """Questions about breakpoints."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def armed(self, workflow_id: str) -> Breakpoints:
        """What is armed of a workflow, which must be there."""
        rows = self._sql.execute("SELECT breakpoints FROM workflow WHERE id = ?", (workflow_id,)).fetchall()
        return next(breakpoints_of(row["breakpoints"]) for row in rows)

    def arm(self, workflow_id: str, breakpoints: Breakpoints) -> None:
        """These are armed from now on, and no others."""
        self._sql.execute(
            "UPDATE workflow SET breakpoints = ? WHERE id = ?", (breakpoints_text(breakpoints), workflow_id)
        )

    def was_armed(self, workflow_id: str) -> bool:
        """Whether breakpoints are set for a workflow, or were: a machine may be held by one that was just cleared."""
        rows = self._sql.execute(
            "SELECT 1 FROM workflow WHERE id = ?1 AND (breakpoints != '' OR EXISTS "
            "(SELECT 1 FROM event WHERE workflow_id = ?1 AND kind IN ('breakpoint.armed', 'breakpoint.cleared')))",
            (workflow_id,),
        )
        return bool(rows.fetchall())

    def armed_by_people(self, workflows: Iterable[str]) -> set[str]:
        """Those of these workflows that have breakpoints set, not by their template alone."""
        rows = self._sql.execute(
            "SELECT id FROM workflow WHERE breakpoints != '' AND id IN (SELECT value FROM json_each(?)) AND EXISTS "
            "(SELECT 1 FROM event WHERE workflow_id = workflow.id AND kind = 'breakpoint.armed' "
            "AND json_extract(data, '$.who') != ?)",
            (json.dumps(list(workflows)), THE_TEMPLATE),
        ).fetchall()
        return {row["id"] for row in rows}

    def concerned(self) -> list[str]:
        """Ids of the workflows that are not over and have breakpoints set or an open hold, oldest first."""
        rows = self._sql.execute(
            "SELECT id FROM workflow WHERE state IN ('PENDING', 'RUNNING', 'STOPPING') AND (breakpoints != '' OR "
            "EXISTS (SELECT 1 FROM hold WHERE workflow_id = workflow.id AND ended_at IS NULL)) ORDER BY number"
        ).fetchall()
        return [row["id"] for row in rows]

    def add(self, hold: Hold) -> None:
        """A new hold, not decided yet."""
        self._sql.execute(
            "INSERT INTO hold (attempt, sequence, workflow_id, kind, held_at, deadline, timeout, on_expiry, outcome, "
            "container, in_place) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                hold.attempt,
                hold.sequence,
                hold.workflow_id,
                hold.kind,
                hold.held_at.isoformat(),
                hold.deadline.isoformat(),
                hold.timeout,
                hold.on_expiry,
                None if hold.outcome is None else outcome_text(hold.outcome),
                hold.container,
                hold.in_place,
            ),
        )

    def get(self, attempt: str, sequence: int) -> Hold | None:
        found = self._holds("WHERE attempt = ? AND sequence = ?", attempt, sequence)
        return found[0] if found else None

    def count(self, attempt: str) -> int:
        """How often an attempt was held."""
        return int(self._sql.execute("SELECT count(*) FROM hold WHERE attempt = ?", (attempt,)).fetchone()[0])

    def open_of(self, attempt: str) -> Hold | None:
        """The hold that the attempt is in."""
        return open_hold(self._sql, attempt)

    def awaiting(self, workflows: Sequence[str]) -> dict[str, Hold]:
        """The holds of these workflows that wait for a person's verdict, by workflows; none of these is being stopped."""
        found = open_holds(self._sql, workflows)
        return {each.workflow_id: each for each in found.values() if each.verdict is None}

    def held(self, workflows: Sequence[str]) -> set[str]:
        """Those of these workflows that have an open hold, decided or not."""
        return {each.workflow_id for each in open_holds(self._sql, workflows).values()}

    def of(self, workflow_id: str) -> list[Hold]:
        """Every hold of a workflow's attempts, oldest first."""
        return self._holds("WHERE workflow_id = ? ORDER BY rowid", workflow_id)

    def of_attempt(self, attempt: str) -> list[Hold]:
        """Every hold of an attempt, oldest first."""
        return self._holds("WHERE attempt = ? ORDER BY sequence", attempt)

    def keep(self, hold: Hold) -> None:
        """What may change of a hold before its verdict: its deadline, whether it was warned, and its container."""
        self._sql.execute(
            "UPDATE hold SET deadline = ?, warned = ?, container = ?, in_place = ? WHERE attempt = ? AND sequence = ?",
            (hold.deadline.isoformat(), hold.warned, hold.container, hold.in_place, hold.attempt, hold.sequence),
        )

    def decide(self, hold: Hold, verdict: Verdict, now: datetime) -> bool:
        """Give the verdict, unless there is one already or the hold is over; whether it is the one that counts."""
        cursor = self._sql.execute(
            "UPDATE hold SET verdict = ?, verdict_at = ? "
            "WHERE attempt = ? AND sequence = ? AND verdict IS NULL AND ended_at IS NULL",
            (verdict_text(verdict), now.isoformat(), hold.attempt, hold.sequence),
        )
        return cursor.rowcount == 1

    def end(self, hold: Hold, now: datetime) -> None:
        """The action is not held any more, and its workflow's clock goes on."""
        self._sql.execute(
            "UPDATE hold SET ended_at = ? WHERE attempt = ? AND sequence = ?",
            (now.isoformat(), hold.attempt, hold.sequence),
        )
        self._sql.execute(
            "UPDATE workflow SET held_seconds = held_seconds + ? WHERE id = ?",
            (hold.lasted(now), hold.workflow_id),
        )

    def override(self, workflow_id: str, position: int) -> Override | None:
        """What a person changed for the next attempt at an action, None: nothing."""
        rows = self._sql.execute(
            "SELECT override FROM action WHERE workflow_id = ? AND position = ?", (workflow_id, position)
        ).fetchall()
        return next(override_of(row["override"]) for row in rows)

    def set_override(self, workflow_id: str, position: int, override: Override) -> None:
        """The next attempt at an action is changed so; the one after it is not."""
        self._sql.execute(
            "UPDATE action SET override = ? WHERE workflow_id = ? AND position = ?",
            (override_text(override), workflow_id, position),
        )

    def _holds(self, condition: str, *values: object) -> list[Hold]:
        rows = self._sql.execute(f"SELECT * FROM hold {condition}", values).fetchall()  # noqa: S608  our own conditions
        return [hold_of(row) for row in rows]


def open_hold(connection: sqlite3.Connection, attempt: str) -> Hold | None:
    """The hold that the attempt is in."""
    row = connection.execute("SELECT * FROM hold WHERE attempt = ? AND ended_at IS NULL", (attempt,)).fetchone()
    return hold_of(row) if row else None


def open_holds(connection: sqlite3.Connection, workflows: Sequence[str]) -> dict[str, Hold]:
    """The open holds of these workflows, each by its attempt."""
    rows = connection.execute(
        "SELECT * FROM hold WHERE ended_at IS NULL AND workflow_id IN (SELECT value FROM json_each(?))",
        (json.dumps(workflows),),
    ).fetchall()
    return {row["attempt"]: hold_of(row) for row in rows}


def hold_of(row: sqlite3.Row) -> Hold:
    """A row of the table."""
    return Hold(
        attempt=row["attempt"],
        sequence=row["sequence"],
        workflow_id=row["workflow_id"],
        kind=Kind(row["kind"]),
        held_at=datetime.fromisoformat(row["held_at"]),
        deadline=datetime.fromisoformat(row["deadline"]),
        timeout=row["timeout"],
        on_expiry=Verb(row["on_expiry"]),
        outcome=outcome_of(row["outcome"]),
        container=bool(row["container"]),
        in_place=bool(row["in_place"]),
        warned=bool(row["warned"]),
        verdict=verdict_of(row["verdict"]),
        verdict_at=datetime.fromisoformat(row["verdict_at"]) if row["verdict_at"] else None,
        ended_at=datetime.fromisoformat(row["ended_at"]) if row["ended_at"] else None,
    )
