from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.file_systems import unmount_below
from tests.integration.engine.appliance import Appliance, appliance
from tinkbox.store import threads

NO_WAITING = tuple("synchronous = OFF" if each.startswith("synchronous") else each for each in threads.PRAGMAS)


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store within this process waits for no disk: no test takes the power from it."""
    monkeypatch.setattr(threads, "PRAGMAS", NO_WAITING)


@pytest.fixture(scope="session", autouse=True)
def nothing_mounted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Workers that were killed leave mounts, and what lies below these could not be removed."""
    yield
    unmount_below(tmp_path_factory.getbasetemp())


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Appliance]:
    """An engine over a store of its own."""
    async with appliance(tmp_path / "tinkbox.sqlite") as made:
        yield made
