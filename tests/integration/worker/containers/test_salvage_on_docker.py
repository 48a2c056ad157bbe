"""A container without the helper is held in a copy, on a real engine."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.integration.docker_engine import DockerEngine
from tests.integration.registry.serving import layer
from tinkbox.model.breakpoint import Armed
from tinkbox.runtime import Container, ContainerFailed, ContainerSpec, ExecSpec
from tinkbox.runtime.docker import DockerRuntime
from tinkbox.worker.containers import salvage as salvage_module
from tinkbox.worker.containers.salvage import copy_of, discard, salvage
from tinkbox.worker.files import toolbox
from tinkbox.worker.files.helper_files import ENTRYPOINT, RUN, HelperFiles

IMAGE = "tools/salvage:v1"
BUSYBOX = "/bin/busybox"
ATTEMPT = "Attempt/1"
LABELS = {"tinkbox.worker": "w", "tinkbox.attempt": ATTEMPT, "tinkbox.role": "action"}
WRITES = "echo kept >/left; echo volume >/data/left; echo secret >/dev/shm/lost; mkdir -p /home; exit 3"


@dataclass
class Machine:
    runtime: DockerRuntime
    engine: DockerEngine
    spec: ContainerSpec  # of the action itself
    files: HelperFiles
    tools: Path

    async def died(self, script: str = WRITES) -> Container:
        """The action's container, at its end."""
        container = await self.runtime.create(replace(self.spec, command=(BUSYBOX, "sh", "-c", script)))
        await self.runtime.start(container.id)
        await self.runtime.wait(container.id)
        (found,) = await self.runtime.find(LABELS)
        return found

    @property
    def holding(self) -> ContainerSpec:
        """How its copy is to be held."""
        self.files.prepare()
        self.files.set_policy(Armed(), again=True)
        own = self.files.mounts(self.tools, 0)
        mounts = {**self.spec.mounts, **own}
        return replace(self.spec, entrypoint=(ENTRYPOINT,), mounts=mounts, read_only=frozenset(own) - {RUN})

    async def output(self, container: Container, script: str) -> str:
        process = await self.runtime.exec(container.id, ExecSpec(command=(BUSYBOX, "sh", "-c", script)))
        printed = []
        while (piece := await process.read()) is not None:
            printed.append(piece[1])
        await process.close()
        return b"".join(printed).decode()

    def images(self) -> list[str]:
        return self.engine.cli("images", "-q", "--filter", "reference=tinkbox-breakpoint").stdout.split()


@pytest.fixture
async def machine(docker_engine: DockerEngine, tmp_path: Path) -> AsyncIterator[Machine]:
    changes = [f"--change={line}" for line in ("VOLUME /data", "WORKDIR /etc", "ENV FROM=image", 'CMD ["x"]')]
    files = {"bin/busybox": Path(BUSYBOX).read_bytes(), "etc/file": b""}
    docker_engine.cli("import", *changes, "-", IMAGE, stdin=layer(files))
    (tmp_path / "given").mkdir()
    spec = ContainerSpec(
        image=IMAGE,
        labels=LABELS,
        environment={"GIVEN": "by the template"},
        binds=(f"{tmp_path}/given:/given",),
        mounts={"/workflow": str(tmp_path / "given")},
        privileged=False,
    )
    async with asyncio.timeout(120), DockerRuntime(docker_engine.url) as runtime:
        tools = toolbox.install(tmp_path / "tools")
        yield Machine(runtime, docker_engine, spec, HelperFiles(tmp_path / "holds", "a"), tools)
        await discard(runtime, ATTEMPT)
        for container in await runtime.find({"tinkbox.attempt": ATTEMPT}):
            await runtime.remove(container.id)


async def test_files_volumes_environment_and_folder_are_as_the_action_left_them(machine: Machine) -> None:
    dead = await machine.died()
    held = await salvage(machine.runtime, dead, machine.holding)
    assert (held.started, held.ended) == (True, False)
    script = (
        'cat() { busybox cat "$@"; }; cat /left /data/left; echo "$GIVEN $FROM"; busybox pwd; busybox ls /dev/shm /'
    )
    printed = (await machine.output(held, f"PATH=/bin; {script}")).split("\n")
    assert printed[:4] == ["kept", "volume", "by the template image", "/etc"]
    assert "lost" not in printed
    assert {"given", "workflow", "tinkbox", "home"} <= set(printed)


async def test_the_copy_is_held_by_the_helper_which_runs_nothing(machine: Machine) -> None:
    held = await salvage(machine.runtime, await machine.died(), machine.holding)
    await machine.output(held, "while [ ! -s /tinkbox/run/status ]; do /bin/busybox sleep 0.05; done")
    assert machine.files.status().held == "failure"
    assert machine.files.status().run == 0
    await machine.runtime.stop(held.id, 1)
    assert (await machine.runtime.wait(held.id)).exit_code == 143


async def test_asked_again_it_is_the_same_copy(machine: Machine) -> None:
    dead = await machine.died()
    held = await salvage(machine.runtime, dead, machine.holding)
    assert await salvage(machine.runtime, dead, machine.holding) == held
    await machine.runtime.stop(held.id, 1)
    assert await salvage(machine.runtime, dead, machine.holding) == held
    assert "kept" in await machine.output(held, "/bin/busybox cat /left")
    assert len(machine.images()) == 1


async def test_nothing_is_left_of_a_copy_that_is_discarded_but_what_it_was_made_from(machine: Machine) -> None:
    dead = await machine.died()
    await salvage(machine.runtime, dead, machine.holding)
    # As after a restart of the worker: nothing is known but the attempt.
    await discard(machine.runtime, ATTEMPT)
    assert [each.id for each in await machine.runtime.find({"tinkbox.attempt": ATTEMPT})] == [dead.id]
    assert machine.images() == []
    await discard(machine.runtime, ATTEMPT)


async def test_an_image_whose_container_was_never_made_is_discarded_too(machine: Machine) -> None:
    await machine.runtime.commit((await machine.died()).id, copy_of(ATTEMPT))
    assert len(machine.images()) == 1
    await discard(machine.runtime, ATTEMPT)
    assert machine.images() == []


async def test_what_is_too_large_for_the_memory_is_refused_and_nothing_is_made(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    dead = await machine.died("/bin/busybox dd if=/dev/zero of=/large bs=1M count=8; exit 1")
    (tmp_path / "meminfo").write_text("MemAvailable: 18432 kB\n")
    monkeypatch.setattr(salvage_module, "MEMORY", tmp_path / "meminfo")
    with pytest.raises(ContainerFailed, match=r"wrote 8 MiB .* at most 6 MiB") as refusal:
        await salvage(machine.runtime, dead, machine.holding)
    assert refusal.value.reason == "TooLargeToHold"
    assert machine.images() == []
    monkeypatch.undo()
    held = await salvage(machine.runtime, dead, machine.holding)
    assert "8388608" in await machine.output(held, "/bin/busybox wc -c /large")


async def test_what_the_action_wrote_into_volumes_is_not_copied(machine: Machine) -> None:
    dead = await machine.died("/bin/busybox dd if=/dev/zero of=/data/large bs=1M count=8; exit 1")
    assert await machine.runtime.changed_bytes(dead.id) < 1024 * 1024


async def test_a_container_that_is_gone_cannot_be_copied(machine: Machine) -> None:
    dead = await machine.died()
    await machine.runtime.remove(dead.id)
    with pytest.raises(ContainerFailed) as refusal:
        await salvage(machine.runtime, dead, machine.holding)
    assert refusal.value.reason == "ContainerLost"
