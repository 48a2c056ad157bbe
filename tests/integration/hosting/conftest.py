import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from examples.lab.network import Network
from tests.integration.docker_engine import DockerEngine
from tests.integration.hosting.lab import Lab, make_images, place_for, registry_in
from tinkbox.runtime.docker import DockerRuntime


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory, bridged_engine: DockerEngine) -> Path:
    """The files of a registry with the images for services."""
    folder = tmp_path_factory.mktemp("registry") / "images"
    asyncio.run(make_images(bridged_engine, folder))
    return folder


@pytest.fixture
async def lab(
    bridged_engine: DockerEngine, network_of_engine: Network, images: Path, tmp_path: Path
) -> AsyncIterator[Lab]:
    """A place for services on an engine that has nothing else."""
    network = network_of_engine.path
    async with registry_in(network, images) as registry, DockerRuntime(bridged_engine.url) as runtime:
        yield Lab(bridged_engine, network, runtime, place_for(tmp_path, registry))
    if not bridged_engine.runs:
        bridged_engine.restart()
    for container in bridged_engine.cli("ps", "-aq").stdout.split():
        bridged_engine.cli("rm", "-fv", container)
    bridged_engine.cli("network", "prune", "-f")
