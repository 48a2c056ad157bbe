from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.engine.lending import Lender
from tests.integration.store.stores import opened_store


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lender]:
    async with opened_store(tmp_path / "db") as store:
        yield Lender(store)
