from collections.abc import Iterator

import pytest

from tests.integration.docker_engine import DockerEngine, docker_engine_in


@pytest.fixture(scope="session")
def docker_engine() -> Iterator[DockerEngine]:
    """The session's own Docker engine: `.url`, `.cli(*arguments)`, `.restart()`, `.kill()` and `.start()`."""
    with docker_engine_in() as engine:
        yield engine
