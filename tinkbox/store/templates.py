"""Templates: named texts."""

import json
import sqlite3
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from tinkbox.model.labels import Labels

_LABELS: Final = (
    "(SELECT json_group_object(key, value) FROM label WHERE kind = 'template' AND owner = template.id) AS labels"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTemplate:
    """A template as lists have it: without its text.

    `namespace` is that of its document; empty: it was made by hand, or by a release that knew templates by name alone.
    """

    id: str
    name: str
    created_at: datetime
    updated_at: datetime
    labels: Labels = field(default_factory=dict)
    namespace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Template(ListedTemplate):
    """A template as stored; `data` is its text."""

    data: str


class TemplateTable:
    """Questions about templates."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def all(self) -> list[ListedTemplate]:
        """Every template as lists have it, oldest first."""
        rows = self._sql.execute(
            f"SELECT id, name, namespace, created_at, updated_at, {_LABELS} FROM template ORDER BY created_at, id"  # noqa: S608  ours
        ).fetchall()
        return [ListedTemplate(**_listed(row)) for row in rows]

    def having(self, template_id: str) -> list[Template]:
        """The template of exactly this id, if it is there."""
        return self._found("id = ?", template_id)

    def listed(self, template_id: str) -> list[ListedTemplate]:
        """The same as lists have it."""
        rows = self._sql.execute(
            f"SELECT id, name, namespace, created_at, updated_at, {_LABELS} FROM template WHERE id = ?",  # noqa: S608  ours
            (template_id,),
        ).fetchall()
        return [ListedTemplate(**_listed(row)) for row in rows]

    def named(self, name: str) -> list[Template]:
        """The templates of this name, each of another namespace, oldest first."""
        return self._found("name = ? ORDER BY created_at, id", name)

    def beginning(self, letters: str) -> list[Template]:
        """The templates whose ids begin so."""
        return self._found("substr(id, 1, length(?1)) = ?1", letters)

    def _found(self, condition: str, value: str) -> list[Template]:
        rows = self._sql.execute(f"SELECT *, {_LABELS} FROM template WHERE {condition}", (value,))  # noqa: S608  ours
        return [_template(row) for row in rows.fetchall()]

    def put(self, template: Template) -> None:
        """Insert it, or replace the one with its id."""
        self._sql.execute(
            "INSERT INTO template (id, name, namespace, data, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET name = excluded.name, namespace = excluded.namespace, data = excluded.data, "
            "updated_at = excluded.updated_at",
            (
                template.id,
                template.name,
                template.namespace,
                template.data,
                template.created_at.isoformat(),
                template.updated_at.isoformat(),
            ),
        )

    def delete(self, template_id: str) -> None:
        self._sql.execute("DELETE FROM template WHERE id = ?", (template_id,))


def _template(row: sqlite3.Row) -> Template:
    return Template(**_listed(row), data=row["data"])


def _listed(row: sqlite3.Row) -> dict[str, Any]:
    """The fields of a `ListedTemplate`."""
    return {
        "id": row["id"],
        "name": row["name"],
        "namespace": row["namespace"],
        "created_at": datetime.fromisoformat(row["created_at"]),
        "updated_at": datetime.fromisoformat(row["updated_at"]),
        "labels": json.loads(row["labels"]),
    }
