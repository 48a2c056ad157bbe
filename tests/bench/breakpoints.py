"""What breakpoints cost where nothing fails, and how quick everything is where something did.

The appliance, workers and a Docker engine run on this host, as in `tests.bench.actions`.  Beside a worker there is one
started with `--no-debug`, whose containers have no helper; beside every way into a held container there is the engine's
own way into the same one.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import aiodocker

from tests.bench.actions import BUSYBOX, IMAGE, SECONDS, TOOLS, prepare, save_image, workflow, working
from tests.bench.figures import Comparison
from tests.bench.lab import TINKBOX, folder, need, on_loopback
from tests.bench.start import milliseconds
from tests.bench.typist import KEYS, Typist
from tests.integration.docker_engine import DockerEngine, docker_engine_in
from tinkbox.client.operator import Operator
from tinkbox.client.operator.lasting_connection import LastingConnection

HELPED, PLAIN = "0a:00:00:00:00:01", "0a:00:00:00:00:02"
ROUNDS = 5
TYPED_ROUNDS = 3
RUNS = 10
VERDICTS = 20
POLL = 0.0002
ENTRYPOINT = "/tinkbox/bin/entrypoint"  # what starts a shell in a held container
MARK = [str(BUSYBOX), "sh", "-c", "echo >>/marks/mark; exit 3"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """An action that is held because it failed, on this host."""

    data: Path
    engine: DockerEngine
    workflow: str
    container: str
    mark: Path

    @property
    def shell(self) -> list[str]:
        """The command that opens a shell in it."""
        return [str(TINKBOX), "--data", str(self.data), "breakpoint", "shell", self.workflow]

    def exec(self, *command: str, options: tuple[str, ...] = ()) -> list[str]:
        """The engine's own command for a program in it."""
        return ["docker", "--host", self.engine.url, "exec", *options, self.container, *command]


def compare() -> Iterator[Comparison]:
    """The helper where nothing fails; keys, verdicts and commands where something did."""
    need(TOOLS)
    with folder() as work, docker_engine_in() as engine, ExitStack() as running:
        _, configuration = running.enter_context(on_loopback(work))
        data, archive = configuration.data, save_image(engine, work)
        places = {HELPED: work / "helped", PLAIN: work / "plain"}
        for place in (*places.values(), work / "marks"):
            place.mkdir()
        asyncio.run(prepare(data / "operator.sock", archive, places))
        running.enter_context(working(engine, places[HELPED]))
        running.enter_context(working(engine, places[PLAIN], "--no-debug"))
        yield undisturbed(data / "operator.sock")
        workflow_id = asyncio.run(held(data / "operator.sock", work / "marks"))
        container = engine.cli("ps", "--quiet", "--filter", "label=tinkbox.role=action").stdout.strip()
        stands = Held(data=data, engine=engine, workflow=workflow_id, container=container, mark=work / "marks" / "mark")
        yield from keys(stands)
        yield asyncio.run(verdicts(stands))
        yield commands(stands)


def undisturbed(operator_socket: Path) -> Comparison:
    """Time per action under the helper and without it."""
    comparison = Comparison(
        what="time per action, nothing armed", unit="ms", peer="the same with --no-debug", better="less"
    )
    for mac in (HELPED, PLAIN):  # the first of each brings the image and the programs into memory
        asyncio.run(workflow(operator_socket, mac))
    for _ in range(ROUNDS):
        ours = asyncio.run(workflow(operator_socket, HELPED))
        comparison.add(ours, asyncio.run(workflow(operator_socket, PLAIN)))
    return comparison


async def held(operator_socket: Path, marks: Path) -> str:
    """A workflow whose action leaves a mark, fails and is held; returns its id."""
    action = (
        f"{{name: fails, image: '{IMAGE}', timeout: 600, volumes: ['{marks}:/marks'], command: {json.dumps(MARK)}}}"
    )
    text = (
        'version: "0.1"\nname: held\nbreakpoint: {onFailure: true}\n'
        f'tasks:\n  - name: held\n    worker: "{{{{.device_1}}}}"\n    actions:\n      - {action}\n'
    )
    async with asyncio.timeout(SECONDS), Operator(LastingConnection(socket=operator_socket)) as operator:
        await operator.templates.create("held", text)
        created = await operator.workflows.create("held", {"device_1": HELPED})
        await again_held(operator, created["id"], 0)
    return str(created["id"])


def keys(stands: Held) -> Iterator[Comparison]:
    """From a key to its echo, through appliance and worker, and from the engine's client."""
    titles = ("median", "99th percentile")
    comparisons = [
        Comparison(what=f"a key's echo, {title} of {KEYS}", unit="ms", peer="docker exec -it", better="less")
        for title in titles
    ]
    theirs = stands.exec(ENTRYPOINT, "shell", "bench", options=("--interactive", "--tty"))
    for _ in range(TYPED_ROUNDS):
        both = []
        for command in (stands.shell, theirs):
            with Typist(command, stands.engine.environment) as person:
                both.append(person.echoes())
        for comparison, ours, others in zip(comparisons, *both, strict=True):
            comparison.add(ours, others)
    yield from comparisons


async def verdicts(stands: Held) -> Comparison:
    """From the verdict to what the command does first, and the same command by the engine's API."""
    comparison = Comparison(what="from retry to its effect", unit="ms", peer="exec by the Docker API", better="less")
    async with (
        Operator(LastingConnection(socket=stands.data / "operator.sock")) as operator,
        aiodocker.Docker(url=stands.engine.url, api_version="v1.41") as docker,
    ):
        container = await docker.containers.get(stands.container)

        async def retry() -> None:
            await operator.breakpoints.decide(stands.workflow, {"verb": "retry"})

        async def run() -> None:
            execution = await container.exec(MARK)
            async with execution.start(detach=False) as stream:
                await stream.read_out()

        for number in range(VERDICTS):
            ours = await effect(stands.mark, retry)
            await again_held(operator, stands.workflow, number + 1)
            comparison.add(ours, await effect(stands.mark, run))
    return comparison


def commands(stands: Held) -> Comparison:
    """A whole command in the container, from its start to its end."""
    comparison = Comparison(what="breakpoint shell WF -- true", unit="ms", peer="docker exec … true", better="less")
    true = [str(BUSYBOX), "true"]
    for _ in range(RUNS):
        comparison.add(milliseconds(*stands.shell, "--", *true), milliseconds(*stands.exec(*true)))
    return comparison


async def effect(mark: Path, cause: Callable[[], Awaitable[None]]) -> float:
    """Milliseconds from its cause until the mark grows."""
    size = mark.stat().st_size

    def grown() -> float:
        deadline = time.monotonic() + SECONDS
        while mark.stat().st_size == size:
            if time.monotonic() > deadline:
                raise TimeoutError(f"no mark within {SECONDS} s")
            time.sleep(POLL)  # a change of the file would be told in the event loop, which does other things
        return time.perf_counter()

    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        watching = group.create_task(asyncio.to_thread(grown))
        began = time.perf_counter()
        await cause()
    return (watching.result() - began) * 1e3


async def again_held(operator: Operator, workflow_id: str, after: int) -> None:
    """Wait until it is held behind the hold of this number."""
    async with asyncio.timeout(SECONDS):
        while True:
            hold = (await operator.breakpoints.get(workflow_id))["held"]
            if hold is not None and hold["sequence"] > after:
                return
            await asyncio.sleep(0.01)
