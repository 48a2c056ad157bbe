"""Start-up time and idle memory of the executable.

`tinkbox version` stands beside a Python that does nothing, which is the least that a program in Python can take; a question
to a running appliance beside the same by curl.
`tinkbox serve`, from its start until its first answer, stands beside the pair that one would run instead, and beside
the same program from the checkout, which shows what the single file costs.  Memory is the proportional set size of
every process that belongs to it, when it has just answered.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from examples.demo.appliance import Appliance
from examples.lab.network import Network
from tests.bench.figures import Comparison
from tests.bench.lab import TINKBOX, appliance, as_server, cable, folder, need, on_loopback, until
from tests.bench.peers import start_dnsmasq, start_nginx

TOOLS = {
    "nginx": "nginx-light",
    "dnsmasq": "dnsmasq-base",
    "/usr/bin/python3": "python3",
    "ip": "iproute2",
    "curl": "curl",
}
ROUNDS = 5
RUNS = 10
PAIR = "dnsmasq + nginx"
CHECKOUT = (sys.executable, "-m", "tinkbox")  # from the folder in which the benchmarks are run

Server = Callable[[Network, Path], object]


def compare() -> Iterator[Comparison]:
    """The shortest command, a question, the start of the appliance, its memory."""
    need(TOOLS)
    shortest = Comparison(what="tinkbox version", unit="ms", peer="python3 -c pass", better="less")
    for _ in range(RUNS):
        shortest.add(milliseconds(TINKBOX, "version"), milliseconds("/usr/bin/python3", "-c", "pass"))
    yield shortest
    asked = Comparison(what="tinkbox hardware list", unit="ms", peer="curl --unix-socket", better="less")
    with folder() as work, on_loopback(work) as (_, configuration):
        question = ("curl", "--silent", "--unix-socket", configuration.data / "operator.sock")
        for _ in range(RUNS):
            ours = milliseconds(TINKBOX, "--data", configuration.data, "hardware", "list")
            asked.add(ours, milliseconds(*question, "http://tinkbox/v1/hardware"))
    yield asked

    what = "tinkbox serve until it answers"
    beside_pair = Comparison(what=what, unit="ms", peer=PAIR, better="less")
    beside_checkout = Comparison(what=what, unit="ms", peer="python -m tinkbox serve", better="less")
    memory = Comparison(what="tinkbox serve, idle memory", unit="MB", peer=PAIR, better="less")
    for _ in range(ROUNDS):
        our_time, our_memory = started(appliance)
        their_time, their_memory = started(pair)
        checkout_time, _ = started(checkout)
        beside_pair.add(our_time, their_time)
        beside_checkout.add(our_time, checkout_time)
        memory.add(our_memory, their_memory)
    yield from (beside_pair, beside_checkout, memory)


def milliseconds(*command: str | Path) -> float:
    """How long the command takes from its start to its end."""
    began = time.perf_counter()
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - began) * 1e3


def started(server: Server) -> tuple[float, float]:
    """Start it on a network of its own: milliseconds until it answers, and megabytes that it holds then."""
    with folder() as work, cable() as (network, _):
        before = megabytes(network)
        began = time.perf_counter()
        server(network, work)
        return (time.perf_counter() - began) * 1e3, megabytes(network) - before


def pair(network: Network, work: Path) -> None:
    """DHCP and TFTP by one program, HTTP by another; what else tinkbox does has no counterpart in them."""
    start_dnsmasq(network, work)
    start_nginx(network, work, work)


def checkout(network: Network, work: Path) -> None:
    """The same program, not packed into one file."""
    (work / "nothing").mkdir()
    until(Appliance(network, as_server(*CHECKOUT), work, work / "nothing").ready, "python -m tinkbox serve")


def megabytes(network: Network) -> float:
    """The proportional set size (10^6 bytes) of every process in the namespace."""
    return sum(map(_proportional, inside(network))) * 1024 / 1e6


def inside(network: Network) -> list[Path]:
    """Every process in the namespace, as a folder of /proc."""
    here = network.path.stat().st_ino
    return [each for each in Path("/proc").glob("[0-9]*") if _namespace(each) == here]


def _namespace(process: Path) -> int:
    try:
        return (process / "ns" / "net").stat().st_ino
    except OSError:
        return 0  # it ended meanwhile


def _proportional(process: Path) -> int:
    """In units of 1,024 bytes."""
    (line,) = (each for each in (process / "smaps_rollup").read_text().splitlines() if each.startswith("Pss:"))
    return int(line.split()[1])
