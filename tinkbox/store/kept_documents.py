"""Documents that are kept as they were given."""

import json
import sqlite3
from collections.abc import Collection, Iterable
from datetime import datetime

from tinkbox.model.documents.kept_documents import KeptDocument, KeptKey, KeptKind


class KeptDocumentTable:
    """Questions about kept documents."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def all(self, kinds: Collection[KeptKind] = tuple(KeptKind)) -> list[KeptDocument]:
        """Those of these kinds, in the order of kind, namespace and name."""
        rows = self._sql.execute(
            "SELECT * FROM kept_document WHERE kind IN (SELECT value FROM json_each(?)) ORDER BY kind, namespace, name",
            (json.dumps(list(kinds)),),
        )
        return [_document(row) for row in rows.fetchall()]

    def named(self, kind: KeptKind, names: Collection[str]) -> list[KeptDocument]:
        """Those of a kind that have these names, in the order of their namespaces."""
        rows = self._sql.execute(
            "SELECT * FROM kept_document WHERE kind = ? AND name IN (SELECT value FROM json_each(?)) ORDER BY namespace, name",
            (kind, json.dumps(list(names))),
        )
        return [_document(row) for row in rows.fetchall()]

    def some(self, keys: Iterable[KeptKey]) -> list[KeptDocument]:
        """Those of these that there are."""
        found = (
            self._sql.execute(
                "SELECT * FROM kept_document WHERE kind = ? AND namespace = ? AND name = ?", key
            ).fetchone()
            for key in keys
        )
        return [_document(row) for row in found if row is not None]

    def state(self, kinds: Collection[KeptKind]) -> tuple[tuple[str, int], ...]:
        """What changes whenever one of these kinds does."""
        rows = self._sql.execute(
            "SELECT id, version FROM kept_document WHERE kind IN (SELECT value FROM json_each(?)) ORDER BY id",
            (json.dumps(list(kinds)),),
        )
        return tuple((row["id"], row["version"]) for row in rows.fetchall())

    def put(self, document: KeptDocument, now: datetime) -> None:
        """Keep it, in place of the one of its id."""
        at = now.isoformat()
        self._sql.execute(
            "INSERT INTO kept_document (id, kind, namespace, name, document, created_at, updated_at, who) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET document = excluded.document, version = version + 1, "
            "updated_at = excluded.updated_at, who = excluded.who",
            (document.id, *document.key, json.dumps(document.manifest), at, at, document.who),
        )

    def delete(self, document_id: str) -> None:
        self._sql.execute("DELETE FROM kept_document WHERE id = ?", (document_id,))


def _document(row: sqlite3.Row) -> KeptDocument:
    return KeptDocument(
        id=row["id"],
        kind=KeptKind(row["kind"]),
        namespace=row["namespace"],
        name=row["name"],
        manifest=json.loads(row["document"]),
        created_at=datetime.fromisoformat(row["created_at"]),
        who=row["who"],
    )
