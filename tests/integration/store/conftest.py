from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.store.objects import attempt, workflow
from tests.integration.store.stores import opened_store
from tinkbox.store.database import Store, Tables


@pytest.fixture(autouse=True)
def quick_disk() -> None:
    """Here the store waits for the disk, as the program's does."""


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """A store on a file of its own, its writer running."""
    async with opened_store(tmp_path / "db") as made:
        yield made


@pytest.fixture
async def one(store: Store) -> Store:
    """A store that holds workflow w1 with an attempt a1 at its first action."""

    def use_case(tables: Tables) -> None:
        tables.workflows.insert(workflow("w1", "m1", "m2"))
        tables.workflows.begin_attempt(attempt("a1"))

    await store.write(use_case)
    return store
