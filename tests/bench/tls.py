"""What TLS costs: a 200 MB ramdisk beside nginx with the same suite, and the same work as over plain HTTP.

The node door serves one file over HTTP and HTTPS, from the page cache, on one processor; nginx serves it over HTTPS with
the certificate of the node door.  Clients are curl processes on the other processors, which check no certificate: that
would be their work, not the server's.  A worker's questions go over one connection that lasts, as they do in life.
"""

import asyncio
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack

from examples.lab.network import Network
from tests.bench.connection import Connection
from tests.bench.figures import Comparison
from tests.bench.http import DOWNLOADS, MEGABYTES, RAMDISK, throughput, write_random
from tests.bench.lab import appliance, cable, folder, need, on_loopback
from tests.bench.peers import start_nginx

TOOLS = {"nginx": "nginx-light", "curl": "curl", "ip": "iproute2"}
ROUNDS = 5
# A rack that boots at once.
STORM = 32
STORM_DOWNLOADS = 32
QUESTIONS = 2000
HANDSHAKES = 50
SUITE = "TLS_AES_256_GCM_SHA384"
_NGINX_TLS = """\
{address}:443 ssl; ssl_certificate {pem}; ssl_certificate_key {pem}; ssl_protocols TLSv1.3; ssl_conf_command Ciphersuites {suite}"""


def compare() -> Iterator[Comparison]:
    """Downloads beside nginx and beside HTTP, a worker's questions and handshakes beside HTTP."""
    need(TOOLS)
    with folder() as work, ExitStack() as cables:
        osie = work / "osie"
        write_random(osie / RAMDISK, MEGABYTES)
        (our_end, our_clients), (their_end, their_clients) = (cables.enter_context(cable()) for _ in range(2))
        served = appliance(our_end, work, osie)
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
        storm = Comparison(
            what=f"200 MB ramdisk over HTTPS, {STORM} clients at once",
            unit="MB/s",
            peer="the same over HTTP",
            better="more",
        )
        for _ in range(ROUNDS):
            storm.add(
                _throughput(our_clients, ours, STORM, STORM_DOWNLOADS),
                _throughput(our_clients, plain, STORM, STORM_DOWNLOADS),
            )
        yield storm
    yield from _questions()


def _throughput(network: Network, url: str, clients: int, downloads: int = DOWNLOADS) -> float:
    return throughput(network, url, clients, downloads, ("--insecure", "--tls13-ciphers", SUITE))


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
