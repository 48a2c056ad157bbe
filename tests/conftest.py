import os
from collections.abc import Iterator

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.workermanage import NodeManager

from examples.lab.network import Network
from tests.integration.docker_engine import DockerEngine, docker_engine_in
from tests.processes import BothEnds, how_many, place_in_order

# No deadline: a machine that is busy with virtual machines takes its time.
settings.register_profile("quick", deadline=None, print_blob=True)
settings.register_profile("deep", deadline=None, print_blob=True, max_examples=100_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


# Seconds for each process, when the tests are interrupted, to take down engines and machines.
NodeManager.EXIT_TIMEOUT = 20.0


def pytest_xdist_auto_num_workers() -> int:
    return how_many()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> BothEnds | None:
    if config.getoption("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False  # by the number of tests would be virtual machines last
    return BothEnds(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):  # one of several processes
        items.sort(key=lambda item: place_in_order(item.nodeid))


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
