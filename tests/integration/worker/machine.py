"""A machine without the machine: the worker's process, a real engine, an appliance on loopback, and a marks folder.

The actions of these tests write into the marks folder what they do, and wait there for what the test allows.
"""

import asyncio
import hashlib
import io
import json
import shlex
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.integration.cli.serving import ROOT, Configuration, clean_environment, run_here
from tests.integration.docker_engine import DockerEngine
from tests.integration.engine.appliance import hardware, mac
from tests.integration.registry.serving import layer
from tests.workers import plain
from tinkbox.cli.nouns.workflow.following import ENDS
from tinkbox.client.operator import Operator
from tinkbox.client.operator.lasting_connection import LastingConnection
from tinkbox.model.errors import Unavailable
from tinkbox.worker.main import BOOT_ID

DEADLINE = 120.0
IMAGE = "tools/sh:v1"
BUSYBOX = Path("/bin/busybox").read_bytes()
EXISTS = ("/bin/busybox", "test", "-e")


class Refused(AssertionError):
    """A command of the operator failed; the text is what it said."""


@dataclass
class Lab:
    """One machine's worth of everything."""

    folder: Path
    configuration: Configuration
    engine: DockerEngine

    @property
    def marks(self) -> Path:
        """What actions see as /marks."""
        return self.folder / "marks"

    def tinkbox(self, *words: str, stdin: bytes = b"") -> str:
        """Run a command of the operator; returns what it printed."""
        done = run_here("--data", str(self.configuration.data), *words, stdin=stdin)
        if done.status:
            raise Refused(f"tinkbox {shlex.join(words)}: {done.out}{done.err}")
        return done.out

    def prepare(self) -> None:
        """Push the machine's hardware, load the image, make the credential."""
        self.marks.mkdir()
        self.marks.chmod(0o777)  # not every action runs as root
        self.tinkbox("hardware", "push", stdin=json.dumps(hardware(1)).encode())
        self.image(IMAGE, {"bin/busybox": BUSYBOX})
        credential = self.tinkbox("hardware", "credential", mac(1))
        (self.folder / "worker.json").write_text(credential)

    def image(self, name: str, files: dict[str, bytes], *changes: str, architecture: str = "") -> None:
        """Load an image of one layer into the appliance; `changes` are lines of a Dockerfile, such as `USER 1000`.

        It says that it is for another `architecture` than the engine's where that is named, such as arm64.
        """
        archive = self.folder / "image.tar"
        options = [f"--change={change}" for change in changes]
        self.engine.cli("import", *options, "-", name, stdin=layer(files))
        self.engine.cli("save", "-o", archive, name)
        self.engine.cli("rmi", name)
        if architecture:
            archive.write_bytes(made_for(architecture, archive.read_bytes()))
        self.tinkbox("image", "load", str(archive))

    def workflow(
        self,
        *scripts: str,
        global_timeout: int = 600,
        breakpoints: Sequence[str] = (),
        services: Mapping[str, str] | None = None,
        of_services: Mapping[str, object] | None = None,
        **options: object,
    ) -> str:
        """A workflow with one action per shell script; `options` go into each action.  Returns its id.

        `of_services` go into each service.  `services` are scripts by the name of the service; they run on the machine as well, and are ready when there is
        the mark of their name.
        """
        actions = [
            {"name": f"action-{number}", "image": IMAGE, "command": ["/bin/busybox", "sh", "-c", script], "timeout": 60}
            | options
            for number, script in enumerate(scripts, 1)
        ]
        volumes = [f"{self.marks}:/marks"]
        task = {"name": "task", "worker": "{{.device_1}}", "volumes": volumes, "actions": actions}
        hosted = [
            {"name": each, "worker": "{{.device_1}}", "image": IMAGE, "command": ["/bin/busybox", "sh", "-c", script]}
            | {"volumes": volumes, "healthcheck": {"test": ["CMD", *EXISTS, f"/marks/{each}"], "interval": "1s"}}
            | dict(of_services or {})
            for each, script in (services or {}).items()
        ]
        template = {
            "version": "0.1",
            "name": "test",
            "global_timeout": global_timeout,
            "services": hosted,
            "tasks": [task],
        }
        name = f"t{time.monotonic_ns()}"
        self.tinkbox("template", "create", "-n", name, stdin=json.dumps(template).encode())
        armed = [f"--breakpoint={where}" for where in breakpoints]
        devices = json.dumps({"device_1": mac(1)})
        return self.tinkbox("workflow", "create", "-t", name, "-r", devices, *armed).split()[-1]

    def held(self, workflow: str, times: int = 1) -> dict[str, Any]:
        """Wait until it is held for the so many-th time; returns the event that says so."""

        def holds() -> list[dict[str, Any]]:
            happened = self.events(workflow)
            assert happened[-1]["kind"] not in ENDS, happened[-3:]
            return [event for event in happened if event["kind"] == "action.held"]

        until(lambda: len(holds()) >= times, f"hold {times} of {workflow}")
        return holds()[times - 1]

    def stands(self, workflow: str) -> dict[str, Any]:
        """Where it stands; `held` in it is the hold that it is in, or None."""
        stands = json.loads(self.tinkbox("workflow", "state", workflow, "--format", "json"))
        return dict(stands)

    def inside(self, workflow: str, *command: str) -> str:
        """Run a program in the held container; returns what it printed."""
        return self.tinkbox("breakpoint", "shell", workflow, "--", *command)

    def breakpoint(self, verb: str, workflow: str, *words: str) -> str:
        """`tinkbox breakpoint VERB WORKFLOW ...`; returns what it printed."""
        return self.tinkbox("breakpoint", verb, workflow, *words)

    def finished(self, workflow: str) -> str:
        """Wait until the workflow is over; returns its state."""
        try:
            asyncio.run(self._end(workflow))
        except TimeoutError as error:
            error.add_note(f"what happened: {self.tinkbox('workflow', 'events', workflow, '--format', 'json')}")
            error.add_note(f"the worker: {(self.folder / 'worker.log').read_text()[-5000:]}")
            raise
        listed = json.loads(self.tinkbox("workflow", "list", "--format", "json"))
        (state,) = [each["state"] for each in listed if each["id"] == workflow]
        return str(state)

    async def _end(self, workflow: str) -> None:
        """As `tinkbox workflow watch` does it, whose process would take more of the processor than many workflows do."""
        connection = LastingConnection(socket=self.configuration.data / "operator.sock")
        shown, newest = 0, ""
        async with asyncio.timeout(DEADLINE), Operator(connection) as operator:
            while newest not in ENDS:
                with suppress(Unavailable):
                    for event in await operator.workflows.events(workflow, shown):
                        shown = event["number"]
                        newest = event["kind"] if event["kind"].startswith("workflow.") else newest
                await asyncio.sleep(0.1)

    def cancel_all(self) -> None:
        """End what a test that failed left behind: the next one needs the machine."""
        listed = json.loads(self.tinkbox("workflow", "list", "--format", "json"))
        for left in [each["id"] for each in listed if each["state"] in ("PENDING", "RUNNING", "STOPPING")]:
            with suppress(Refused):
                self.tinkbox("workflow", "cancel", left)
                self.finished(left)

    def told(self, workflow: str) -> dict[str, Any]:
        """How the workflow's last attempt ended, as its event says."""
        ends = ("action.succeeded", "action.failed", "action.timeout", "action.canceled")
        return [event for event in self.events(workflow) if event["kind"] in ends][-1]

    def events(self, workflow: str) -> list[dict[str, Any]]:
        """What happened, oldest first."""
        text = self.tinkbox("workflow", "events", workflow, "--format", "json")
        return list(json.loads(text))

    def containers(self) -> list[str]:
        """What is left in the engine."""
        return self.engine.cli("ps", "-aq").stdout.split()

    def marked(self, name: str) -> bool:
        return (self.marks / name).exists()

    def allow(self, name: str) -> None:
        """Let an action go on that waits for this mark."""
        (self.marks / name).touch()

    @contextmanager
    def working(
        self, server: str = "", *, beside_engine: bool = False, debug: bool = True, boot_id: str = ""
    ) -> Iterator["Worker"]:
        """A worker's process, ended afterwards whatever became of it.

        `beside_engine`, as in an OSIE, it mounts.  With a `boot_id` it sees this one, as if it were on another host.
        """
        worker = Worker(self, server, beside_engine=beside_engine, debug=debug, boot_id=boot_id)
        try:
            yield worker
        finally:
            worker.stop()


class Worker:
    """`tinkbox --worker`."""

    def __init__(
        self, lab: Lab, server: str = "", *, beside_engine: bool = False, debug: bool = True, boot_id: str = ""
    ) -> None:
        self._log = lab.folder / "worker.log"
        command = [sys.executable, "-m", "tinkbox", "--worker", "--no-privileged", "--docker", lab.engine.url]
        command += ["--credential", str(lab.folder / "worker.json"), "--data", str(lab.folder / "worker")]
        if server:
            file = lab.folder / "worker.json"
            file.write_text(plain(file.read_text()))
            command += ["--server", server]
        command += [] if debug else ["--no-debug"]
        command = lab.engine.beside(command) if beside_engine else lab.engine.with_its_devices(command)
        if boot_id:
            (lab.folder / "boot_id").write_text(f"{boot_id}\n")
            mount = f"mount --bind {shlex.quote(str(lab.folder / 'boot_id'))} {BOOT_ID} && exec "
            command = ["unshare", "--mount", "sh", "-c", mount + shlex.join(command)]
        environment = clean_environment() | {"PYTHONPATH": str(ROOT)}  # whoever enters other mounts is in their /
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)

    @property
    def said(self) -> str:
        """All that workers said in this lab."""
        return self._log.read_text()

    def kill(self) -> None:
        """kill -9."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def send(self, number: signal.Signals) -> None:
        """Send a signal, such as SIGSTOP."""
        self._process.send_signal(number)

    @property
    def status(self) -> int | None:
        """Its exit status, None while it runs."""
        return self._process.poll()

    def ended(self) -> int:
        """Wait until it ends by itself; returns its exit status."""
        return self._process.wait(DEADLINE)

    def stop(self) -> None:
        with suppress(subprocess.TimeoutExpired):
            self._process.terminate()
            self._process.wait(10)
        self._process.kill()
        self._process.wait()


def until(condition: Callable[[], bool], what: str) -> None:
    """Look again and again, where nothing can announce it: what is waited for happens in another process."""
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline, f"waited {DEADLINE:.0f} s for {what}"
        time.sleep(0.02)


def made_for(architecture: str, archive: bytes) -> bytes:
    """The archive of `docker save` of an image, whose configuration says that it is for another architecture."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as saved:
        content = {each.name: file.read() for each in saved if (file := saved.extractfile(each)) is not None}
    for oci in ("index.json", "oci-layout"):  # which Docker 26 writes beside its own form
        content.pop(oci, None)
    (entry,) = json.loads(content["manifest.json"])
    configuration = json.dumps({**json.loads(content.pop(entry["Config"])), "architecture": architecture}).encode()
    entry["Config"] = f"{hashlib.sha256(configuration).hexdigest()}.json"
    content |= {entry["Config"]: configuration, "manifest.json": json.dumps([entry]).encode()}
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as changed:
        for name, each in content.items():
            member = tarfile.TarInfo(name)
            member.size = len(each)
            changed.addfile(member, io.BytesIO(each))
    return made.getvalue()
