"""The room on the disk of a Docker engine."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.docker_engine import docker_engine_in
from tests.integration.registry.serving import layer
from tests.integration.runtime.test_docker import BUSYBOX
from tinkbox.runtime import ContainerSpec
from tinkbox.runtime.docker import DockerRuntime
from tinkbox.worker.host.engine_room import LITTLE_OCTETS, hardly_any, little_room
from tinkbox.worker.host.mounts import mount_tmpfs, unmount

IMAGE = "room:v1"
FILL = ("/bin/busybox", "dd", "if=/dev/zero", "of=/large", "bs=1M")


@pytest.fixture
def place(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A tmpfs with the options of the test's parameter."""
    folder = Path(tempfile.mkdtemp(prefix="tinkbox-room-"))  # a socket's path must be short
    mount_tmpfs(folder, request.param)
    try:
        yield folder
    finally:
        unmount(folder)
        folder.rmdir()


@pytest.mark.parametrize("place", ["size=64m"], indirect=True)
async def test_a_container_that_fills_its_layer_leaves_an_engine_without_room(place: Path) -> None:
    with docker_engine_in(place) as engine:
        engine.cli("import", "-", IMAGE, stdin=layer({"bin/busybox": BUSYBOX.read_bytes()}))
        async with DockerRuntime(engine.url) as runtime:
            assert await little_room(runtime) == ""
            spec = ContainerSpec(image=IMAGE, labels={}, command=FILL, privileged=False)
            container = await runtime.create(spec)
            await runtime.start(container.id)
            assert (await runtime.wait(container.id)).exit_code == 1
            said = await little_room(runtime)
            assert said.startswith(f"when it ended, the disk of the Docker engine ({await runtime.root()}) had ")
            assert str(place) in said
            await runtime.remove(container.id)
            assert await little_room(runtime) == ""


@pytest.mark.parametrize("place", ["size=64m,nr_inodes=200"], indirect=True)
def test_a_disk_without_inodes_is_full_too(place: Path) -> None:
    assert hardly_any(str(place)) == ""
    for number in range(140):
        (place / str(number)).touch()
    assert " inodes left, which may be why: `docker system df`" in hardly_any(str(place))


@pytest.mark.parametrize("place", ["size=64m"], indirect=True)
def test_little_room_is_told_and_a_folder_that_is_elsewhere_is_not(place: Path) -> None:
    (place / "large").write_bytes(bytes((64 << 20) - LITTLE_OCTETS + 4096))
    assert "MiB free, which may be why" in hardly_any(str(place))
    (place / "large").write_bytes(bytes(64 << 20))
    assert "had no room left" in hardly_any(str(place))
    assert hardly_any("/nowhere") == ""
