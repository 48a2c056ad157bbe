"""The appliance itself with a pool, in a namespace on a switch, and what machines on that switch are given."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tests.integration.boot.wires import ROOT, Host, await_line, hosts
from tests.integration.cli.serving import run_here

OURS, NETWORK = "172.30.0.1", "172.30.0.0/24"
POOL = "172.30.0.100-172.30.0.109"
DEADLINE = 60.0
# ISC's dhclient, half way through a lease after seconds, and patient with a server that is held up.
HALF_WAY_SOON = "supersede dhcp-renewal-time 4; supersede dhcp-rebinding-time 300; reboot 60; timeout 300;\n"


@dataclass
class Pool:
    """`tinkbox serve` on a host, with everything it keeps in `folder`."""

    host: Host
    folder: Path
    settings: str
    process: subprocess.Popen[str] | None = field(default=None)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def start(self) -> None:
        """Returns when it listens on everything."""
        configuration = self.folder / "tinkbox.yaml"
        configuration.write_text(
            f"data: {self.data}\ninterface: provision\ndocker: unix:///nowhere\nservices: {{names: off}}\n"
            f"dhcp: {self.settings}\n"
        )
        with (self.folder / "log").open("a") as log:
            self.process = self.host.start(
                *(sys.executable, "-m", "tinkbox", "serve", "--config", str(configuration)),
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=ROOT,
            )
        assert self.process.stdout is not None
        assert any(line.startswith("└─") for line in self.process.stdout), self.log()

    def kill(self) -> None:
        """Without a word of warning."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(DEADLINE)

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def knows(self, *macs: str, address: str = "") -> None:
        """Push the hardware of machines; one may have a reservation."""
        for mac in macs:
            ip = {"ip": {"address": address, "netmask": "255.255.255.0"}} if address else {}
            interface = {"dhcp": {"mac": mac, **ip}, "netboot": {"allow_pxe": True}}
            identity = f"00000000-0000-4000-8000-{mac.replace(':', '')}"
            document = json.dumps({"id": identity, "network": {"interfaces": [interface]}})
            self.say("hardware", "push", stdin=document.encode())

    def leases(self) -> dict[str, dict[str, Any]]:
        """By MAC; of one that has several, the last."""
        return {each["mac"]: each for each in json.loads(self.say("hardware", "leases", "--format", "json"))}

    def lent(self, mac: str) -> str:
        """The address that a machine has now, or nothing."""
        lease = self.leases().get(mac, {"state": ""})
        return str(lease["address"]) if lease["state"] == "bound" else ""

    def prolongs(self, mac: str, said: IO[str], *lines: str) -> None:
        """Wait for a lease that ends later than the one there is; `lines` are what dhclient says of it each time."""
        until = self.leases()[mac]["until"]
        while self.leases()[mac]["until"] <= until:  # a lease may have been prolonged before we looked
            for line in lines:
                await_line(said, line)

    def say(self, *words: str, stdin: bytes = b"") -> str:
        done = run_here("--data", str(self.data), *words, stdin=stdin)
        assert done.status == 0, done.err + self.log()
        return done.out


@dataclass
class Switch:
    """Hosts on one link; those that are plugged in `apart` do not hear each other, but everybody else."""

    host: Host

    def plug(self, other: Host, interface: str, mac: str, *, apart: bool = False) -> None:
        port = f"p{mac.replace(':', '')}"
        self.host.ip(f"link add {port} type veth peer name {interface} address {mac} netns {other.name}")
        self.host.ip(f"link set {port} master br0 up")
        if apart:
            subprocess.run(
                self.host.command("bridge", "link", "set", "dev", port, "isolated", "on"), check=True, timeout=30
            )
        other.ip(f"link set {interface} up")


@dataclass
class Lab:
    switch: Switch
    pool: Pool
    machines: Sequence[Host]


def mac(number: int) -> str:
    return f"08:00:27:00:{number >> 8:02x}:{number & 255:02x}"


@contextmanager
def lab_of(
    folder: Path, *, machines: int = 1, apart: Sequence[int] = (), settings: str = f"{{mode: pool, pool: {POOL}}}"
) -> Iterator[Lab]:
    """Machines from 1 on, each on a host of its own; those `apart` the appliance does not hear on the link."""
    names = [f"machine{number}" for number in range(1, machines + 1)]
    with hosts("switch", "pool", *names) as (switching, serving, *others):
        switching.ip("link add br0 type bridge stp_state 0 forward_delay 0")
        switching.ip("link set br0 up")
        switch = Switch(switching)
        switch.plug(serving, "provision", mac(0), apart=bool(apart))
        serving.ip(f"address add {OURS}/24 dev provision")
        for number, other in enumerate(others, 1):
            switch.plug(other, "eth0", mac(number), apart=number in apart)
        pool = Pool(serving, folder, settings)
        pool.start()
        try:
            yield Lab(switch, pool, others)
        finally:
            for each in others:
                end_all(each)


def end_all(host: Host) -> None:
    """End what runs in a namespace, also what its programs started and left behind, or start meanwhile."""
    while pids := _inside(host):
        for pid in pids:
            with suppress(ProcessLookupError), os.fdopen(os.pidfd_open(pid)) as process:
                if pid in _inside(host):  # it is the same: a number may be given away again
                    signal.pidfd_send_signal(process.fileno(), signal.SIGKILL)
                select.select([process], [], [], DEADLINE)


def _inside(host: Host) -> list[int]:
    pids = subprocess.run(["ip", "netns", "pids", host.name], capture_output=True, text=True, timeout=60, check=True)
    return [int(pid) for pid in pids.stdout.split()]
