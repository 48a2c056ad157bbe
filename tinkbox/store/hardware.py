"""Machines: their documents, permissions, and how far they have come."""

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from ipaddress import IPv4Address
from typing import Final

from tinkbox.model.boot import Stage
from tinkbox.model.documents.hardware import hardware_from_document
from tinkbox.model.documents.json_text import read_kept
from tinkbox.model.hardware import Hardware, addressed_by, names_of, spelled_address
from tinkbox.model.notes import Retirement

# Machines of which the documents are kept as values.
REMEMBERED: Final = 4096
# Earlier releases took documents with NaN, which SQLite does not: such a machine has neither name nor agent id here.
_DOCUMENT: Final = "CASE WHEN json_valid(document) THEN document END"
_AGENT: Final = f"json_extract({_DOCUMENT}, '$.spec.agentID')"
# All spellings of a MAC or an id are alike in it.  The index `hardware_by_bare_agent` is of this very expression, of _AGENT.
_BARE: Final = "replace(replace(replace(lower(trim({}, char(9, 10, 11, 12, 13, 32))), ':', ''), '-', ''), '.', '')"
_RECORDS = """
    SELECT hardware.*,
           (SELECT attempt FROM action WHERE worker = hardware.id AND state = 'LEAVING') AS leaving,
           (SELECT json_extract(definition, '$.until') FROM action WHERE worker = hardware.id AND state = 'LEAVING') AS until,
           EXISTS (SELECT 1 FROM action JOIN workflow ON workflow.id = action.workflow_id
                   WHERE action.worker = hardware.id AND action.state IN ('PENDING', 'RUNNING', 'HELD')
                   AND workflow.state IN ('PENDING', 'RUNNING')) AS wanted,
           (SELECT json_group_object(key, value) FROM label WHERE kind = 'machine' AND owner = hardware.id) AS labels,
           (SELECT json_array(at, who, reason) FROM retirement WHERE hardware_id = hardware.id) AS retired
    FROM hardware
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineRecord:
    """One machine as stored.

    `leaving` is the attempt of which the machine goes away by intention, or empty; `wanted` tells that
    something is left for it to do (besides that).  `to_disk` tells that the action of that attempt waits for the installed system.
    One that is `retired` is out of service.
    """

    hardware: Hardware
    created_at: datetime
    updated_at: datetime
    ticket: bool
    installed: bool
    boots: int = 0
    furthest: Stage | None = None
    stage: Stage | None = None
    stage_at: datetime | None = None
    boot_id: str = ""
    last_contact: datetime | None = None
    leaving: str = ""
    wanted: bool = False
    to_disk: bool = False
    retired: Retirement | None = None


class HardwareTable:
    """Questions about machines."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def all(self) -> list[MachineRecord]:
        """Every machine, oldest first."""
        rows = self._sql.execute(f"{_RECORDS} ORDER BY created_at, id").fetchall()
        return [_record(row) for row in rows]

    def some(self, ids: Iterable[str]) -> list[MachineRecord]:
        """Those of these machines that are there."""
        wanted = json.dumps(list(ids))
        rows = self._sql.execute(f"{_RECORDS} WHERE id IN (SELECT value FROM json_each(?))", (wanted,)).fetchall()  # noqa: S608
        return [_record(row) for row in rows]

    def versions(self) -> dict[str, datetime]:
        """When each machine's document was stored last, by their ids, oldest machine first."""
        rows = self._sql.execute("SELECT id, updated_at FROM hardware ORDER BY created_at, id").fetchall()
        return {row["id"]: datetime.fromisoformat(row["updated_at"]) for row in rows}

    def holders(self, hardware: Hardware) -> list[tuple[str, str]]:
        """(what, hardware id) of other machines that have what it is `addressed_by`, or one of its names as their id."""
        claims = addressed_by(hardware)
        names = [each.lower() for each in names_of(hardware)]
        rows = self._sql.execute(
            "SELECT mac AS claim, hardware_id FROM interface WHERE mac IN (SELECT value FROM json_each(:c)) AND hardware_id != :id "
            "UNION SELECT address, hardware_id FROM interface WHERE address IN (SELECT value FROM json_each(:c)) AND hardware_id != :id "
            "UNION SELECT id, id FROM hardware WHERE id IN (SELECT value FROM json_each(:ids)) AND id != :id",
            {"c": json.dumps(claims), "id": hardware.id, "ids": json.dumps([*claims, *names])},
        ).fetchall()
        found = {(row["claim"], row["hardware_id"]): None for row in rows}
        found |= {each: None for each in self._agents(claims) if each[1] != hardware.id}
        return list(found)

    def _agents(self, wanted: Collection[str]) -> Iterator[tuple[str, str]]:
        """(agent id, hardware id) of the machines that have one of these agent ids, as `spelled_address` has them."""
        rows = self._sql.execute(
            f"SELECT id, {_AGENT} AS agent FROM hardware WHERE {_BARE.format(_AGENT)} IN "  # noqa: S608
            f"(SELECT {_BARE.format('value')} FROM json_each(?))",
            (json.dumps(list(wanted)),),
        ).fetchall()
        for row in rows:
            if isinstance(row["agent"], str) and (agent := spelled_address(row["agent"])) in wanted:
                yield agent, row["id"]

    def addresses(self) -> list[IPv4Address]:
        """Every address that is reserved for a machine."""
        rows = self._sql.execute("SELECT address FROM interface WHERE address IS NOT NULL").fetchall()
        return [IPv4Address(row["address"]) for row in rows]

    def has(self, hardware_id: str) -> bool:
        """Whether there is a machine with exactly this id."""
        return self._sql.execute("SELECT 1 FROM hardware WHERE id = ?", (hardware_id,)).fetchone() is not None

    def at(self, address: str) -> str:
        """As `by_address`; empty: none has it."""
        return self.by_address(address) or ""

    def left(self, workflow_id: str, machines: Iterable[str]) -> dict[str, bool]:
        """Those of a workflow's machines that are not what they were when it was made, each with whether it is deleted.

        The others were deleted too, and registered anew since.
        """
        rows = self._sql.execute(
            "SELECT value AS machine, hardware.id IS NULL AS deleted FROM json_each(?) "
            "LEFT JOIN hardware ON hardware.id = value JOIN workflow ON workflow.id = ? "
            "WHERE deleted OR workflow.number <= hardware.after_workflow",
            (json.dumps(list(machines)), workflow_id),
        ).fetchall()
        return {row["machine"]: bool(row["deleted"]) for row in rows}

    def beginning(self, letters: str) -> list[str]:
        """The ids that begin with these small letters."""
        rows = self._sql.execute("SELECT id FROM hardware WHERE substr(id, 1, length(?1)) = ?1", (letters,))
        return [row["id"] for row in rows.fetchall()]

    def named(self, name: str) -> list[str]:
        """The ids of the machines that have this name, or an interface with this hostname."""
        rows = self._sql.execute(
            f"SELECT id FROM hardware WHERE json_extract({_DOCUMENT}, '$.metadata.name') = :name "  # noqa: S608
            f"OR EXISTS (SELECT 1 FROM json_each({_DOCUMENT}, '$.spec.interfaces') "
            "WHERE json_extract(value, '$.dhcp.hostname') = :name) "
            f"OR EXISTS (SELECT 1 FROM json_each({_DOCUMENT}, '$.network.interfaces') "
            "WHERE json_extract(value, '$.dhcp.hostname') = :name)",
            {"name": name},
        ).fetchall()
        return [row["id"] for row in rows]

    def so_called(self, names: Iterable[str]) -> list[str]:
        """The ids of the machines of today's format that have one of these names, in whatever namespace."""
        rows = self._sql.execute(
            f"SELECT id FROM hardware WHERE json_extract({_DOCUMENT}, '$.metadata.name') IN (SELECT value FROM json_each(?)) "  # noqa: S608
            f"AND json_extract({_DOCUMENT}, '$.kind') = 'Hardware'",
            (json.dumps(list(names)),),
        )
        return [row["id"] for row in rows.fetchall()]

    def upsert(self, hardware: Hardware, now: datetime) -> None:
        self._sql.execute(
            "INSERT INTO hardware (id, document, created_at, updated_at, after_workflow) "
            "VALUES (?, ?, ?, ?, (SELECT ifnull(max(number), 0) FROM workflow)) "
            "ON CONFLICT (id) DO UPDATE SET document = excluded.document, updated_at = excluded.updated_at",
            (hardware.id, json.dumps(hardware.document), now.isoformat(), now.isoformat()),
        )
        self._sql.execute("DELETE FROM interface WHERE hardware_id = ?", (hardware.id,))
        self._sql.executemany(
            "INSERT INTO interface (mac, address, hardware_id) VALUES (?, ?, ?)",
            [
                *((each.mac, str(each.address) if each.address else None, hardware.id) for each in hardware.interfaces),
                *((None, str(each.address), hardware.id) for each in hardware.without_mac if each.address),
            ],
        )

    def release(self, ids: Iterable[str]) -> None:
        """Take their MACs and addresses off machines that are about to be stored anew, so that one may have another's."""
        self._sql.executemany("DELETE FROM interface WHERE hardware_id = ?", [(each,) for each in ids])

    def delete(self, hardware_id: str) -> None:
        self._sql.execute("DELETE FROM hardware WHERE id = ?", (hardware_id,))

    def by_address(self, address: str) -> str | None:
        """The id of the machine that has this MAC or id, however these are spelled, IPv4 address, or agent id."""
        spelled = spelled_address(address)
        rows = self._sql.execute(
            "SELECT hardware_id FROM interface WHERE mac = ?1 OR address = ?1 "
            "UNION ALL SELECT id FROM hardware WHERE id = ?1",
            (spelled,),
        ).fetchall()
        held = next((row["hardware_id"] for row in rows), None)
        return held or next((holder for _, holder in self._agents([spelled])), None)

    def grant_ticket(self, ids: Sequence[str]) -> None:
        self._sql.executemany("UPDATE hardware SET ticket = 1 WHERE id = ?", [(each,) for each in ids])

    def withdraw_ticket(self, ids: Sequence[str], *, installed: bool) -> None:
        """Take the ticket of those machines that have nothing left to do in any unfinished workflow."""
        self._sql.executemany(
            "UPDATE hardware SET installed = installed OR ?, ticket = EXISTS (SELECT 1 FROM action JOIN workflow ON workflow.id = action.workflow_id "
            "WHERE action.worker = hardware.id AND action.state IN ('PENDING', 'RUNNING', 'HELD', 'LEAVING') "
            "AND workflow.state IN ('PENDING', 'RUNNING', 'STOPPING')) WHERE id = ?",
            [(installed, each) for each in ids],
        )

    def save_progress(self, records: Iterable[MachineRecord]) -> None:
        """Save what was noted in memory meanwhile: boot counts, stages, contacts."""
        self._sql.executemany(
            "UPDATE hardware SET boots = ?, furthest = ?, stage = ?, stage_at = ?, boot_id = ?, last_contact = ? WHERE id = ?",
            [
                (
                    record.boots,
                    record.furthest.name if record.furthest else "",
                    record.stage.name if record.stage else "",
                    record.stage_at.isoformat() if record.stage_at else None,
                    record.boot_id,
                    record.last_contact.isoformat() if record.last_contact else None,
                    record.hardware.id,
                )
                for record in records
            ],
        )


# Where a machine stands is asked for more often than its document changes.
@lru_cache(maxsize=REMEMBERED)
def _hardware(text: str, labels: str) -> Hardware:
    return replace(hardware_from_document(read_kept(text)), labels=json.loads(labels))


def _record(row: sqlite3.Row) -> MachineRecord:
    return MachineRecord(
        hardware=_hardware(row["document"], row["labels"]),
        created_at=datetime.fromisoformat(row["created_at"]),
        updated_at=datetime.fromisoformat(row["updated_at"]),
        ticket=bool(row["ticket"]),
        installed=bool(row["installed"]),
        boots=row["boots"],
        furthest=Stage[row["furthest"]] if row["furthest"] else None,
        stage=Stage[row["stage"]] if row["stage"] else None,
        stage_at=datetime.fromisoformat(row["stage_at"]) if row["stage_at"] else None,
        boot_id=row["boot_id"],
        last_contact=datetime.fromisoformat(row["last_contact"]) if row["last_contact"] else None,
        leaving=row["leaving"] or "",
        wanted=bool(row["wanted"]),
        to_disk=bool(row["until"]),
        retired=_retirement(row["retired"]) if row["retired"] else None,
    )


def _retirement(text: str) -> Retirement:
    at, who, reason = json.loads(text)
    return Retirement(at=datetime.fromisoformat(at), who=who, reason=reason)
