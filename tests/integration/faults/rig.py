"""One machine without the machine: the worker's process between an appliance and an engine, a wire to each."""

import asyncio
import base64
import json
import signal
import subprocess
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from yarl import URL

from tests.integration.cli.serving import PROGRAM, ROOT, Configuration, clean_environment, serving
from tests.integration.docker_engine import DockerEngine
from tests.integration.engine.appliance import hardware, mac
from tests.integration.faults.script import Script, Story
from tests.integration.faults.verdict import Facts
from tests.integration.faults.wire import Wire
from tests.integration.registry.serving import layer
from tests.integration.worker.machine import IMAGE
from tests.workers import plain
from tinkbox.client.operator import Operator
from tinkbox.client.operator.lasting_connection import LastingConnection
from tinkbox.model.errors import Unavailable
from tinkbox.wire.polling import POLL_SECONDS

DEADLINE = 180.0
LINES = 300
OVER = ("workflow.succeeded", "workflow.failed", "workflow.timeout", "workflow.canceled")
# A line is told apart by its attempt and its number; the first half is printed before the action waits.
ACTION = f"""
trap 'exit 143' TERM
alias rm='/bin/busybox rm' sleep='/bin/busybox sleep'
echo $TINKBOX_ACTION $TINKBOX_ATTEMPT >>/marks/starts
echo $TINKBOX_ACTION >>/workflow/trail
if [ -e /worker ]; then echo now >/worker/reboot; fi
if [ -e /marks/fail-$TINKBOX_ACTION ]; then rm /marks/fail-$TINKBOX_ACTION; exit 3; fi
i=0
while [ $i -lt {LINES} ]; do
    if [ $i = {LINES // 2} ]; then while [ ! -e /marks/go-$TINKBOX_ACTION ]; do sleep 0.02; done; fi
    echo $TINKBOX_ATTEMPT $i
    i=$((i+1))
done
"""
_numbers = count(1)
# The kernel ends an engine together with the thread that started it, so this thread stays to the end.
_engine_starter = ThreadPoolExecutor(1)


class Appliance:
    """`tinkbox serve`, which can be killed and started again on the same data; `program` is how tinkbox is run, from its next start on."""

    def __init__(self, configuration: Configuration, program: Sequence[str] = PROGRAM) -> None:
        self.configuration = configuration
        self.program = program
        self._running = ExitStack()
        self._process: subprocess.Popen[str] | None = None
        self._said = ""

    @property
    def socket(self) -> Path:
        return self.configuration.data / "operator.sock"

    @property
    def said(self) -> str:
        """What it said since it was made, over all its lives."""
        return self._said + self._log()

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it and wait until it serves; nothing when it does already."""
        if not self.alive:
            self._process = self._running.enter_context(serving(self.configuration, self.program))

    def restart(self) -> None:
        """kill -9, and start it again."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._said += self._log()
        self._running.close()
        self.start()

    def stop(self) -> None:
        self._running.close()

    def _log(self) -> str:
        log = self.configuration.data.parent / "stderr"
        return log.read_text() if log.exists() else ""


class Worker:
    """`tinkbox --worker` on a machine whose wall clock and boot id are what files say; `program` as of the appliance."""

    def __init__(self, folder: Path, door: str, docker: str, program: Sequence[str] = PROGRAM) -> None:
        self.program = program
        self._folder = folder
        self._log = folder / "worker.log"
        self._log.touch()
        self._command = ["--worker", "--no-privileged", "--docker", docker]
        self._command += ["--credential", str(folder / "worker.json"), "--data", str(folder / "worker")]
        self._command += ["--server", door]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def said(self) -> str:
        return self._log.read_text()

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def finished(self) -> bool:
        """Whether it ended by itself, which makes the machine boot again."""
        return self._process is not None and self._process.poll() == 0

    def boots_again(self) -> None:
        """The machine it runs on gets another boot id."""
        (self._folder / "boot_id").write_text(f"boot-{next(_numbers)}\n")

    def set_clock(self, error: float) -> None:
        """Let the machine's wall clock be wrong by so many seconds from now on."""
        (self._folder / "clock").write_text(str(error))

    def start(self) -> None:
        own = 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"'
        command = ["unshare", "--mount", "sh", "-c", own, str(self._folder / "boot_id"), *self.program, *self._command]
        clock = {"PYTHONPATH": str(Path(__file__).parent / "clock"), "FAULTS_CLOCK": str(self._folder / "clock")}
        environment = {**clean_environment(), **clock}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)

    def kill(self) -> None:
        """kill -9."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()

    def stop(self) -> None:
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.terminate()
                self._process.wait(10)
            self.kill()


@dataclass
class Rig:
    """Everything a cell of the matrix needs."""

    folder: Path
    appliance: Appliance
    engine: DockerEngine
    script: Script
    worker: Worker
    operator: Operator
    wires: Sequence[Wire]
    machine: str
    actions: Sequence[str]
    workflow: str = ""
    refused: list[str] = field(default_factory=list)
    boots: list[set[str]] = field(default_factory=list)  # which actions were offered before each boot but the first

    async def run(self, only: str = "", **options: object) -> Facts:
        """Run a workflow with the planned faults to its end; `options` go into each action, or into `only` one."""
        for action in self.actions:
            if not self.script.waits(action):
                self.allow(action)
        await self.create({name: options for name in self.actions if only in ("", name)})
        self.worker.start()
        async with asyncio.timeout(DEADLINE):
            events = await self._events()
            while not any(event["kind"] in OVER for event in events):
                if self.worker.finished:
                    await self.reboot()
                await asyncio.sleep(0.05)  # the events are asked for, as their stream breaks off with the appliance
                events = await self._events()
        left = await self.left()
        return await self._facts(events, left)

    def allow(self, action: str) -> None:
        """Let the action go on."""
        (self.folder / "marks" / f"go-{action}").touch()

    def hold(self, action: str) -> None:
        """Let attempts that the action begins from now on wait in their middle."""
        (self.folder / "marks" / f"go-{action}").unlink(missing_ok=True)

    def fail_once(self, action: str) -> None:
        """Let the action's first attempt end with a failure before it prints anything."""
        (self.folder / "marks" / f"fail-{action}").touch()

    async def restart_engine(self) -> None:
        """kill -9 of the engine with all containers, and its start."""

        def restart() -> None:
            self.engine.kill()
            self.engine.start()

        await asyncio.get_running_loop().run_in_executor(_engine_starter, restart)

    async def reboot(self) -> None:
        """The machine loses its power and comes back."""
        await self.power_off()
        await self.power_on()

    async def power_off(self) -> None:
        """No worker and no container is there any more."""
        self.worker.kill()
        self.boots.append(set(self.script.story.attempts.values()))
        await asyncio.to_thread(self.clear)
        (self.folder / "worker" / "reboot").unlink(missing_ok=True)

    async def power_on(self) -> None:
        await self.begin_boot()
        self.worker.start()

    async def begin_boot(self) -> None:
        """Give the machine another boot id, and the boot ticket that goes with it."""
        self.worker.boots_again()
        credential = None
        async with asyncio.timeout(DEADLINE):
            while credential is None:
                try:
                    credential = await self.operator.hardware.credential(self.machine)
                except Unavailable:  # the appliance was killed
                    await asyncio.sleep(0.05)
        (self.folder / "worker.json").write_text(plain(json.dumps(credential)))

    def clear(self) -> None:
        """Remove all containers."""
        if containers := self.containers():
            self.engine.cli("rm", "-f", *containers)

    def containers(self) -> list[str]:
        return self.engine.cli("ps", "-aq", "--no-trunc").stdout.split()

    def told(self) -> list[tuple[str, str]]:
        """What a person needs to understand a failed cell."""
        return [
            ("the plan", "\n".join(str(step) for step in self.script.steps)),
            ("what passed on the wires", "\n".join(self.script.story.lines)),
            ("what the worker said", self.worker.said),
            ("what the appliance said", self.appliance.said),
        ]

    async def create(self, options: Mapping[str, Mapping[str, object]]) -> None:
        """Create the workflow, with more for some of its actions."""
        command = ["/bin/busybox", "sh", "-c", ACTION]
        actions = [
            {"name": name, "image": IMAGE, "command": command, "timeout": 60, **options.get(name, {})}
            for name in self.actions
        ]
        task = {
            "name": "task",
            "worker": "{{.device_1}}",
            "volumes": [f"{self.folder / 'marks'}:/marks"],
            "actions": actions,
        }
        template = {"version": "0.1", "name": "test", "global_timeout": 600, "tasks": [task]}
        name = f"template-{next(_numbers)}"
        await self.operator.templates.create(name, json.dumps(template))
        self.workflow = (await self.operator.workflows.create(name, {"device_1": self.machine}))["id"]

    async def _events(self) -> list[dict[str, Any]]:
        try:
            return await self.operator.workflows.events(self.workflow)
        except Unavailable:
            return []

    async def left(self) -> list[str]:
        """The containers that are still there when a worker that asks for more has had time to clean up.

        One that was killed behind its last report knows only by an empty answer that the report arrived.
        """
        async with asyncio.timeout(DEADLINE):
            await self.script.story.idle.wait()
        left = await asyncio.to_thread(self.containers)
        with suppress(TimeoutError):
            async with asyncio.timeout(POLL_SECONDS + 15):
                while left:
                    await asyncio.sleep(0.2)
                    left = await asyncio.to_thread(self.containers)
        return left

    async def _facts(self, events: list[dict[str, Any]], left: list[str]) -> Facts:
        printed: defaultdict[str, bytes] = defaultdict(bytes)
        async for _, piece in self.operator.workflows.output(self.workflow, follow=False):
            if piece is not None:
                printed[piece["attempt"]] += base64.b64decode(piece["output"])
        data = await self.operator.workflows.data(self.workflow, 0)
        files = {file["path"]: base64.b64decode(file.get("content", "")).decode() for file in data["files"]}
        stands = await self.operator.workflows.get(self.workflow)
        starts = self.folder / "marks" / "starts"
        story = self.script.story
        return Facts(
            actions=tuple(self.actions),
            lines=LINES,
            events=tuple(events),
            states=(stands["state"], *(action["state"] for action in stands["actions"])),
            attempts=dict(story.attempts),
            acknowledged=dict(story.acknowledged),
            starts=tuple(line.split()[1] for line in starts.read_text().splitlines()) if starts.exists() else (),
            printed={token: text.decode() for token, text in printed.items()},
            trail=tuple(files.get("trail", "").split()),
            left=tuple(left),
            crashed=tuple(
                name
                for name, said, alive in (
                    ("worker", self.worker.said, self.worker.alive),
                    ("appliance", self.appliance.said, self.appliance.alive),
                )
                if "Traceback" in said or not alive
            ),
            planned=tuple(str(step) for step in self.script.steps if not step.struck),
            refused=tuple(self.refused),
        )


async def prepare(appliance: Appliance, engine: DockerEngine, folder: Path) -> None:
    """Load the image that every action runs from."""
    archive = folder / "image.tar"
    await asyncio.to_thread(
        engine.cli, "import", "-", IMAGE, stdin=layer({"bin/busybox": Path("/bin/busybox").read_bytes()})
    )
    await asyncio.to_thread(engine.cli, "save", "-o", archive, IMAGE)
    await asyncio.to_thread(engine.cli, "rmi", IMAGE)
    async with Operator(LastingConnection(socket=appliance.socket)) as operator:
        await operator.images.load(archive)


@asynccontextmanager
async def rig_in(
    folder: Path, sockets: Path, appliance: Appliance, engine: DockerEngine, actions: Sequence[str]
) -> AsyncIterator[Rig]:
    """A machine of its own of this appliance, ready to run; `sockets` is a folder with a short name."""
    script = Script(Story(actions))
    number = next(_numbers) % 200 + 1
    door = Wire("door", URL(f"http://127.0.0.1:{appliance.configuration.http_port}"), script.heard)
    docker = Wire("docker", Path(engine.url.removeprefix("unix://")), script.heard)
    (folder / "marks").mkdir()
    async with Operator(LastingConnection(socket=appliance.socket)) as operator:
        await operator.hardware.push(json.dumps(hardware(number)).encode())
        async with door.open(sockets), docker.open(sockets):
            worker = Worker(folder, door.url, docker.url)
            rig = Rig(folder, appliance, engine, script, worker, operator, (door, docker), mac(number), actions)
            await rig.begin_boot()
            try:
                yield rig
            finally:
                worker.stop()
                await asyncio.to_thread(rig.clear)
