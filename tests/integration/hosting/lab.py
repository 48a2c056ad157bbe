"""A host of services on a real engine, which lives in a network namespace and so may make bridges."""

import asyncio
import ctypes
import os
import socket
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path

from aiohttp import web

from tests.integration.docker_engine import DockerEngine
from tests.integration.registry.serving import PEOPLE, Clock, layer, until
from tests.unit.hosting.fake_host_link import FakeHostLink
from tinkbox.door.problems import refusals_become_problems
from tinkbox.door.requests.refused_tokens import RefusedTokens
from tinkbox.hosting import Pace, Place
from tinkbox.hosting.host import ServiceHost
from tinkbox.model.limits import DECLARED, Limits
from tinkbox.model.services import Phase, PlannedService, Service, Standing
from tinkbox.registry.mirrors.upstreams import Upstreams
from tinkbox.registry.protocol.push_tokens import PushTokens
from tinkbox.registry.protocol.pushers import Pushers
from tinkbox.registry.protocol.routes import routes
from tinkbox.registry.storage import ImageStore
from tinkbox.runtime.docker import DockerRuntime
from tinkbox.wire.messages.hosting import WantedService

DEADLINE = 120.0
PACE = Pace(starting=0.05, settled=0.1, data=0.1, sweep=0.5, grace=1, restart=0.05)
IMAGE, BARE = "web:v1", "bare:v1"
BUSYBOX = Path("/bin/busybox").read_bytes()
_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def socket_in(network: Path) -> socket.socket:
    """A TCP socket that belongs to another network namespace."""
    made: list[socket.socket] = []

    def make() -> None:
        # Only this thread goes there (setns(2)), and it ends at once.
        descriptor = os.open(network, os.O_RDONLY)
        assert _libc.setns(descriptor, _CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
        os.close(descriptor)
        made.append(socket.socket())

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    return made[0]


async def make_images(engine: DockerEngine, root: Path) -> None:
    """Put images of services where a registry finds them: busybox, with two ports that it exposes, and with none."""
    archive = root.with_suffix(".tar")
    changes = (
        "--change=EXPOSE 8081/tcp 8080/tcp 53/udp",
        '--change=CMD ["/bin/sh", "-c", "echo up; exec tail -f /dev/null"]',
    )
    files = {f"bin/{name}": BUSYBOX for name in ("busybox", "sh", "tail", "sleep", "cat", "httpd", "mkdir", "rm", "ln")}
    engine.cli("import", *changes, "-", IMAGE, stdin=layer(files))
    engine.cli("import", "-", BARE, stdin=layer(files))
    engine.cli("save", "-o", archive, IMAGE, BARE)
    engine.cli("rmi", IMAGE, BARE)

    async def content() -> AsyncIterator[bytes]:
        yield archive.read_bytes()

    await ImageStore(root, Clock(), Limits(DECLARED, time.monotonic)).load(content(), who="operator")


@asynccontextmanager
async def registry_in(network: Path, root: Path) -> AsyncIterator[str]:
    """The appliance's registry as the engine reaches it; gives its `host:port`."""
    app = web.Application(middlewares=[refusals_become_problems])
    store = ImageStore(root, Clock(), Limits(DECLARED, time.monotonic))
    app.add_routes(
        routes(
            store,
            Upstreams(store, {}, time.monotonic),
            Pushers(PEOPLE, PushTokens(b"key", time.monotonic)),
            RefusedTokens(),
        )
    )
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    listening = socket_in(network)
    listening.bind(("127.0.0.1", 0))
    await web.SockSite(runner, listening).start()
    try:
        yield f"127.0.0.1:{listening.getsockname()[1]}"
    finally:
        await runner.cleanup()


class Lab:
    """One appliance's worth of services; `folder` is its own, `host` what its containers are labelled with."""

    def __init__(self, engine: DockerEngine, network: Path, runtime: DockerRuntime, place: Place) -> None:
        self.engine = engine
        self.network = network
        self.runtime = runtime
        self.place = place
        self.host_link = FakeHostLink()

    @asynccontextmanager
    async def hosting(self, grace: int = PACE.grace) -> AsyncIterator[ServiceHost]:
        """A host at work, until it is dropped as it stands; `grace` is what services have to end by themselves."""
        pace = replace(PACE, grace=grace)
        host = ServiceHost(self.runtime, self.host_link, self.place, asyncio.get_running_loop().time, pace)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(host.run())
            yield host
            running.cancel()

    def service(self, script: str = "", run: str = "r1", workflow_id: str = "w1", **fields: object) -> WantedService:
        """One that runs a script, or what its image runs by itself."""
        command = ("/bin/sh", "-c", script) if script else ()
        planned = PlannedService(
            index=0, host="", spec=Service(name="web", worker="provisioner", image=IMAGE, command=command)
        )
        return WantedService(
            run=run, workflow_id=workflow_id, service=replace(planned, spec=replace(planned.spec, **fields))
        )  # type: ignore[arg-type]

    def standing(self, run: str = "r1") -> Standing:
        """What was told of a run last."""
        newest = self.host_link.told[-1] if self.host_link.told else ()
        return next((each for each in newest if each.run == run), Standing(run=run, phase=Phase.PENDING))

    def phases(self, run: str = "r1") -> list[Phase]:
        """Its phases, one after the other."""
        phases = [each.phase for each in self.host_link.of(run)]
        return [each for number, each in enumerate(phases) if not number or each is not phases[number - 1]]

    async def until(self, *phases: Phase, run: str = "r1") -> Standing:
        """Wait for a run to come there."""
        await until(lambda: self.standing(run).phase in phases, DEADLINE)
        return self.standing(run)

    def containers(self) -> list[str]:
        """Those of this host, whatever they do."""
        return self.engine.cli("ps", "-aq", "--filter", f"label=tinkbox.host={self.place.host}").stdout.split()

    def networks(self) -> list[str]:
        """Those of this host."""
        listed = self.engine.cli("network", "ls", "-q", "--filter", f"label=tinkbox.host={self.place.host}")
        return listed.stdout.split()

    async def until_nothing_is_left(self) -> None:
        await until(lambda: not (list(self.place.folder.glob("*")) or self.host_link.told[-1]), DEADLINE)
        await until(lambda: not (self.containers() or self.networks()), DEADLINE)

    async def fetch(self, port: int) -> bytes:
        """What the service of r1 answers at its address."""
        connection = socket_in(self.network)
        connection.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(connection, (self.standing().address, port))
        reader, writer = await asyncio.open_connection(sock=connection)
        writer.write(b"GET /word HTTP/1.0\r\n\r\n")
        answer = await reader.read()
        writer.close()
        return answer.partition(b"\r\n\r\n")[2]


def place_for(folder: Path, registry: str, host: str = "h1", subnets: str = "10.213.0.0/24") -> Place:
    return Place(
        host=host, folder=folder / host, registry=registry, server="http://10.213.0.1", privileged=False,
        subnets=IPv4Network(subnets), https_server="https://10.213.0.1", authority="PEM",
    )  # fmt: skip
