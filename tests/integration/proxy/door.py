"""A node door with the proxy on loopback, services behind it, and clients before it.

Every address of 127.0.0.0/8 is this host's, so that each machine has one of its own.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address
from typing import Any

from aiohttp import ClientSession, DummyCookieJar, TCPConnector, web

from tinkbox.door.connections.reading_pace import ReadingPace
from tinkbox.door.problems import refusals_become_problems
from tinkbox.engine.services.routing_table import Hosted, RoutingTable
from tinkbox.model.limits import WEBSOCKETS, Ledger, Limit, Room
from tinkbox.model.services import APPLIANCE, Phase, PlannedService, Service, ServiceStatus, Standing
from tinkbox.model.workflow import State
from tinkbox.proxy.proxy import Proxy

DOMAIN = "workflows.tinkbox.internal"
MACHINES = {"127.0.0.2": "machine-2", "127.0.0.3": "machine-3"}
WORKFLOW, HERS, STRANGER = "w1", "127.0.0.2", "127.0.0.9"
NAME = f"{WORKFLOW}.{DOMAIN}"
EVERYTHING = (("traefik.http.routers.all.rule", "PathPrefix(`/`)"),)
AT = {"Host": NAME}
MEGABYTE = bytes(range(256)) * 4096
SECONDS = 60
Labels = tuple[tuple[str, str], ...]


def status(
    port: int = 0, labels: Labels = EVERYTHING, *, name: str = "files", host: str = APPLIANCE, **standing: Any
) -> ServiceStatus:
    """A service that is READY at `port` of 127.0.0.1; `standing` says otherwise."""
    said = {"phase": Phase.READY, "address": "127.0.0.1", "ports": (port,) if port else (), **standing}
    service = PlannedService(index=0, host=host, spec=Service(name=name, worker="", image=f"{name}:v1", labels=labels))
    return ServiceStatus(service=service, standing=Standing(run=f"run-of-{name}", **said))


def hosted(*services: ServiceStatus, workflow: str = WORKFLOW, machine: str = "machine-2", **otherwise: Any) -> Hosted:
    numbered = tuple(replace(each, service=replace(each.service, index=n)) for n, each in enumerate(services))
    made = Hosted(
        workflow_id=workflow, state=State.RUNNING, wanted=True,
        machines=frozenset({machine}), services=numbered,
    )  # fmt: skip
    return replace(made, **otherwise)


@dataclass
class Door:
    """What listens at `port` of 127.0.0.1."""

    port: int
    directory: RoutingTable
    server: web.Server

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def serve(self, *services: ServiceStatus) -> None:
        """These are the services of the workflow of machine-2."""
        self.directory.replace([hosted(*services)])

    @asynccontextmanager
    async def client(self, address: str = HERS, **options: Any) -> AsyncIterator[ClientSession]:
        """Whoever has this address."""
        session = ClientSession(
            self.url,
            connector=TCPConnector(local_addr=(address, 0), limit=0),
            cookie_jar=DummyCookieJar(),
            auto_decompress=False,
            **options,
        )
        async with session:
            yield session

    async def raw(self, *pieces: bytes, address: str = HERS) -> bytes:
        """Send bytes as they are, and read what comes until the connection is closed."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(address, 0))
        try:
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
            async with asyncio.timeout(SECONDS):
                return await reader.read()
        except ConnectionError:
            return b""
        finally:
            writer.close()


def room(limit: Limit = WEBSOCKETS) -> Room:
    """Room that nobody has a reserve of."""
    return Room(ledger=Ledger(limit, time.monotonic), known=lambda _: False)


@asynccontextmanager
async def door(
    *built_in: web.RouteDef,
    refuses: Callable[[IPv4Address], bool] = lambda _: False,
    websockets: Room | None = None,
) -> AsyncIterator[Door]:
    """The door's application as the appliance has it, but that services may be on loopback."""
    directory = RoutingTable(DOMAIN, "http://127.0.0.1")
    async with (
        asyncio.timeout(4 * SECONDS),
        Proxy(
            directory, lambda address: MACHINES.get(address, ""), websockets or room(), ReadingPace(), refuses
        ) as proxy,
    ):
        application = web.Application(middlewares=[refusals_become_problems, proxy.middleware], client_max_size=0)
        application.add_routes(built_in)
        async with running(application) as runner:
            assert runner.server is not None
            yield Door(runner.addresses[0][1], directory, runner.server)


@asynccontextmanager
async def running(application: web.Application) -> AsyncIterator[web.AppRunner]:
    """An application at a port of loopback, which changes no body on its way."""
    runner = web.AppRunner(application, access_log=None, auto_decompress=False, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield runner
    finally:
        await runner.cleanup()


@asynccontextmanager
async def listening(application: web.Application) -> AsyncIterator[int]:
    """The port of one that runs."""
    async with running(application) as runner:
        yield runner.addresses[0][1]


@asynccontextmanager
async def service(handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[int]:
    """A well-behaved service that answers everything in one way."""
    application = web.Application(client_max_size=0)
    application.router.add_route("*", "/{path:.*}", handler)
    async with listening(application) as port:
        yield port


@dataclass
class Recorder:
    """What a service made of a bare socket was sent, by connection."""

    port: int = 0
    connections: list[bytearray] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def head(self) -> bytes:
        """Of the only request that came."""
        (connection,) = self.connections
        return bytes(connection.partition(b"\r\n\r\n")[0])

    @property
    def lines(self) -> list[str]:
        """Its headers."""
        return self.head.decode().split("\r\n")[1:]


@asynccontextmanager
async def recorder(
    answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    *,
    then: Callable[[asyncio.StreamWriter], Awaitable[None]] | None = None,
) -> AsyncIterator[Recorder]:
    """A service that says `answer` as soon as it is sent something, then does `then`, and goes on listening."""
    recorded = Recorder()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen = bytearray()
        recorded.connections.append(seen)
        try:
            while chunk := await reader.read(65536):
                said = not seen
                seen.extend(chunk)
                recorded.asked.set()
                if said:
                    writer.write(answer)
                    await writer.drain()
                    if then is not None:
                        await then(writer)
        except ConnectionError:
            pass
        finally:
            recorded.closed.set()
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    recorded.port = server.sockets[0].getsockname()[1]
    async with server:
        yield recorded


def named(path: str = "/", method: str = "GET", *headers: str, version: str = "1.1", host: str = NAME) -> bytes:
    """A request's head for the workflow's name; the connection is closed after it."""
    lines = [f"{method} {path} HTTP/{version}", f"Host: {host}", *headers, "Connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1")


async def standstill(count: Callable[[], int]) -> int:
    """Wait until this has begun to grow and grows no more, which is looked at often: to be held up for once is not that."""
    before, same = -1, 0
    async with asyncio.timeout(SECONDS):
        while same < 20:
            now = count()
            same = same + 1 if now == before > 0 else 0
            before = now
            await asyncio.sleep(0.05)
    return before


def problem(answer: Mapping[str, Any]) -> tuple[int, str]:
    return answer["status"], answer["detail"]
