"""Workflows, their actions and attempts.

A workflow that is not over is PENDING, RUNNING or STOPPING; a machine has something to do in it as long as
an action of its is PENDING, RUNNING, HELD or LEAVING, in one that is STOPPING only what was begun.
"""

import json
import sqlite3
from array import array
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from tinkbox.model.breakpoint import Breakpoints, Hold, Override
from tinkbox.model.declaration import SaidMachine
from tinkbox.model.keys import MOST
from tinkbox.model.labels import LabelKind, Labels
from tinkbox.model.listing import WorkflowListing
from tinkbox.model.metadata import FirstBoot
from tinkbox.model.reasons import ReasonText
from tinkbox.model.workflow import (
    FINAL,
    ActionStatus,
    ListedWorkflow,
    Outcome,
    PlannedAction,
    ShownTasks,
    State,
    Step,
    TaskCount,
    Workflow,
)
from tinkbox.store.formats.actions import action_of, action_text, outcome_of, outcome_text, override_of, override_text
from tinkbox.store.formats.breakpoints import breakpoints_of
from tinkbox.store.formats.json_text import read
from tinkbox.store.formats.metadata import first_boot_of
from tinkbox.store.holds import open_hold, open_holds
from tinkbox.store.labels import LabelTable
from tinkbox.store.listed_templates import called
from tinkbox.store.services import insert_services, services_of
from tinkbox.store.workflow_listing import listed_ids, listed_numbers

_CALLED: Final = called("workflow")
# What `_status` reads, and where it comes from.
_STATUS = (
    "action.*, attempt.started_at, attempt.left_at, attempt.resumed_at, attempt.ended_at, attempt.outcome, hold.held_at"
)
_NEWEST_ATTEMPT = """
    LEFT JOIN attempt ON attempt.token = action.attempt
    LEFT JOIN hold ON hold.attempt = action.attempt AND hold.ended_at IS NULL
"""
_ACTIONS = f"""
    SELECT {_STATUS} FROM action {_NEWEST_ATTEMPT}
    WHERE action.workflow_id IN (SELECT value FROM json_each(?)) ORDER BY position
"""  # noqa: S608  our own columns
# Every column of a workflow but its text.
_HEADS = f"""
    SELECT id, name, template_id, {_CALLED} AS template_called, devices, state, created_at, updated_at, global_timeout, started_at,
           stop_into, stopped_at, reason, message, service, wipe_confirmed, place
    FROM workflow WHERE id IN (SELECT value FROM json_each(?)) ORDER BY number
"""  # noqa: S608  our own columns
# Whatever an action does, that is large, is read of the one alone that a workflow stands at.
_STANDS_AT = f"""
    SELECT {_STATUS}, counts.done, counts.total
    FROM (SELECT workflow_id, count(*) AS total, sum(state IN ('SUCCESS', 'SKIPPED')) AS done,
                 coalesce(min(iif(state IN ('SUCCESS', 'SKIPPED'), NULL, position)), max(position)) AS position
          FROM action WHERE workflow_id IN (SELECT value FROM json_each(?)) GROUP BY workflow_id) AS counts
         JOIN action USING (workflow_id, position) {_NEWEST_ATTEMPT}
"""  # noqa: S608  our own columns
# The machines of workflows, in the order in which their actions come.
_WORKERS = """
    SELECT workflow_id, worker FROM action WHERE workflow_id IN (SELECT value FROM json_each(?))
    GROUP BY workflow_id, worker ORDER BY workflow_id, min(position)
"""
_ADDRESSED = """
    SELECT DISTINCT workflow_id, json_extract(definition, '$.address') AS address, worker AS machine FROM action
    WHERE workflow_id IN (SELECT value FROM json_each(?1))
    UNION SELECT workflow_id, json_extract(definition, '$.address'), host FROM service
    WHERE workflow_id IN (SELECT value FROM json_each(?1)) AND host != ''
"""
_TASKS = """
    SELECT workflow_id, json_extract(definition, '$.task', '$.address') AS called, worker, count(*) AS total,
           sum(state IN ('SUCCESS', 'SKIPPED')) AS done, sum(state = 'SKIPPED') AS skipped
    FROM action WHERE workflow_id IN (SELECT value FROM json_each(?)) GROUP BY workflow_id, called ORDER BY min(position)
"""
_STEP = f"""
    SELECT {_STATUS}, workflow.state AS standing, workflow.stop_into,
           workflow.state = 'PENDING' AND EXISTS (SELECT 1 FROM service JOIN service_run ON service_run.token = service.run
               WHERE service.workflow_id = workflow.id AND service_run.ready_at IS NULL) AS awaits,
           NOT EXISTS (SELECT 1 FROM action AS other WHERE other.workflow_id = workflow.id
               AND other.position != action.position AND other.state NOT IN ('SUCCESS', 'SKIPPED')) AS others_done,
           (SELECT worker FROM action AS other WHERE other.workflow_id = workflow.id
               AND other.position > action.position AND other.state NOT IN ('SUCCESS', 'SKIPPED')
               ORDER BY other.position LIMIT 1) AS following
    FROM workflow JOIN action ON action.workflow_id = workflow.id {_NEWEST_ATTEMPT}
    WHERE workflow.id = ?1 AND action.position = ?2
"""  # noqa: S608  our own columns
_CURRENT_STEP = _STEP.replace(
    "?2",
    """coalesce(
        (SELECT min(position) FROM action WHERE workflow_id = ?1 AND state NOT IN ('SUCCESS', 'SKIPPED')),
        (SELECT max(position) FROM action WHERE workflow_id = ?1))""",
)
# What may be much of a workflow: the bytes and the key of each row, and how one goes.
_BULK: Final = (
    (
        "SELECT length(chunk), output.attempt, start FROM attempt JOIN output ON output.attempt = token WHERE workflow_id = ?",
        "DELETE FROM output WHERE attempt = ? AND start = ?",
    ),
    (
        "SELECT length(chunk), service_output.run, start FROM service_run JOIN service_output ON run = token WHERE workflow_id = ?",
        "DELETE FROM service_output WHERE run = ? AND start = ?",
    ),
    (
        "SELECT iif(archive IS NULL, 0, size), workflow_id, version FROM data WHERE workflow_id = ?",
        "DELETE FROM data WHERE workflow_id = ? AND version = ?",
    ),
    (
        "SELECT ifnull(length(outcome), 0), attempt, sequence FROM hold WHERE workflow_id = ?",
        "DELETE FROM hold WHERE attempt = ? AND sequence = ?",
    ),
    (
        "SELECT length(data), workflow_id, number FROM event WHERE workflow_id = ?",
        "DELETE FROM event WHERE workflow_id = ? AND number = ?",
    ),
)
LEAST_ROW: Final = 1024
_BEHIND: Final = chr(0x10FFFF)  # sorts behind every letter: what begins with a key lies before the key and this
# Texts of which the values are kept, so that each is parsed once.
REMEMBERED: Final = 4096
_UNDER_WAY_COLUMNS = """
    SELECT workflow.id, workflow.state AS standing, workflow.global_timeout, workflow.started_at AS began,
           workflow.stop_into, workflow.stopped_at, workflow.held_seconds, workflow.breakpoints, action.definition, action.failures, first_boot.told AS first_boot, attempt.*
"""
_UNDER_WAY_WITH = f"""
    {_UNDER_WAY_COLUMNS} FROM attempt JOIN workflow ON workflow.id = attempt.workflow_id AND workflow.state IN ('RUNNING', 'STOPPING')
         JOIN action ON action.workflow_id = attempt.workflow_id AND action.position = attempt.position
                        AND action.attempt = attempt.token AND action.state IN ('RUNNING', 'HELD', 'LEAVING')
         LEFT JOIN first_boot ON first_boot.workflow_id = workflow.id AND first_boot.machine = action.worker
    WHERE attempt.token = ?
"""
_UNDER_WAY = f"""
    {_UNDER_WAY_COLUMNS}
    FROM workflow LEFT JOIN action ON action.workflow_id = workflow.id AND action.state IN ('RUNNING', 'HELD', 'LEAVING')
                  LEFT JOIN attempt ON attempt.token = action.attempt
                  LEFT JOIN first_boot ON first_boot.workflow_id = workflow.id AND first_boot.machine = action.worker
    WHERE workflow.state IN ('RUNNING', 'STOPPING')
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try at an action, begun by the worker whose session has this serial.

    `left_at` is since when its machine goes away by intention, `resumed_at` since when it runs again after a hold;
    `debug` tells that its worker takes breakpoints, `override` what a person changed for it; `output_length` counts
    every byte received, kept or not.
    """

    token: str
    workflow_id: str
    position: int
    worker: str
    boot_id: str
    state: State
    started_at: datetime
    session: int = 0
    left_at: datetime | None = None
    resumed_at: datetime | None = None
    ended_at: datetime | None = None
    outcome: Outcome | None = None
    output_length: int = 0
    debug: bool = True
    override: Override | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderWay:
    """A workflow that is RUNNING or STOPPING, with its action that is RUNNING, HELD or LEAVING if there is one.

    `failures` are the action's (`ActionStatus`), `breakpoints` what is armed.
    `began` and `stopped_at` are the workflow's times, `global_timeout` is in seconds, 0: none.  Its clock stood still
    for `held_seconds` since it began, and stands still during `hold`.  `first_boot` is what the system told that the action
    waits for.
    """

    workflow_id: str
    state: State
    began: datetime
    global_timeout: int
    stop_into: State | None
    stopped_at: datetime | None
    action: PlannedAction | None
    attempt: Attempt | None
    failures: int = 0
    held_seconds: float = 0.0
    hold: Hold | None = None
    breakpoints: Breakpoints = field(default_factory=Breakpoints)
    first_boot: FirstBoot = field(default_factory=FirstBoot)


class WorkflowTable:
    """Questions about workflows."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection
        self._labels = LabelTable(connection)

    def insert(self, workflow: Workflow, said: SaidMachine | None = None) -> None:
        """A new workflow with its actions and services, all as given, behind those that are there, and the machine `said` to it."""
        self._sql.execute(
            "INSERT INTO workflow (id, name, template_id, template_name, devices, text, state, created_at, updated_at, "
            "global_timeout, wipe_confirmed, said_machine, said_name, place) "
            "SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, coalesce(max(place), 0) + 1 FROM workflow",
            (
                workflow.id,
                workflow.name,
                workflow.template_id,
                workflow.template_name,
                json.dumps(workflow.devices),
                workflow.text,
                workflow.state,
                workflow.created_at.isoformat(),
                workflow.updated_at.isoformat(),
                workflow.global_timeout,
                workflow.wipe_confirmed,
                said.id if said else "",
                said.name if said else "",
            ),
        )
        self._sql.executemany(
            "INSERT INTO action (workflow_id, position, worker, definition, state, digest) VALUES (?, ?, ?, ?, ?, ?)",
            [
                (workflow.id, each.action.index, each.action.worker, action_text(each.action), each.state, each.digest)
                for each in workflow.actions
            ],
        )
        insert_services(self._sql, workflow.id, workflow.services)

    def ids(self) -> list[str]:
        """The ids of every workflow, oldest first."""
        return self.listed_ids(WorkflowListing())[0]

    def listed_ids(self, wanted: WorkflowListing) -> tuple[list[str], int]:
        """The ids in the order that is asked for, and how many there are without the limit."""
        return listed_ids(self._sql, wanted)

    def listed_numbers(self, wanted: WorkflowListing) -> tuple["array[int]", int]:
        """The same by their numbers, of which none is given twice, for `numbered`."""
        return listed_numbers(self._sql, wanted)

    def numbered(self, numbers: Sequence[int]) -> list[str]:
        """The ids of those of these workflows that are there, in this order."""
        return [
            row["id"]
            for row in self._sql.execute(
                "SELECT workflow.id FROM json_each(?) JOIN workflow ON number = json_each.value ORDER BY json_each.key",
                (json.dumps(list(numbers)),),
            ).fetchall()
        ]

    def finished_before(self, before: datetime, kept: int, most: int) -> list[str]:
        """The ids of workflows that are over and nothing happened to since then, oldest first, but for the `kept` newest."""
        return [
            row["id"]
            for row in self._sql.execute(
                "SELECT id FROM workflow WHERE NOT deleting AND state IN (SELECT value FROM json_each(?1)) "
                "AND updated_at < ?2 AND number <= "
                "(SELECT number FROM workflow WHERE state IN (SELECT value FROM json_each(?1)) "
                "ORDER BY number DESC LIMIT 1 OFFSET ?3) ORDER BY number LIMIT ?4",
                (json.dumps(sorted(FINAL)), before.isoformat(), kept, most),
            ).fetchall()
        ]

    def some(self, ids: Sequence[str]) -> list[Workflow]:
        """Those of these workflows that are there, oldest first."""
        condition = "WHERE id IN (SELECT value FROM json_each(?)) ORDER BY number"
        return self._workflows(condition, (json.dumps(ids),))

    def listed(self, ids: Sequence[str]) -> list[ListedWorkflow]:
        """Those of these workflows that are there, as lists have them, oldest first."""
        wanted = json.dumps(ids)
        rows = self._sql.execute(_HEADS, (wanted,)).fetchall()
        reached = {row["workflow_id"]: row for row in self._sql.execute(_STANDS_AT, (wanted,)).fetchall()}
        workers: dict[str, list[str]] = {}
        for row in self._sql.execute(_WORKERS, (wanted,)).fetchall():
            workers.setdefault(row["workflow_id"], []).append(row["worker"])
        labels = self._labels.of_many(LabelKind.WORKFLOW, ids)
        return [
            _listed(row, reached.get(row["id"]), tuple(workers.get(row["id"], ())), labels.get(row["id"], {}))
            for row in rows
        ]

    def unfinished_and_newest(self, newest: int) -> list[str]:
        """The ids of every workflow that is not over and of the newest of the others, oldest first."""
        rows = self._sql.execute(
            "SELECT id FROM workflow WHERE state IN ('PENDING', 'RUNNING', 'STOPPING') OR number IN (SELECT number FROM workflow "
            "WHERE NOT deleting AND state NOT IN ('PENDING', 'RUNNING', 'STOPPING') ORDER BY number DESC LIMIT ?) ORDER BY number",
            (newest,),
        ).fetchall()
        return [row["id"] for row in rows]

    def tasks(self, ids: Sequence[str], most: int) -> dict[str, ShownTasks]:
        """At most so many tasks of each of these workflows: those about the first that is not done."""
        found: dict[str, list[sqlite3.Row]] = {}
        for row in self._sql.execute(_TASKS, (json.dumps(ids),)).fetchall():
            found.setdefault(row["workflow_id"], []).append(row)
        return {workflow_id: _shown(rows, most) for workflow_id, rows in found.items()}

    def addressed(self, ids: Iterable[str]) -> dict[str, dict[str, str]]:
        """The ids of the machines of each of these workflows by what its tasks and services called them when it was made."""
        found: dict[str, dict[str, str]] = {}
        for row in self._sql.execute(_ADDRESSED, (json.dumps(list(ids)),)).fetchall():
            found.setdefault(row["workflow_id"], {})[row["address"]] = row["machine"]
        return found

    def machines_of(self, workflow_id: str) -> list[str]:
        """The ids of the machines that a workflow has actions for, each once."""
        rows = self._sql.execute(
            "SELECT DISTINCT worker FROM action WHERE workflow_id = ? ORDER BY worker", (workflow_id,)
        )
        return [row["worker"] for row in rows]

    def concerned(self, ids: Collection[str]) -> list[str]:
        """The ids of the machines that these workflows have actions or services for, each once."""
        rows = self._sql.execute(
            "SELECT worker AS machine FROM action WHERE workflow_id IN (SELECT value FROM json_each(?1)) "
            "UNION SELECT host FROM service WHERE workflow_id IN (SELECT value FROM json_each(?1))",
            (json.dumps(list(ids)),),
        )
        return [row["machine"] for row in rows]

    def unfinished_workers(self) -> list[tuple[str, str]]:
        """The machines of every workflow that is not over, each with the workflow's name before it, oldest workflow first."""
        rows = self._sql.execute(
            "SELECT DISTINCT workflow.number, name, worker FROM workflow JOIN action ON workflow_id = id "
            "WHERE workflow.state IN ('PENDING', 'RUNNING', 'STOPPING') ORDER BY workflow.number"
        ).fetchall()
        return [(row["name"], row["worker"]) for row in rows]

    def waited_for(self) -> dict[str, datetime]:
        """The machines of which unfinished workflows need an action still, and when the first of these was created."""
        rows = self._sql.execute(
            "SELECT worker, MIN(created_at) AS since FROM workflow JOIN action ON workflow_id = id "
            "WHERE workflow.state IN ('PENDING', 'RUNNING', 'STOPPING') AND action.state NOT IN ('SUCCESS', 'SKIPPED') "
            "GROUP BY worker"
        ).fetchall()
        return {row["worker"]: datetime.fromisoformat(row["since"]) for row in rows}

    def having(self, workflow_id: str) -> list[Workflow]:
        """The workflow of exactly this id, if it is there."""
        return self._workflows("WHERE NOT deleting AND id = ?", (workflow_id,))

    def named(self, name: str) -> list[Workflow]:
        """The newest workflow of this name; empty when there is none."""
        return self._workflows("WHERE NOT deleting AND name = ? ORDER BY number DESC LIMIT 1", (name,))

    def beginning(self, letters: str) -> list[Workflow]:
        """The workflows whose ids begin so, oldest first; of more than MOST one more."""
        return self._workflows(
            "WHERE id IN (SELECT id FROM workflow WHERE NOT deleting AND id >= ?1 AND id < ?1 || ?2 LIMIT ?3) ORDER BY number",
            (letters, _BEHIND, MOST + 1),
        )

    def called(self, name: str, over: Collection[State] = ()) -> list[tuple[str, State]]:
        """The ids of the workflows of this name with their states, oldest first; of more than MOST the newest, one more.

        Those in a state that is `over` are not among them where others have the name.
        """
        rows = self._sql.execute(
            "SELECT id, state FROM workflow WHERE NOT deleting AND name = ? AND state NOT IN (SELECT value FROM json_each(?)) "
            "ORDER BY number DESC LIMIT ?",
            (name, json.dumps(sorted(over)), MOST + 1),
        ).fetchall()
        if over and not rows:
            return self.called(name)
        return [(row["id"], State(row["state"])) for row in reversed(rows)]

    def called_among(self, name: str, ids: Collection[str]) -> list[tuple[str, State]]:
        """The ids of those of these workflows that have this name, with their states, oldest first."""
        rows = self._sql.execute(
            "SELECT id, state FROM workflow WHERE NOT deleting AND name = ? AND id IN (SELECT value FROM json_each(?)) "
            "ORDER BY number",
            (name, json.dumps(list(ids))),
        ).fetchall()
        return [(row["id"], State(row["state"])) for row in rows]

    def shared_names(self, names: Iterable[str]) -> set[str]:
        """Those of these names that several workflows have."""
        rows = self._sql.execute(
            "SELECT name FROM workflow WHERE NOT deleting AND name IN (SELECT value FROM json_each(?)) GROUP BY name "
            "HAVING COUNT(*) > 1",
            (json.dumps(list(names)),),
        ).fetchall()
        return {row["name"] for row in rows}

    def newest_of(self, worker: str, among: Collection[str] | None = None) -> list[Workflow]:
        """The workflow with an action for this machine that was made or retried last, of those `among` these, None: of all.

        Empty when there is none.
        """
        return self._workflows(
            "WHERE place = (SELECT max(place) FROM workflow WHERE NOT deleting "
            "AND id IN (SELECT workflow_id FROM action WHERE worker = ?1) "
            "AND (?2 IS NULL OR id IN (SELECT value FROM json_each(?2))))",
            (worker, None if among is None else json.dumps(list(among))),
        )

    def overtaking(self, workflow_id: str, worker: str) -> list[tuple[str, str, State]]:
        """The id, name and state of the newest other workflow that has this machine, or began an action there since one ended.

        Empty where there is none that was not deleted.
        """
        rows = self._sql.execute(
            "SELECT id, name, state FROM workflow WHERE id != ?2 AND NOT deleting "
            "AND id IN (SELECT workflow_id FROM action WHERE worker = ?1) "
            "AND (state IN ('PENDING', 'RUNNING', 'STOPPING') OR EXISTS (SELECT 1 FROM attempt "
            "WHERE attempt.workflow_id = workflow.id AND attempt.worker = ?1 "
            "AND attempt.started_at > (SELECT updated_at FROM workflow WHERE id = ?2))) ORDER BY number DESC LIMIT 1",
            (worker, workflow_id),
        ).fetchall()
        return [(row["id"], row["name"], State(row["state"])) for row in rows]

    def last_on(self, worker: str, after: datetime) -> list[tuple[str, str, State]]:
        """The id, name and state of the workflow that began an action on this machine last, if that was later; empty: it was not."""
        rows = self._sql.execute(
            "SELECT workflow.id, name, workflow.state FROM workflow JOIN (SELECT workflow_id, started_at FROM attempt "
            "WHERE worker = ? ORDER BY rowid DESC LIMIT 1) AS newest ON workflow.id = newest.workflow_id "
            "WHERE newest.started_at > ? AND NOT deleting",
            (worker, after.isoformat()),
        ).fetchall()
        return [(row["id"], row["name"], State(row["state"])) for row in rows]

    def has_begun(self, workflow_id: str, worker: str) -> bool:
        """Whether a workflow began an action on this machine."""
        return bool(
            self._sql.execute(
                "SELECT 1 FROM attempt WHERE workflow_id = ? AND worker = ? LIMIT 1", (workflow_id, worker)
            ).fetchall()
        )

    def unfinished_of(self, worker: str) -> list[tuple[str, State]]:
        """The ids and states of the workflows that are not over and have an action for this machine, oldest first."""
        rows = self._sql.execute(
            "SELECT id, state FROM workflow WHERE state IN ('PENDING', 'RUNNING', 'STOPPING') "
            "AND id IN (SELECT workflow_id FROM action WHERE worker = ?) ORDER BY number",
            (worker,),
        ).fetchall()
        return [(row["id"], State(row["state"])) for row in rows]

    def get(self, workflow_id: str) -> Workflow:
        """The workflow of exactly this id, which must be there."""
        (workflow,) = self._workflows("WHERE id = ?", (workflow_id,))
        return workflow

    def step(self, workflow_id: str, position: int) -> Step:
        """The action at a place in a workflow, which must both be there."""
        return _step(self._sql.execute(_STEP, (workflow_id, position)).fetchone())

    def current_step(self, workflow_id: str) -> Step | None:
        """The action that a workflow stands at: the first that is not done, else the last; None when it has none."""
        row = self._sql.execute(_CURRENT_STEP, (workflow_id,)).fetchone()
        return _step(row) if row else None

    def needing(self, worker: str) -> list[str]:
        """Ids of the unfinished workflows that name this machine, for an action or for a service."""
        rows = self._sql.execute(
            "SELECT id FROM workflow WHERE state IN ('PENDING', 'RUNNING', 'STOPPING') AND id IN ("
            "SELECT workflow_id FROM action WHERE worker = ?1 UNION SELECT workflow_id FROM service WHERE host = ?1) "
            "ORDER BY number",
            (worker,),
        ).fetchall()
        return [row["id"] for row in rows]

    def under_way(self, workflow_id: str = "") -> list[UnderWay]:
        """Every workflow that is RUNNING or STOPPING, or this one if it is."""
        condition, values = (" AND workflow.id = ?", (workflow_id,)) if workflow_id else ("", ())
        rows = list(self._sql.execute(_UNDER_WAY + condition, values).fetchall())
        held = [row["id"] for row in rows if row["state"] == State.HELD]
        holds = open_holds(self._sql, held) if held else {}
        return [_under_way(row, holds.get(row["token"])) for row in rows]

    def under_way_with(self, token: str) -> UnderWay | None:
        """The workflow of which this attempt is under way, if it is."""
        row = self._sql.execute(_UNDER_WAY_WITH, (token,)).fetchone()
        if row is None:
            return None
        return _under_way(row, open_hold(self._sql, token) if row["state"] == State.HELD else None)

    def set_state(self, workflow_id: str, state: State, now: datetime) -> None:
        self._sql.execute(
            "UPDATE workflow SET state = ?, updated_at = ? WHERE id = ?", (state, now.isoformat(), workflow_id)
        )

    def set_started(self, workflow_id: str, now: datetime) -> None:
        """Its global timeout counts from now on."""
        self._sql.execute("UPDATE workflow SET started_at = ? WHERE id = ?", (now.isoformat(), workflow_id))

    def set_stop(self, workflow_id: str, into: State, now: datetime) -> None:
        """It was told to stop, and will end in `into`."""
        self._sql.execute(
            "UPDATE workflow SET stop_into = ?, stopped_at = ? WHERE id = ?", (into, now.isoformat(), workflow_id)
        )

    def set_reason(self, workflow_id: str, reason: str, message: str, service: str) -> None:
        """Why it ends badly though no action did: a service is to blame."""
        self._sql.execute(
            "UPDATE workflow SET reason = ?, message = ?, service = ? WHERE id = ?",
            (reason, message, service, workflow_id),
        )

    def make_ready(self, workflow_id: str, first: int) -> None:
        """Forget how it ended, make the actions from `first` on pending again, and put it behind those that wait."""
        self._sql.execute(
            "UPDATE workflow SET started_at = NULL, stop_into = '', stopped_at = NULL, held_seconds = 0, "
            "reason = '', message = '', service = '', place = (SELECT max(place) + 1 FROM workflow) WHERE id = ?",
            (workflow_id,),
        )
        self._sql.execute(
            "UPDATE action SET state = 'PENDING', failures = 0, attempt = '', override = '' "
            "WHERE workflow_id = ? AND position >= ? AND state != 'SKIPPED'",
            (workflow_id, first),
        )

    def confirm_wipe(self, workflow_id: str) -> None:
        """A person lets its actions wipe their disks."""
        self._sql.execute("UPDATE workflow SET wipe_confirmed = 1 WHERE id = ?", (workflow_id,))

    def set_action_state(self, workflow_id: str, position: int, state: State) -> None:
        self._sql.execute(
            "UPDATE action SET state = ? WHERE workflow_id = ? AND position = ?", (state, workflow_id, position)
        )

    def count_failure(self, workflow_id: str, position: int) -> None:
        self._sql.execute(
            "UPDATE action SET failures = failures + 1 WHERE workflow_id = ? AND position = ?", (workflow_id, position)
        )

    def begin_deletion(self, workflow_id: str) -> None:
        """Let nobody find or begin it any more, while what is its goes piece by piece."""
        self._sql.execute(
            "UPDATE workflow SET deleting = 1, state = iif(state = 'PENDING', 'CANCELED', state) WHERE id = ?",
            (workflow_id,),
        )

    def half_deleted(self) -> list[str]:
        """The ids of those of which the deletion began."""
        rows = self._sql.execute("SELECT id FROM workflow WHERE deleting ORDER BY number").fetchall()
        return [row["id"] for row in rows]

    def empty(self, workflow_id: str, most: int) -> int:
        """Delete so many bytes of what is a workflow's, and the rest of a row; returns how many, fewer when no more are left.

        A row counts as LEAST_ROW at least.
        """
        deleted = 0
        for rows, delete in _BULK:
            keys: list[tuple[object, ...]] = []
            for octets, *key in self._sql.execute(rows, (workflow_id,)):
                if deleted >= most:
                    break
                deleted += max(octets, LEAST_ROW)
                keys.append(tuple(key))
            self._sql.executemany(delete, keys)
        return deleted

    def delete(self, workflow_id: str) -> None:
        self._sql.execute("DELETE FROM workflow WHERE id = ?", (workflow_id,))
        self._sql.execute("DELETE FROM event WHERE workflow_id = ?", (workflow_id,))

    def begin_attempt(self, attempt: Attempt) -> None:
        """Store a new attempt and make it the action's, in its state; what was changed for it is for no other."""
        self._sql.execute(
            "INSERT INTO attempt (token, workflow_id, position, worker, boot_id, session, state, started_at, debug, override) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                attempt.token,
                attempt.workflow_id,
                attempt.position,
                attempt.worker,
                attempt.boot_id,
                attempt.session,
                attempt.state,
                attempt.started_at.isoformat(),
                attempt.debug,
                override_text(attempt.override),
            ),
        )
        self._sql.execute(
            "UPDATE action SET attempt = ?, state = ?, override = '' WHERE workflow_id = ? AND position = ?",
            (attempt.token, attempt.state, attempt.workflow_id, attempt.position),
        )

    def leave(self, token: str, now: datetime) -> None:
        """The attempt's machine goes away by intention."""
        self._sql.execute("UPDATE attempt SET state = 'LEAVING', left_at = ? WHERE token = ?", (now.isoformat(), token))

    def hold(self, token: str) -> None:
        """The attempt's action is held."""
        self._sql.execute("UPDATE attempt SET state = 'HELD' WHERE token = ?", (token,))

    def resume(self, token: str, state: State, now: datetime) -> None:
        """The attempt goes on as `state`, its whole time before it; one that left before leaves now."""
        self._sql.execute(
            "UPDATE attempt SET state = ?1, resumed_at = ?2, left_at = CASE WHEN left_at IS NULL THEN NULL ELSE ?2 END "
            "WHERE token = ?3",
            (state, now.isoformat(), token),
        )

    def set_debug(self, token: str, *, debug: bool) -> None:
        """Whether the attempt's worker takes breakpoints."""
        self._sql.execute("UPDATE attempt SET debug = ? WHERE token = ?", (debug, token))

    def end_attempt(self, token: str, outcome: Outcome, now: datetime) -> None:
        self._sql.execute(
            "UPDATE attempt SET state = ?, outcome = ?, ended_at = ? WHERE token = ?",
            (outcome.state, outcome_text(outcome), now.isoformat(), token),
        )

    def attempt(self, token: str) -> Attempt | None:
        rows = self._sql.execute("SELECT * FROM attempt WHERE token = ?", (token,)).fetchall()
        return next((_attempt(row) for row in rows), None)

    def attempts(self, workflow_id: str) -> list[Attempt]:
        """Every attempt at the workflow's actions, in the order in which they began."""
        rows = self._sql.execute(
            "SELECT * FROM attempt WHERE workflow_id = ? ORDER BY rowid", (workflow_id,)
        ).fetchall()
        return [_attempt(row) for row in rows]

    def _workflows(self, condition: str, values: Iterable[object]) -> list[Workflow]:
        found = self._sql.execute(f"SELECT *, {_CALLED} AS template_called FROM workflow {condition}", tuple(values))  # noqa: S608  our own conditions
        rows = list(found.fetchall())
        actions: dict[str, list[ActionStatus]] = {row["id"]: [] for row in rows}
        for row in self._sql.execute(_ACTIONS, (json.dumps(list(actions)),)).fetchall():
            actions[row["workflow_id"]].append(_status(row))
        services = services_of(self._sql, actions)
        return [
            Workflow(
                **_head(row),
                text=row["text"],
                actions=tuple(actions[row["id"]]),
                services=tuple(services.get(row["id"], ())),
            )
            for row in rows
        ]


def _listed(row: sqlite3.Row, reached: sqlite3.Row | None, workers: tuple[str, ...], labels: Labels) -> ListedWorkflow:
    at = _status(reached) if reached else None
    done, total = (reached["done"], reached["total"]) if reached else (0, 0)
    return ListedWorkflow(**_head(row), at=at, done=done, total=total, workers=workers, labels=labels)


def _shown(rows: Sequence[sqlite3.Row], most: int) -> ShownTasks:
    reached = next((place for place, row in enumerate(rows) if row["done"] < row["total"]), len(rows) - 1)
    begin = max(0, min(reached - most // 2, len(rows) - most))
    return ShownTasks(
        tasks=tuple(map(_task, rows[begin : begin + most])), before=begin, after=max(0, len(rows) - begin - most)
    )


def _task(row: sqlite3.Row) -> TaskCount:
    name, address = read(row["called"])
    return TaskCount(
        name=name, worker=row["worker"], address=address, done=row["done"], total=row["total"], skipped=row["skipped"]
    )


def _head(row: sqlite3.Row) -> dict[str, Any]:
    """The fields of a `WorkflowHead`."""
    return {
        "id": row["id"],
        "name": row["name"],
        "template_id": row["template_id"],
        "template_name": row["template_called"],
        "devices": json.loads(row["devices"]),
        "state": State(row["state"]),
        "created_at": datetime.fromisoformat(row["created_at"]),
        "updated_at": datetime.fromisoformat(row["updated_at"]),
        "global_timeout": row["global_timeout"],
        "started_at": _time(row["started_at"]),
        "stop_into": _state(row["stop_into"]),
        "stopped_at": _time(row["stopped_at"]),
        "reason": ReasonText(row["reason"]),
        "message": row["message"],
        "service": row["service"],
        "wipe_confirmed": bool(row["wipe_confirmed"]),
        "run": row["place"],  # each run joins the queues anew
    }


def _under_way(row: sqlite3.Row, hold: Hold | None) -> UnderWay:
    return UnderWay(
        workflow_id=row["id"],
        state=State(row["standing"]),
        began=datetime.fromisoformat(row["began"]),
        global_timeout=row["global_timeout"],
        stop_into=_state(row["stop_into"]),
        stopped_at=_time(row["stopped_at"]),
        action=_action(row["definition"]) if row["definition"] else None,
        attempt=_attempt(row) if row["token"] else None,
        failures=row["failures"] or 0,
        held_seconds=row["held_seconds"],
        hold=hold,
        breakpoints=breakpoints_of(row["breakpoints"]),
        first_boot=first_boot_of(row["first_boot"]),
    )


def _status(row: sqlite3.Row) -> ActionStatus:
    return ActionStatus(
        action=_action(row["definition"]),
        state=State(row["state"]),
        digest=row["digest"],
        failures=row["failures"],
        attempt=row["attempt"],
        started_at=_time(row["started_at"]),
        left_at=_time(row["left_at"]),
        held_at=_time(row["held_at"]),
        resumed_at=_time(row["resumed_at"]),
        ended_at=_time(row["ended_at"]),
        outcome=_outcome(row["outcome"]),
    )


def _step(row: sqlite3.Row) -> Step:
    return Step(
        workflow_id=row["workflow_id"],
        state=State(row["standing"]),
        status=_status(row),
        stop_into=_state(row["stop_into"]),
        awaits=bool(row["awaits"]),
        others_done=bool(row["others_done"]),
        following=row["following"] or "",
    )


def _attempt(row: sqlite3.Row) -> Attempt:
    return Attempt(
        token=row["token"],
        workflow_id=row["workflow_id"],
        position=row["position"],
        worker=row["worker"],
        boot_id=row["boot_id"],
        session=row["session"],
        state=State(row["state"]),
        started_at=datetime.fromisoformat(row["started_at"]),
        left_at=_time(row["left_at"]),
        resumed_at=_time(row["resumed_at"]),
        ended_at=_time(row["ended_at"]),
        outcome=_outcome(row["outcome"]),
        output_length=row["output_length"],
        debug=bool(row["debug"]),
        override=override_of(row["override"]),
    )


# An action never changes, and is asked for at each of its steps.
_action = lru_cache(maxsize=REMEMBERED)(action_of)
# Most end alike.
_outcome = lru_cache(maxsize=REMEMBERED)(outcome_of)


def _state(text: str) -> State | None:
    return State(text) if text else None


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
