import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.docker_engine import HEARD, DockerEngine
from tests.integration.helper.container import ON_FAILURE, WITH_BASH, WITH_SHELL, WITHOUT_SHELL, ActionContainer
from tests.integration.registry.serving import layer
from tinkbox.model.breakpoint import Kind
from tinkbox.worker.files.toolbox import install

BUSYBOX = Path("/bin/busybox").read_bytes()
FILES = {
    "bin/sh": BUSYBOX,
    "bin/no-interpreter": b"#!/bin/nothing\n",
    "bin/folder/file": b"",
    "bin/no-format": b"exit 3\n",
    "bin/own": f'#!/bin/sh\necho "own: $*"\n{HEARD}\nexit 3\n'.encode(),
}
SCRATCH = {"app/busybox": BUSYBOX, "bin/wget": b'#!/app/busybox sh\necho "own: $*"\n'}
# As Debian's does it gives every interactive shell a prompt.
BASHRC = b"PS1='the image prompts: '\n"


def libraries(program: Path) -> dict[str, bytes]:
    """A program of this machine with what it is linked to, by their paths in an image."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    paths = [program, *(Path(word) for word in listed.split() if word.startswith("/"))]
    return {str(path).lstrip("/"): path.read_bytes() for path in paths}


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("tools"))


@pytest.fixture(scope="session")
def engine(docker_engine: DockerEngine) -> DockerEngine:
    docker_engine.cli("import", "-", WITH_SHELL, stdin=layer(FILES))
    docker_engine.cli("import", "-", WITHOUT_SHELL, stdin=layer(SCRATCH))
    with_bash = {**FILES, **libraries(Path("/bin/bash")), "etc/bash.bashrc": BASHRC}
    docker_engine.cli("import", "-", WITH_BASH, stdin=layer(with_bash))
    return docker_engine


@pytest.fixture
def action(engine: DockerEngine, tools: Path, tmp_path: Path) -> Iterator[ActionContainer]:
    """One container of the test's own."""
    container = ActionContainer(engine, tools, tmp_path)
    yield container
    container.remove()


@pytest.fixture(scope="module")
def held(engine: DockerEngine, tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ActionContainer]:
    """One that is held for as long as a file's tests look into it."""
    container = ActionContainer(engine, tools, tmp_path_factory.mktemp("held"))
    options = ("--env=OF=the action", "--workdir=/bin")
    container.shell("exit 7", ON_FAILURE, options=options).held(Kind.FAILURE)
    yield container
    container.remove()
