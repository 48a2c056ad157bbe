"""The reverse proxy of the node door beside nginx, before the same kinds of services.

Each side has a cable, and a namespace with its own nginx that serves a folder, and a program that takes what it is sent
and keeps nothing.  The proxy has a processor, services and clients share the others.  What runs for tinkbox is the
proxy's own process: a node door that has nothing else.
"""

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

from examples.lab.network import Network
from examples.lab.processes import stop
from tests.bench.figures import Comparison
from tests.bench.http import MEGABYTES, throughput, write_random
from tests.bench.lab import as_client, as_server, cable, folder, need, until
from tests.bench.peers import start_nginx, start_nginx_proxy
from tests.bench.usage import peak_memory

TOOLS = {"nginx": "nginx-light", "curl": "curl", "wrk": "wrk", "ip": "iproute2"}
ROUNDS = 5
BODIES = 4
CONNECTIONS = 8
SECONDS = 3
LARGE = 4 * 2**30
FILES, SINK = 80, 81
SERVED, TAKEN = 8080, 8081
_RATE = re.compile(r"Requests/sec: +([0-9.]+)")
Measured = Callable[["Side"], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A proxy with its services and its clients; `files` and `sink` are its URLs, `start` starts it anew."""

    work: Path
    clients: Network
    files: str
    sink: str
    start: Callable[[], list[Popen[bytes]]]


def compare() -> Iterator[Comparison]:
    """Bodies both ways, requests in a row, and memory."""
    need(TOOLS)
    with folder() as work, ExitStack() as cables:
        write_random(work / "root" / "body", MEGABYTES)
        (work / "root" / "small").write_bytes(bytes(1024))
        with (work / "root" / "large").open("wb") as zeros:
            zeros.truncate(LARGE)
        ours, theirs = (_side(work, name, *cables.enter_context(cable()), start) for name, start in _PROXIES.items())
        yield from _speeds(ours, theirs)
        for what, measure in (("down", _download), ("up", _upload)):
            comparison = Comparison(what=f"memory, 4 GB {what}", unit="MB", peer="nginx", better="less")
            comparison.add(_peak(ours, measure), _peak(theirs, measure))
            yield comparison


def _speeds(ours: Side, theirs: Side) -> Iterator[Comparison]:
    running = [process for side in (ours, theirs) for process in side.start()]
    measures: tuple[tuple[str, str, Measured], ...] = (
        ("200 MB from a service", "MB/s", lambda side: throughput(side.clients, f"{side.files}/body", 1, BODIES)),
        ("200 MB to a service", "MB/s", lambda side: _uploads(side, BODIES)),
        (f"1 KB from a service, {CONNECTIONS} connections", "1/s", _requests),
    )
    for what, unit, measure in measures:
        comparison = Comparison(what=what, unit=unit, peer="nginx, streaming", better="more")
        for side in (ours, theirs):
            measure(side)  # brings file and programs into memory
        for _ in range(ROUNDS):
            comparison.add(measure(ours), measure(theirs))
        yield comparison
    for process in running:
        stop(process)


def _side(
    work: Path, name: str, end: Network, clients: Network, start: Callable[[Network, Path], list[Popen[bytes]]]
) -> Side:
    own = work / name
    own.mkdir()
    start_nginx(end, own, work / "root", f"127.0.0.1:{SERVED}", as_client)
    with (own / "sink.log").open("wb") as log:
        sink = [sys.executable, "-m", "tests.integration.proxy.sink", str(own), "127.0.0.1", str(TAKEN)]
        end.start(as_client(*sink), stdout=log)
    until((own / "sink").exists, "the sink")
    return Side(
        work=work,
        clients=clients,
        files=f"http://{end.address}:{FILES}",
        sink=f"http://{end.address}:{SINK}/",
        start=lambda: start(end, own),
    )


def _start_ours(end: Network, own: Path) -> list[Popen[bytes]]:
    started = []
    for port, service in ((FILES, SERVED), (SINK, TAKEN)):
        listens = own / "port"
        listens.unlink(missing_ok=True)
        door = [sys.executable, "-m", "tests.integration.proxy.bare_door", str(own)]
        with (own / f"door-{port}.log").open("wb") as log:
            command = [*door, str(end.address), str(port), "127.0.0.1", str(service)]
            started.append(end.start(as_server(*command), stdout=log))
        until(listens.exists, "the node door")
    return started


def _start_theirs(end: Network, own: Path) -> list[Popen[bytes]]:
    return [start_nginx_proxy(end, own, {FILES: SERVED, SINK: TAKEN})]


_PROXIES = {"tinkbox": _start_ours, "nginx": _start_theirs}


def _uploads(side: Side, times: int) -> float:
    """Megabytes (10^6 bytes) per second of bodies one after the other."""
    body = str(side.work / "root" / "body")
    began = time.perf_counter()
    for _ in range(times):
        _curl(side, "--upload-file", body, side.sink)
    return times * MEGABYTES / (time.perf_counter() - began)


def _requests(side: Side) -> float:
    """Requests a second over connections that are kept."""
    wrk = ["wrk", "--threads", "1", "--connections", str(CONNECTIONS), "--duration", f"{SECONDS}s"]
    told = side.clients.run(as_client(*wrk, f"{side.files}/small"))
    if (rate := _RATE.search(told)) is None or "Non-2xx" in told:
        raise RuntimeError(f"wrk: {told}")
    return float(rate[1])


def _peak(side: Side, pass_body: Callable[[Side], object]) -> float:
    """The most memory (megabytes) that a fresh proxy had while a body of 4 GB passed."""
    running = side.start()
    try:
        pass_body(side)
        return max(map(peak_memory, running))
    finally:
        for process in running:
            stop(process)


def _download(side: Side) -> None:
    _curl(side, "--output", "/dev/null", f"{side.files}/large")


def _upload(side: Side) -> None:
    _curl(side, "--upload-file", str(side.work / "root" / "large"), side.sink)


def _curl(side: Side, *arguments: str) -> None:
    command = side.clients.inside(as_client("curl", "--silent", "--show-error", "--fail", *arguments))
    subprocess.run(command, check=True, timeout=300, stdout=subprocess.DEVNULL)
