"""The appliance in the lab: started from its executable, operated by its commands, read through its socket."""

import http.client
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from examples.lab.network import Network
from tinkbox.wire.messages.status import Snapshot, decode_snapshot

CONFIGURATION = "interface: {network.interface}\n"


class ApplianceFailed(Exception):
    """The appliance ended, or a command of the operator was refused; the text says what it said."""


class Appliance:
    """`tinkbox serve` with a data directory of its own inside the lab's network; stops with the network.

    `configuration` is what it is told, beyond its interface when that is not named there.  `data` is what another left
    behind, of which it begins with a copy.
    """

    def __init__(
        self,
        network: Network,
        executable: Sequence[str],
        work: Path,
        osie: Path,
        configuration: str = "",
        data: Path | None = None,
    ) -> None:
        self.data = work / "data"
        self.log = work / "appliance.log"
        self._executable = list(executable)
        shutil.rmtree(self.data, ignore_errors=True)
        if data is not None:
            shutil.copytree(data, self.data)
        shutil.copytree(osie, self.data / "osie", copy_function=_link)
        file = work / "tinkbox.yaml"
        own = "" if "interface:" in configuration else CONFIGURATION.format(network=network)
        file.write_text(own + configuration)
        with self.log.open("wb") as log:
            self._process = network.start(
                [*executable, "serve", "--config", str(file), "--data", str(self.data)], stdout=log
            )

    @property
    def process(self) -> "subprocess.Popen[bytes]":
        """`tinkbox serve` itself."""
        return self._process

    def check(self) -> None:
        """Raises ApplianceFailed when it is no longer running."""
        if self._process.poll() is not None:
            raise ApplianceFailed(f"the appliance ended with {self._process.returncode}:\n{self.last_lines()}")

    def ready(self) -> bool:
        """Whether it answers."""
        self.check()
        try:
            return self._get("/healthz") is not None
        except OSError:
            return False

    def command_line(self, *words: str | Path) -> list[str]:
        """How a command of the operator is started."""
        return [*self._executable, "--data", str(self.data), *map(str, words)]

    def command(self, *words: str | Path) -> str:
        """Run a command of the operator; returns what it printed."""
        done = subprocess.run(
            self.command_line(*words),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        if done.returncode:
            raise ApplianceFailed(f"tinkbox {' '.join(map(str, words))}: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def snapshot(self) -> Snapshot:
        """The appliance at a glance."""
        return decode_snapshot(self._get("/v1/status"))

    def timeline(self, hardware: str) -> list[dict[str, Any]]:
        """Where the machine was seen, and its actions: `at`, `stage`, `detail`, `facts`, oldest first."""
        return list(json.loads(self._get(f"/v1/hardware/{hardware}/timeline?lines=0")))

    def doctor(self, machine: str) -> list[dict[str, Any]]:
        """What the boot doctor says of a machine: `rule`, `gravity`, `cause`, `evidence` and `remedy` of each diagnosis."""
        return list(json.loads(self._get(f"/v1/doctor?machine={machine}"))["diagnoses"])

    def events(self, workflow: str) -> list[dict[str, Any]]:
        """The workflow's past facts: `at`, `kind` and what belongs to the kind, oldest first."""
        return list(json.loads(self._get(f"/v1/workflows/{workflow}/events")))

    def last_lines(self, lines: int = 25) -> str:
        """The end of its log, indented."""
        text = self.log.read_text(errors="replace").splitlines()[-lines:]
        return "\n".join(f"    {line}" for line in text) or "    (nothing)"

    def _get(self, path: str) -> bytes:
        connection = _UnixConnection(self.data / "operator.sock")
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            body = response.read()
        except http.client.HTTPException as error:
            raise ConnectionError(str(error)) from error
        finally:
            connection.close()
        if response.status != 200:
            raise ApplianceFailed(f"GET {path}: {response.status} {body[:500].decode(errors='replace')}")
        return body


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("appliance", timeout=120)  # the doctor listens for some seconds, and a host can be busy
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def _link(source: str, target: str) -> None:
    """The same file in another place where that is possible: the OSIE is large."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
