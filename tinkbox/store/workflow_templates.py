"""The templates that there are or were, as workflows are listed by them."""

import sqlite3
from typing import Final

from tinkbox.model.listing import OfTemplate

_BEHIND: Final = "g"  # behind every letter of an id
# A template that is gone: a workflow has kept its name.
GONE: Final = "template_id NOT IN (SELECT id FROM template)"
# What a workflow's template is called, or was when the workflow was made if it is gone.
CALLED: Final = (
    "coalesce((SELECT template.name FROM template WHERE template.id = workflow.template_id), workflow.template_name)"
)


class WorkflowTemplateTable:
    """Questions about what a key means of templates that are stored, and of those that only workflows know."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def having(self, template_id: str) -> list[OfTemplate]:
        """The template of exactly this id, if it is there or a workflow is of it."""
        return self._found(
            "SELECT ?1 WHERE EXISTS (SELECT 1 FROM template WHERE id = ?1) "
            "OR EXISTS (SELECT 1 FROM workflow WHERE template_id = ?1)",
            template_id,
        )

    def named(self, name: str) -> list[OfTemplate]:
        """The one that is called so, together with those that are gone and were called so; empty when there is none."""
        stored = self._sql.execute("SELECT id FROM template WHERE name = ?", (name,)).fetchone()
        (gone,) = self._sql.execute(
            f"SELECT EXISTS (SELECT 1 FROM workflow WHERE template_name = ? AND {GONE})",  # noqa: S608  our own words
            (name,),
        ).fetchone()
        if stored is None and not gone:
            return []
        return [OfTemplate(id=stored["id"] if stored else "", called=name if gone else "")]

    def beginning(self, letters: str) -> list[OfTemplate]:
        """Those whose ids begin so, and that are there or a workflow is of."""
        return self._found(
            "SELECT id FROM template WHERE id >= ?1 AND id < ?1 || ?2 "
            "UNION SELECT template_id FROM workflow WHERE template_id >= ?1 AND template_id < ?1 || ?2",
            letters,
            _BEHIND,
        )

    def _found(self, question: str, *values: str) -> list[OfTemplate]:
        return [OfTemplate(id=each) for (each,) in self._sql.execute(question, values).fetchall()]
