from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.registry.serving import TOKEN, Registry, serving


@pytest.fixture
async def registry(tmp_path: Path) -> AsyncIterator[Registry]:
    async with serving(tmp_path / "registry") as made:
        yield made


@pytest.fixture
def token() -> str:
    return TOKEN
