"""A workflow's ephemeral data: archives, by version."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime

KEPT_VERSIONS = 3  # with their archives
LISTED_VERSIONS = 1_000  # those included
_FOR_ATTEMPT = """
    SELECT attempt.worker, attempt.workflow_id,
           json_array_length(action.definition, '$.wipes') > 0 AND NOT EXISTS (SELECT 1 FROM disk WHERE disk.attempt = ?1) AS unasked
    FROM attempt JOIN action ON action.workflow_id = attempt.workflow_id AND action.position = attempt.position
    WHERE token = ?1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataVersion:
    """One version; `archive` is None for one that is too old to be kept.

    `worker` is the id of the machine whose action pushed it, or says which service wrote it.
    """

    version: int
    at: datetime
    worker: str
    size: int
    digest: str
    archive: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForAttempt:
    """Whose attempt asks for its workflow's data.

    `unasked` tells that its action wipes disks, and that nothing allowed it to.
    """

    worker: str
    workflow_id: str
    unasked: bool


class DataTable:
    """Questions about ephemeral data."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def versions(self, workflow_id: str) -> list[DataVersion]:
        """The newest LISTED_VERSIONS, oldest first, but for KEPT_VERSIONS of them without their archive."""
        rows = self._sql.execute("SELECT * FROM data WHERE workflow_id = ? ORDER BY version", (workflow_id,)).fetchall()
        return [_version(row) for row in rows]

    def newest(self, workflow_id: str) -> DataVersion | None:
        """The newest version, None when there is none yet."""
        rows = self._sql.execute(
            "SELECT * FROM data WHERE workflow_id = ? ORDER BY version DESC LIMIT 1", (workflow_id,)
        ).fetchall()
        return next((_version(row) for row in rows), None)

    def stays_empty(self, workflow_id: str) -> bool:
        """Whether there is none yet, and no service that could write some."""
        row = self._sql.execute(
            "SELECT 1 WHERE EXISTS (SELECT 1 FROM data WHERE workflow_id = ?1) "
            "OR EXISTS (SELECT 1 FROM service WHERE workflow_id = ?1)",
            (workflow_id,),
        ).fetchone()
        return row is None

    def for_attempt(self, token: str) -> ForAttempt | None:
        """Whose attempt has this token, if there is one."""
        row = self._sql.execute(_FOR_ATTEMPT, (token,)).fetchone()
        if row is None:
            return None
        return ForAttempt(
            worker=row["worker"],
            workflow_id=row["workflow_id"],
            unasked=bool(row["unasked"]),
        )

    def version(self, workflow_id: str, number: int) -> DataVersion | None:
        """The version of this number, if there is one."""
        rows = self._sql.execute(
            "SELECT * FROM data WHERE workflow_id = ? AND version = ?", (workflow_id, number)
        ).fetchall()
        return next((_version(row) for row in rows), None)

    def kept(self, workflow_id: str) -> list[int]:
        """The numbers of the versions whose archives are kept, oldest first."""
        rows = self._sql.execute(
            "SELECT version FROM data WHERE workflow_id = ? AND archive IS NOT NULL ORDER BY version", (workflow_id,)
        ).fetchall()
        return [row["version"] for row in rows]

    def piece(self, workflow_id: str, number: int, offset: int, length: int) -> bytes:
        """Of a version's archive the bytes from `offset` on, `length` at most; empty when it is not kept any more."""
        row = self._sql.execute(
            "SELECT rowid FROM data WHERE workflow_id = ? AND version = ? AND archive IS NOT NULL",
            (workflow_id, number),
        ).fetchone()
        if row is None:
            return b""
        # substr() would read all of the archive for every piece.
        with self._sql.blobopen("data", "archive", row["rowid"], readonly=True) as archive:
            archive.seek(min(offset, len(archive)))
            return archive.read(length)

    def newest_version(self, workflow_id: str) -> int:
        """The number of the newest version, 0 when there is none yet."""
        rows = self._sql.execute(
            "SELECT coalesce(max(version), 0) AS version FROM data WHERE workflow_id = ?", (workflow_id,)
        ).fetchall()
        return next(int(row["version"]) for row in rows)

    def newest_size(self, workflow_id: str) -> int:
        """The bytes of the newest version, 0 when there is none yet."""
        rows = self._sql.execute(
            "SELECT size FROM data WHERE workflow_id = ? ORDER BY version DESC LIMIT 1", (workflow_id,)
        ).fetchall()
        return next((int(row["size"]) for row in rows), 0)

    def newest_if(self, workflow_id: str, digest: str) -> int | None:
        """The number of the newest version when it has this digest, else None."""
        row = self._sql.execute(
            "SELECT version, digest FROM data WHERE workflow_id = ? ORDER BY version DESC LIMIT 1", (workflow_id,)
        ).fetchone()
        return int(row["version"]) if row is not None and row["digest"] == digest else None

    def add(self, workflow_id: str, data: DataVersion) -> None:
        """Store a new version; drop the archive of the one that is too old by now, and all that is known of a much older one."""
        self._sql.execute(
            "INSERT INTO data (workflow_id, version, at, worker, size, digest, archive) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (workflow_id, data.version, data.at.isoformat(), data.worker, data.size, data.digest, data.archive),
        )
        self._sql.execute(
            "UPDATE data SET archive = NULL WHERE workflow_id = ? AND version <= ? AND archive IS NOT NULL",
            (workflow_id, data.version - KEPT_VERSIONS),
        )
        self._sql.execute(
            "DELETE FROM data WHERE workflow_id = ? AND version <= ?", (workflow_id, data.version - LISTED_VERSIONS)
        )


def _version(row: sqlite3.Row) -> DataVersion:
    return DataVersion(
        version=row["version"],
        at=datetime.fromisoformat(row["at"]),
        worker=row["worker"],
        size=row["size"],
        digest=row["digest"],
        archive=row["archive"],
    )
