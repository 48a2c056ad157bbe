"""The images that workflows name, and the digests that they are pinned to."""

import sqlite3
from collections.abc import Mapping

from tinkbox.model.actions.action import SYSTEM_IMAGE
from tinkbox.model.images.needs import ImageNeed, digests_in, images_in
from tinkbox.store.formats.json_text import read

_NAMED = "workflow_id = ? AND json_extract(definition, '$.image') = ?"
_NEEDED = """
    SELECT digest, json_extract(definition, '$.image') AS image, workflow_id, workflow.name AS name, template_name
    FROM action JOIN workflow ON workflow.id = workflow_id WHERE workflow.state IN ('PENDING', 'RUNNING', 'STOPPING')
    UNION SELECT digest, json_extract(definition, '$.image') AS image, workflow_id, workflow.name AS name, template_name
    FROM service JOIN workflow ON workflow.id = workflow_id WHERE workflow.state IN ('PENDING', 'RUNNING', 'STOPPING')
    ORDER BY name, workflow_id
"""
_BY_DIGEST = "SELECT name, data FROM template WHERE instr(data, 'sha256:') OR instr(data, 'sha512:') ORDER BY name"
_ROLLOUTS = """
    SELECT id, template_name, text, parameters FROM rollout WHERE state NOT IN ('SUCCESS', 'FAILED', 'CANCELED') ORDER BY number
"""
# What a person changed for an action counts before what the template says.
_NAMED_SYSTEMS = """
    SELECT workflow_id, COALESCE(
        json_extract(NULLIF(override, ''), '$.environment.' || :variable),
        json_extract(definition, '$.environment.' || :variable)
    ) AS named
    FROM action JOIN workflow ON workflow.id = workflow_id
    WHERE workflow.state IN ('PENDING', 'RUNNING', 'STOPPING') AND named != ''
"""


class ImageTable:
    """Questions about images, each by its name as the template has it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def pin(self, workflow_id: str, image: str, digest: str) -> bool:
        """Pin the image in every action and service of a workflow where it is not yet; whether there was one."""
        changed = 0
        for table in ("action", "service"):
            changed += self._sql.execute(
                f"UPDATE {table} SET digest = ? WHERE digest = '' AND {_NAMED}",  # noqa: S608  our own tables
                (digest, workflow_id, image),
            ).rowcount
        return changed > 0

    def pin_again(self, workflow_id: str, image: str, digest: str, first: int) -> None:
        """Pin the image in its services and its actions from index `first` on, whatever it was pinned to; empty: to nothing."""
        self._sql.execute(
            f"UPDATE action SET digest = ? WHERE {_NAMED} AND position >= ?",  # noqa: S608
            (digest, workflow_id, image, first),
        )
        self._sql.execute(f"UPDATE service SET digest = ? WHERE {_NAMED}", (digest, workflow_id, image))  # noqa: S608

    def needed(self) -> list[ImageNeed]:
        """The images of unfinished workflows, by the names of these; one that is not pinned yet has no digest."""
        return [
            ImageNeed(
                digest=row["digest"],
                image=row["image"] or "",
                template=row["template_name"],
                workflow_id=row["workflow_id"],
                workflow=row["name"],
            )
            for row in self._sql.execute(_NEEDED).fetchall()
        ]

    def named_by_templates(self) -> list[ImageNeed]:
        """The images that stored templates name by their digests, wherever these stand in the text."""
        return [
            ImageNeed(digest=digest, image=image, template=row["name"])
            for row in self._sql.execute(_BY_DIGEST).fetchall()
            for image, digest in dict.fromkeys(digests_in(row["data"]))
        ]

    def needed_by_rollouts(self) -> list[ImageNeed]:
        """The images that unfinished rollouts name for the machines that are still to begin; one that is named by its tag has no digest."""
        return [
            ImageNeed(digest=digest, image=image, template=row["template_name"], rollout_id=row["id"])
            for row in self._sql.execute(_ROLLOUTS).fetchall()
            for image, digest in dict.fromkeys(images_in(row["text"], read(row["parameters"])))
        ]

    def needed_systems(self) -> Mapping[str, str]:
        """The system images that actions of unfinished workflows name, as they name them, each with the id of one of these."""
        rows = self._sql.execute(_NAMED_SYSTEMS, {"variable": SYSTEM_IMAGE}).fetchall()
        return {row["named"]: row["workflow_id"] for row in rows if isinstance(row["named"], str)}
