"""What hosting services relies on, asked of a real engine, and of the one in memory that other tests use."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from tests.integration.docker_engine import HEARD, DockerEngine
from tests.integration.registry.serving import layer
from tests.unit.hosting.fake_engine import FakeEngine, Program
from tinkbox.model.services import HealthCheck
from tinkbox.runtime import Container, ContainerFailed, ContainerSpec
from tinkbox.runtime.docker import DockerRuntime
from tinkbox.runtime.hosting import Health, Look, ServiceRuntime

pytestmark = pytest.mark.docker

IMAGE = "tools/services:v1"
LABELS = {"tinkbox.host": "h1", "tinkbox.run": "r1"}
SUBNET = IPv4Network("10.214.0.0/28")
PROGRAMS = {
    "/bin/forever": Program(output=b"begun\n", ports=(80, 8080)),
    "/bin/three": Program(lives=[(0.0, 3)], output=b"once\n", ports=(80, 8080)),
    "/bin/fit": Program(healthy=(0.3, math.inf), ports=(80, 8080)),
    "/bin/unfit": Program(healthy=(math.inf, math.inf), ports=(80, 8080)),
}
BUSYBOX = Path("/bin/busybox").read_bytes()
FILES = {
    "bin/busybox": BUSYBOX,
    "bin/sh": BUSYBOX,
    "bin/three": f"#!/bin/busybox sh\necho once\n{HEARD}\nexit 3\n".encode(),
    "bin/forever": b"#!/bin/busybox sh\necho begun\nexec /bin/busybox tail -f /dev/null\n",
    "bin/fit": b"#!/bin/busybox sh\n: >/fit\nexec /bin/busybox tail -f /dev/null\n",
    "bin/unfit": b"#!/bin/busybox sh\nexec /bin/busybox tail -f /dev/null\n",
}
CHECK = HealthCheck(
    test=("CMD-SHELL", "/bin/busybox test -e /fit || { echo no answer; exit 1; }"), interval=0.1, retries=1
)


class InMemory(FakeEngine):
    """One whose programs are told apart by their command, as those of the image on the real engine."""

    async def create(self, spec: ContainerSpec) -> Container:
        self.programs[spec.image] = PROGRAMS[spec.command[0]]
        return await super().create(spec)


@pytest.fixture(params=["docker", "in memory"])
async def runtime(request: pytest.FixtureRequest, bridged_engine: DockerEngine) -> AsyncIterator[ServiceRuntime]:
    if request.param == "in memory":
        yield InMemory({IMAGE: Program()})
        return
    bridged_engine.cli("import", "--change=EXPOSE 8080/tcp 80/tcp 53/udp", "-", IMAGE, stdin=layer(FILES))
    async with DockerRuntime(bridged_engine.url) as real:
        yield real
        for container in await real.find({"tinkbox.host": "h1"}):
            await real.remove(container.id)
        for network in await real.networks():
            if network.labels:
                await real.remove_network(network.id)


def spec(command: str, **options: object) -> ContainerSpec:
    words = {"labels": LABELS, "privileged": False, "name": "tinkbox-r1"} | options
    return ContainerSpec(image=IMAGE, command=(command,), **words)  # type: ignore[arg-type]


async def started(runtime: ServiceRuntime, command: str, **options: object) -> str:
    container = await runtime.create(spec(command, **options))
    await runtime.start(container.id)
    return container.id


async def looked(runtime: ServiceRuntime, container_id: str, until: Callable[[Look], bool]) -> Look:
    async with asyncio.timeout(60):
        while not until(look := await runtime.look(container_id)):  # noqa: ASYNC110  nothing announces it
            await asyncio.sleep(0.05)
    return look


async def over(runtime: ServiceRuntime, container_id: str) -> Look:
    return await looked(runtime, container_id, lambda look: not look.running)


async def test_a_look_tells_whether_it_ever_began_runs_or_is_over(runtime: ServiceRuntime) -> None:
    container = await runtime.create(spec("/bin/forever"))
    assert await runtime.look(container.id) == Look(running=False, ports=(80, 8080))
    await runtime.start(container.id)
    first = await runtime.look(container.id)
    assert (first.running, first.ended_at, first.health) == (True, "", None)
    assert first.started_at
    assert await runtime.look(container.id) == first
    await runtime.stop(container.id, 0)
    look = await runtime.look(container.id)
    assert (look.running, look.started_at, look.address) == (False, first.started_at, "")
    assert look.ended_at
    assert 0 <= look.seconds < 30


async def test_every_start_and_every_end_has_a_name_of_its_own(runtime: ServiceRuntime) -> None:
    container = await started(runtime, "/bin/three")
    first = await over(runtime, container)
    assert first.exit_code == 3
    await runtime.start(container)
    second = await over(runtime, container)
    assert first.started_at != second.started_at
    assert first.ended_at != second.ended_at
    printed = b"".join([piece async for piece in runtime.output(container)])
    assert printed == b"once\nonce\n"


async def test_an_end_of_its_own_is_told_from_one_that_was_asked_for(runtime: ServiceRuntime) -> None:
    container = await started(runtime, "/bin/three")
    await over(runtime, container)
    assert await runtime.ended_alone(container)
    await runtime.remove(container)
    container = await started(runtime, "/bin/forever")
    await runtime.stop(container, 0)
    assert not await runtime.ended_alone(container)


async def test_its_health_is_told(runtime: ServiceRuntime) -> None:
    container = await started(runtime, "/bin/fit", health=CHECK)
    look = await looked(runtime, container, lambda look: look.health is Health.HEALTHY)
    assert look.probe == ""


async def test_a_check_that_fails_is_quoted(runtime: ServiceRuntime) -> None:
    container = await started(runtime, "/bin/unfit", health=CHECK)
    look = await looked(runtime, container, lambda look: look.health is Health.UNHEALTHY)
    assert look.probe == "no answer"


async def test_what_is_gone_cannot_be_looked_at_or_started(runtime: ServiceRuntime) -> None:
    container = await runtime.create(spec("/bin/forever"))
    await runtime.remove(container.id)
    for ask in (runtime.look, runtime.start):
        with pytest.raises(ContainerFailed) as refusal:
            await ask(container.id)
        assert refusal.value.reason == "ContainerLost"


async def test_a_name_is_given_once(runtime: ServiceRuntime) -> None:
    await runtime.create(spec("/bin/forever"))
    with pytest.raises(ContainerFailed) as refusal:
        await runtime.create(spec("/bin/forever"))
    assert refusal.value.reason == "CreateFailed"


async def test_a_network_is_made_known_used_and_removed(runtime: ServiceRuntime) -> None:
    made = await runtime.create_network("tinkbox-w1", SUBNET, LABELS)
    assert made is not None
    (known,) = [each for each in await runtime.networks() if each.labels]
    assert (known.id, known.subnets, known.labels) == (made.id, (SUBNET,), LABELS)
    container = await started(runtime, "/bin/forever", network=made.id)
    with pytest.raises(ContainerFailed):
        await runtime.remove_network(made.id)
    await runtime.remove(container)
    await runtime.remove_network(made.id)
    await runtime.remove_network(made.id)
    assert [each for each in await runtime.networks() if each.labels] == []


async def test_a_subnet_that_overlaps_with_another_is_not_given_twice(runtime: ServiceRuntime) -> None:
    assert await runtime.create_network("tinkbox-w1", SUBNET, LABELS)
    for subnet in (SUBNET, SUBNET.supernet()):
        assert await runtime.create_network("tinkbox-w2", subnet, LABELS) is None


async def test_an_end_with_the_engine_is_not_its_own(bridged_engine: DockerEngine) -> None:
    bridged_engine.cli("import", "-", IMAGE, stdin=layer(FILES))
    async with DockerRuntime(bridged_engine.url) as runtime:
        container = await started(runtime, "/bin/forever")
        await asyncio.to_thread(bridged_engine.kill)
        bridged_engine.start()
        look = await runtime.look(container)
        assert (look.running, look.exit_code) == (False, 255)
        assert not await runtime.ended_alone(container)
        await runtime.remove(container)


async def test_more_logs_are_followed_at_once_than_a_client_has_connections_by_itself(
    bridged_engine: DockerEngine,
) -> None:
    bridged_engine.cli("import", "-", IMAGE, stdin=layer(FILES))
    async with DockerRuntime(bridged_engine.url) as runtime:
        container = await started(runtime, "/bin/forever")
        async with asyncio.timeout(60):
            following = [runtime.output(container) for _ in range(120)]
            for each in following:
                assert await anext(each) == b"begun\n"
            assert (await runtime.look(container)).running
            for each in following:
                await each.aclose()  # type: ignore[attr-defined]
        await runtime.remove(container)
