from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.api.door import Door, open_door
from tinkbox.api import event_stream


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with open_door(tmp_path) as made:
        yield made


@pytest.fixture(autouse=True)
def looking_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wakeup between two looks is made up for by looking; do not wait long for that."""
    monkeypatch.setattr(event_stream, "LOOK_EVERY", 0.02)
