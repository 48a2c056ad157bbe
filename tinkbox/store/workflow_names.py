"""What workflows are called, for those who suggest names: without what else stands in their long rows."""

import sqlite3
from dataclasses import dataclass
from typing import Final

from tinkbox.model.workflow import State

_BEHIND: Final = "g"  # behind every letter of an id


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedWorkflow:
    """A workflow by its id and name, with its state and the machine that its first action is for."""

    id: str
    name: str
    state: State
    worker: str


class WorkflowNameTable:
    """Questions about the names of workflows."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def newest(self, prefix: str, most: int) -> list[NamedWorkflow]:
        """Those whose id begins with `prefix`, newest first."""
        # By the index of the ids only where it narrows them down.
        beginning, values = ("id >= ? AND id < ? || ? AND ", (prefix, prefix, _BEHIND)) if prefix else ("", ())
        rows = self._sql.execute(
            "SELECT id, name, state, coalesce((SELECT worker FROM action WHERE workflow_id = id "  # noqa: S608  our own conditions
            f"ORDER BY position LIMIT 1), '') AS worker FROM workflow WHERE {beginning}"
            f"number NOT IN (SELECT number FROM workflow INDEXED BY workflow_that_goes WHERE deleting) ORDER BY number DESC LIMIT ?",
            (*values, most),
        ).fetchall()
        return [
            NamedWorkflow(id=row["id"], name=row["name"], state=State(row["state"]), worker=row["worker"])
            for row in rows
        ]
