"""Secrets, whose values are sealed before they come here, and which of them were given to whom."""

import json
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from tinkbox.model.secret import Secret, SecretDocument, SecretEntry

_NOT_OVER: Final = "workflow.state NOT IN ('SUCCESS', 'FAILED', 'TIMEOUT', 'CANCELED')"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """A value as it is kept; `number` tells it from other values of the same secret."""

    number: int
    name: str
    content: bytes


class SecretTable:
    """Questions about secrets."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def all(self) -> list[Secret]:
        """Those that there are, by their names."""
        return [*map(_secret, self._sql.execute("SELECT * FROM secret WHERE current = 1 ORDER BY name"))]

    def beside(self, entries: Collection[SecretEntry]) -> list[Secret]:
        """Those that there are, by their names, of these names or of documents that are called as those of these entries."""
        rows = self._sql.execute(
            "SELECT * FROM secret WHERE current = 1 AND (name IN (SELECT value FROM json_each(:names)) "
            "OR document_name IN (SELECT value FROM json_each(:documents))) ORDER BY name",
            {
                "names": json.dumps([each.name for each in entries]),
                "documents": json.dumps([*{each.document.name for each in entries}]),
            },
        )
        return [*map(_secret, rows)]

    def keys_of(self, documents: Collection[str]) -> dict[str, list[str]]:
        """The keys of Secrets by the names of these, of those that there are; one that was set by hand is of each whose name it begins with."""
        rows = self._sql.execute(
            "SELECT document.value AS document, substr(secret.name, length(document.value) + 2) AS key "
            "FROM json_each(?) AS document JOIN secret ON secret.current = 1 "
            "AND instr(secret.name, document.value || '.') = 1 AND secret.document_name IN ('', document.value) ORDER BY key",
            (json.dumps(list(documents)),),
        )
        found: dict[str, list[str]] = {}
        for row in rows:
            found.setdefault(row["document"], []).append(row["key"])
        return found

    def missing(self, names: Collection[str]) -> list[str]:
        """Those of the names that no secret has."""
        found = {each.name for each in self.current(names)}
        return [each for each in names if each not in found]

    def current(self, names: Collection[str]) -> list[Sealed]:
        """The values that these secrets have now, of those that there are."""
        return self._sealed(
            "SELECT number, name, sealed FROM secret WHERE current = 1 AND name IN (SELECT value FROM json_each(?))",
            json.dumps(list(names)),
        )

    def everything(self) -> list[Sealed]:
        """Every value that is kept, those that were replaced among them."""
        return self._sealed("SELECT number, name, sealed FROM secret")

    def any(self) -> Sealed | None:
        """One that was sealed, whichever; None: nothing is."""
        return next(iter(self._sealed("SELECT number, name, sealed FROM secret ORDER BY number DESC LIMIT 1")), None)

    def count(self) -> int:
        """How many there are."""
        (found,) = self._sql.execute("SELECT count(*) FROM secret WHERE current = 1").fetchone()
        return int(found)

    def put(self, secret: Secret, sealed: bytes) -> None:
        """Give a secret its value, in place of the one that it has."""
        self._sql.execute("UPDATE secret SET current = 0 WHERE name = ? AND current = 1", (secret.name,))
        self._sql.execute(
            "INSERT INTO secret (name, sealed, size, set_at, set_by, document_name, document_namespace, current) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, 1)",
            (
                secret.name,
                sealed,
                secret.size,
                secret.set_at.isoformat(),
                secret.set_by,
                secret.document.name if secret.document else "",
                secret.document.namespace if secret.document else "",
            ),
        )

    def delete(self, name: str) -> bool:
        """Whether there was one of this name."""
        return bool(self._sql.execute("UPDATE secret SET current = 0 WHERE name = ? AND current = 1", (name,)).rowcount)

    def forget_unused(self) -> None:
        """Forget values that were replaced or deleted, and that no workflow needs to mask any more."""
        self._sql.execute(
            "DELETE FROM secret WHERE current = 0 AND number NOT IN ("  # noqa: S608  ours
            "SELECT given.secret FROM secret_given AS given JOIN workflow ON workflow.id = given.workflow_id "
            f"WHERE {_NOT_OVER})"
        )

    def give(self, holder: str, workflow_id: str, numbers: Sequence[int]) -> None:
        """Note that an attempt, or a run of a service, has these values."""
        self._sql.executemany(
            "INSERT INTO secret_given (holder, secret, workflow_id) VALUES (?, ?, ?)",
            [(holder, each, workflow_id) for each in numbers],
        )

    def given(self, holder: str) -> list[Sealed]:
        """The values that an attempt, or a run of a service, has."""
        return self._sealed(
            "SELECT number, name, sealed FROM secret WHERE number IN (SELECT secret FROM secret_given WHERE holder = ?)",
            holder,
        )

    def numbers_in(self, workflow_id: str) -> tuple[int, ...]:
        """The numbers of all values that a workflow's attempts and services were given."""
        rows = self._sql.execute(
            "SELECT DISTINCT secret FROM secret_given WHERE workflow_id = ? ORDER BY secret", (workflow_id,)
        )
        return tuple(row["secret"] for row in rows)

    def workflows_at(self, machine: str) -> tuple[str, ...]:
        """The ids of the workflows of which a machine may tell secrets, in their order.

        They are the one that began an action there last, over or not, and those that are not over, have something to do there
        and were given secrets.
        """
        rows = self._sql.execute(
            "SELECT id FROM workflow WHERE id = (SELECT workflow_id FROM attempt WHERE worker = ?1 ORDER BY rowid DESC LIMIT 1) "  # noqa: S608
            "UNION SELECT id FROM workflow WHERE id IN (SELECT workflow_id FROM action WHERE worker = ?1 "
            "UNION SELECT workflow_id FROM service WHERE host = ?1) "
            f"AND EXISTS (SELECT 1 FROM secret_given WHERE workflow_id = id) AND {_NOT_OVER} ORDER BY id",
            (machine,),
        )
        return tuple(row["id"] for row in rows)

    def numbered(self, numbers: Sequence[int]) -> list[Sealed]:
        return self._sealed(
            "SELECT number, name, sealed FROM secret WHERE number IN (SELECT value FROM json_each(?))",
            json.dumps(list(numbers)),
        )

    def name(self, workflow_id: str, names: Collection[str]) -> None:
        """Note which secrets a workflow asks for."""
        self._sql.executemany(
            "INSERT INTO secret_named (workflow_id, name) VALUES (?, ?)", [(workflow_id, each) for each in names]
        )

    def workflows(self) -> dict[str, list[str]]:
        """The ids of the workflows that ask for each secret and are not over, oldest first."""
        rows = self._sql.execute(
            "SELECT named.name, workflow.id FROM secret_named AS named JOIN workflow ON workflow.id = named.workflow_id "  # noqa: S608
            f"WHERE {_NOT_OVER} ORDER BY workflow.number"
        )
        found: dict[str, list[str]] = {}
        for row in rows:
            found.setdefault(row["name"], []).append(row["id"])
        return found

    def templates(self) -> list[tuple[str, str]]:
        """(name, text) of the templates that may ask for one."""
        rows = self._sql.execute("SELECT name, data FROM template WHERE instr(data, 'secret') ORDER BY name")
        return [(row["name"], row["data"]) for row in rows]

    def _sealed(self, question: str, *values: object) -> list[Sealed]:
        rows = self._sql.execute(question, values)
        return [Sealed(number=row["number"], name=row["name"], content=row["sealed"]) for row in rows]


def _secret(row: sqlite3.Row) -> Secret:
    document = SecretDocument(name=row["document_name"], namespace=row["document_namespace"])
    return Secret(
        name=row["name"],
        size=row["size"],
        set_at=datetime.fromisoformat(row["set_at"]),
        set_by=row["set_by"],
        document=document if document.name else None,
    )
