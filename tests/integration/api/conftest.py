from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.api.door import Door, open_door


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with open_door(tmp_path) as made:
        yield made
