"""The queues of machines, answered without loading a workflow.

A machine's queue are the unfinished workflows in which it still has something to do, in the order of their places.  The
services of a workflow are to be there while it is RUNNING or STOPPING, and while it is PENDING as soon as it is the
first in the queue of the machine that it stands at.
"""

import sqlite3

_NEXT = """
    SELECT workflow.id FROM action JOIN workflow ON workflow.id = action.workflow_id
    WHERE action.worker = {worker} AND action.state IN ('PENDING', 'RUNNING', 'HELD', 'LEAVING')
          AND (workflow.state IN ('PENDING', 'RUNNING') OR workflow.state = 'STOPPING' AND action.state != 'PENDING')
    ORDER BY workflow.place LIMIT 1
"""
_STANDS_AT = """
    SELECT worker FROM action
    WHERE workflow_id = {workflow} AND state NOT IN ('SUCCESS', 'SKIPPED') ORDER BY position LIMIT 1
"""
_NEXT_FOR = _NEXT.format(worker="?1")
_WITH_SERVICES = f"""
    SELECT each.id, each.state != 'PENDING' OR each.id IS (
               {_NEXT.format(worker=f"({_STANDS_AT.format(workflow='each.id')})")}) AS wanted
    FROM workflow AS each
    WHERE each.state IN ('PENDING', 'RUNNING', 'STOPPING')
          AND EXISTS (SELECT 1 FROM service WHERE service.workflow_id = each.id)
    ORDER BY each.place
"""  # noqa: S608


class QueueTable:
    """Questions about who is next."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def next_for(self, worker: str) -> str | None:
        """The first unfinished workflow of its queue in which this machine still has something to do."""
        rows = self._sql.execute(_NEXT_FOR, (worker,)).fetchall()
        return next((row["id"] for row in rows), None)

    def with_services(self) -> dict[str, bool]:
        """The unfinished workflows that have services, by id: whether these are to be there now."""
        rows = self._sql.execute(_WITH_SERVICES).fetchall()
        return {row["id"]: bool(row["wanted"]) for row in rows}
