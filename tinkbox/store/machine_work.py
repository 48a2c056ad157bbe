"""Which workflow is shown for each machine: one question for all of them, answered by indexes alone."""

import json
import sqlite3
from collections.abc import Collection
from typing import Final

# Of numbers the greatest wins: what is under way, else the first of the queue, else the newest.
_SHOWN: Final = """
    SELECT pair.worker AS worker, workflow.id AS id, max(CASE
        WHEN workflow.state IN ('RUNNING', 'STOPPING') THEN 4000000000000000 - workflow.place
        WHEN workflow.state = 'PENDING' THEN 2000000000000000 - workflow.place
        ELSE workflow.number END)
    FROM (SELECT DISTINCT worker, workflow_id FROM action {condition}) AS pair
         JOIN workflow INDEXED BY workflow_standing ON workflow.id = pair.workflow_id
    WHERE NOT workflow.deleting GROUP BY pair.worker
"""
_FAILED_WORKERS: Final = """
    SELECT DISTINCT worker FROM action
    WHERE workflow_id IN (SELECT id FROM workflow WHERE state IN ('FAILED', 'TIMEOUT') AND NOT deleting)
"""
_OF_ALL: Final = _SHOWN.format(condition="")
_OF_SOME: Final = _SHOWN.format(condition="WHERE worker IN (SELECT value FROM json_each(?))")


class MachineWorkTable:
    """Questions about the work that machines have."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def shown(self, workers: Collection[str] | None = None) -> dict[str, str]:
        """By machine, of all or of some, the workflow under way on it, else the next in its queue, else its newest."""
        if workers is None:
            rows = self._sql.execute(_OF_ALL).fetchall()
        else:
            rows = self._sql.execute(_OF_SOME, (json.dumps(list(workers)),)).fetchall()
        return {row["worker"]: row["id"] for row in rows}

    def failed(self, workers: Collection[str] | None = None) -> dict[str, str]:
        """By machine, of all or of some, the workflow that is shown of it, where that failed."""
        rows = self._sql.execute(_FAILED_WORKERS).fetchall()
        concerned = {row["worker"] for row in rows} if workers is None else set(workers)
        shown = self.shown(concerned)
        failed = self._sql.execute(
            "SELECT id FROM workflow WHERE state IN ('FAILED', 'TIMEOUT') AND id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(shown.values())),),
        ).fetchall()
        ids = {row["id"] for row in failed}
        return {worker: workflow_id for worker, workflow_id in shown.items() if workflow_id in ids}

    def changed(self, sequence: int) -> list[str]:
        """The workflows to which something happened behind this place of the events."""
        rows = self._sql.execute("SELECT DISTINCT workflow_id FROM event WHERE sequence > ?", (sequence,)).fetchall()
        return [row["workflow_id"] for row in rows]

    def created(self, sequence: int) -> int:
        """How many workflows were created behind this place of the events, and are there."""
        (number,) = self._sql.execute(
            "SELECT count(*) FROM event WHERE sequence > ? AND kind = 'workflow.created'", (sequence,)
        ).fetchone()
        return int(number)

    def workers(self, workflow_ids: Collection[str]) -> set[str]:
        """The machines of these workflows."""
        rows = self._sql.execute(
            "SELECT DISTINCT worker FROM action WHERE workflow_id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(workflow_ids)),),
        ).fetchall()
        return {row["worker"] for row in rows}

    def there(self, workflow_ids: Collection[str]) -> set[str]:
        """Those of these workflows that were not deleted."""
        rows = self._sql.execute(
            "SELECT id FROM workflow INDEXED BY workflow_standing "
            "WHERE id IN (SELECT value FROM json_each(?)) AND NOT deleting",
            (json.dumps(list(workflow_ids)),),
        ).fetchall()
        return {row["id"] for row in rows}

    def templates(self) -> dict[str, str]:
        """The names of the templates by their ids."""
        return {row["id"]: row["name"] for row in self._sql.execute("SELECT id, name FROM template").fetchall()}
