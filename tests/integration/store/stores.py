"""A real store for tests, with what it needs to be written to."""

import asyncio
import sqlite3
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from tinkbox.refused_writes import RefusedWrites
from tinkbox.store.database import Store
from tinkbox.store.schema import migrations

ROOM = 16  # the migration that counts what is there
MORE_ROOM = 28  # the one that counts rollouts, and what came with them
ROOM_OF_DOCUMENTS = 35  # the one that counts kept documents
ROOM_OF_MACHINES = 38  # the one that counts the machines of declarations


@asynccontextmanager
async def opened_store(path: Path, refused_writes: RefusedWrites | None = None) -> AsyncIterator[Store]:
    """The store in a file, its writer running; where there is no file, a new one."""
    if not path.exists():
        await _lay(path)
    store = await Store.open(path, refused_writes)
    try:
        async with asyncio.TaskGroup() as parts:
            writer = parts.create_task(store.run())
            yield store
            writer.cancel()
    finally:
        await store.close()


async def _lay(path: Path) -> None:
    """Copy a new store there: most tests need one, and to make it takes as long as many of them."""
    if not _NEW:
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / "db"
            await (await Store.open(made)).close()
            _NEW.append(made.read_bytes())
    path.write_bytes(_NEW[0])
    with closing(sqlite3.connect(path)) as connection:
        # Two stores differ in these.
        connection.executescript(
            "PRAGMA synchronous = OFF; BEGIN; UPDATE appliance SET id = lower(hex(randomblob(8)));"
            "UPDATE store SET id = lower(hex(randomblob(16))); COMMIT; PRAGMA wal_checkpoint(TRUNCATE)"
        )


_NEW: list[bytes] = []

# Its migration makes the table as well, which is empty then.
ROOM_OF_AUDIT = "INSERT INTO room SELECT 'audit', ifnull(sum(192 + length(ifnull(line, ''))), 0), count(*) FROM audit"


def counted(path: Path) -> tuple[list[tuple[str, int, int]], list[tuple[str, int, int]]]:
    """What the store in a file says that each kind takes, and what it would say if it counted anew: both by kind."""
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(":memory:")) as copy:
        source.backup(copy)
        said = copy.execute("SELECT * FROM room ORDER BY kind").fetchall()
        for (name,) in copy.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            copy.execute(f"DROP TRIGGER {name}")
        copy.executescript("DROP TABLE room; DROP TABLE early_deletion")
        counting = (ROOM, MORE_ROOM, ROOM_OF_DOCUMENTS, ROOM_OF_MACHINES)
        for script in (script for number, script in migrations() if number in counting):
            copy.executescript(script)
        copy.execute(ROOM_OF_AUDIT)
        return said, copy.execute("SELECT * FROM room ORDER BY kind").fetchall()
