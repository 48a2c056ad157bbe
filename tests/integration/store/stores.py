"""A real store for tests, with what it needs to be written to."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from tinkbox.store.database import Store, migrations

ROOM = 16  # the migration that counts what is there


@asynccontextmanager
async def opened_store(path: Path) -> AsyncIterator[Store]:
    """The store in a file, its writer running."""
    store = await Store.open(path)
    try:
        async with asyncio.TaskGroup() as parts:
            writer = parts.create_task(store.run())
            yield store
            writer.cancel()
    finally:
        await store.close()


def counted(path: Path) -> tuple[list[tuple[str, int, int]], list[tuple[str, int, int]]]:
    """What the store in a file says that each kind takes, and what it would say if it counted anew: both by kind."""
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(":memory:")) as copy:
        source.backup(copy)
        said = copy.execute("SELECT * FROM room ORDER BY kind").fetchall()
        for (name,) in copy.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            copy.execute(f"DROP TRIGGER {name}")
        copy.executescript("DROP TABLE room; DROP TABLE early_deletion")
        copy.executescript(next(script for number, script in migrations() if number == ROOM))
        return said, copy.execute("SELECT * FROM room ORDER BY kind").fetchall()
