"""Figures: what is stored, counted.  Every question is answered by the database, no row of it is loaded."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tinkbox.model.breakpoint import Kind
from tinkbox.model.services import Phase
from tinkbox.model.workflow import State

# The reasons are cast to bytes, for a text that is no UTF-8 must not make a question unanswerable.
_WORKFLOWS = """
    SELECT state, CAST(reason AS BLOB) AS reason, count(*) AS number FROM (
        SELECT state, CASE WHEN state IN ('FAILED', 'TIMEOUT', 'CANCELED') THEN (
            SELECT json_extract(event.data, '$.reason') FROM event
            WHERE event.workflow_id = workflow.id AND event.kind LIKE 'workflow.%' ORDER BY event.number DESC LIMIT 1) END AS reason
        FROM workflow)
    GROUP BY state, reason
"""
_ACTIONS = """
    SELECT state, CAST(reason AS BLOB) AS reason, count(*) AS number FROM (
        SELECT action.state, CASE WHEN action.state IN ('FAILED', 'TIMEOUT', 'CANCELED')
            THEN json_extract(attempt.outcome, '$.reason') END AS reason
        FROM action LEFT JOIN attempt ON attempt.token = action.attempt)
    GROUP BY state, reason
"""
_QUEUES = """
    SELECT action.worker, count(DISTINCT workflow.id) AS length,
           min(CASE WHEN workflow.state = 'PENDING' THEN workflow.updated_at END) AS since
    FROM workflow JOIN action ON action.workflow_id = workflow.id
    WHERE workflow.state IN ('PENDING', 'RUNNING', 'STOPPING')
          AND action.state IN ('PENDING', 'RUNNING', 'HELD', 'LEAVING')
    GROUP BY action.worker ORDER BY action.worker
"""
_SERVICES = """
    SELECT service_run.phase, count(*) AS number
    FROM workflow JOIN service ON service.workflow_id = workflow.id JOIN service_run ON service_run.token = service.run
    WHERE workflow.state IN ('PENDING', 'RUNNING', 'STOPPING') GROUP BY service_run.phase
"""
_HOLDS = "SELECT kind, count(*) AS number FROM hold WHERE ended_at IS NULL GROUP BY kind"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How many workflows or actions stand at a state, for one reason; it is empty where none was given."""

    state: State
    reason: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """The unfinished workflows in which one machine still has something to do.

    `since` is how long one of them waits already for its first action, None when none does.
    """

    worker: str
    length: int
    since: datetime | None


class FigureTable:
    """Questions about how much there is."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def workflows(self) -> Sequence[Standing]:
        """The workflows by state, and by the reason of those that ended badly."""
        return self._standings(_WORKFLOWS)

    def actions(self) -> Sequence[Standing]:
        """The actions by state, and by the reason of those that ended badly."""
        return self._standings(_ACTIONS)

    def queues(self) -> Sequence[Queue]:
        """The queue of every machine that has one."""
        rows = self._sql.execute(_QUEUES).fetchall()
        return [
            Queue(
                worker=row["worker"],
                length=row["length"],
                since=datetime.fromisoformat(row["since"]) if row["since"] else None,
            )
            for row in rows
        ]

    def holds(self) -> Mapping[Kind, int]:
        """The actions that are held, by the kind of their holds."""
        return {Kind(row["kind"]): row["number"] for row in self._sql.execute(_HOLDS).fetchall()}

    def services(self) -> Mapping[Phase, int]:
        """The services of unfinished workflows, by their phase."""
        return {Phase(row["phase"]): row["number"] for row in self._sql.execute(_SERVICES).fetchall()}

    def _standings(self, question: str) -> Sequence[Standing]:
        rows = self._sql.execute(question).fetchall()
        return [
            Standing(
                state=State(row["state"]), reason=(row["reason"] or b"").decode(errors="replace"), number=row["number"]
            )
            for row in rows
        ]
