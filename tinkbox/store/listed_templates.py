"""The templates that there are or were, as workflows and rollouts are listed by them."""

import sqlite3
from typing import Final

from tinkbox.model.listing import OfTemplate

_BEHIND: Final = "g"  # behind every letter of an id
# A template that is gone: workflows and rollouts have kept its name.
_GONE: Final = "template_id NOT IN (SELECT id FROM template)"


def called(table: str) -> str:
    """What the template of a row of `workflow` or `rollout` is called, or was when that was made if it is gone."""
    return f"coalesce((SELECT name FROM template WHERE id = {table}.template_id), {table}.template_name)"  # noqa: S608  our own words


def of_template(template: OfTemplate) -> tuple[str, list[str]]:
    """The condition for rows of `workflow` and `rollout` that are of a template, and its values."""
    asked = (("template_id = ?", template.id), (f"template_name = ? AND {_GONE}", template.called))
    ways = [each for each in asked if each[1]]
    return f"({' OR '.join(condition for condition, _ in ways)})", [value for _, value in ways]


class ListedTemplateTable:
    """Questions about what a key means of templates that are stored, and of those that only workflows and rollouts know."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def having(self, template_id: str) -> list[OfTemplate]:
        """The template of exactly this id, if it is there or a workflow or rollout is of it."""
        return self._found(
            "SELECT ?1 WHERE EXISTS (SELECT 1 FROM template WHERE id = ?1) "
            "OR EXISTS (SELECT 1 FROM workflow WHERE template_id = ?1) "
            "OR EXISTS (SELECT 1 FROM rollout WHERE template_id = ?1)",
            template_id,
        )

    def named(self, name: str) -> list[OfTemplate]:
        """Those that are called so, each together with those that are gone and were called so; empty when there is none."""
        stored = self._sql.execute("SELECT id FROM template WHERE name = ? ORDER BY created_at, id", (name,)).fetchall()
        (gone,) = self._sql.execute(
            f"SELECT EXISTS (SELECT 1 FROM workflow WHERE template_name = ?1 AND {_GONE}) "  # noqa: S608  our own words
            f"OR EXISTS (SELECT 1 FROM rollout WHERE template_name = ?1 AND {_GONE})",
            (name,),
        ).fetchone()
        called_so = name if gone else ""
        there = [OfTemplate(id=each, called=called_so) for (each,) in stored]
        return there or ([OfTemplate(called=called_so)] if gone else [])

    def beginning(self, letters: str) -> list[OfTemplate]:
        """Those whose ids begin so, and that are there or a workflow or rollout is of."""
        return self._found(
            "SELECT id FROM template WHERE id >= ?1 AND id < ?1 || ?2 "
            "UNION SELECT template_id FROM workflow WHERE template_id >= ?1 AND template_id < ?1 || ?2 "
            "UNION SELECT template_id FROM rollout WHERE template_id >= ?1 AND template_id < ?1 || ?2",
            letters,
            _BEHIND,
        )

    def _found(self, question: str, *values: str) -> list[OfTemplate]:
        return [OfTemplate(id=each) for (each,) in self._sql.execute(question, values).fetchall()]
