"""Workflow services and their runs: every retry of a workflow makes a new run of each."""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from tinkbox.model.services import Phase, ServiceStatus, Standing
from tinkbox.model.workflow import FINAL, State
from tinkbox.store.formats.services import files_of, files_text, service_of, service_text, standing_of, standing_text

_RUNS = """
    SELECT service_run.*, service.definition, service.digest, service.run AS newest, workflow.name, workflow.state
    FROM service_run JOIN service USING (workflow_id, position) JOIN workflow ON workflow.id = service_run.workflow_id
"""
_AWAITED = """
    WHERE workflow.state = 'PENDING' AND service_run.token = service.run AND service_run.begun_at IS NOT NULL
          AND service_run.ready_at IS NULL
"""
_LISTED = """
    WHERE service_run.token = service.run AND (workflow.state IN ('PENDING', 'RUNNING', 'STOPPING') OR workflow.number IN (
        SELECT number FROM workflow AS other WHERE state NOT IN ('PENDING', 'RUNNING', 'STOPPING')
        AND EXISTS (SELECT 1 FROM service WHERE workflow_id = other.id) ORDER BY number DESC LIMIT ?))
    ORDER BY workflow.number, position
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRun:
    """One run of a service, with the name and the state of its workflow; only the `newest` counts for that."""

    token: str
    workflow_id: str
    workflow: str
    state: State
    newest: bool
    status: ServiceStatus

    @property
    def over(self) -> bool:
        """Whether nothing of it is to be there any more."""
        return self.state in FINAL or not self.newest


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a run has in its /workflow, as far as it said.

    `files` are fingerprints by path, `removed` says since when it does not have any more what it had.
    """

    run: str
    files: Mapping[str, str] = field(default_factory=dict)
    removed: Mapping[str, datetime] = field(default_factory=dict)


class ServiceTable:
    """Questions about services."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def appliance_id(self) -> str:
        """What tells this appliance from others that use the same Docker engine."""
        rows = self._sql.execute("SELECT id FROM appliance").fetchall()
        return next(str(row["id"]) for row in rows)

    def run(self, token: str) -> ServiceRun | None:
        return next(iter(self._runs("WHERE service_run.token = ?", (token,))), None)

    def newest_of(self, host: str, workflow_ids: Iterable[str]) -> list[ServiceRun]:
        """The newest runs on this host that belong to these workflows, in the order of places."""
        return self._runs(
            "WHERE service_run.token = service.run AND service_run.host = ? "
            "AND workflow.id IN (SELECT value FROM json_each(?)) ORDER BY workflow.place, position",
            (host, json.dumps(list(workflow_ids))),
        )

    def open_or_named(self, host: str, tokens: Iterable[str]) -> list[ServiceRun]:
        """The runs on this host that have not ended, and those of these that are on it, oldest first."""
        return self._runs(
            "WHERE service_run.number IN (SELECT number FROM service_run WHERE host = ?1 AND phase NOT IN ('EXITED', 'FAILED', 'STOPPED') "
            "UNION SELECT number FROM service_run WHERE host = ?1 AND token IN (SELECT value FROM json_each(?2))) "
            "ORDER BY service_run.number",
            (host, json.dumps(list(tokens))),
        )

    def open_of(self, workflow_id: str) -> list[ServiceRun]:
        """The runs of a workflow that have not ended."""
        return self._runs(
            "WHERE service_run.workflow_id = ? AND service_run.phase NOT IN ('EXITED', 'FAILED', 'STOPPED') "
            "ORDER BY service_run.number",
            (workflow_id,),
        )

    def awaited(self, workflow_id: str = "") -> list[ServiceRun]:
        """The runs that a workflow, or this one, waits for since their host was told of them."""
        if workflow_id:
            return self._runs(f"{_AWAITED} AND workflow.id = ? ORDER BY position", (workflow_id,))
        return self._runs(_AWAITED, ())

    def listed(self, finished: int, workflow_id: str = "") -> list[ServiceRun]:
        """The newest runs of all workflows that are not over and of the newest of the others, or of this one."""
        if workflow_id:
            return self._runs(
                "WHERE workflow.id = ? AND service_run.token = service.run ORDER BY position", (workflow_id,)
            )
        return self._runs(_LISTED, (finished,))

    def runs(self, workflow_id: str, name: str) -> list[ServiceRun]:
        """Every run of a service, oldest first."""
        return self._runs(
            "WHERE service_run.workflow_id = ? AND service.name = ? ORDER BY service_run.number", (workflow_id, name)
        )

    def newest_workflow_with(self, name: str) -> str | None:
        """The id of the newest workflow that has a service of this name."""
        rows = self._sql.execute(
            "SELECT workflow.id FROM service JOIN workflow ON workflow.id = service.workflow_id WHERE service.name = ? "
            "ORDER BY workflow.number DESC LIMIT 1",
            (name,),
        ).fetchall()
        return next((row["id"] for row in rows), None)

    def of(self, workflow_ids: Iterable[str]) -> Mapping[str, Sequence[ServiceStatus]]:
        """See `services_of`."""
        return services_of(self._sql, workflow_ids)

    def begin(self, token: str, standing: Standing, now: datetime) -> None:
        """Its host is told of it."""
        self._sql.execute("UPDATE service_run SET begun_at = ? WHERE token = ?", (now.isoformat(), token))
        self.stand(standing, now)

    def stand(self, standing: Standing, now: datetime) -> None:
        """Store where a run stands now."""
        self._sql.execute(
            "UPDATE service_run SET standing = ?1, phase = ?3, changed_at = iif(phase = ?3, changed_at, ?4) WHERE token = ?2",
            (standing_text(standing), standing.run, standing.phase, now.isoformat()),
        )

    def set_ready(self, token: str, now: datetime) -> None:
        """It is ready for the first time."""
        self._sql.execute("UPDATE service_run SET ready_at = ? WHERE token = ?", (now.isoformat(), token))

    def renew(self, workflow_id: str, tokens: Sequence[str]) -> None:
        """Every service of a workflow gets a new run of this token, in their order."""
        for position, token in enumerate(tokens):
            self._sql.execute(
                "UPDATE service SET run = ? WHERE workflow_id = ? AND position = ?", (token, workflow_id, position)
            )
            _insert_run(self._sql, workflow_id, position, Standing(run=token, phase=Phase.PENDING))

    def written(self, workflow_id: str) -> list[Written]:
        """What the newest runs of a workflow have written; those that have not are left out."""
        rows = self._sql.execute(
            "SELECT token, written FROM service JOIN service_run ON token = run "
            "WHERE service.workflow_id = ? AND written != '' ORDER BY service.position",
            (workflow_id,),
        ).fetchall()
        return [_written(row["token"], row["written"]) for row in rows]

    def set_written(self, written: Written) -> None:
        text = files_text(written.files, written.removed)
        self._sql.execute("UPDATE service_run SET written = ? WHERE token = ?", (text, written.run))

    def _runs(self, condition: str, values: Iterable[object]) -> list[ServiceRun]:
        return [_run(row) for row in self._sql.execute(f"{_RUNS} {condition}", tuple(values)).fetchall()]


def insert_services(sql: sqlite3.Connection, workflow_id: str, services: Sequence[ServiceStatus]) -> None:
    """The services of a new workflow, each with its first run."""
    for each in services:
        service = each.service
        sql.execute(
            "INSERT INTO service (workflow_id, position, name, host, definition, run, digest) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                workflow_id,
                service.index,
                service.spec.name,
                service.host,
                service_text(service),
                each.standing.run,
                each.digest,
            ),
        )
        _insert_run(sql, workflow_id, service.index, each.standing)


def services_of(sql: sqlite3.Connection, workflow_ids: Iterable[str]) -> Mapping[str, Sequence[ServiceStatus]]:
    """The services of those of these workflows that have any, with their newest runs."""
    found: dict[str, list[ServiceStatus]] = {}
    rows = sql.execute(
        "SELECT service_run.*, service.definition, service.digest FROM service JOIN service_run ON token = run "
        "WHERE service.workflow_id IN (SELECT value FROM json_each(?)) ORDER BY service.position",
        (json.dumps(list(workflow_ids)),),
    ).fetchall()
    for row in rows:
        found.setdefault(row["workflow_id"], []).append(_status(row))
    return found


def _insert_run(sql: sqlite3.Connection, workflow_id: str, position: int, standing: Standing) -> None:
    sql.execute(
        "INSERT INTO service_run (token, workflow_id, position, host, phase, standing) "
        "SELECT ?, workflow_id, position, host, ?, ? FROM service WHERE workflow_id = ? AND position = ?",
        (standing.run, standing.phase, standing_text(standing), workflow_id, position),
    )


def _run(row: sqlite3.Row) -> ServiceRun:
    return ServiceRun(
        token=row["token"],
        workflow_id=row["workflow_id"],
        workflow=row["name"],
        state=State(row["state"]),
        newest=row["token"] == row["newest"],
        status=_status(row),
    )


def _status(row: sqlite3.Row) -> ServiceStatus:
    return ServiceStatus(
        service=service_of(row["definition"]),
        standing=standing_of(row["standing"]),
        digest=row["digest"],
        begun_at=_time(row["begun_at"]),
        ready_at=_time(row["ready_at"]),
        changed_at=_time(row["changed_at"]),
        output_length=row["output_length"],
    )


def _written(run: str, text: str) -> Written:
    files, removed = files_of(text)
    return Written(run=run, files=files, removed=removed)


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
