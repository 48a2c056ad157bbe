"""An appliance that hosts services, in a network of its own: the engine it hosts them on behind a wire, and a worker elsewhere."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from examples.lab.network import Network
from tests.integration.cli.serving import PROGRAM, ROOT, Configuration, clean_environment
from tests.integration.docker_engine import DockerEngine
from tests.integration.engine.appliance import hardware, mac
from tests.integration.faults.rig import OVER, Appliance, prepare
from tests.integration.faults.wire import Exchange, Moment, Wire
from tests.integration.worker.machine import IMAGE
from tinkbox.client.operator import Operator
from tinkbox.client.operator.lasting_connection import LastingConnection
from tinkbox.model.errors import Unavailable

DEADLINE = 240.0
ID = "[0-9a-f]{64}"
MACHINE = "172.30.0.21"
# It hands over a result, and answers until it is told to end: the first process of a container is deaf to what it does not trap.
SERVICE = """
    trap 'exit 0' TERM
    echo "up as $TINKBOX_SERVICE"
    echo result >/workflow/result
    /bin/busybox mkdir -p /www
    echo "$TINKBOX_WORKFLOW" >/www/word
    /bin/busybox httpd -f -p 8000 -h /www &
    wait
"""
ACTION = """
    echo $TINKBOX_ATTEMPT >>/marks/starts
    while [ ! -e /marks/go ]; do /bin/busybox sleep 0.05; done
    [ "$(/bin/busybox cat /workflow/result)" = result ]
"""
SHELL = ("/bin/busybox", "sh", "-c")
_numbers = count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Reached when this exchange between appliance and engine is at this moment; none: the rig says when."""

    name: str
    method: str = ""
    path: str = ""
    moment: Moment = Moment.REQUEST

    def is_at(self, exchange: Exchange, moment: Moment) -> bool:
        return (
            (exchange.method, moment) == (self.method, self.moment)
            and re.fullmatch(self.path, exchange.path) is not None
            and (moment is Moment.REQUEST or exchange.status < 400)
        )


def _both(before: str, after: str, method: str, path: str) -> tuple[Stage, Stage]:
    return (
        Stage(name=before, method=method, path=path),
        Stage(name=after, method=method, path=path, moment=Moment.ANSWER),
    )


READY, RUNNING = "ready", "action running"
STAGES = {
    stage.name: stage
    for stage in (
        *_both("network asked for", "network made", "POST", "/networks/create"),
        Stage(name="about to pull", method="POST", path="/images/create"),
        *_both("about to create", "container created", "POST", "/containers/create"),
        *_both("about to start", "started", "POST", f"/containers/{ID}/start"),
        Stage(name=READY),
        Stage(name=RUNNING),
        *_both("about to stop", "stopped", "POST", f"/containers/{ID}/stop"),
        *_both("about to remove", "removed", "DELETE", f"/containers/{ID}"),
        *_both("about to remove the network", "network removed", "DELETE", "/networks/[^/]+"),
    )
}


@dataclass
class Hosting:
    """One workflow with a service, and at one stage of its life a fault."""

    folder: Path
    network: Network
    engine: DockerEngine
    appliance: Appliance
    operator: Operator
    worker_docker: str
    stage: Stage
    strike: "Callable[[Hosting, Exchange | None], Awaitable[None]]"
    struck: bool = False
    striking: asyncio.Lock = field(default_factory=asyncio.Lock)
    passed: list[str] = field(default_factory=list)
    workflow: str = ""
    _worker: "subprocess.Popen[bytes] | None" = None

    async def heard(self, exchange: Exchange, moment: Moment) -> None:
        """What passes between the appliance and the engine; held while the fault strikes."""
        arrow = "->" if moment is Moment.REQUEST else f"<- {exchange.status}"
        self.passed.append(f"{arrow} {exchange.method} {exchange.target[:110]}")
        if not self.struck and self.stage.method and self.stage.is_at(exchange, moment):
            await self._strike(exchange)

    async def run(self) -> list[dict[str, Any]]:
        """Run a workflow to its end; returns its events once everything of its service is gone."""
        await self._create()
        await self._happened("service.ready")
        if self.stage.name == READY:
            await self._strike(None)
        self._start_worker()
        await self._happened("action.started")
        await _until(lambda: asyncio.to_thread((self.folder / "marks" / "starts").exists))
        if self.stage.name == RUNNING:
            await self._strike(None)
        assert await self.answered(self.workflow) == self.workflow
        (self.folder / "marks" / "go").touch()
        await self._happened(*OVER)
        await _until(self._gone)
        await self._happened(*OVER)
        return await self._events()

    async def answered(self, wanted: str) -> str:
        """What the machine gets from its workflow's service, once it is `wanted`; nothing when it never is."""
        url = f"http://{self.network.address}/word"
        command = ["curl", "--silent", "--max-time", "5", "--interface", MACHINE, url]
        said = ""
        with suppress(TimeoutError):
            async with asyncio.timeout(DEADLINE):
                while said != wanted:
                    done = await asyncio.to_thread(
                        subprocess.run, self.network.inside(command), stdout=subprocess.PIPE, check=False, timeout=30
                    )
                    said = done.stdout.decode(errors="replace").strip()
                    await asyncio.sleep(0.1)
        return said

    async def refused(self) -> int:
        """The status that the machine gets where the service was."""
        command = ["curl", "--silent", "--max-time", "50", "--interface", MACHINE, "--output", "/dev/null"]
        command += ["--write-out", "%{http_code}", f"http://{self.network.address}/word"]
        return int(await asyncio.to_thread(self.network.run, command))

    async def services(self) -> list[dict[str, Any]]:
        """The workflow's services in the operator's eyes; none while the appliance is away."""
        try:
            return await self.operator.services.all(self.workflow)
        except Unavailable:
            return [{"state": "unknown"}]

    def left(self) -> list[str]:
        """Containers and networks of services that the engine has, as far as it can be asked."""
        containers = self.engine.cli("ps", "--all", "--format", "{{.Names}}", check=False)
        networks = self.engine.cli(
            "network", "ls", "--filter", "label=tinkbox.host", "--format", "{{.Name}}", check=False
        )
        if containers.returncode or networks.returncode:
            return ["the engine is away"]
        return [*containers.stdout.split(), *networks.stdout.split()]

    def clear(self) -> None:
        """Remove what a failed cell left behind, so that the next one finds nothing of it."""
        if containers := self.engine.cli("ps", "--all", "--quiet").stdout.split():
            self.engine.cli("rm", "--force", *containers)
        self.engine.cli("network", "prune", "--force")

    def starts(self) -> list[str]:
        """The attempts at the action that ran."""
        return (self.folder / "marks" / "starts").read_text().split()

    def told(self) -> list[tuple[str, str]]:
        """What a person needs to understand a failed cell."""
        worker = self.folder / "worker.log"
        return [
            ("what passed between appliance and engine", "\n".join(self.passed)),
            ("what the appliance said", self.appliance.said),
            ("what the worker said", worker.read_text() if worker.exists() else ""),
        ]

    def stop(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.kill()
            self._worker.wait()

    async def _strike(self, exchange: Exchange | None) -> None:
        self.struck = True
        self.passed.append(f"** at '{self.stage.name}'")
        async with self.striking:
            await self.strike(self, exchange)
        self.passed.append("** it goes on")

    async def _create(self) -> None:
        health = ["CMD", "/bin/busybox", "wget", "-q", "-O", "/dev/null", "http://127.0.0.1:8000/word"]
        action = {"name": "look", "image": IMAGE, "command": [*SHELL, ACTION], "timeout": 300}
        volumes = [f"{self.folder / 'marks'}:/marks"]
        self.workflow = await workflow_with(
            self.operator,
            service(
                SERVICE,
                ports=[8000],
                labels=["traefik.http.routers.web.rule=Path(`/word`)"],
                healthcheck={"test": health, "interval": "1s"},
            ),
            {"name": "task", "worker": "{{.device_1}}", "volumes": volumes, "actions": [action]},
        )

    def _start_worker(self) -> None:
        command = [sys.executable, "-m", "tinkbox", "--worker", "--no-privileged", "--docker", self.worker_docker]
        command += ["--credential", str(self.folder / "worker.json"), "--data", str(self.folder / "worker")]
        with (self.folder / "worker.log").open("ab") as log:
            self._worker = subprocess.Popen(
                self.network.inside(command), cwd=ROOT, env=clean_environment(), stdout=log, stderr=log
            )

    async def _happened(self, *kinds: str) -> None:
        """Wait for an event of one of these kinds; the end of the workflow is one, wanted or not."""

        told: list[dict[str, Any]] = []

        async def there() -> bool:
            told[:] = await self._events()
            return any(event["kind"] in (*kinds, *OVER) for event in told)

        await _until(there)
        assert any(event["kind"] in kinds for event in told), told

    async def _gone(self) -> bool:
        """Whether the fault struck, and nothing is left of the services since."""
        if not self.struck or await asyncio.to_thread(self.left):
            return False
        return all(each["state"] == "STOPPED" for each in await self.services())

    async def _events(self) -> list[dict[str, Any]]:
        try:
            return await self.operator.workflows.events(self.workflow)
        except Unavailable:
            return []


def service(script: str, **more: object) -> dict[str, object]:
    """A service on the appliance that runs a shell script."""
    return {"name": "web", "worker": "provisioner", "image": IMAGE, "command": [*SHELL, script], **more}


async def workflow_with(
    operator: Operator, service: Mapping[str, object], task: Mapping[str, object], machine: int = 1
) -> str:
    """Create a workflow of a service and a task; returns its id."""
    template = {"version": "0.1", "name": "hosted", "services": [service], "tasks": [task]}
    name = f"hosted-{next(_numbers)}"
    await operator.templates.create(name, json.dumps(template))
    return str((await operator.workflows.create(name, {"device_1": mac(machine)}))["id"])


async def _until(done: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(DEADLINE):
        while True:
            if await done():
                return
            await asyncio.sleep(0.05)  # what is waited for is asked for, as streams break off with the appliance


@asynccontextmanager
async def hosting_in(
    folder: Path, sockets: Path, network: Network, engine: DockerEngine, worker_docker: str, stage: Stage,
    strike: Callable[[Hosting, Exchange | None], Awaitable[None]],
) -> AsyncIterator[Hosting]:  # fmt: skip
    """An appliance of its own on this engine; `sockets` is a folder with a short name."""
    (folder / "marks").mkdir()
    path, data = folder / "tinkbox.yaml", sockets / "data"
    configuration = Configuration(path, data, 7080, 80, 443, 69)
    appliance = Appliance(configuration, program=network.inside(PROGRAM))
    async with AsyncExitStack() as stack:
        operator = await stack.enter_async_context(Operator(LastingConnection(socket=appliance.socket)))
        hosting = Hosting(folder, network, engine, appliance, operator, worker_docker, stage, strike)
        wire = Wire("docker", Path(engine.url.removeprefix("unix://")), hosting.heard)
        await stack.enter_async_context(wire.open(sockets))
        path.write_text(
            f"data: {data}\ninterface: {network.interface}\naddress: {network.address}\n"
            f"dhcp: {{mode: off}}\ndocker: {wire.url}\n"
        )
        stack.callback(appliance.stop)
        await asyncio.to_thread(appliance.start)
        await prepare(appliance, engine, folder)
        document = hardware(1)
        document["network"]["interfaces"][0]["dhcp"]["ip"]["address"] = MACHINE
        await operator.hardware.push(json.dumps(document).encode())
        (folder / "worker.json").write_text(json.dumps(await operator.hardware.credential(mac(1))))
        stack.callback(hosting.stop)
        stack.callback(hosting.clear)
        # What is being started again would stay behind.
        stack.push_async_callback(hosting.striking.acquire)
        yield hosting
