import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from examples.lab.network import Network
from tests.integration.docker_engine import DockerEngine, docker_engine_in
from tests.integration.hosting.lab import Lab, make_images, place_for, registry_in
from tinkbox.runtime.docker import DockerRuntime

Engine = tuple[DockerEngine, Path, Path]


@pytest.fixture(scope="session")
def bridged_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An engine that may make bridges, its network namespace, and the files of a registry with the image for services."""
    images = tmp_path_factory.mktemp("registry") / "images"
    with Network() as network, docker_engine_in(network=network.path) as engine:
        asyncio.run(make_images(engine, images))
        yield engine, network.path, images


@pytest.fixture
async def lab(bridged_engine: Engine, tmp_path: Path) -> AsyncIterator[Lab]:
    """A place for services on an engine that has nothing else."""
    engine, network, images = bridged_engine
    async with registry_in(network, images) as registry, DockerRuntime(engine.url) as runtime:
        yield Lab(engine, network, runtime, place_for(tmp_path, registry))
    if not engine.runs:
        engine.restart()
    for container in engine.cli("ps", "-aq").stdout.split():
        engine.cli("rm", "-fv", container)
    engine.cli("network", "prune", "-f")
