"""An appliance of its own on a private network, and machines there that are real DHCP and TFTP clients: faults to order."""

import http.client
import json
import logging
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from examples.demo.appliance import Appliance
from examples.lab.network import BRIDGE, Network
from tests.integration.api.door import image_archive
from tests.machine.hosts import Host
from tests.machine.lab import hardware, mac
from tinkbox import __version__
from tinkbox.model.boot import Stage
from tinkbox.osie.image import OsieImage, describe, write

_LOG = logging.getLogger(__name__)
PATIENCE = 120.0
BOUND = '#!/bin/sh\n[ "$1" = bound ] && ip address add "$ip/$mask" dev "$interface"\nexit 0\n'
SIZE_ONLY = b"\0\1snponly.efi\0octet\0tsize\0000\0blksize\0001468\0"
TEMPLATE = {
    "version": "0.1",
    "name": "it",
    "global_timeout": 900,
    "tasks": [
        {
            "name": "task",
            "worker": "{{.device_1}}",
            "actions": [{"name": "install", "image": "shell:v1", "timeout": 60, "command": ["true"]}],
        }
    ],
}
ABORT = b"\0\5\0\10User aborted the transfer\0"


def until(done: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < deadline, f"waited {PATIENCE:.0f} s for {what}"
        time.sleep(0.2)


class Box(Host):
    """Machine `number`: one network card, no address; its programs are udhcpc, curl and atftp, its firmware is what it says."""

    def __init__(self, network: Network, work: Path, number: int, bridge: str = BRIDGE) -> None:
        super().__init__(network, [(bridge, f"10.255.0.{number}")])
        self.mac = mac(number)
        self._network = network
        self._server = str(network.address)
        self._script = work / f"bound-{number}.sh"
        self._script.write_text(BOUND)
        self._script.chmod(0o755)
        self.run("ip", "address", "flush", "dev", "eth0")
        self.run("ip", "link", "set", "eth0", "address", self.mac)

    def asks(self, architecture: int = 7, *more: str, tries: int = 20, seconds: int = 60) -> bool:
        """Ask for an address as firmware of an architecture, and take it; whether there was one.

        It asks every two seconds, for an appliance may be held up; who expects no answer tries less often.
        """
        vendor = f"PXEClient:Arch:{architecture:05}:UNDI:003016"
        return self.asks_as(vendor, "-x", f"0x5d:{architecture:04x}", *more, tries=tries, seconds=seconds)

    def asks_as(self, vendor: str, *more: str, tries: int = 20, seconds: int = 60) -> bool:
        """The same as what calls itself so (option 60)."""
        command = ["udhcpc", "-i", "eth0", "-f", "-q", "-n", "-t", str(tries), "-T", "2", "-s", str(self._script)]
        self.run("ip", "address", "flush", "dev", "eth0")
        return self.tries("timeout", str(seconds), *command, "-V", vendor, *more)

    def loads(self, name: str = "snponly.efi", *more: str, seconds: int = 60) -> bool:
        """Fetch a file by TFTP; whether all of it came."""
        where = f"tftp://{self._server}/{name}"
        return self.tries("curl", "-s", "-m", str(seconds), "--tftp-blksize", "1468", "-o", "/dev/null", *more, where)

    def gives_up(self, name: str = "snponly.efi", seconds: int = 10) -> bool:
        """Fetch a file as patient firmware does, atftp, which is switched off after so long; whether it came to that."""
        command = ["atftp", "--option", "blksize 1468", "--get", "-r", name, "-l", "/dev/null", self._server]
        return not self.tries("timeout", "-s", "KILL", str(seconds), *command)

    def fetches(self, path: str) -> bool:
        """Fetch something from the node door; whether it was there."""
        return self.tries("curl", "-sSf", "-m", "60", "-o", "/dev/null", f"http://{self._server}{path}")

    def script(self) -> bool:
        return self.fetches(f"/boot/{self.mac.replace(':', '-')}/script.ipxe")

    def probes(self) -> None:
        """Ask for the size of the loader only, with the packets of OVMF."""
        code = (
            "import socket, sys; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(60);"
            f"s.sendto({SIZE_ONLY!r}, ({self._server!r}, 69)); _, peer = s.recvfrom(2048); s.sendto({ABORT!r}, peer)"
        )
        self.run(sys.executable, "-c", code)

    def drops(self, *what: str) -> None:
        """Put a firewall before it that drops this."""
        self.run("iptables", "--wait", "-A", "INPUT", *what, "-j", "DROP")

    def is_deaf_to_our_dhcp(self) -> None:
        """Let none of the appliance's DHCP come through the switch: what is slower than another server's is as good as that."""
        frames = ["-o", f"h{self._keeper.pid}-0", "-p", "IPv4", "--ip-protocol", "udp", "--ip-source-port", "67"]
        self._network.run(["ebtables", "-A", "OUTPUT", *frames, "-j", "DROP"])

    def tries(self, *command: str) -> bool:
        """Whether a command of the machine succeeds; what it complains of is among the output of a test that fails."""
        done = subprocess.run(
            self._inside(command), check=False, timeout=90, capture_output=True, text=True, errors="replace"
        )
        if done.returncode:
            _LOG.warning("%s ended with status %d: %s", shlex.join(command), done.returncode, done.stderr[-2000:])
        return done.returncode == 0


class _Socket(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("appliance", timeout=60)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


class DoctorLab:
    """`network`, `appliance`, and its doctor."""

    def __init__(self, network: Network, work: Path, stack: ExitStack, configuration: str, osie: Path) -> None:
        self.network = network
        self.work = work
        self._stack = stack
        self.appliance = Appliance(network, [sys.executable, "-m", "tinkbox"], work, osie, configuration)

    def box(self, number: int, bridge: str = BRIDGE) -> Box:
        """Plug in machine `number`."""
        return self._stack.enter_context(Box(self.network, self.work, number, bridge))

    def served(self, number: int) -> Box:
        """Plug in machine `number`, which asks for an address and gets it."""
        box = self.box(number)
        assert box.asks()
        return box

    def host(self, address: str) -> Host:
        return self._stack.enter_context(Host(self.network, [(BRIDGE, address)]))

    def known(self, number: int, *, workflow: bool = True, **changes: Any) -> None:
        """Tell the appliance of machine `number`."""
        self.ask("POST", "/v1/hardware", hardware(number, **changes))
        if workflow:
            if not self.ask("GET", "/v1/templates"):
                self.ask("POST", "/v1/templates", {"name": "it", "data": json.dumps(TEMPLATE)})
            self.ask("POST", "/v1/workflows", {"template": "it", "hardware": {"device_1": mac(number)}})

    def ask(self, method: str, path: str, document: object = None) -> Any:
        """One question to the operator door, which must succeed."""
        line = _Socket(self.appliance.data / "operator.sock")
        try:
            line.request(method, path, json.dumps(document) if document is not None else None)
            response = line.getresponse()
            answer = response.read()
        finally:
            line.close()
        assert response.status < 300, answer
        return json.loads(answer)

    def until_forwarding(self, port: str) -> None:
        """Wait until a bridge with spanning tree has opened this port."""
        until(lambda: "state forwarding" in self.network.run(["bridge", "link", "show", "dev", port]), f"port {port}")

    def until_stopped(self, *numbers: int) -> None:
        """Wait until the transfers to these machines were given up."""

        def stopped() -> bool:
            newest = [self.ask("GET", f"/v1/seen/{mac(each)}")["stage"] for each in numbers]
            return set(newest) == {Stage.LOADER_FAILED.value}

        until(stopped, f"the transfers to {numbers} to be given up")

    def until_seen_for(self, number: int, seconds: float) -> None:
        """Wait until the last that was seen of machine `number` is so long ago."""

        def quiet() -> bool:
            at = datetime.fromisoformat(self.ask("GET", f"/v1/seen/{mac(number)}")["at"])
            return datetime.now(UTC) - at > timedelta(seconds=seconds)

        until(quiet, f"machine {number} to be silent")

    def doctor(self, number: int | None = None) -> "Report":
        """What `tinkbox doctor` says, of machine `number` or of all."""
        words = ["doctor", *([mac(number)] if number is not None else []), "--format", "json"]
        command = [sys.executable, "-m", "tinkbox", "--data", str(self.appliance.data), *words]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
        assert done.returncode in (0, 1), done.stderr
        return Report(json.loads(done.stdout), done.returncode)


class Report:
    """`status` is the command's exit status."""

    def __init__(self, document: dict[str, Any], status: int) -> None:
        self.document = document
        self.status = status

    def of(self, number: int | None = None) -> dict[str, dict[str, Any]]:
        """The diagnoses of machine `number`, or of the appliance, by rule."""
        about = mac(number) if number is not None else ""
        return {each["rule"]: each for each in self.document["diagnoses"] if each["machine"] == about}


@contextmanager
def doctor_lab(
    work: Path, configuration: str = "", osies: Sequence[str] = ("x86_64",), commands: Sequence[str] = ()
) -> Iterator[DoctorLab]:
    """A lab with an appliance of the checkout that serves small OSIEs for these architectures; the host is set up by `commands` first."""
    osie = work / "osie"
    for architecture in osies:
        folder = osie / architecture
        folder.mkdir(parents=True)
        for name in ("vmlinuz", "initramfs"):
            (folder / name).write_bytes(bytes(1 << 20))
        files = {name: describe(folder / name) for name in ("vmlinuz", "initramfs")}
        write(
            OsieImage(
                architecture=architecture, version=__version__, kernel="6.1", files=files, packages={}, https=True
            ),
            folder,
        )
    osie.mkdir(exist_ok=True)
    with ExitStack() as stack:
        network = stack.enter_context(Network())
        for each in commands:
            network.run(each.split())
        lab = DoctorLab(network, work, stack, configuration, osie)

        def answers() -> bool:
            lab.appliance.check()
            try:
                return lab.appliance.ready()
            except (TimeoutError, OSError):
                return False

        until(answers, "the appliance to answer")
        archive = work / "shell.tar"
        archive.write_bytes(image_archive("shell:v1"))
        lab.appliance.command("image", "load", archive)
        yield lab
