"""Time per action: a workflow of actions that do nothing, beside the same containers through the Docker API alone.

The appliance, a worker and a Docker engine of their own run on this host; the engine pulls from the appliance's
registry.  An action's time is one whole turn, from its start to the next one's: offer, pull, create, start, wait,
output, report, removal.  The bare side is create, start, wait and remove of a container with the same options, from
the same image, one after the other, in the same engine.
"""

import asyncio
import json
import tarfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import aiodocker

from examples.lab.processes import start, stop
from tests.bench.figures import Comparison
from tests.bench.lab import TINKBOX, folder, need, on_loopback
from tests.integration.docker_engine import DockerEngine, docker_engine_in
from tinkbox.client.operator import Operator
from tinkbox.client.operator.lasting_connection import LastingConnection

BUSYBOX = Path("/bin/busybox")
TOOLS = {"dockerd": "docker.io", "docker": "docker.io", str(BUSYBOX): "busybox-static"}
ROUNDS = 3
ACTIONS = 20
IMAGE = "nothing:v1"
COMMAND = [str(BUSYBOX), "true"]
MAC = "0a:00:00:00:00:01"
CREDENTIAL = "worker.json"
MEMORY = Path("/dev/shm")
SECONDS = 120


def compare() -> Iterator[Comparison]:
    """One comparison."""
    need(TOOLS)
    comparison = Comparison(
        what=f"time per action, {ACTIONS} in a row", unit="ms", peer="the same by the Docker API", better="less"
    )
    with folder() as work, folder(MEMORY) as machine, docker_engine_in() as engine, ExitStack() as running:
        _, configuration = running.enter_context(on_loopback(work))
        operator_socket, registry = configuration.data / "operator.sock", f"127.0.0.1:{configuration.http_port}"
        asyncio.run(prepare(operator_socket, save_image(engine, work), {MAC: machine}))
        running.enter_context(working(engine, machine))
        image, places = f"{registry}/{IMAGE}", binds(machine)
        # The first of each brings the image and the programs into memory.
        asyncio.run(workflow(operator_socket))
        asyncio.run(bare(engine, image, places, 1))
        for _ in range(ROUNDS):
            ours = asyncio.run(workflow(operator_socket))
            comparison.add(ours, asyncio.run(bare(engine, image, places, ACTIONS)))
    yield comparison


def save_image(engine: DockerEngine, work: Path) -> Path:
    """An image with nothing but busybox, as `docker save` writes it."""
    layer, archive = work / "layer.tar", work / "nothing.tar"
    with tarfile.open(layer, "w") as tar:
        tar.add(BUSYBOX.resolve(), str(BUSYBOX).lstrip("/"))
    engine.cli("import", layer, IMAGE)
    engine.cli("save", "--output", archive, IMAGE)
    return archive


async def prepare(operator_socket: Path, archive: Path, workers: Mapping[str, Path]) -> None:
    """What an operator does once: the image, the template, and each machine's worker, by its address its folder."""
    actions = "".join(
        f"      - {{name: nothing-{number}, image: '{IMAGE}', timeout: 60, command: {json.dumps(COMMAND)}}}\n"
        for number in range(ACTIONS)
    )
    task = f'  - name: nothing\n    worker: "{{{{.device_1}}}}"\n    actions:\n{actions}'
    async with Operator(LastingConnection(socket=operator_socket)) as operator:
        await operator.images.load(archive)
        await operator.templates.create("bench", f'version: "0.1"\nname: bench\nglobal_timeout: 600\ntasks:\n{task}')
        for number, (mac, folder) in enumerate(workers.items(), 2):
            dhcp = {"mac": mac, "ip": {"address": f"127.0.0.{number}", "netmask": "255.0.0.0"}}
            hardware = {"id": str(uuid.uuid4()), "network": {"interfaces": [{"dhcp": dhcp}]}}
            await operator.hardware.push(json.dumps(hardware).encode())
            (folder / CREDENTIAL).write_text(json.dumps(await operator.hardware.credential(mac)))


@contextmanager
def working(engine: DockerEngine, folder: Path, *options: str) -> Iterator[None]:
    """The worker of that folder, without privileges, which not every host can give."""
    own = ["--credential", str(folder / CREDENTIAL), "--docker", engine.url, "--data", str(folder / "worker")]
    with (folder / "worker.log").open("wb") as log:
        process = start([str(TINKBOX), "--worker", "--no-privileged", *own, *options], stdout=log)
    try:
        yield
    finally:
        stop(process)


async def workflow(operator_socket: Path, mac: str = MAC) -> float:
    """Milliseconds from an action's start to the next one's, the mean over a workflow on that machine."""
    async with asyncio.timeout(SECONDS), Operator(LastingConnection(socket=operator_socket)) as operator:
        events = operator.events()
        await anext(events)  # from here on nothing is missed
        await operator.workflows.create("bench", {"device_1": mac})
        begun = []
        async for _, event in events:
            if event and event["kind"] == "action.started":
                begun.append(datetime.fromisoformat(event["at"]))
            if event and event["kind"] in {"workflow.failed", "workflow.timeout"}:
                raise RuntimeError(f"the workflow failed: {event}")
            if event and event["kind"] == "workflow.succeeded":
                break
    return (begun[-1] - begun[0]).total_seconds() * 1e3 / (len(begun) - 1)


def binds(work: Path) -> list[str]:
    """As many of the same kinds as the worker gives to an action."""
    data, note = work / "bare", work / "note"
    data.mkdir()
    note.touch()
    files = ("/dev/reason", "/tinkerbell/failure-reason", "/dev/message", "/tinkerbell/failure-message")
    return [f"{data}:/workflow", f"{data}:/workflow/data", *(f"{note}:{each}" for each in files)]


async def bare(engine: DockerEngine, image: str, places: list[str], number: int) -> float:
    """Milliseconds for one container, the mean over `number` of them."""
    configuration: dict[str, Any] = {
        "Image": image,
        "Cmd": COMMAND,
        "Env": [f"TINKBOX_{name}={uuid.uuid4()}" for name in ("WORKFLOW", "ACTION", "ATTEMPT", "SERVER")],
        "Labels": {"tinkbox.attempt": str(uuid.uuid4()), "tinkbox.role": "action"},
        "HostConfig": {"Binds": places, "NetworkMode": "host", "LogConfig": {"Type": "json-file"}},
    }
    async with asyncio.timeout(SECONDS), aiodocker.Docker(url=engine.url, api_version="v1.41") as docker:
        began = time.perf_counter()
        for _ in range(number):
            container = await docker.containers.create(configuration)
            await container.start()
            await container.wait()
            await container.delete(force=True, v=True)
        return (time.perf_counter() - began) * 1e3 / number
