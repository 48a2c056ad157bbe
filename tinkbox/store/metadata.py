"""What workflows say of the systems that they install, and what these told of their first boot."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from tinkbox.model.metadata import FirstBoot, Metadata
from tinkbox.model.workflow import State
from tinkbox.store.formats.metadata import first_boot_of, first_boot_text, metadata_of, metadata_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """A workflow as the systems that it installs see it: `newest` tells that their machine has begun no other since."""

    state: State
    updated_at: datetime
    newest: bool
    spec: Metadata


class MetadataTable:
    """Questions about installed systems."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def keep(self, workflow_id: str, spec: Metadata) -> None:
        """What a new workflow says."""
        if spec != Metadata():
            self._sql.execute(
                "INSERT INTO metadata (workflow_id, spec) VALUES (?, ?)", (workflow_id, metadata_text(spec))
            )

    def said(self, workflow_id: str) -> Metadata:
        """What a workflow says, whether it has begun or not."""
        row = self._sql.execute("SELECT spec FROM metadata WHERE workflow_id = ?", (workflow_id,)).fetchone()
        return metadata_of(row["spec"]) if row else Metadata()

    def installation(self, workflow_id: str, machine: str) -> Installation | None:
        """The workflow of this id as a machine sees it; None: there is none that has begun on it."""
        row = self._sql.execute(
            "SELECT state, updated_at, spec, (SELECT workflow_id FROM attempt WHERE worker = ?2 ORDER BY rowid DESC LIMIT 1) AS newest "
            "FROM workflow LEFT JOIN metadata ON workflow_id = id WHERE id = ?1 AND NOT deleting "
            "AND EXISTS (SELECT 1 FROM attempt WHERE worker = ?2 AND workflow_id = ?1)",
            (workflow_id, machine),
        ).fetchone()
        if row is None:
            return None
        return Installation(
            state=State(row["state"]),
            updated_at=datetime.fromisoformat(row["updated_at"]),
            newest=row["newest"] == workflow_id,
            spec=metadata_of(row["spec"]) if row["spec"] else Metadata(),
        )

    def newest(self, machine: str) -> str:
        """The newest workflow that has begun on a machine; empty: none has."""
        row = self._sql.execute(
            "SELECT workflow_id FROM attempt WHERE worker = ? ORDER BY rowid DESC LIMIT 1", (machine,)
        ).fetchone()
        return row["workflow_id"] if row else ""

    def first_boot(self, workflow_id: str, machine: str) -> FirstBoot:
        """What the system that a workflow installed on a machine told."""
        row = self._sql.execute(
            "SELECT told FROM first_boot WHERE workflow_id = ? AND machine = ?", (workflow_id, machine)
        ).fetchone()
        return first_boot_of(row["told"] if row else None)

    def first_boots(self, workflow_id: str) -> Mapping[str, FirstBoot]:
        """The same of all machines of a workflow that told anything."""
        rows = self._sql.execute(
            "SELECT machine, told FROM first_boot WHERE workflow_id = ? ORDER BY machine", (workflow_id,)
        ).fetchall()
        return {row["machine"]: first_boot_of(row["told"]) for row in rows}

    def tell(self, workflow_id: str, machine: str, first_boot: FirstBoot) -> None:
        """From now on this is what was told."""
        self._sql.execute(
            "INSERT INTO first_boot (workflow_id, machine, told) VALUES (?, ?, ?) "
            "ON CONFLICT (workflow_id, machine) DO UPDATE SET told = excluded.told",
            (workflow_id, machine, first_boot_text(first_boot)),
        )

    def forget(self, workflow_id: str, machine: str) -> None:
        """What was told was of an earlier system: another one boots."""
        self._sql.execute("DELETE FROM first_boot WHERE workflow_id = ? AND machine = ?", (workflow_id, machine))
