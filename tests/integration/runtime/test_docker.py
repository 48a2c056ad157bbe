"""What the worker relies on, asked of a real engine, and of the one in memory that other tests use."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.integration.cli.serving import own_ports
from tests.integration.docker_engine import HEARD, DockerEngine
from tests.integration.registry.serving import layer, serving
from tests.unit.worker.fakes import FakeDoor, FakeRuntime
from tests.unit.worker.programs import Program
from tinkbox.runtime import Container, ContainerFailed, ContainerSpec, Ended, EngineAway, Runtime
from tinkbox.runtime.docker import DockerRuntime
from tinkbox.runtime.output import OutputPump
from tinkbox.runtime.output_carrier import Carrier

BUSYBOX = Path("/bin/busybox")
IMAGE = "tools/busybox:v1"
PROGRAMS = {
    IMAGE: Program(),
    f"{IMAGE} /bin/three": Program(output=b"one\ntwo\n", exit_code=3),
    f"{IMAGE} /bin/unfinished": Program(output=b"one\ntwo\nlast words"),
    f"{IMAGE} /bin/forever": Program(output=b"begun\n", lasts=True),
    f"{IMAGE} /bin/nothing": Program(error='exec: "/bin/nothing": no such file or directory'),
}
SHORT = 16  # at once
LABELS = {"tinkbox.attempt": "a1", "tinkbox.role": "action"}
SCRIPTS = {
    "bin/busybox": BUSYBOX.read_bytes(),
    "bin/three": f"#!/bin/busybox sh\necho one\necho two\n{HEARD}\nexit 3\n".encode(),
    "bin/unfinished": f"#!/bin/busybox sh\necho one\n{HEARD}\necho two\nprintf 'last words'\n".encode(),
    "bin/forever": b"#!/bin/busybox sh\necho begun\nexec /bin/busybox tail -f /dev/null\n",
}


@pytest.fixture(scope="module")
def image(docker_engine: DockerEngine) -> str:
    docker_engine.cli("import", "-", IMAGE, stdin=layer(SCRIPTS))
    return IMAGE


@pytest.fixture(params=["docker", "in memory"])
async def runtime(request: pytest.FixtureRequest, docker_engine: DockerEngine, image: str) -> AsyncIterator[Runtime]:
    if request.param == "in memory":
        fake = FakeRuntime(PROGRAMS)
        await fake.pull(IMAGE)
        yield fake
        return
    async with DockerRuntime(docker_engine.url) as real:
        yield real
        for container in await real.find({"tinkbox.attempt": "a1"}):
            await real.remove(container.id)


def spec(command: str, **options: object) -> ContainerSpec:
    words = {"labels": LABELS, "privileged": False} | options
    return ContainerSpec(image=IMAGE, command=(command,), **words)  # type: ignore[arg-type]


async def printed(runtime: Runtime, container: Container) -> bytes:
    return b"".join([piece async for piece in runtime.output(container.id)])


async def test_a_container_is_made_started_waited_for_and_removed(runtime: Runtime) -> None:
    container = await runtime.create(spec("/bin/three"))
    assert (container.started, container.ended, container.labels) == (False, False, LABELS)
    await runtime.start(container.id)
    assert await runtime.wait(container.id) == Ended(exit_code=3)
    assert await printed(runtime, container) == b"one\ntwo\n"
    assert await printed(runtime, container) == b"one\ntwo\n"
    await runtime.remove(container.id)
    assert await runtime.find(LABELS) == []


async def test_a_container_is_found_by_its_labels_and_tells_whether_it_ever_began(runtime: Runtime) -> None:
    container = await runtime.create(spec("/bin/three"))
    for labels in (LABELS, {"tinkbox.attempt": "a1"}):
        assert await runtime.find(labels) == [container]
    for other in ({**LABELS, "tinkbox.role": "on-failure"}, {"tinkbox.attempt": "a"}):
        assert await runtime.find(other) == []
    await runtime.start(container.id)
    await runtime.wait(container.id)
    assert await runtime.find(LABELS) == [replace(container, started=True, ended=True)]


async def test_starting_what_runs_changes_nothing(runtime: Runtime) -> None:
    container = await runtime.create(spec("/bin/forever"))
    await runtime.start(container.id)
    assert await runtime.find(LABELS) == [replace(container, started=True)]
    # Once it printed it is past its beginning: killed before, it would have nothing to say.
    async with aclosing(runtime.output(container.id)) as pieces:
        assert await anext(pieces) == b"begun\n"
    await runtime.start(container.id)
    await runtime.stop(container.id, 0)
    assert await printed(runtime, container) == b"begun\n"


async def test_output_is_followed_until_the_end(runtime: Runtime) -> None:
    container = await runtime.create(spec("/bin/forever"))
    await runtime.start(container.id)
    begun = asyncio.Event()

    async def follow() -> bytes:
        whole = b""
        async for piece in runtime.output(container.id):
            whole += piece
            begun.set()
        return whole

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        following = group.create_task(follow())
        await begun.wait()
        await runtime.stop(container.id, 0)
    assert following.result() == b"begun\n"
    ended = await runtime.wait(container.id)
    assert ended.exit_code == 137


async def test_the_last_line_is_carried_once_also_without_an_end(runtime: Runtime) -> None:
    """Of so many at once Docker 20.10 leaves the last line of most out of what it tells those who follow."""
    door, names = FakeDoor(), [f"a{number}" for number in range(SHORT)]

    async def run(name: str, carrier: Carrier) -> None:
        container = await runtime.create(spec("/bin/unfinished"))
        await runtime.start(container.id)
        carrier.begin(container)
        await runtime.wait(container.id)
        await carrier.end()

    async with asyncio.timeout(120), asyncio.TaskGroup() as group:
        for name in names:
            group.create_task(run(name, Carrier(runtime, OutputPump(door, name), group)))
    assert door.printed == dict.fromkeys(names, b"one\ntwo\nlast words")


async def test_what_is_gone_may_be_stopped_and_removed_but_not_waited_for(runtime: Runtime) -> None:
    container = await runtime.create(spec("/bin/forever"))
    await runtime.start(container.id)
    await runtime.remove(container.id)
    await runtime.remove(container.id)
    await runtime.stop(container.id, 0)
    with pytest.raises(ContainerFailed) as refusal:
        await runtime.wait(container.id)
    assert refusal.value.reason == "ContainerLost"
    with pytest.raises(ContainerFailed) as refusal:
        await printed(runtime, container)
    assert refusal.value.reason == "ContainerLost"


async def test_stopping_what_never_began_changes_nothing(runtime: Runtime) -> None:
    container = await runtime.create(spec("/bin/three"))
    await runtime.stop(container.id, 10)
    assert await runtime.find(LABELS) == [container]
    await runtime.start(container.id)
    assert await runtime.wait(container.id) == Ended(exit_code=3)


async def test_a_command_that_is_not_there_fails_the_start_and_never_began(runtime: Runtime) -> None:
    container = await runtime.create(spec("/bin/nothing"))
    with pytest.raises(ContainerFailed, match="/bin/nothing") as refusal:
        await runtime.start(container.id)
    assert refusal.value.reason == "BadCommand"
    assert await runtime.find(LABELS) == [container]


async def test_an_image_that_is_not_there_fails_the_creation(runtime: Runtime) -> None:
    with pytest.raises(ContainerFailed) as refusal:
        await runtime.create(ContainerSpec(image="tools/none:v1", labels=LABELS))
    assert refusal.value.reason == "ImageNotFound"


async def test_environment_binds_and_streams_reach_the_process(
    docker_engine: DockerEngine, image: str, tmp_path: Path
) -> None:
    (tmp_path / "given").write_text("from the machine\n")
    script = f'cat /in/given; echo "$WORDS" >/in/taken; printf "\\377\\0" ; echo problem >&2; {HEARD}; exit 1'
    async with DockerRuntime(docker_engine.url) as runtime:
        container = await runtime.create(
            ContainerSpec(
                image=image,
                labels=LABELS,
                command=("/bin/busybox", "sh", "-c", script),
                environment={"WORDS": "a = 'b' $c\nd"},
                binds=(f"{tmp_path}:/in",),
                privileged=False,
            )
        )
        await runtime.start(container.id)
        await runtime.wait(container.id)
        output = await printed(runtime, container)
        await runtime.remove(container.id)
    # The engine keeps logs as text: what is none becomes U+FFFD.  Between two streams there is no order.
    assert sorted(output) == sorted("from the machine\n\ufffd\0problem\n".encode())
    assert (tmp_path / "taken").read_text() == "a = 'b' $c\nd\n"


@pytest.mark.parametrize(
    ("name", "reason"), [("nothing:v1", "ImageNotFound"), ("Bad:v1", "ImagePullFailed")]
)  # fmt: skip
async def test_a_pull_that_cannot_succeed_says_why(
    docker_engine: DockerEngine, tmp_path: Path, name: str, reason: str
) -> None:
    async with serving(tmp_path) as registry, DockerRuntime(docker_engine.url) as runtime:
        with pytest.raises(ContainerFailed) as refusal:
            await runtime.pull(f"{registry.host}/{name}")
    assert refusal.value.reason == reason


async def test_a_registry_that_nobody_serves_is_unreachable(docker_engine: DockerEngine) -> None:
    (port,) = own_ports(1)
    async with DockerRuntime(docker_engine.url) as runtime:
        with pytest.raises(ContainerFailed, match="refused") as refusal:
            await runtime.pull(f"127.0.0.1:{port}/hello:v1")
    assert refusal.value.reason == "RegistryUnreachable"


async def test_an_image_comes_from_our_own_registry(docker_engine: DockerEngine, tmp_path: Path) -> None:
    async with serving(tmp_path) as registry, DockerRuntime(docker_engine.url) as runtime:
        await registry.push_image("hello", "v1")
        await runtime.pull(f"{registry.host}/hello:v1")
        docker_engine.cli("rmi", f"{registry.host}/hello:v1")


async def test_an_image_is_here_by_the_digest_that_its_registry_has_it_under(
    docker_engine: DockerEngine, tmp_path: Path
) -> None:
    async with serving(tmp_path) as registry, DockerRuntime(docker_engine.url) as runtime:
        name = f"{registry.host}/hello"
        first = await registry.push_image("hello", "v1")
        assert not await runtime.has(f"{name}@{first}")
        assert await runtime.pull(f"{name}:v1") == first
        assert await runtime.has(f"{name}@{first}")
        second = await registry.push_image("hello", "v1", "another")
        assert not await runtime.has(f"{name}@{second}")
        # The tag moved, and the bytes are to be had.
        docker_engine.cli("rmi", f"{name}:v1")
        assert not await runtime.has(f"{name}@{first}")
        assert await runtime.pull(f"{name}@{first}") == first
        container = await runtime.create(ContainerSpec(image=f"{name}@{first}", labels={}, command=("x",)))
        assert docker_engine.cli("inspect", "-f", "{{.Config.Image}}", container.id).stdout.strip() == f"{name}@{first}"
        await runtime.remove(container.id)
        # What was made here, under a name that a registry could have, came from none.
        docker_engine.cli("tag", f"{name}@{first}", f"{registry.host}/made:v1")
        assert not await runtime.has(f"{registry.host}/made@{first}")
        docker_engine.cli("rmi", f"{name}@{first}", f"{registry.host}/made:v1")


async def test_an_engine_that_dies_is_away_and_its_containers_come_back_ended(
    docker_engine: DockerEngine, image: str
) -> None:
    async with DockerRuntime(docker_engine.url) as runtime:
        container = await runtime.create(spec("/bin/forever"))
        await runtime.start(container.id)
        assert "start" in await runtime.remembered(container.id)

        async def wait() -> None:
            with pytest.raises(EngineAway):
                await runtime.wait(container.id)

        async with asyncio.TaskGroup() as group:
            group.create_task(wait())
            await asyncio.to_thread(docker_engine.kill)
        with pytest.raises(EngineAway):
            await runtime.find(LABELS)
        with pytest.raises(EngineAway):
            await runtime.version()
        docker_engine.start()
        assert await runtime.find(LABELS) == [replace(container, started=True, ended=True)]
        ended = await runtime.wait(container.id)
        assert ended.exit_code != 0
        assert "start" not in await runtime.remembered(container.id)
        await runtime.remove(container.id)
        assert await runtime.version()


async def test_an_engine_in_another_mount_namespace_sees_nothing_that_is_mounted_here(
    docker_engine: DockerEngine, tmp_path: Path
) -> None:
    async with DockerRuntime(docker_engine.url) as apart, DockerRuntime("tcp://127.0.0.1:1") as elsewhere:
        assert not await apart.shares_mounts()
        assert not await elsewhere.shares_mounts()
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(str(tmp_path / "docker.sock"))
        engine.listen()
        async with DockerRuntime(f"unix://{tmp_path}/docker.sock") as beside:
            assert await beside.shares_mounts()
    async with DockerRuntime(f"unix://{tmp_path}/docker.sock") as gone:
        with pytest.raises(EngineAway):
            await gone.shares_mounts()


OOM = b'{"status":"oom"}\n'


@pytest.mark.parametrize(
    ("exit_code", "status", "event", "lasting", "memory"),
    [
        pytest.param(137, 200, OOM, True, True, id="the event is there"),
        pytest.param(137, 200, b"", True, False, id="there is none"),
        pytest.param(137, 200, b"", False, False, id="the events break off"),
        pytest.param(137, 500, b"", False, False, id="the events are refused"),
        pytest.param(3, 200, OOM, True, False, id="it was not killed"),
    ],
)
async def test_memory_that_ran_out_is_known_where_the_engine_forgot_it(
    exit_code: int, status: int, event: bytes, lasting: bool, memory: bool
) -> None:
    """As Docker was seen to answer on a busy machine: the container's state does not have what the events have."""
    over = asyncio.Event()

    async def wait(_: web.Request) -> web.Response:
        return web.json_response({"StatusCode": exit_code})

    async def inspect(_: web.Request) -> web.Response:
        return web.json_response({"State": {"ExitCode": exit_code, "OOMKilled": False, "Error": ""}})

    async def events(request: web.Request) -> web.StreamResponse:
        assert json.loads(request.query["filters"]) == {"container": ["c1"], "event": ["oom"]}
        response = web.StreamResponse(status=status)
        await response.prepare(request)
        await response.write(event)
        if lasting:
            await over.wait()
        return response

    app = web.Application()
    app.router.add_post("/v1.41/containers/c1/wait", wait)
    app.router.add_get("/v1.41/containers/c1/json", inspect)
    app.router.add_get("/v1.41/events", events)
    async with TestServer(app) as engine, DockerRuntime(f"tcp://{engine.host}:{engine.port}") as runtime:
        try:
            assert await runtime.wait("c1") == Ended(exit_code=exit_code, out_of_memory=memory)
        finally:
            over.set()
