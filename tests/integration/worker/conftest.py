from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cli.serving import configure, serving
from tests.integration.docker_engine import DockerEngine
from tests.integration.worker.machine import Lab


@pytest.fixture
def lab(tmp_path: Path, docker_engine: DockerEngine) -> Iterator[Lab]:
    """A machine of an appliance that is off: `serving(lab.configuration)` switches it on."""
    lab = Lab(tmp_path, configure(tmp_path), docker_engine)
    with serving(lab.configuration):
        lab.prepare()
    yield lab
    for container in lab.containers():
        docker_engine.cli("rm", "-f", container)
