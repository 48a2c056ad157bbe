"""Which workflow is shown for each machine: one question for all of them, answered by indexes alone."""

import json
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from tinkbox.model.machine_state import Doing, doing
from tinkbox.model.workflow import State
from tinkbox.store.holds import AWAITS_VERDICT

# Of numbers the greatest wins: what is under way, else the first of the queue, else what joined that last, made or retried.  What ended before a machine
# was registered was for an earlier one, which was deleted.
_SHOWN: Final = """
    SELECT pair.worker AS worker, workflow.id AS id, max(CASE
        WHEN workflow.state IN ('RUNNING', 'STOPPING') THEN 4000000000000000 - workflow.place
        WHEN workflow.state = 'PENDING' THEN 2000000000000000 - workflow.place
        ELSE workflow.place END)
    FROM (SELECT DISTINCT worker, workflow_id FROM action {condition}) AS pair
         JOIN workflow INDEXED BY workflow_standing ON workflow.id = pair.workflow_id
         LEFT JOIN hardware INDEXED BY hardware_registration ON hardware.id = pair.worker
    WHERE NOT workflow.deleting AND (workflow.state IN ('PENDING', 'RUNNING', 'STOPPING')
                                     OR workflow.number > ifnull(hardware.after_workflow, 0))
    GROUP BY pair.worker
"""
# Of machines whose work is PENDING, or has succeeded, there is nothing to tell.
_NOTABLE: Final = "('RUNNING', 'STOPPING', 'FAILED', 'TIMEOUT', 'CANCELED')"
_NOTABLE_WORKERS: Final = f"""
    SELECT DISTINCT worker FROM action
    WHERE workflow_id IN (SELECT id FROM workflow WHERE state IN {_NOTABLE} AND NOT deleting)
"""  # noqa: S608  our own words
# The action that each of these workflows stands at, how many are done, and which machines have begun.
_REACHED: Final = f"""
    SELECT workflow_id, action.state, counts.done, counts.begun,
           EXISTS (SELECT 1 FROM hold WHERE workflow_id = counts.workflow_id AND {AWAITS_VERDICT}) AS waits
    FROM (SELECT workflow_id, sum(state IN ('SUCCESS', 'SKIPPED')) AS done,
                 json_group_array(DISTINCT iif(state IN ('PENDING', 'SKIPPED'), NULL, worker)) AS begun,
                 coalesce(min(iif(state IN ('SUCCESS', 'SKIPPED'), NULL, position)), max(position)) AS position
          FROM action WHERE workflow_id IN (SELECT value FROM json_each(?)) GROUP BY workflow_id) AS counts
         JOIN action USING (workflow_id, position)
"""  # noqa: S608  our own words
_OF_ALL: Final = _SHOWN.format(condition="")
_OF_SOME: Final = _SHOWN.format(condition="WHERE worker IN (SELECT value FROM json_each(?))")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """Where a workflow stands: at an action in this state, behind so many that are done.

    `waits` tells that it is held, and that no verdict was given yet; `begun` are the machines that have begun an action.
    """

    action: State
    done: int
    waits: bool
    begun: frozenset[str]

    def tells(self, machine: str, workflow: State) -> Doing | None:
        """What it tells of where a machine stands, of the workflow that is shown of it and is in this state."""
        return doing(workflow, self.action, waits=self.waits, begun=machine in self.begun, done=self.done)


class MachineWorkTable:
    """Questions about the work that machines have."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def shown(self, workers: Collection[str] | None = None) -> dict[str, str]:
        """By machine, of all or of some, the workflow under way on it, else the next in its queue, else the one made or retried last."""
        if workers is None:
            rows = self._sql.execute(_OF_ALL).fetchall()
        else:
            rows = self._sql.execute(_OF_SOME, (json.dumps(list(workers)),)).fetchall()
        return {row["worker"]: row["id"] for row in rows}

    def notable(self, workers: Collection[str] | None = None) -> dict[str, tuple[str, State]]:
        """By machine, of all or of some, the workflow that is shown of it with its state, where that is under way or ended badly."""
        if workers is None:
            workers = {row["worker"] for row in self._sql.execute(_NOTABLE_WORKERS).fetchall()}
        shown = self.shown(workers)
        rows = self._sql.execute(
            f"SELECT id, state FROM workflow WHERE state IN {_NOTABLE} AND id IN (SELECT value FROM json_each(?))",  # noqa: S608  our own words
            (json.dumps(list(shown.values())),),
        ).fetchall()
        states = {row["id"]: State(row["state"]) for row in rows}
        return {worker: (each, states[each]) for worker, each in shown.items() if each in states}

    def reached(self, workflow_ids: Collection[str]) -> dict[str, Reached]:
        """Where these workflows stand."""
        rows = self._sql.execute(_REACHED, (json.dumps(list(workflow_ids)),)).fetchall()
        return {
            row["workflow_id"]: Reached(
                action=State(row["state"]),
                done=row["done"],
                waits=bool(row["waits"]),
                begun=frozenset(each for each in json.loads(row["begun"]) if each),
            )
            for row in rows
        }

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

    def templates(self) -> dict[str, tuple[str, str]]:
        """The names of the templates by their ids, each with when it was changed last."""
        rows = self._sql.execute("SELECT id, name, updated_at FROM template").fetchall()
        return {row["id"]: (row["name"], row["updated_at"]) for row in rows}
