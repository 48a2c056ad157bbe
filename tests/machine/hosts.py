"""Other hosts on the machines' networks: a neighbour, the network's own DHCP server, a relay to a network behind it."""

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Self

from examples.lab.network import Network
from examples.lab.processes import start, stop

FAR = "far"
FAR_ROUTER, NEAR_ROUTER = "172.31.0.1", "172.30.0.9"
DHCRELAY = Path(__file__).parents[2] / "build" / "peers" / "isc-dhcp-relay" / "usr" / "sbin" / "dhcrelay"


class Host:
    """A host in a namespace of its own, with a cable for every one of `cables`: the bridge, and its address there.

    With "" as its address a cable is plugged in, and nothing more was done with it.
    """

    def __init__(self, network: Network, cables: Sequence[tuple[str, str]]) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []
        self._namespace = Path()
        self._keeper = start(
            ["unshare", "--net", "sh", "-c", "echo ready; exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        try:
            assert self._keeper.stdout is not None
            assert self._keeper.stdout.readline() == b"ready\n"
            self._namespace = Path(f"/proc/{self._keeper.pid}/ns/net").readlink()
            self.run("ip", "link", "set", "lo", "up")
            for number, (bridge, address) in enumerate(cables):
                outside, inside = f"h{self._keeper.pid}-{number}", f"eth{number}"
                link = ["ip", "link", "add", outside, "type", "veth", "peer", "name", inside]
                network.run([*link, "netns", str(self._keeper.pid)])
                network.run(["ip", "link", "set", outside, "master", bridge, "up"])
                if address:
                    self.run("ip", "address", "add", f"{address}/24", "dev", inside)
                    self.run("ip", "link", "set", inside, "up")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """Its namespace as a file."""
        return Path(f"/proc/{self._keeper.pid}/ns/net")

    def run(self, *command: str, timeout: float = 90) -> bytes:
        """Run a command on it to its end; returns its output, raises when it fails."""
        return subprocess.run(self._inside(command), check=True, timeout=timeout, stdout=subprocess.PIPE).stdout

    def start(self, *command: str, output: int | IO[bytes] = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        """Start a process on it, which is stopped with the host at the latest."""
        process = start(self._inside(command), stdin=subprocess.DEVNULL, stdout=output)
        self._processes.append(process)
        return process

    def close(self) -> None:
        while self._processes:
            stop(self._processes.pop())
        self._end_daemons()
        stop(self._keeper)
        for pipe in (self._keeper.stdin, self._keeper.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()

    def _end_daemons(self) -> None:
        """What went into the background by itself, such as a DHCP client, would keep the namespace.

        Without its keeper the namespace may be gone, and its number be that of another lab's by now.
        """
        if self._keeper.poll() is not None:
            return
        for process in Path("/proc").glob("[0-9]*"):
            pid = int(process.name)
            with suppress(OSError):
                if pid != self._keeper.pid and (process / "ns" / "net").readlink() == self._namespace:
                    os.kill(pid, signal.SIGKILL)

    def _inside(self, command: Sequence[str]) -> list[str]:
        return ["nsenter", f"--net={self.path}", *command]


def give_addresses(host: Host, first: str, last: str, log: Path, *, next_server: str = "") -> None:
    """Let this host be its network's DHCP server, which knows nothing of booting: dnsmasq, on its first cable.

    With `next_server` it names that host as the one to boot from, and no file.
    """
    command = ["dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--pid-file=", "--user=root"]
    where = ["--interface=eth0", "--bind-interfaces", f"--dhcp-leasefile={log.with_suffix('.leases')}"]
    where += [f"--dhcp-boot=,,{next_server}"] if next_server else []
    with log.open("wb") as file:
        host.start(*command, *where, f"--dhcp-range={first},{last},10m", "--log-dhcp", "--log-facility=-", output=file)


def relay_to_far_network(network: Network, log: Path) -> Host:
    """A second network, `FAR`, behind a router that relays DHCP to the appliance: ISC dhcrelay, with option 82."""
    network.run(["ip", "link", "add", FAR, "type", "bridge", "forward_delay", "0"])
    network.run(["ip", "link", "set", FAR, "up"])
    network.run(["ip", "route", "add", "172.31.0.0/24", "via", NEAR_ROUTER])
    assert DHCRELAY.exists(), f"{DHCRELAY} is missing: `make test` unpacks it before it runs the tests"
    router = Host(network, [(network.interface, NEAR_ROUTER), (FAR, FAR_ROUTER)])
    router.run("sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
    with log.open("wb") as file:
        router.start(
            str(DHCRELAY), "-4", "-d", "-a", "-iu", "eth0", "-id", "eth1", str(network.address), output=file
        )  # fmt: skip
    return router
