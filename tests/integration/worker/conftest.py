from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cli.serving import configure, serving
from tests.integration.docker_engine import DockerEngine
from tests.integration.worker.machine import Lab

# A worker makes them for actions that share the machine's /dev, and under test that machine is this one.
MOUNT_POINTS = (Path("/dev/reason"), Path("/dev/message"))


@pytest.fixture
def lab(tmp_path: Path, docker_engine: DockerEngine) -> Iterator[Lab]:
    """A machine of an appliance that is off: `serving(lab.configuration)` switches it on."""
    lab = Lab(tmp_path, configure(tmp_path), docker_engine)
    with serving(lab.configuration):
        lab.prepare()
    new_here = [path for path in MOUNT_POINTS if not path.exists()]
    yield lab
    for container in lab.containers():
        docker_engine.cli("rm", "-f", container)
    for path in new_here:
        path.unlink(missing_ok=True)
