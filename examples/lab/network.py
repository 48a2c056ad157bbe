"""A private network: a namespace with a bridge that holds the appliance's address, one tap per machine.

The namespace has no name and no mount: it lives as long as a process in it.  The first is a keeper that reads
a pipe from us; when we are gone, however we went, it ends, and the bridge and the taps with it.  So there is
nothing that a killed run could leave behind, and any number of labs stand beside each other.
"""

import subprocess
import sys
from collections.abc import Sequence
from ipaddress import IPv4Interface
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from examples.lab import router
from examples.lab.processes import start, stop

BRIDGE = "lab"
ADDRESS = IPv4Interface("172.30.0.1/24")


class Network:
    """Use it in a `with`; `interface`, `address` and `mac` are where the appliance serves."""

    def __init__(self, address: IPv4Interface = ADDRESS) -> None:
        self.interface = BRIDGE
        self.address = address.ip
        # Without an address of its own a bridge takes its ports' lowest: a new cable would change it, and
        # machines that know the appliance by the old one would not find it any more.
        self.mac = ":".join(f"{byte:02x}" for byte in (2, 0, *self.address.packed))
        self._taps = 0
        self._processes: list[subprocess.Popen[bytes]] = []
        self._keeper = start(
            ["unshare", "--net", "sh", "-c", "echo ready; exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._keeper.stdout is not None
        if self._keeper.stdout.readline() != b"ready\n":
            self.close()
            raise PermissionError("a network namespace needs root: run as root")
        try:
            self.run(["ip", "link", "set", "lo", "up"])
            self.run(["ip", "link", "add", BRIDGE, "address", self.mac, "type", "bridge", "forward_delay", "0"])
            self.run(["ip", "address", "add", str(address), "dev", BRIDGE])
            self.run(["ip", "link", "set", BRIDGE, "up"])
            self.start([sys.executable, "-E", "-S", router.__file__, BRIDGE], stdout=subprocess.DEVNULL)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """The namespace as a file, for `nsenter --net=`."""
        return Path(f"/proc/{self._keeper.pid}/ns/net")

    def inside(self, command: Sequence[str]) -> list[str]:
        """The command line that runs `command` in the namespace; it replaces itself, so the pid is the command's."""
        return ["nsenter", f"--net={self.path}", *command]

    def run(self, command: Sequence[str], timeout: float = 60) -> str:
        """Run a command in the namespace to its end; returns its output, raises when it fails."""
        return subprocess.run(
            self.inside(command), check=True, timeout=timeout, stdout=subprocess.PIPE, text=True
        ).stdout

    def start(
        self, command: Sequence[str], *, stdin: int | IO[bytes] | None = subprocess.DEVNULL, stdout: int | IO[bytes]
    ) -> subprocess.Popen[bytes]:
        """Start a process in the namespace; it is stopped with the network at the latest."""
        process = start(self.inside(command), stdin=stdin, stdout=stdout)
        self._processes.append(process)
        return process

    def add_tap(self, bridge: str = BRIDGE) -> str:
        """Plug in a cable: a new tap on this bridge, by its name."""
        self._taps += 1
        name = f"tap{self._taps}"
        self.run(["ip", "tuntap", "add", name, "mode", "tap"])
        self.run(["ip", "link", "set", name, "master", bridge, "up"])
        return name

    def close(self) -> None:
        """Stop what runs in the namespace, the newest first; the namespace goes with its last process."""
        while self._processes:
            stop(self._processes.pop())
        stop(self._keeper)
        for pipe in (self._keeper.stdin, self._keeper.stdout):
            if pipe is not None:
                pipe.close()
