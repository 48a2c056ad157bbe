"""Megabytes per second of a 200 MB ramdisk over HTTP: tinkbox's node door beside nginx with sendfile.

Both serve the same file from the page cache on one processor, over a cable of their own; the clients are curl
processes on the other processors.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from examples.lab.network import Network
from examples.lab.processes import start, stop
from tests.bench.figures import Comparison
from tests.bench.lab import appliance, as_client, cable, folder, need
from tests.bench.peers import start_nginx

TOOLS = {"nginx": "nginx-light", "curl": "curl", "ip": "iproute2"}
MEGABYTES = 200
ROUNDS = 5
DOWNLOADS = 8
CLIENTS = (1, 8)
RAMDISK = Path("x86_64") / "initramfs"


def compare() -> Iterator[Comparison]:
    """One comparison for a lone machine, one for eight at once."""
    need(TOOLS)
    with folder() as work, ExitStack() as cables:
        osie = work / "osie"
        write_random(osie / RAMDISK, MEGABYTES)
        (our_end, our_clients), (their_end, their_clients) = (cables.enter_context(cable()) for _ in range(2))
        appliance(our_end, work, osie)
        start_nginx(their_end, work, osie)
        ours = f"http://{our_end.address}/boot/osie/{RAMDISK}"
        theirs = f"http://{their_end.address}/{RAMDISK}"
        for number in CLIENTS:
            told = "1 client" if number == 1 else f"{number} clients"
            comparison = Comparison(
                what=f"200 MB ramdisk over HTTP, {told}", unit="MB/s", peer="nginx, sendfile", better="more"
            )
            for clients, url in ((our_clients, ours), (their_clients, theirs)):
                throughput(clients, url, number)  # brings file and programs into memory
            for _ in range(ROUNDS):
                comparison.add(throughput(our_clients, ours, number), throughput(their_clients, theirs, number))
            yield comparison


def write_random(path: Path, megabytes: int) -> None:
    """A file that no layer below can make smaller."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for _ in range(megabytes):
            file.write(os.urandom(1_000_000))


def throughput(
    network: Network, url: str, clients: int, downloads: int = DOWNLOADS, options: Sequence[str] = ()
) -> float:
    """Megabytes (10^6 bytes) per second of all clients together, which share the downloads evenly; `options` are curl's."""
    each = downloads // clients
    command = network.inside(as_client("curl", "--silent", "--fail", *options, *["--output", "/dev/null", url] * each))
    began = time.perf_counter()
    fetching = [start(command) for _ in range(clients)]
    try:
        statuses = [process.wait(300) for process in fetching]
    finally:
        for process in fetching:
            stop(process)
    seconds = time.perf_counter() - began
    if any(statuses):
        raise RuntimeError(f"curl {url} ended with {statuses}")
    return each * clients * MEGABYTES / seconds
