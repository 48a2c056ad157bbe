from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance, appliance
from tinkbox.store import threads

NO_WAITING = tuple("synchronous = OFF" if each.startswith("synchronous") else each for each in threads.PRAGMAS)


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store within this process waits for no disk: no test takes the power from it."""
    monkeypatch.setattr(threads, "PRAGMAS", NO_WAITING)


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Appliance]:
    """An engine over a store of its own."""
    async with appliance(tmp_path / "tinkbox.sqlite") as made:
        yield made
