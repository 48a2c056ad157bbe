"""What workflows were made from, where that was a document."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from tinkbox.model.declaration import Declaration, DeclaredWorkflow, MachineKey, SaidMachine
from tinkbox.model.workflow import FINAL, State
from tinkbox.store.listed_templates import called

_CALLED: Final = called("workflow")
# A few hundred bytes each.
MOST_FORGOTTEN: Final = 50_000
_DECLARED: Final = f"""
    SELECT workflow.id, workflow.name, workflow.created_at, place, template_id, {_CALLED} AS template_called, devices, state,
           declaration.workflow_id AS declared, workflow_document.document, namespace, template_ref, hardware_ref, let_netboot,
           machines, (SELECT json_group_array(value) FROM json_each(machines) JOIN hardware ON hardware.id = value
                      WHERE workflow.number <= hardware.after_workflow) AS anew,
           said_machine, said_name, EXISTS (SELECT 1 FROM hardware WHERE hardware.id = said_machine
                                            AND workflow.number <= hardware.after_workflow) AS said_anew,
           (SELECT json_group_object(key, value) FROM label WHERE kind = 'workflow' AND owner = workflow.id) AS labels
    FROM workflow LEFT JOIN declaration ON declaration.workflow_id = workflow.id
    LEFT JOIN workflow_document ON workflow_document.workflow_id = workflow.id
    WHERE NOT deleting
"""  # noqa: S608  our own columns


class DeclarationTable:
    """Questions about declarations: they go with their workflows, but for those of workflows that are forgotten for their age."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def keep(self, workflow_id: str, declared: Declaration) -> None:
        self._sql.execute(
            "INSERT INTO declaration (workflow_id, namespace, template_ref, hardware_ref, let_netboot, machines) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (
                workflow_id,
                declared.namespace,
                declared.template_ref,
                declared.hardware_ref,
                declared.let_netboot,
                json.dumps({f"{namespace}/{name}": each for (namespace, name), each in declared.machines.items()}),
            ),
        )
        if declared.document:
            self._sql.execute(
                "INSERT INTO workflow_document (workflow_id, document) VALUES (?, ?)",
                (workflow_id, json.dumps(declared.document)),
            )

    def rewrite(self, workflow_id: str, document: Mapping[str, Any]) -> None:
        """Keep another document of a workflow of v1alpha2, which differs in nothing but its metadata."""
        self._sql.execute(
            "UPDATE workflow_document SET document = ? WHERE workflow_id = ?", (json.dumps(document), workflow_id)
        )

    def outlive(self, workflow_id: str) -> None:
        """Keep what a workflow was made from, if it was a document, beyond the workflow; of the MOST_FORGOTTEN that ended last."""
        kept = self._sql.execute(
            "INSERT OR REPLACE INTO forgotten_declaration (namespace, name, template_ref, hardware_ref, devices, machines, "
            "ended_at) SELECT namespace, name, template_ref, hardware_ref, devices, machines, updated_at FROM declaration "
            "JOIN workflow ON workflow.id = workflow_id WHERE workflow_id = ?",
            (workflow_id,),
        )
        if kept.rowcount > 0:
            self._sql.execute(
                "DELETE FROM forgotten_declaration WHERE (namespace, name) IN "
                "(SELECT namespace, name FROM forgotten_declaration ORDER BY ended_at DESC LIMIT -1 OFFSET ?)",
                (MOST_FORGOTTEN,),
            )

    def release(self, workflow_id: str) -> None:
        """Let nothing be known any more of forgotten workflows of the same name."""
        self._sql.execute(
            "DELETE FROM forgotten_declaration WHERE (namespace, name) IN (SELECT namespace, name FROM declaration "
            "JOIN workflow ON workflow.id = workflow_id WHERE workflow_id = ?)",
            (workflow_id,),
        )

    def named(self, names: Iterable[str]) -> list[DeclaredWorkflow]:
        """Every workflow that has one of these names, declared or not, oldest first; before them those that are forgotten."""
        wanted = json.dumps(list(names))
        rows = self._sql.execute(
            f"{_DECLARED} AND name IN (SELECT value FROM json_each(?)) ORDER BY number",  # noqa: S608  ours
            (wanted,),
        )
        forgotten = self._sql.execute(
            "SELECT * FROM forgotten_declaration WHERE name IN (SELECT value FROM json_each(?))", (wanted,)
        )
        return [*map(_forgotten, forgotten.fetchall()), *map(_workflow, rows.fetchall())]

    def unfinished(self) -> list[DeclaredWorkflow]:
        """Every workflow that is not over, oldest first."""
        rows = self._sql.execute(f"{_DECLARED} AND state IN ('PENDING', 'RUNNING', 'STOPPING') ORDER BY number")
        return [_workflow(row) for row in rows.fetchall()]

    def letting_netboot(self, ids: Iterable[str]) -> set[str]:
        """Those of these machines that a workflow allows to netboot."""
        rows = self._sql.execute(
            "SELECT DISTINCT let_netboot FROM declaration WHERE let_netboot != '' "
            "AND let_netboot IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
        return {row["let_netboot"] for row in rows.fetchall()}


def _workflow(row: sqlite3.Row) -> DeclaredWorkflow:
    declared = Declaration(
        namespace=row["namespace"],
        template_ref=row["template_ref"],
        hardware_ref=row["hardware_ref"],
        let_netboot=row["let_netboot"],
        machines=_machines(row),
        anew=frozenset(json.loads(row["anew"] or "[]")),
        document=json.loads(row["document"] or "{}"),
    ) if row["declared"] else None  # fmt: skip
    said = row["said_machine"]
    return DeclaredWorkflow(
        id=row["id"],
        name=row["name"],
        template_id=row["template_id"],
        template_name=row["template_called"],
        devices=json.loads(row["devices"]),
        is_over=State(row["state"]) in FINAL,
        created_at=datetime.fromisoformat(row["created_at"]),
        place=row["place"],
        declaration=declared,
        said=SaidMachine(id=said, name=row["said_name"], is_anew=bool(row["said_anew"])) if said else None,
        labels=json.loads(row["labels"]),
    )


def _forgotten(row: sqlite3.Row) -> DeclaredWorkflow:
    return DeclaredWorkflow(
        id="",
        name=row["name"],
        template_id="",
        template_name="",
        devices=json.loads(row["devices"]),
        is_over=True,
        declaration=Declaration(
            namespace=row["namespace"],
            template_ref=row["template_ref"],
            hardware_ref=row["hardware_ref"],
            machines=_machines(row),
        ),
    )


def _machines(row: sqlite3.Row) -> dict[MachineKey, str]:
    found: dict[MachineKey, str] = {}
    for key, machine_id in json.loads(row["machines"]).items():
        namespace, _, name = key.partition("/")  # no namespace has a slash
        found[namespace, name] = machine_id
    return found
