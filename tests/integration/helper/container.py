"""An action's container under the real helper in a real engine, with nobody but the test to command it."""

import itertools
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.integration.docker_engine import DockerEngine
from tests.integration.worker.machine import until
from tinkbox.model.breakpoint import Armed, Kind
from tinkbox.worker.files.helper_files import ENTRYPOINT, RUN, HelperFiles, Status

# One image has a shell where shells are, one nothing but a program in a place of its own, one this machine's bash.
WITH_SHELL, WITHOUT_SHELL, WITH_BASH = "helper/sh:v1", "helper/scratch:v1", "helper/bash:v1"
SH = ("/bin/sh", "-c")
BUSYBOX_SH = ("/app/busybox", "sh", "-c")
ON_FAILURE = Armed(on_failure=True)
NOT_FOUND, NOT_EXECUTABLE = 127, 126
STEP = 3
_numbers = itertools.count(1)


class ActionContainer:
    """Nothing runs in it before `start`."""

    def __init__(self, engine: DockerEngine, tools: Path, folder: Path) -> None:
        self._engine = engine
        self.name = f"helper-{next(_numbers)}"
        self.files = HelperFiles(folder, self.name)
        self.files.prepare()
        self._tools = tools

    @property
    def under_helper(self) -> list[str]:
        """What `docker run` is told so that the helper comes first."""
        mounts = []
        for target, source in self.files.mounts(self._tools, STEP).items():
            mounts.append(f"--mount=type=bind,src={source},dst={target}")
            mounts[-1] += ",readonly" if target != RUN else ""
        return [*mounts, f"--entrypoint={ENTRYPOINT}"]

    def start(
        self,
        *words: str,
        armed: Armed | None = None,
        image: str = WITH_SHELL,
        options: tuple[str, ...] = (),
        environment: Mapping[str, str] | None = None,
    ) -> "ActionContainer":
        """Have it begin; without `armed` what was written before stays the policy."""
        if words:
            self.files.set_command_line(words, environment)
        if armed is not None:
            self.files.set_policy(armed)
        self._engine.cli("run", "-d", "--network=none", f"--name={self.name}", *options, *self.under_helper, image)
        return self

    def shell(self, script: str, armed: Armed | None = None, **options: object) -> "ActionContainer":
        """Have it begin with a shell script."""
        return self.start(*SH, script, armed=armed, **options)  # type: ignore[arg-type]

    def start_again(self) -> None:
        """Start the container that ended once more."""
        self._engine.cli("start", self.name)

    def held(self, kind: Kind, run: int = 1) -> Status:
        """Wait until it is held there."""
        return self.told(lambda status: (status.held, status.run) == (kind, run), f"the hold {kind} of run {run}")

    def running(self, run: int = 1) -> Status:
        """Wait until this run of the command runs."""
        return self.told(lambda status: status.run == run and status.pid is not None, f"run {run}")

    def told(self, condition: Callable[[Status], bool], what: str) -> Status:
        """Wait until the helper tells so."""
        until(lambda: condition(self.files.status()), f"{what} of {self.name}")
        return self.files.status()

    def retry(self, *words: str) -> None:
        """Have it run once more, with another command line if there are words."""
        self.files.change_command_line(words or None, {})
        self.files.command("retry")

    def ended(self) -> int:
        """Wait until the container ends; returns its exit code."""
        return int(self._engine.cli("wait", self.name).stdout)

    def kill(self, signal: str) -> None:
        self._engine.cli("kill", f"--signal={signal}", self.name)

    def inside(
        self, *words: str, stdin: bytes = b"", options: tuple[str, ...] = ()
    ) -> "subprocess.CompletedProcess[str]":
        """Run a program beside the command."""
        return self._engine.cli("exec", "-i", *options, self.name, *words, stdin=stdin, check=False)

    def begin_inside(self, *words: str, options: tuple[str, ...] = ()) -> "subprocess.Popen[str]":
        """Start a program beside the command, and do not wait for it."""
        command = ["docker", "exec", *options, self.name, *words]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=self._engine.environment)

    def script(self, script: str, *options: str) -> str:
        """Run a script beside the command, by the tools' own shell; returns what it printed."""
        done = self.inside("/tinkbox/bin/busybox", "sh", "-c", script, options=options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @property
    def printed(self) -> str:
        """What the command printed, on both streams."""
        done = self._engine.cli("logs", self.name)
        return done.stdout + done.stderr

    def prints(self, text: str) -> None:
        """Wait until it printed this: the engine's log comes behind what the helper tells."""
        until(lambda: text in self.printed, f"{text!r} in what {self.name} prints")

    @property
    def facts(self) -> list[str]:
        """What the helper said, without the processes' numbers."""
        lines = (self.files.run / "status").read_text().splitlines()
        return [line.rsplit(" ", 1)[0] if line.startswith("started") else line for line in lines]

    def remove(self) -> None:
        self._engine.cli("rm", "--force", self.name, check=False)
        self.files.forget()
