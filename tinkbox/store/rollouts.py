"""Rollouts, their machines, and where these stand.

A trigger of the database lets a machine stand where its workflow does; here it is only begun, noted and put back.
"""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from tinkbox.model.labels import parse_labels
from tinkbox.model.listing import OfTemplate
from tinkbox.model.rollout import HOLDING, OVER, UNSUCCESSFUL, Counts, Member, OnFailure, Place, Rollout, RolloutState
from tinkbox.store.formats.breakpoints import breakpoints_of, breakpoints_text
from tinkbox.store.formats.json_text import read, write
from tinkbox.store.holds import AWAITS_VERDICT
from tinkbox.store.listed_templates import called, of_template

_CALLED: Final = called("rollout")
_HEADS: Final = f"""
    SELECT id, template_id, {_CALLED} AS template_called, device, parameters, max_parallel, on_failure, labels, breakpoints,
           wipe_confirmed, who, state, stop_into, created_at, updated_at FROM rollout
"""  # noqa: S608  our own columns
_BUSY: Final = """
    SELECT worker AS machine, workflow.id, workflow.name FROM workflow JOIN action ON action.workflow_id = workflow.id
    WHERE workflow.state IN ('PENDING', 'RUNNING', 'STOPPING') UNION
    SELECT host, workflow.id, workflow.name FROM workflow JOIN service ON service.workflow_id = workflow.id
    WHERE workflow.state IN ('PENDING', 'RUNNING', 'STOPPING')
"""
_IS_BUSY: Final = """
    (EXISTS (SELECT 1 FROM action JOIN workflow ON workflow.id = action.workflow_id
             WHERE action.worker = rollout_machine.machine AND workflow.state IN ('PENDING', 'RUNNING', 'STOPPING'))
     OR EXISTS (SELECT 1 FROM service JOIN workflow ON workflow.id = service.workflow_id
                WHERE service.host = rollout_machine.machine AND workflow.state IN ('PENDING', 'RUNNING', 'STOPPING')))
"""

_MEMBERS: Final = """
    SELECT *, workflow_id != '' AND NOT EXISTS (SELECT 1 FROM workflow WHERE id = workflow_id AND NOT deleting) AS workflow_deleted
    FROM rollout_machine
"""
_IN_SERVICE: Final = """
    (EXISTS (SELECT 1 FROM hardware
             WHERE hardware.id = rollout_machine.machine AND hardware.created_at = rollout_machine.registered)
     AND NOT EXISTS (SELECT 1 FROM retirement WHERE retirement.hardware_id = rollout_machine.machine))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """The workflow that is not over and needs a machine."""

    workflow_id: str
    name: str


class RolloutTable:
    """Questions about rollouts; those about one of its machines name that by its position."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def insert(self, rollout: Rollout, text: str, members: Iterable[Member]) -> None:
        """A new rollout with the text of its template and its machines."""
        self._sql.execute(
            "INSERT INTO rollout (id, template_id, template_name, text, device, parameters, max_parallel, on_failure, labels, "
            "breakpoints, wipe_confirmed, who, state, created_at, updated_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                rollout.id,
                rollout.template_id,
                rollout.template_name,
                text,
                rollout.device,
                write(dict(rollout.parameters)),
                rollout.max_parallel,
                rollout.on_failure,
                write(dict(rollout.labels)),
                breakpoints_text(rollout.breakpoints),
                rollout.wipe_confirmed,
                rollout.who,
                rollout.state,
                rollout.created_at.isoformat(),
                rollout.updated_at.isoformat(),
            ),
        )
        self._sql.executemany(
            "INSERT INTO rollout_machine (rollout_id, position, machine, name, registered) VALUES (?, ?, ?, ?, ?)",
            [
                (
                    rollout.id,
                    each.position,
                    each.machine,
                    each.name,
                    each.registered.isoformat() if each.registered else "",
                )
                for each in members
            ],
        )

    def all(self, of: OfTemplate | None = None) -> list[Rollout]:
        """Every rollout, or those of a template, oldest first."""
        where, values = of_template(of) if of is not None else ("TRUE", [])
        rows = self._sql.execute(f"{_HEADS} WHERE {where} ORDER BY number", values).fetchall()
        return [_rollout(row) for row in rows]

    def get(self, rollout_id: str) -> Rollout | None:
        """The rollout of exactly this id, if it is there."""
        rows = self._sql.execute(f"{_HEADS} WHERE id = ?", (rollout_id,)).fetchall()
        return next(map(_rollout, rows), None)

    def having(self, rollout_id: str) -> list[Rollout]:
        """The rollout of exactly this id, if it is there."""
        return self._found("WHERE id = ?", rollout_id)

    def named(self, template: str) -> list[Rollout]:
        """The newest rollout of the template so called; empty when there is none."""
        return self._found(f"WHERE {_CALLED} = ? ORDER BY number DESC LIMIT 1", template)

    def called(self, template: str) -> list[tuple[str, RolloutState]]:
        """The ids of all rollouts of the template so called with their states, oldest first."""
        rows = self._sql.execute(
            f"SELECT id, state FROM rollout WHERE {_CALLED} = ? ORDER BY number",  # noqa: S608  our own words
            (template,),
        ).fetchall()
        return [(row["id"], RolloutState(row["state"])) for row in rows]

    def beginning(self, letters: str) -> list[Rollout]:
        """The rollouts whose ids begin so, oldest first."""
        return self._found("WHERE substr(id, 1, length(?1)) = ?1 ORDER BY number", letters)

    def _found(self, condition: str, value: str) -> list[Rollout]:
        return [_rollout(row) for row in self._sql.execute(f"{_HEADS} {condition}", (value,)).fetchall()]

    def text(self, rollout_id: str) -> str:
        """The text of the template of a rollout, which must be there."""
        return str(self._sql.execute("SELECT text FROM rollout WHERE id = ?", (rollout_id,)).fetchone()["text"])

    def concerned(self) -> list[str]:
        """The ids of the rollouts that are not over, or of which a workflow ended that is not noted; oldest first."""
        rows = self._sql.execute(
            "SELECT id FROM rollout WHERE state NOT IN (SELECT value FROM json_each(?)) "
            "OR id IN (SELECT rollout_id FROM rollout_machine WHERE noted = 0) ORDER BY number",
            (json.dumps(sorted(OVER)),),
        ).fetchall()
        return [row["id"] for row in rows]

    def counts(self, rollout_ids: Sequence[str], places: Iterable[Place] = Place) -> dict[str, Counts]:
        """How many machines of these rollouts stand where, as far as they stand at one of these places."""
        rows = self._sql.execute(
            "SELECT rollout_id, place, count(*) AS number FROM rollout_machine "
            "WHERE rollout_id IN (SELECT value FROM json_each(?)) AND place IN (SELECT value FROM json_each(?)) "
            "GROUP BY rollout_id, place",
            (json.dumps(rollout_ids), json.dumps(sorted(places))),
        ).fetchall()
        found: dict[str, dict[Place, int]] = {each: {} for each in rollout_ids}
        for row in rows:
            found[row["rollout_id"]][Place(row["place"])] = row["number"]
        return {rollout_id: Counts(by_place=each) for rollout_id, each in found.items()}

    def held(self, rollout_ids: Sequence[str]) -> dict[str, int]:
        """How many running machines of these rollouts are held, and wait for a person's verdict; without those that have none."""
        rows = self._sql.execute(
            "SELECT rollout_id, count(*) AS number FROM rollout_machine "  # noqa: S608  our own words
            "WHERE rollout_id IN (SELECT value FROM json_each(?)) AND place = 'RUNNING' "
            f"AND workflow_id IN (SELECT workflow_id FROM hold WHERE {AWAITS_VERDICT}) GROUP BY rollout_id",
            (json.dumps(rollout_ids),),
        ).fetchall()
        return {row["rollout_id"]: row["number"] for row in rows}

    def members(self, rollout_id: str, places: Iterable[Place] = Place, most: int = -1) -> list[Member]:
        """Its machines that stand at one of these places, in their order; at most so many."""
        rows = self._sql.execute(
            f"{_MEMBERS} WHERE rollout_id = ? AND place IN (SELECT value FROM json_each(?)) "  # noqa: S608
            "ORDER BY position LIMIT ?",
            (rollout_id, json.dumps(sorted(places)), most),
        ).fetchall()
        return [_member(row) for row in rows]

    def member(self, rollout_id: str, position: int) -> Member | None:
        """One of its machines, if it is there."""
        rows = self._sql.execute(f"{_MEMBERS} WHERE rollout_id = ? AND position = ?", (rollout_id, position)).fetchall()
        return next(map(_member, rows), None)

    def ready(self, rollout_id: str, most: int) -> list[Member]:
        """Its next machines that wait and that no unfinished workflow needs."""
        rows = self._sql.execute(
            f"{_MEMBERS} WHERE rollout_id = ? AND place = 'WAITING' AND NOT {_IS_BUSY} ORDER BY position LIMIT ?",
            (rollout_id, most),
        ).fetchall()
        return [_member(row) for row in rows]

    def busy(self, machines: Sequence[str], apart_from: str = "") -> dict[str, Busy]:
        """Those of these machines that unfinished workflows need, by their ids, each with one of these.

        Workflows of the rollout `apart_from` do not count.
        """
        rows = self._sql.execute(
            f"SELECT * FROM ({_BUSY}) WHERE machine IN (SELECT value FROM json_each(?)) "  # noqa: S608
            "AND id NOT IN (SELECT workflow_id FROM rollout_machine WHERE rollout_id = ?)",
            (json.dumps(machines), apart_from),
        ).fetchall()
        return {row["machine"]: Busy(workflow_id=row["id"], name=row["name"]) for row in rows}

    def waiting_in(self, machines: Sequence[str], apart_from: str = "") -> dict[str, str]:
        """Those of these machines that wait in a rollout that goes on, by their ids, each with the id of that.

        The rollout `apart_from` does not count.
        """
        rows = self._sql.execute(
            "SELECT machine, rollout_id FROM rollout_machine JOIN rollout ON rollout.id = rollout_id "
            "WHERE place = 'WAITING' AND state IN (SELECT value FROM json_each(?)) "
            "AND machine IN (SELECT value FROM json_each(?)) AND rollout_id != ?",
            (json.dumps(sorted(HOLDING)), json.dumps(machines), apart_from),
        ).fetchall()
        return {row["machine"]: row["rollout_id"] for row in rows}

    def paused(self) -> set[str]:
        """The ids of those that are paused."""
        rows = self._sql.execute("SELECT id FROM rollout WHERE state = ?", (RolloutState.PAUSED,)).fetchall()
        return {row["id"] for row in rows}

    def out_of_service(self, machines: Sequence[str]) -> dict[str, bool]:
        """Those of these machines that are retired or deleted, by their ids, each with whether it is deleted."""
        rows = self._sql.execute(
            "SELECT value AS machine, value NOT IN (SELECT id FROM hardware) AS deleted FROM json_each(?) "
            "WHERE deleted OR value IN (SELECT hardware_id FROM retirement)",
            (json.dumps(machines),),
        ).fetchall()
        return {row["machine"]: bool(row["deleted"]) for row in rows}

    def in_service(self, rollout_id: str, places: Iterable[Place]) -> list[Member]:
        """Its machines that stand at one of these places, in their order, without those that are retired, or deleted, be they registered anew since it was made."""
        rows = self._sql.execute(
            f"{_MEMBERS} WHERE rollout_id = ? AND place IN (SELECT value FROM json_each(?)) AND {_IN_SERVICE} "  # noqa: S608
            "ORDER BY position",
            (rollout_id, json.dumps(sorted(places))),
        ).fetchall()
        return [_member(row) for row in rows]

    def has_ended(self, rollout_id: str) -> bool:
        """Whether a machine of it ended, which is not noted yet."""
        row = self._sql.execute(
            "SELECT EXISTS (SELECT 1 FROM rollout_machine WHERE rollout_id = ? AND noted = 0) AS ended", (rollout_id,)
        ).fetchone()
        return bool(row["ended"])

    def has_failed(self, rollout_id: str) -> bool:
        """Whether a machine of it failed, which is not noted yet."""
        row = self._sql.execute(
            "SELECT EXISTS (SELECT 1 FROM rollout_machine WHERE rollout_id = ? AND noted = 0 "
            "AND place IN ('FAILED', 'TIMEOUT')) AS failed",
            (rollout_id,),
        ).fetchone()
        return bool(row["failed"])

    def ended(self, rollout_id: str) -> list[Member]:
        """Its machines of which the end is not noted yet."""
        rows = self._sql.execute(
            f"{_MEMBERS} WHERE rollout_id = ? AND noted = 0 ORDER BY position", (rollout_id,)
        ).fetchall()
        return [_member(row) for row in rows]

    def note(self, rollout_id: str, ended: Mapping[int, tuple[str, str]]) -> None:
        """Take note of the ends of machines, each with reason and message."""
        self._sql.executemany(
            "UPDATE rollout_machine SET noted = 1, reason = ?, message = ? WHERE rollout_id = ? AND position = ?",
            [(reason, message, rollout_id, position) for position, (reason, message) in ended.items()],
        )

    def begin(self, rollout_id: str, position: int, workflow_id: str) -> None:
        """A machine's workflow is made, or retried, in the same transaction."""
        self._sql.execute(
            "UPDATE rollout_machine SET place = 'PENDING', workflow_id = ?, reason = '', message = '', noted = 1 "
            "WHERE rollout_id = ? AND position = ?",
            (workflow_id, rollout_id, position),
        )

    def end_unbegun(self, rollout_id: str, position: int, place: Place, message: str) -> None:
        """A machine that waits gets no workflow; the rollout has to take note of it."""
        self._sql.execute(
            "UPDATE rollout_machine SET place = ?, reason = '', message = ?, noted = 0 "
            "WHERE rollout_id = ? AND position = ? AND place = 'WAITING'",
            (place, message, rollout_id, position),
        )

    def end_waiting(self, machine: str, message: str) -> None:
        """A machine gets no workflow of the rollouts that go on and in which it waits, which have to take note of it."""
        self._sql.execute(
            "UPDATE rollout_machine SET place = 'CANCELED', reason = '', message = ?, noted = 0 "
            "WHERE machine = ? AND place = 'WAITING' "
            "AND rollout_id IN (SELECT id FROM rollout WHERE state IN (SELECT value FROM json_each(?)))",
            (message, machine, json.dumps(sorted(HOLDING))),
        )

    def put_back(self, rollout_id: str, positions: Iterable[int]) -> None:
        """Let machines wait again that did not succeed, or were left out."""
        self._sql.executemany(
            "UPDATE rollout_machine SET place = 'WAITING', reason = '', message = '', noted = 1 "
            "WHERE rollout_id = ? AND position = ?",
            [(rollout_id, each) for each in positions],
        )

    def take_as_done(self, rollout_id: str) -> int:
        """Let those succeed whose workflow was stopped when all of its actions were done already; returns how many there are."""
        cursor = self._sql.execute(
            "UPDATE rollout_machine SET place = 'SUCCESS', reason = '', message = '', noted = 1 "
            "WHERE rollout_id = ? AND place IN ('CANCELED', 'TIMEOUT') "
            "AND EXISTS (SELECT 1 FROM workflow WHERE id = rollout_machine.workflow_id AND NOT deleting) "
            "AND EXISTS (SELECT 1 FROM action WHERE workflow_id = rollout_machine.workflow_id) "
            "AND NOT EXISTS (SELECT 1 FROM action WHERE workflow_id = rollout_machine.workflow_id "
            "AND state NOT IN ('SUCCESS', 'SKIPPED'))",
            (rollout_id,),
        )
        return cursor.rowcount

    def leave_out(self, rollout_id: str) -> int:
        """Let those count no more that did not succeed and are not `in_service`; returns how many there are."""
        cursor = self._sql.execute(
            "UPDATE rollout_machine SET place = 'LEFT' "  # noqa: S608
            f"WHERE rollout_id = ? AND place IN (SELECT value FROM json_each(?)) AND NOT {_IN_SERVICE}",
            (rollout_id, json.dumps(sorted(UNSUCCESSFUL))),
        )
        return cursor.rowcount

    def fall_back(self, rollout_id: str) -> None:
        """Let machines that wait for their retry stand where their workflow does; the rollout has to take note of it.

        One whose workflow is deleted is canceled.
        """
        self._sql.execute(
            "UPDATE rollout_machine SET noted = 0, place = coalesce("
            "(SELECT state FROM workflow WHERE id = workflow_id AND NOT deleting), 'CANCELED') "
            "WHERE rollout_id = ? AND place = 'WAITING' AND workflow_id != ''",
            (rollout_id,),
        )

    def set_state(
        self, rollout_id: str, state: RolloutState, now: datetime, stop_into: RolloutState | None = None
    ) -> None:
        self._sql.execute(
            "UPDATE rollout SET state = ?, updated_at = ?, stop_into = ? WHERE id = ?",
            (state, now.isoformat(), stop_into or "", rollout_id),
        )

    def unfinished(self) -> int:
        """How many are not over."""
        row = self._sql.execute(
            "SELECT count(*) AS number FROM rollout WHERE state NOT IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(OVER)),),
        ).fetchone()
        return int(row["number"])

    def forget_surplus(self, kept: int, machines: int) -> None:
        """Delete the oldest that are over, until there are `kept` rollouts with so many `machines` at most."""
        rows = self._sql.execute(
            "SELECT id, state, (SELECT count(*) FROM rollout_machine WHERE rollout_id = id) AS size "
            "FROM rollout ORDER BY number"
        ).fetchall()
        number, size = len(rows), sum(row["size"] for row in rows)
        for row in rows:
            if number <= kept and size <= machines:
                return
            if RolloutState(row["state"]) in OVER:
                self.delete(row["id"])
                number, size = number - 1, size - row["size"]

    def outlived(self, before: datetime) -> list[str]:
        """The ids of those that are over, that nothing happened to since then, and of which no workflow is left; oldest first."""
        rows = self._sql.execute(
            "SELECT id FROM rollout WHERE state IN (SELECT value FROM json_each(?)) AND updated_at < ? "
            "AND NOT EXISTS (SELECT 1 FROM rollout_machine JOIN workflow ON workflow.id = rollout_machine.workflow_id "
            "WHERE rollout_machine.rollout_id = rollout.id) ORDER BY number",
            (json.dumps(sorted(OVER)), before.isoformat()),
        ).fetchall()
        return [row["id"] for row in rows]

    def delete(self, rollout_id: str) -> None:
        """Forget it; its workflows stay."""
        self._sql.execute("DELETE FROM rollout WHERE id = ?", (rollout_id,))


def _rollout(row: sqlite3.Row) -> Rollout:
    return Rollout(
        id=row["id"],
        template_id=row["template_id"],
        template_name=row["template_called"],
        device=row["device"],
        parameters=read(row["parameters"]),
        max_parallel=row["max_parallel"],
        on_failure=OnFailure(row["on_failure"]),
        labels=parse_labels(read(row["labels"])),
        breakpoints=breakpoints_of(row["breakpoints"]),
        wipe_confirmed=bool(row["wipe_confirmed"]),
        who=row["who"],
        state=RolloutState(row["state"]),
        stop_into=RolloutState(row["stop_into"]) if row["stop_into"] else None,
        created_at=datetime.fromisoformat(row["created_at"]),
        updated_at=datetime.fromisoformat(row["updated_at"]),
    )


def _member(row: sqlite3.Row) -> Member:
    return Member(
        position=row["position"],
        machine=row["machine"],
        name=row["name"],
        registered=datetime.fromisoformat(row["registered"]) if row["registered"] else None,
        place=Place(row["place"]),
        workflow_id=row["workflow_id"],
        workflow_deleted=bool(row["workflow_deleted"]),
        reason=row["reason"],
        message=row["message"],
    )
