"""The helper of packaging/helper in memory: it reads and writes the same files, and its programs end when they begin."""

from collections.abc import Callable
from pathlib import Path

from tests.unit.worker.programs import Program
from tinkbox.runtime import ContainerSpec

HELD = ("exited ", "failed-to-start ", "held ")


class FakeHelper:
    """In one container; `find` tells the program that a command line runs."""

    def __init__(self, spec: ContainerSpec, find: Callable[[str], Program]) -> None:
        self._spec = spec
        self._find = find
        self._control = Path(spec.mounts["/tinkbox/control"])
        self._status = Path(spec.mounts["/tinkbox/run"]) / "status"
        self._run = 0
        self._done = 0
        self._program: Program | None = None
        self.output = b""

    def begin(self) -> int | None:
        """The container starts, perhaps not for the first time; returns the exit code with which it ends at once."""
        if "hold" in self._policy():
            return self._hold("failure")
        said = self._status.read_text().splitlines()
        if any(line.startswith(HELD) for line in said):
            return next(int(line.split()[2]) for line in reversed(said) if line.startswith("exited "))
        return self._hold("before", 1) if "before" in self._policy() else self._again()

    def obey(self) -> int | None:
        """Carry out what is commanded; returns the exit code with which the container ends."""
        path = self._control / "command"
        sequence, verb, *rest = path.read_text().split() if path.exists() else ("0", "")
        if int(sequence) <= self._done:
            return None
        self._done = int(sequence)
        self._say(f"command {sequence}")
        if verb in {"run", "retry"}:
            return self._again()
        if verb == "signal" and self._program is not None:
            return None if self._program.ignores == rest else self._ended(128 + int(rest[0]))
        return None

    def _again(self) -> int | None:
        words = (self._control / "argv").read_bytes().decode().split("\0")[:-1]
        self._run += 1
        self._program = self._find(words[0])
        self._say(f"started {self._run} 7")
        self.output += self._program.output
        self._program.work(self._spec)
        return None if self._program.lasts else self._ended(self._program.next_exit_code(), self._program.exits)

    def _ended(self, code: int, exits: bool = False) -> int | None:
        self._program = None
        self._say(f"exited {self._run} {code} {'exit' if exits or code <= 128 else 'signal'}")
        if "after" in self._policy() or (code and "on-failure" in self._policy()):
            return self._hold("failure" if code else "after")
        return code

    def _hold(self, kind: str, run: int = 0) -> None:
        self._say(f"held {run or max(1, self._run)} {kind}")

    def _policy(self) -> list[str]:
        path = self._control / "policy"
        return path.read_text().split() if path.exists() else []

    def _say(self, line: str) -> None:
        with self._status.open("a") as status:
            status.write(line + "\n")
