"""Where it is measured: a server's end of a cable and the clients' end, with processors of their own."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ipaddress import IPv4Interface
from pathlib import Path
from shutil import which
from socket import AF_UNIX, SOCK_STREAM, socket
from subprocess import Popen

from examples.demo.appliance import Appliance
from examples.lab.network import ADDRESS, Network
from examples.lab.processes import start, stop
from tests.integration.cli.serving import Configuration, configure
from tinkbox import __version__
from tinkbox.osie import image

ROOT = Path(__file__).parents[2]
TINKBOX = ROOT / "dist" / "tinkbox"
PEERS = ROOT / "build" / "peers"
CLIENTS = IPv4Interface("172.30.0.2/24")
DEADLINE = 60.0
_POLL = 0.002
_CABLE = "cable"


class ToolMissing(Exception):
    """Something that a benchmark needs is not there; the text says where to get it, one line each."""


def need(tools: Mapping[str, str]) -> None:
    """`tools` maps each program to the Debian package that has it.  Raises ToolMissing naming all that are missing."""
    missing = [f"{name} is missing: {_way(name, package)}" for name, package in tools.items() if not which(name)]
    if not TINKBOX.exists():
        missing.append(f"{TINKBOX.relative_to(ROOT)} is missing: make binary")
    if os.geteuid() != 0:
        missing.append("network namespaces and a Docker engine need root: run as root")
    if missing:
        raise ToolMissing("\n".join(missing))


def _way(name: str, package: str) -> str:
    """How to get a program of a Debian package: what is not to run on this host is unpacked below `PEERS`."""
    folder = PEERS / package
    unpacked = Path(name).is_relative_to(folder)
    return f"make {folder.relative_to(ROOT)}/.ready" if unpacked else f"apt-get install {package}"


def until(condition: Callable[[], bool], what: str, seconds: float = DEADLINE) -> None:
    """Look every 2 ms until it holds; raises TimeoutError after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {seconds:.0f} s")
        time.sleep(_POLL)  # each server tells in its own way that it is ready, so all are asked in the same way


def answers(path: Path) -> bool:
    """Whether an HTTP server answers at the unix socket."""
    with socket(AF_UNIX, SOCK_STREAM) as connection:
        connection.settimeout(5)
        try:
            connection.connect(str(path))
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
            return connection.recv(16).startswith(b"HTTP/1")
        except OSError:
            return False


@contextmanager
def folder(above: Path | None = None) -> Iterator[Path]:
    """A folder of this run, below `above`; its path is short, for a socket's path has 108 bytes at most."""
    with tempfile.TemporaryDirectory(prefix="tinkbox-bench-", dir=above) as path:
        yield Path(path)


@contextmanager
def cable(server: IPv4Interface = ADDRESS, clients: IPv4Interface = CLIENTS) -> Iterator[tuple[Network, Network]]:
    """Two private networks joined by a cable: the server's end and the clients', by their addresses."""
    with Network(server) as our_end, Network(clients) as their_end:
        our_end.run(["ip", "link", "add", _CABLE, "type", "veth", "peer", "name", _CABLE, "netns", str(their_end.path)])
        for end in (our_end, their_end):
            end.run(["ip", "link", "set", _CABLE, "master", end.interface, "up"])
        yield our_end, their_end


def appliance(network: Network, work: Path, osie: Path | None = None) -> Appliance:
    """The executable serving at this end; ready when this returns.  `osie` has a folder per architecture.

    All machines are one host to it, by their MAC: it has room for all of them.
    """
    (work / "nothing").mkdir(exist_ok=True)
    room = "limits: {node_connections: {each: 4096}}\n"
    started = Appliance(network, as_server(TINKBOX), work, osie or work / "nothing", room)
    until(started.ready, "tinkbox serve")
    return started


def describe_osie(folder: Path) -> None:
    """Describe what was laid into the folder of an architecture: a kernel alone counts as half an OSIE."""
    files = {each.name: image.describe(each) for each in sorted(folder.iterdir())}
    image.write(
        image.OsieImage(architecture=folder.name, version=__version__, kernel="none", files=files, packages={}), folder
    )


@contextmanager
def on_loopback(
    work: Path, program: Sequence[str] = (str(TINKBOX),), prepare: Callable[[Path], None] = lambda _: None
) -> Iterator[tuple[Popen[bytes], Configuration]]:
    """The executable serving on loopback, without DHCP; ready when this begins.  All workers are at one address.

    `prepare` is given the data folder before it starts.
    """
    configuration = configure(work)
    prepare(configuration.data)
    with configuration.path.open("a") as more:
        more.write("limits: {node_connections: {each: 2000}}\n")
    with (work / "appliance.log").open("wb") as log:
        process = start([*program, "serve", "--config", str(configuration.path)], stdout=log)
    try:
        until(lambda: answers(configuration.data / "operator.sock"), "tinkbox serve")
        yield process, configuration
    finally:
        stop(process)


def as_server(*command: str | Path) -> list[str]:
    """The command on the first processor, so that neither side gains by where the kernel happens to put it."""
    return ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0))), *map(str, command)]


def as_client(*command: str | Path) -> list[str]:
    """The command on the other processors."""
    first, *others = sorted(os.sched_getaffinity(0))
    return ["taskset", "--cpu-list", ",".join(map(str, others or [first])), *map(str, command)]
