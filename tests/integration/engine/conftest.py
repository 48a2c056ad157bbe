import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance, appliance
from tests.integration.engine.lending import Lender
from tinkbox.store.database import Store


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Appliance]:
    async with appliance(tmp_path / "tinkbox.sqlite") as made:
        yield made


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lender]:
    store = await Store.open(tmp_path / "db")
    try:
        async with asyncio.TaskGroup() as parts:
            writer = parts.create_task(store.run())
            yield Lender(store)
            writer.cancel()
    finally:
        await store.close()
