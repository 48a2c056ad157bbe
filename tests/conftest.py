import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from examples.lab.network import Network
from tests.integration.docker_engine import DockerEngine, docker_engine_in

# No deadline: a machine that is busy with virtual machines takes its time.
settings.register_profile("quick", deadline=None, print_blob=True)
settings.register_profile("deep", deadline=None, print_blob=True, max_examples=100_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture(scope="session")
def docker_engine() -> Iterator[DockerEngine]:
    """The session's own Docker engine: `.url`, `.cli(*arguments)`, `.restart()`, `.kill()` and `.start()`."""
    with docker_engine_in() as engine:
        yield engine


@pytest.fixture(scope="session")
def network_of_engine() -> Iterator[Network]:
    """The network namespace in which `bridged_engine` lives."""
    with Network() as network:
        yield network


@pytest.fixture(scope="session")
def bridged_engine(network_of_engine: Network) -> Iterator[DockerEngine]:
    """Another engine of the session's own, which may make bridges for containers."""
    with docker_engine_in(network=network_of_engine.path) as engine:
        yield engine
