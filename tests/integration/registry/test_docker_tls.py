"""A machine's Docker pulls over TLS, and trusts the authority that came with the machine's credential alone."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import web

from examples.lab.network import Network
from tests.authority import Authority
from tests.integration.boot.wires import inside
from tests.integration.docker_engine import CommandFailed, DockerEngine, docker_engine_in
from tests.integration.registry.serving import PEOPLE, serving
from tinkbox.boot.http.credential_ramdisk import credential_ramdisk
from tinkbox.boot.network.sockets import bind_tcp
from tinkbox.door.problems import refusals_become_problems
from tinkbox.door.requests.refused_tokens import RefusedTokens
from tinkbox.registry.protocol.push_tokens import PushTokens
from tinkbox.registry.protocol.pushers import Pushers
from tinkbox.registry.protocol.routes import routes
from tinkbox.wire.messages.worker import Credential

pytestmark = pytest.mark.docker
ADDRESS = "172.30.0.1"


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with Network() as made:
        yield made


@pytest.fixture(scope="module")
def engine(network: Network) -> Iterator[DockerEngine]:
    """One as in an OSIE: it is told of no insecure registry, and has an /etc/docker of its own."""
    with docker_engine_in(network=network.path) as made:
        subprocess.run(made.beside(["mount", "-t", "tmpfs", "own", "/etc/docker"]), check=True, timeout=60)
        yield made


def boots(engine: DockerEngine, credential: Credential) -> None:
    """What is for the engine in a machine's ramdisk lies in its /etc/docker, and nothing else does."""
    subprocess.run(engine.beside(["rm", "-rf", "/etc/docker/certs.d"]), check=True, timeout=60)
    unpack = ["sh", "-c", "cd / && exec cpio --quiet -idu 'etc/docker/*'"]
    subprocess.run(engine.beside(unpack), input=credential_ramdisk(credential), check=True, timeout=60)


@pytest.mark.parametrize("port", [443, 8443])
async def test_a_machines_docker_pulls_over_tls_from_its_own_appliance_alone(
    network: Network, engine: DockerEngine, tmp_path: Path, port: int
) -> None:
    authority, other = Authority(tmp_path), Authority(tmp_path)
    host = ADDRESS if port == 443 else f"{ADDRESS}:{port}"
    with inside(network.path):
        listening = bind_tcp(address=ADDRESS, port=port)
    async with serving(tmp_path / "registry") as registry:
        await registry.push_image("hello", "v1")
        application = web.Application(middlewares=[refusals_become_problems])
        pushers = Pushers(PEOPLE, PushTokens(b"key", lambda: 0.0))
        application.add_routes(routes(registry.store, registry.upstreams, pushers, RefusedTokens()))
        runner = web.AppRunner(application, shutdown_timeout=1)
        await runner.setup()
        await web.SockSite(runner, listening, ssl_context=authority.server(ADDRESS)).start()
        try:
            for pem in (other.pem, authority.pem):
                given = Credential(server=f"https://{host}", registry=host, worker="w", token="t", authority=pem)
                await asyncio.to_thread(boots, engine, given)
                pull = asyncio.to_thread(engine.cli, "pull", f"{host}/hello:v1")
                if pem == authority.pem:
                    await pull
                else:
                    with pytest.raises(CommandFailed, match="x509: certificate signed by unknown authority"):
                        await pull
        finally:
            await runner.cleanup()
