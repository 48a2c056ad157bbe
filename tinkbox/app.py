"""The composition root: what the appliance is made of, in the order in which it comes to life.

Everything that can fail for the operator's reasons fails before anything is served.
"""

import asyncio
import fcntl
import secrets
import signal
import socket
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

from aiohttp import web
from aiohttp.typedefs import Middleware

from tinkbox import __version__
from tinkbox.api.access import bearer_only
from tinkbox.api.people import read_people
from tinkbox.api.routes import OperatorDoor
from tinkbox.boot.dhcp import DhcpServer
from tinkbox.boot.files import BootFolder
from tinkbox.boot.files import routes as boot_routes
from tinkbox.boot.interfaces import ProvisioningInterface, provisioning_interface
from tinkbox.boot.loaders import load_loaders
from tinkbox.boot.names import NamesServer
from tinkbox.boot.sockets import bind_tcp, bind_udp
from tinkbox.boot.tftp import TftpServer
from tinkbox.door.problems import refusals_become_problems
from tinkbox.door.traffic import Traffic
from tinkbox.engine.attempts import Attempts
from tinkbox.engine.bells import Bells
from tinkbox.engine.binding import Names
from tinkbox.engine.breakpoints import Breakpoints
from tinkbox.engine.deadlines import Deadlines
from tinkbox.engine.directory import Directory
from tinkbox.engine.machines import Machines
from tinkbox.engine.meter import Meter
from tinkbox.engine.returns import Returns
from tinkbox.engine.services import Services
from tinkbox.engine.shells import Shells
from tinkbox.engine.templates import Templates
from tinkbox.engine.workflows import Workflows
from tinkbox.hosting import Place
from tinkbox.hosting.host import ServiceHost
from tinkbox.model.errors import Conflict, Refusal, Unavailable
from tinkbox.node.routes import routes as worker_routes
from tinkbox.node.services import routes as hosting_routes
from tinkbox.node.shells import routes as shell_routes
from tinkbox.osie.image import images as osie_images
from tinkbox.registry.routes import routes as registry_routes
from tinkbox.registry.storage import ImageStore
from tinkbox.runtime import EngineAway
from tinkbox.runtime.docker import DockerRuntime
from tinkbox.services.desk import OwnDesk
from tinkbox.services.proxy import Proxy
from tinkbox.settings import Settings
from tinkbox.store.database import Store
from tinkbox.wire.dhcp import SERVER_PORT
from tinkbox.wire.names import Zone
from tinkbox.wire.pxe import BootService

Say = Callable[[str], None]
Part = Callable[[], Awaitable[object]]
SOCKET_MODE = 0o600
MAX_SOCKET_PATH = 107
HTTP_PORT = 80
DNS_PORT = 53
GRACE_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sockets:
    """Everything that the appliance listens on, bound before anything is served.

    `images` is where the engine on this host pulls from: an engine takes plain HTTP on loopback without being told to.
    `names` answers DNS, over UDP and TCP.
    """

    interface: ProvisioningInterface
    operator_local: socket.socket
    operator: socket.socket
    node: socket.socket
    images: socket.socket
    tftp: socket.socket
    dhcp: socket.socket | None
    names: tuple[socket.socket, socket.socket] | None


async def serve(settings: Settings, say: Say) -> None:
    """Run the appliance until SIGTERM or SIGINT.

    Raises what kept it from starting, as one line with the remedy; a part that crashes or returns
    ends the process, so that its supervisor starts it again.
    """
    stop = _told_to_stop()
    with _only_one(settings.data), _bound(settings) as sockets:
        store = await Store.open(settings.data / "tinkbox.sqlite")
        try:
            await _run(settings, sockets, store, stop, say)
        finally:
            await store.close()


async def _run(settings: Settings, sockets: Sockets, store: Store, stop: asyncio.Event, say: Say) -> None:
    loaders = load_loaders()
    people = read_people(settings.data, settings.people)
    images = ImageStore(settings.data / "registry", clock=_now)
    url, registry = _node_addresses(settings, sockets.interface)
    address = str(sockets.interface.address)
    bells = Bells()
    directory = Directory(settings.services_domain, url)
    machines = Machines(store, bells, _now, _new_token, directory.supply)
    services = Services(store, bells, machines, _now, directory, address)
    await machines.load()
    await services.load()
    docker = DockerRuntime(settings.docker)
    host = ServiceHost(docker, OwnDesk(services), _place(settings, sockets, services.host_id, url), time.monotonic)

    names = Names(name=settings.name, address=address, domain=settings.services_domain, opened=settings.services_paths)
    templates = Templates(store, _now, _new_id)
    workflows = Workflows(store, bells, machines, _now, _new_id, _new_token, names)
    attempts = Attempts(store, bells, machines, _now, _new_token, host.gather, directory.name_of)
    breakpoints = Breakpoints(store, bells, machines, _now)
    recordings = settings.data / "recordings"
    shells = Shells(store, bells, _now, _new_id, _new_token, recordings, breakpoints.touch)
    meter = Meter(store, machines, _now)
    traffic = Traffic()
    await meter.begin()
    await shells.load()

    folder = BootFolder(
        osie=settings.data / "osie",
        loaders=loaders,
        url=url,
        version=__version__,
        # Machines know of no other port for names.
        dns=address if settings.services_names and settings.dns_port == DNS_PORT else "",
    )
    operator = OperatorDoor(
        machines=machines,
        templates=templates,
        workflows=workflows,
        breakpoints=breakpoints,
        services=services,
        directory=directory,
        shells=shells,
        images=images,
        meter=meter,
        answers=traffic.answers,
        osie=lambda: [asdict(each) for each in osie_images(settings.data / "osie")],
        server=url,
        registry=registry,
    )
    pulls = registry_routes(images, people.may_operate)
    node = [
        *worker_routes(attempts, breakpoints, machines.authenticate, _now),
        *hosting_routes(services, machines.authenticate, machines.contact),
        *shell_routes(shells, machines.authenticate),
        *boot_routes(machines, lambda key: machines.credential(key, url, registry), folder),
        *pulls,
    ]

    parts: list[Part] = [store.run, machines.run, services.run, host.run, shells.run]
    parts += [part(store, bells, machines, _now).run for part in (Deadlines, Returns)]
    parts.append(TftpServer(sockets.tftp, loaders, machines, time.monotonic).serve)
    if sockets.dhcp is not None:
        service = BootService(address=sockets.interface.address, url=url)
        parts.append(DhcpServer(sockets.dhcp, sockets.interface.name, machines, service).serve)
    if sockets.names is not None:
        parts.append(NamesServer(*sockets.names, Zone(settings.services_domain, sockets.interface.address)).serve)

    async with docker, Proxy(directory, machines.at) as proxy, AsyncExitStack() as doors:
        await _open(doors, sockets.operator_local, operator.routes(), [])
        await _open(doors, sockets.operator, operator.routes(), [bearer_only(people.bearer)])
        await _open(doors, sockets.images, pulls, [])
        await _open(doors, sockets.node, node, [proxy.middleware, traffic.counted()])
        for line in _tree(settings, sockets):
            say(line)
        await _keep_running(parts, machines, stop)


def _place(settings: Settings, sockets: Sockets, host: str, url: str) -> Place:
    """Where the appliance runs services."""
    return Place(
        host=host,
        folder=settings.data / "services",
        registry="{}:{}".format(*sockets.images.getsockname()),
        server=url,
        privileged=False,
        subnets=settings.services_subnets,
        opened=settings.services_paths,
    )


async def _open(
    doors: AsyncExitStack, listening: socket.socket, routes: Sequence[web.RouteDef], guards: Sequence[Middleware]
) -> None:
    # Uploads are streamed and bounded where they are read, so aiohttp's own limit is off.
    application = web.Application(middlewares=[refusals_become_problems, *guards], client_max_size=0)
    application.add_routes(routes)
    # A handler runs to its end even when its client is gone: what it committed must also reach our memory.
    # What is passed on to a service must reach it as it came.
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=GRACE_SECONDS, auto_decompress=False)
    await runner.setup()
    doors.push_async_callback(runner.cleanup)
    await web.SockSite(runner, listening).start()


def _told_to_stop() -> asyncio.Event:
    """Set by SIGTERM and SIGINT, from the very start on."""
    stop = asyncio.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signum, stop.set)
    return stop


async def _keep_running(parts: Sequence[Part], machines: Machines, stop: asyncio.Event) -> None:
    """Run every part in one TaskGroup until `stop` is set; a part that ends by itself is a crash."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_for_ever(part)) for part in parts]
        await stop.wait()
        with suppress(Refusal):
            await machines.save()
        for task in tasks:
            task.cancel()


async def _for_ever(part: Part) -> NoReturn:
    await part()
    msg = f"{part} returned, and it must not"
    raise RuntimeError(msg)


@contextmanager
def _only_one(data: Path) -> Iterator[None]:
    """Make the data directory ours alone, for as long as we run."""
    try:
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = (data / "lock").open("w")
    except OSError as error:
        raise Unavailable(f"cannot use the data directory {data}: {error.strerror}; name another with --data") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(f"another tinkbox serves {data}: stop it, or name another directory with --data") from None
        yield


@contextmanager
def _bound(settings: Settings) -> Iterator[Sockets]:
    with ExitStack() as stack:

        def keep(bound: socket.socket) -> socket.socket:
            return stack.enter_context(closing(bound))

        interface = provisioning_interface(settings.interface, settings.address)
        address = str(interface.address)
        dhcp = settings.dhcp_mode != "off"
        if interface.address in settings.services_subnets:
            raise Conflict(f"{address} lies in services.subnets {settings.services_subnets}: name others there")
        yield Sockets(
            interface=interface,
            operator_local=keep(_bind_local(settings.data / "operator.sock")),
            operator=keep(bind_tcp(address=settings.operator_host, port=settings.operator_port)),
            node=keep(bind_tcp(address=address, port=settings.http_port)),
            tftp=keep(bind_udp(interface=interface.name, address=address, port=settings.tftp_port)),
            # What is broadcast reaches only a socket that is bound to no address.
            dhcp=keep(bind_udp(interface=interface.name, address="", port=SERVER_PORT)) if dhcp else None,
            images=keep(bind_tcp(address="127.0.0.1", port=0)),
            names=_bind_names(settings, interface, keep) if settings.services_names else None,
        )


def _bind_names(
    settings: Settings, interface: ProvisioningInterface, keep: Callable[[socket.socket], socket.socket]
) -> tuple[socket.socket, socket.socket]:
    address, port = str(interface.address), settings.dns_port
    try:
        udp = keep(bind_udp(interface=interface.name, address=address, port=port))
        return udp, keep(bind_tcp(address=address, port=port))
    except Unavailable as error:
        lead = f"lead names below {settings.services_domain} to {address} with a DNS server of yours"
        raise Unavailable(f"{error}; or {lead}, and set services.names: off") from None


def _bind_local(path: Path) -> socket.socket:
    """The operator door's unix socket; whoever the file permissions let in is the operator."""
    if len(str(path).encode()) > MAX_SOCKET_PATH:
        raise Unavailable(f"{path} is too long for a unix socket: name a data directory with a shorter path")
    path.unlink(missing_ok=True)  # of a run that was killed: the lock says that nobody uses it
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    bound.bind(str(path))
    path.chmod(SOCKET_MODE)
    bound.listen(128)
    bound.setblocking(False)
    return bound


def _node_addresses(settings: Settings, interface: ProvisioningInterface) -> tuple[str, str]:
    """The node door's URL, and the registry's host as image names carry it."""
    host = str(interface.address)
    if settings.http_port == HTTP_PORT:
        return f"http://{host}", host
    return f"http://{host}:{settings.http_port}", f"{host}:{settings.http_port}"


def _tree(settings: Settings, sockets: Sockets) -> list[str]:
    """What is served where, for the operator who started it."""
    url, registry = _node_addresses(settings, sockets.interface)
    dhcp = f"reservations on {sockets.interface.name}" if sockets.dhcp else "off"
    names = f"{sockets.interface.address}:{settings.dns_port} answers DNS for it" if sockets.names else "off"
    osie = "ready" if osie_images(settings.data / "osie") else "not built yet: tinkbox osie build"
    return [
        f"tinkbox {__version__}, data in {settings.data}",
        f"├─ operator door   {settings.data}/operator.sock",
        f"│                  http://{settings.operator_host}:{settings.operator_port} with the token in operator.token",
        f"├─ node door       {url}",
        f"├─ images          {registry}/NAME:TAG",
        f"├─ DHCP            {dhcp}",
        f"├─ TFTP            {sockets.interface.address}:{settings.tftp_port}",
        f"├─ services        WORKFLOW.{settings.services_domain}, hosted on {settings.docker}",
        f"├─ names           {names}",
        f"└─ OSIE            {osie}",
    ]


async def check(settings: Settings, say: Say) -> bool:
    """Look at everything that serving needs, say what is wrong and what to do; whether all is well.

    A Docker engine is not needed: without one everything works but hosted services.
    """
    wrong: list[str] = []
    try:
        load_loaders()
        with _only_one(settings.data), _bound(settings) as sockets:
            store = await Store.open(settings.data / "tinkbox.sqlite")
            await store.close()
            for line in _tree(settings, sockets):
                say(line)
    except Refusal as refusal:
        wrong.append(str(refusal))
    try:
        async with DockerRuntime(settings.docker) as engine:
            say(f"Docker engine {await engine.version()} at {settings.docker}")
    except EngineAway as error:
        say(f"no Docker engine ({error}): workflow services cannot be hosted, everything else works")
    for line in wrong:
        say(f"wrong: {line}")
    return not wrong


def _now() -> datetime:
    return datetime.now(UTC)


def _new_id() -> str:
    return str(uuid.uuid4())


def _new_token() -> str:
    return secrets.token_urlsafe(24)
