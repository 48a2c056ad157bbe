"""An appliance that can be killed and started again, and a machine at a breakpoint, for tests of shells."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from tests.integration.cli.held_machine import HeldMachine
from tests.integration.cli.person import Person
from tests.integration.cli.serving import PROGRAM, Ended, configure, run, run_here, serving


class ShellLab:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.configuration = configure(folder)
        self._stack = ExitStack()
        self._appliance = ExitStack()

    def __enter__(self) -> Self:
        self.start()
        machine = HeldMachine(self.configuration, self.folder / "notes")
        self._stack.enter_context(machine.working())
        self.workflow = machine.workflow
        return self

    def __exit__(self, *_: object) -> None:
        # First, so that nothing is left that the machine would still have to say to it.
        self.kill()
        self._stack.close()

    def start(self) -> None:
        self.appliance = self._appliance.enter_context(serving(self.configuration))

    def stop(self) -> None:
        self._appliance.close()

    def kill(self) -> None:
        self.appliance.kill()
        self._appliance.close()

    def arguments(self, *words: str) -> list[str]:
        return ["--data", str(self.configuration.data), "breakpoint", *words]

    def called(self) -> str:
        """The program with its flags, as lines to type name it."""
        return f"tinkbox --data {self.configuration.data}"

    def person(self, *flags: str) -> Person:
        return Person(self.arguments("shell", self.workflow, *flags))

    def stream(self, *words: str) -> list[str]:
        """The command line that runs a command in the container."""
        return [*PROGRAM, *self.arguments("shell", self.workflow, "--", *words)]

    def command(self, *words: str, stdin: bytes = b"") -> Ended:
        return run(*self.arguments("shell", self.workflow, "--", *words), stdin=stdin)

    def told(self) -> list[dict[str, object]]:
        events = run_here(
            "--data", str(self.configuration.data), "workflow", "events", "--format", "json", self.workflow
        )
        happened = json.loads(events.out)
        return [event for event in happened if event["kind"].startswith("shell.")]

    def session(self) -> str:
        """The id of the session that was opened last."""
        return str([event for event in self.told() if event["kind"] == "shell.opened"][-1]["session"])

    def recording(self) -> str:
        path = self.configuration.data / "recordings" / self.workflow / f"{self.session()}.cast"
        return "".join(json.loads(line)[2] for line in path.read_text().splitlines()[1:] if json.loads(line)[1] != "r")
