"""What was seen of machines, known or not, by their MACs."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tinkbox.model.boot import ASKED, EVIDENCE, INSTALLED, REFUSALS, Stage
from tinkbox.model.hardware import MacAddress
from tinkbox.model.sightings import Sighting
from tinkbox.model.workflow import Outcome, State
from tinkbox.store.formats.actions import action_of, outcome_of

KEPT_SIGHTINGS = 200
KEPT_EVIDENCE = 60  # beside those
KEPT_OF_SYSTEMS = 120


_EVIDENCE, _REFUSALS, _INSTALLED, _ASKED, _KEPT_APART = (
    json.dumps([each.name for each in stages])
    for stages in (EVIDENCE - REFUSALS, REFUSALS, INSTALLED, ASKED, EVIDENCE | INSTALLED | ASKED)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One attempt at an action, as far as a machine's story tells it."""

    attempt: str
    workflow_id: str
    task: str
    action: str
    state: State
    started_at: datetime
    ended_at: datetime | None
    outcome: Outcome | None


class SightingTable:
    """Questions about boot timelines.  Sightings are numbered in the order in which they were made."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def save(self, sightings: Mapping[int, Sighting]) -> None:
        """Add sightings, or replace those with their numbers; the newest two hundred of each machine are kept.

        Beside those as many of ASKED, sixty of REFUSALS, sixty of the rest of EVIDENCE, and a hundred and twenty of what installed systems told.
        """
        self._sql.executemany(
            "INSERT INTO sighting (number, mac, at, stage, detail, facts) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (number) DO UPDATE SET mac = excluded.mac, at = excluded.at, stage = excluded.stage, "
            "detail = excluded.detail, facts = excluded.facts",
            [
                (number, each.mac, each.at.isoformat(), each.stage.name, each.detail, json.dumps(dict(each.facts)))
                for number, each in sightings.items()
            ],
        )
        macs = {each.mac for each in sightings.values()}
        for kind, most, stages in (
            ("stage NOT IN", KEPT_SIGHTINGS, _KEPT_APART),
            ("stage IN", KEPT_SIGHTINGS, _ASKED),
            ("stage IN", KEPT_EVIDENCE, _EVIDENCE),
            ("stage IN", KEPT_EVIDENCE, _REFUSALS),
            ("stage IN", KEPT_OF_SYSTEMS, _INSTALLED),
        ):
            of_kind = f"mac = ?1 AND {kind} (SELECT value FROM json_each(?3))"  # noqa: S608  our own words
            self._sql.executemany(
                f"DELETE FROM sighting WHERE {of_kind} AND number <= "  # noqa: S608  our own words
                f"(SELECT number FROM sighting WHERE {of_kind} ORDER BY number DESC LIMIT 1 OFFSET ?2)",
                [(mac, most, stages) for mac in macs],
            )

    def forget(self, macs: Iterable[str]) -> None:
        """Delete everything that was seen of these machines."""
        self._sql.executemany("DELETE FROM sighting WHERE mac = ?", [(each,) for each in macs])

    def newest_at(self) -> datetime | None:
        """The time of the newest sighting of all that are kept."""
        rows = self._sql.execute("SELECT at FROM sighting ORDER BY number DESC LIMIT 1").fetchall()
        return datetime.fromisoformat(rows[0]["at"]) if rows else None

    def of(self, macs: Sequence[str]) -> dict[int, Sighting]:
        """What was seen of these machines by their numbers, oldest first."""
        rows = self._sql.execute(
            "SELECT * FROM sighting WHERE mac IN (SELECT value FROM json_each(?)) ORDER BY number",
            (json.dumps(list(macs)),),
        ).fetchall()
        return {row["number"]: _sighting(row) for row in rows}

    def recent(self, macs: Sequence[str], most: int) -> dict[int, Sighting]:
        """The newest sightings of these machines, at most so many of each, oldest first."""
        rows = self._sql.execute(
            "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY mac ORDER BY number DESC) AS age FROM sighting "
            "WHERE mac IN (SELECT value FROM json_each(?))) WHERE age <= ? ORDER BY number",
            (json.dumps(list(macs)), most),
        ).fetchall()
        return {row["number"]: _sighting(row) for row in rows}

    def newest_first(self) -> Iterator[MacAddress]:
        """Every machine that was seen, that seen last first; none of them is kept in memory."""
        seen = self._sql.execute("SELECT mac FROM sighting GROUP BY mac ORDER BY max(number) DESC")
        return (MacAddress(row["mac"]) for row in seen)

    def behind(self, mac: str, rows: int) -> list[MacAddress]:
        """Machines in the order of their MACs behind one: as many as have so many sightings and lines of syslog, about."""
        found, counted = [], 0
        for row in self._sql.execute(
            "SELECT mac, count(*) + (SELECT count(*) FROM syslog WHERE syslog.mac = sighting.mac) AS number "
            "FROM sighting WHERE mac > ? GROUP BY mac ORDER BY mac",
            (mac,),
        ):
            found.append(MacAddress(row["mac"]))
            counted += row["number"]
            if counted >= rows:
                break
        return found

    def acts(self, hardware_id: str, most: int) -> list[Act]:
        """The newest attempts at actions of a machine, oldest first."""
        rows = self._sql.execute(
            "SELECT * FROM (SELECT attempt.rowid AS number, attempt.*, action.definition FROM attempt "
            "JOIN action ON action.workflow_id = attempt.workflow_id AND action.position = attempt.position "
            "WHERE attempt.worker = ? ORDER BY attempt.rowid DESC LIMIT ?) ORDER BY number",
            (hardware_id, most),
        ).fetchall()
        return [_act(row) for row in rows]


def _act(row: sqlite3.Row) -> Act:
    action = action_of(row["definition"])
    return Act(
        attempt=row["token"],
        workflow_id=row["workflow_id"],
        task=action.task,
        action=action.spec.name,
        state=State(row["state"]),
        started_at=datetime.fromisoformat(row["started_at"]),
        ended_at=datetime.fromisoformat(row["ended_at"]) if row["ended_at"] else None,
        outcome=outcome_of(row["outcome"]),
    )


def _sighting(row: sqlite3.Row) -> Sighting:
    return Sighting(
        mac=MacAddress(row["mac"]),
        at=datetime.fromisoformat(row["at"]),
        stage=Stage[row["stage"]],
        detail=row["detail"],
        facts=json.loads(row["facts"]),
    )
