"""A real store for tests, with what it needs to be written to."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tinkbox.store.database import Store


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
