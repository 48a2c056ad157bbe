from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance, appliance


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Appliance]:
    """An engine over a store of its own."""
    async with appliance(tmp_path / "tinkbox.sqlite") as made:
        yield made
