"""What TLS costs: a 200 MB ramdisk beside nginx with the same suite, and the same work as over plain HTTP.

The node door serves one file over HTTP and HTTPS, from the page cache, on one processor; nginx serves it over HTTPS with
the certificate of the node door.  Clients are curl processes on the other processors, which check no certificate: that
would be their work, not the server's.  A worker's questions go over one connection that lasts, as they do in life.

The storm is of a thousand machines that boot by HTTPS at once: each begins a connection of its own from an address of its
own, and fetches a file of the size of a boot loader.  All of them have one MAC, that of a machine that is known.
"""

import asyncio
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

from examples.lab.network import Network
from examples.lab.processes import start, stop
from tests.bench.connection import Connection
from tests.bench.dhcp import prepare
from tests.bench.figures import Comparison
from tests.bench.http import DOWNLOADS, MEGABYTES, RAMDISK, throughput, write_random
from tests.bench.lab import appliance, as_client, cable, describe_osie, folder, need, on_loopback
from tests.bench.peers import start_nginx
from tests.bench.storm import CLIENTS, FIRST, MACHINES, SERVER, spent

TOOLS = {"nginx": "nginx-light", "curl": "curl", "ip": "iproute2"}
ROUNDS = 5
# Clients at once.
RACK = 32
# Of a thousand machines each fetches so many megabytes; a curl process plays at most so many of them (curl(1), --parallel-max).
LOADER = Path("x86_64") / "vmlinuz"
LOADER_MEGABYTES = 1
STORMS = 3
EACH_CURL = 250
QUESTIONS = 2000
HANDSHAKES = 50
SUITE = "TLS_AES_256_GCM_SHA384"
_NGINX_TLS = """\
{address}:443 ssl backlog=4096; ssl_certificate {pem}; ssl_certificate_key {pem}; ssl_protocols TLSv1.3; ssl_conf_command Ciphersuites {suite}"""

# A server's end, its clients' end, and the URL of what they fetch.
_Side = tuple[Network, Network, str]


def compare() -> Iterator[Comparison]:
    """Downloads and a storm beside nginx and beside HTTP, a worker's questions and handshakes beside HTTP."""
    need(TOOLS)
    with folder() as work, ExitStack() as cables:
        osie = work / "osie"
        write_random(osie / RAMDISK, MEGABYTES)
        write_random(osie / LOADER, LOADER_MEGABYTES)
        describe_osie(osie / LOADER.parent)
        (our_end, our_clients), (their_end, their_clients) = (
            cables.enter_context(cable(SERVER, CLIENTS)) for _ in range(2)
        )
        served = appliance(our_end, work, osie)
        asyncio.run(prepare(served.data / "operator.sock", [(our_clients.mac, str(CLIENTS.ip))], SERVER))
        pem = served.data / "tls" / "server.pem"
        start_nginx(their_end, work, osie, _NGINX_TLS.format(address=their_end.address, pem=pem, suite=SUITE))
        ours = f"https://{our_end.address}/boot/osie/{RAMDISK}"
        plain = f"http://{our_end.address}/boot/osie/{RAMDISK}"
        theirs = f"https://{their_end.address}/{RAMDISK}"
        for peer, clients, url in (
            ("nginx, the same suite", their_clients, theirs),
            ("the same over HTTP", our_clients, plain),
        ):
            comparison = Comparison(what="200 MB ramdisk over HTTPS, 1 client", unit="MB/s", peer=peer, better="more")
            for _ in range(ROUNDS):
                comparison.add(_throughput(our_clients, ours, 1), _throughput(clients, url, 1))
            yield comparison
        rack = Comparison(
            what=f"200 MB ramdisk over HTTPS, {RACK} clients at once",
            unit="MB/s",
            peer="the same over HTTP",
            better="more",
        )
        for _ in range(ROUNDS):
            rack.add(_throughput(our_clients, ours, RACK, RACK), _throughput(our_clients, plain, RACK, RACK))
        yield rack
        yield from _storm(
            (our_end, our_clients, f"https://{our_end.address}/boot/osie/{LOADER}"),
            {
                "nginx, the same suite": (their_end, their_clients, f"https://{their_end.address}/{LOADER}"),
                "the same over HTTP": (our_end, our_clients, f"http://{our_end.address}/boot/osie/{LOADER}"),
            },
            work,
        )
    yield from _questions()


def _throughput(network: Network, url: str, clients: int, downloads: int = DOWNLOADS) -> float:
    return throughput(network, url, clients, downloads, ("--insecure", "--tls13-ciphers", SUITE))


def _storm(ours: _Side, peers: Mapping[str, _Side], work: Path) -> Iterator[Comparison]:
    """A server's end, the clients' and what they fetch, for us and for each peer."""
    for peer, theirs in peers.items():
        spent_each = Comparison(
            what=f"HTTPS storm of {MACHINES} machines: processor", unit="s", peer=peer, better="less"
        )
        for _ in range(STORMS):
            spent_each.add(*(_raged(*each, work) for each in (ours, theirs)))
        yield spent_each


def _raged(server: Network, clients: Network, url: str, work: Path) -> float:
    """The server's processor seconds until all machines have the file.

    Wall time says nothing here: curl asks from all addresses in one moment, and a question that the kernel's table of neighbours has
    no room for is asked again after a second, two, four and so on.
    """
    clients.run(["ip", "route", "replace", "local", f"{FIRST}/22", "dev", "lo"])
    commands = list[list[str]]()
    for first in range(0, MACHINES, EACH_CURL):
        asking = work / f"storm-{first}"
        asking.write_text("next\n".join(
            f'url = "{url}"\noutput = "/dev/null"\ninterface = "host!{FIRST + number}"\n'
            f'insecure\nfail\nsilent\ntls13-ciphers = "{SUITE}"\n'
            for number in range(first, first + EACH_CURL)
        ))  # fmt: skip
        parallel = ("--no-progress-meter", "--parallel", "--parallel-immediate", "--parallel-max", str(EACH_CURL))
        commands.append(clients.inside(as_client("curl", *parallel, "--config", asking)))
    before = spent(server)
    fetching = [start(each) for each in commands]
    try:
        statuses = [process.wait(300) for process in fetching]
    finally:
        for process in fetching:
            stop(process)
    if any(statuses):
        raise RuntimeError(f"curl {url} ended with {statuses}")
    # One table for all namespaces, which by default holds 1,024.
    server.run(["ip", "neighbour", "flush", "dev", server.interface])
    return spent(server) - before


def _questions() -> Iterator[Comparison]:
    asked = Comparison(
        what="a worker's questions over a TLS connection that lasts",
        unit="1/s",
        peer="the same over HTTP",
        better="more",
    )
    begun = Comparison(
        what="connections with one question each, over TLS", unit="1/s", peer="the same over HTTP", better="more"
    )
    with folder() as work, on_loopback(work) as (_, configuration):
        plain = f"http://127.0.0.1:{configuration.http_port}"
        encrypted = f"https://127.0.0.1:{configuration.https_port}"
        trusting = configuration.trusting()
        for _ in range(ROUNDS):
            asked.add(asyncio.run(_rate(encrypted, trusting)), asyncio.run(_rate(plain, None)))
            begun.add(asyncio.run(_connections(encrypted, trusting)), asyncio.run(_connections(plain, None)))
    yield asked
    yield begun


async def _rate(url: str, trusting: ssl.SSLContext | None) -> float:
    connection = await Connection.to(url, {}, trusting=trusting)
    began = time.perf_counter()
    for _ in range(QUESTIONS):
        status, _ = await connection.ask("GET", "/worker/time")
        if status != 200:
            raise RuntimeError(f"{url} answered with {status}")
    seconds = time.perf_counter() - began
    connection.close()
    return QUESTIONS / seconds


async def _connections(url: str, trusting: ssl.SSLContext | None) -> float:
    began = time.perf_counter()
    for _ in range(HANDSHAKES):
        connection = await Connection.to(url, {}, trusting=trusting)
        await connection.ask("GET", "/worker/time")
        connection.close()
    return HANDSHAKES / (time.perf_counter() - began)
