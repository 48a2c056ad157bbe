from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.cli.serving import configure, serving
from tests.integration.docker_engine import DockerEngine
from tests.integration.worker.machine import Lab


@contextmanager
def lab_in(folder: Path, engine: DockerEngine) -> Iterator[Lab]:
    """A machine whose appliance is off, and nothing of it afterwards."""
    lab = Lab(folder, configure(folder), engine)
    with serving(lab.configuration):
        lab.prepare()
    yield lab
    for container in lab.containers():
        engine.cli("rm", "-f", container)


@pytest.fixture
def lab(tmp_path: Path, docker_engine: DockerEngine) -> Iterator[Lab]:
    """A machine of an appliance that is off: `serving(lab.configuration)` switches it on."""
    with lab_in(tmp_path, docker_engine) as lab:
        yield lab


@pytest.fixture(scope="module")
def lab_of_module(tmp_path_factory: pytest.TempPathFactory, docker_engine: DockerEngine) -> Iterator[Lab]:
    """The same, for a module that has many tests."""
    with lab_in(tmp_path_factory.mktemp("machine"), docker_engine) as lab:
        yield lab


@pytest.fixture(scope="module")
def machine_of_module(lab_of_module: Lab) -> Iterator[Lab]:
    """A machine at work, for a module that has many tests; they use it by the name of `machine`."""
    with serving(lab_of_module.configuration), lab_of_module.working():
        yield lab_of_module


@pytest.fixture
def machine(machine_of_module: Lab) -> Iterator[Lab]:
    """A machine at work that has nothing to do."""
    yield machine_of_module
    machine_of_module.cancel_all()
