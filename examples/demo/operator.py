"""The operator in the lab: types commands of tinkbox, and logs in to what was installed."""

import math
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from examples.demo.appliance import Appliance
from examples.lab.network import Network

LAST_LINES = 10
# What ssh ends with by itself, and what `timeout` ends with.
NO_LOGIN, OUT_OF_TIME = 255, 124


class OperatorFailed(Exception):
    """What was typed did not lead there; the text says what it said."""


class Command:
    """A command that runs while other things happen; its lines are said as they come."""

    def __init__(self, process: "subprocess.Popen[bytes]", name: str, say: Callable[[str], None]) -> None:
        self._process = process
        self._name = name
        self._say = say
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, name=name, daemon=True)
        self._reader.start()

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def succeed(self) -> None:
        """Wait for its last line; raises OperatorFailed when it did not succeed."""
        status = self._process.wait()
        self._reader.join()
        if status:
            last = "\n".join(f"    {line}" for line in self.lines[-LAST_LINES:])
            raise OperatorFailed(f"{self._name} ended with {status}:\n{last}")

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                text = line.decode(errors="replace").rstrip()
                self.lines.append(text)
                self._say(f"  {text}")


class Operator:
    """A person at the appliance, with an SSH key of their own."""

    def __init__(self, network: Network, appliance: Appliance, work: Path, say: Callable[[str], None]) -> None:
        self._network = network
        self._appliance = appliance
        self._say = say
        self._key = work / "key"
        self._hosts = work / "known_hosts"
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "operator", "-f", self._key], check=True, timeout=60
        )

    @property
    def public_key(self) -> Path:
        return self._key.with_suffix(".pub")

    def types(self, *words: str | Path) -> None:
        """A command that ends soon."""
        self._say(f"$ tinkbox {self._shown(words)}")
        for line in self._appliance.command(*words).splitlines():
            self._say(f"  {line}")

    def begins(self, *words: str | Path) -> Command:
        """A command that takes as long as what it waits for."""
        shown = f"tinkbox {self._shown(words)}"
        self._say(f"$ {shown}")
        process = self._network.start(self._appliance.command_line(*words), stdout=subprocess.PIPE)
        return Command(process, shown, self._say)

    def host_keys(self) -> list[str]:
        """The fingerprints of what was logged in to, such as SHA256:…"""
        command = ["ssh-keygen", "-l", "-f", str(self._hosts)]
        told = subprocess.run(command, check=True, timeout=60, stdout=subprocess.PIPE, text=True).stdout
        return [line.split()[1] for line in told.splitlines()]

    def _shown(self, words: Sequence[str | Path]) -> str:
        """As a person types it, who stands in the right folder."""
        return " ".join(each.name if isinstance(each, Path) else each for each in words)

    def logs_in(self, where: str, timeout: float, command: str = "hostname") -> str:
        """What a command prints there; raises OperatorFailed when it fails, or nobody is let in for `timeout` seconds."""
        self._say(f"$ ssh -i {self._key.name} {where} {command}")
        options = [
            "StrictHostKeyChecking=accept-new",
            f"UserKnownHostsFile={self._hosts}",
            "BatchMode=yes",
            "IdentitiesOnly=yes",
        ]
        words = [
            "ssh",
            "-i",
            str(self._key),
            *(f"-o{each}" for each in options),
            "-oConnectTimeout=10",
            where,
            command,
        ]
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            done = subprocess.run(
                ["timeout", str(math.ceil(left)), *self._network.inside(words)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
            )
            if done.returncode == 0:
                self._say(f"  {done.stdout.strip()}")
                return done.stdout.strip()
            if done.returncode not in (NO_LOGIN, OUT_OF_TIME):
                said = f"{done.stdout}{done.stderr}".strip()[-300:]
                raise OperatorFailed(f"{where}: {command!r} ended with {done.returncode}: {said}")
            time.sleep(1)
        raise OperatorFailed(f"{where} lets nobody in: {done.stderr.strip()[-300:]}")
