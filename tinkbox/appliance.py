"""What the appliance is made of, in the order in which it comes to life: reads like a table of contents."""

import secrets
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial

from aiohttp import web

from tinkbox import __version__
from tinkbox.api.routes import OperatorDoor
from tinkbox.api.tokens import People, read_people
from tinkbox.boot.dhcp.address_probe import Prober
from tinkbox.boot.dhcp.boot_server import BootServer
from tinkbox.boot.dhcp.other_servers import other_servers_on
from tinkbox.boot.dhcp.rate_limit import RateLimit
from tinkbox.boot.dhcp.server import DhcpServer
from tinkbox.boot.dns import NamesServer
from tinkbox.boot.http.boot_files import BootFolder
from tinkbox.boot.http.boot_files import routes as boot_routes
from tinkbox.boot.http.kernel_command_line import SYSLOG_PORT
from tinkbox.boot.http.loaders import load_loaders
from tinkbox.boot.network.neighbours import neighbour
from tinkbox.boot.syslog import SyslogServer
from tinkbox.boot.tftp.files import TftpFiles
from tinkbox.boot.tftp.server import TftpServer
from tinkbox.door.traffic import Traffic
from tinkbox.engine.boot.booting import OTHERS_ADDRESSES, Booting
from tinkbox.engine.boot.leases import Leases
from tinkbox.engine.discovery.discovery import Acceptance, Discovery
from tinkbox.engine.discovery.unknown_machines import Strangers
from tinkbox.engine.doctor.case import OsieSize
from tinkbox.engine.doctor.examiner import Examiner, Premises
from tinkbox.engine.machines.boot_history import Seen
from tinkbox.engine.machines.firmware_knowledge import FirmwareKnowledge
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.services.routing_table import Directory
from tinkbox.engine.services.services import Services
from tinkbox.engine.shells.shells import Shells
from tinkbox.engine.templates.templates import Templates
from tinkbox.engine.timeline.syslog import Syslog
from tinkbox.engine.views.metrics import Meter
from tinkbox.engine.views.overview import Overview
from tinkbox.engine.wakeups import Wakeups
from tinkbox.engine.workflows.attempts import Attempts
from tinkbox.engine.workflows.binding import Names
from tinkbox.engine.workflows.breakpoints import Breakpoints
from tinkbox.engine.workflows.deadlines import Deadlines
from tinkbox.engine.workflows.returns import Returns
from tinkbox.engine.workflows.workflows import Workflows
from tinkbox.hosting import Place
from tinkbox.hosting.host import ServiceHost
from tinkbox.hosting.local_link import LocalHostLink
from tinkbox.listening import DNS_PORT, Listening, Sockets
from tinkbox.model.boot import Plan
from tinkbox.model.inventory import Inventory
from tinkbox.node.discovery import routes as discovery_routes
from tinkbox.node.hosting import routes as hosting_routes
from tinkbox.node.routes import routes as worker_routes
from tinkbox.node.shells import routes as shell_routes
from tinkbox.osie.image import OsieImage
from tinkbox.osie.image import images as osie_images
from tinkbox.proxy.proxy import Proxy
from tinkbox.registry.routes import routes as registry_routes
from tinkbox.registry.storage import ImageStore
from tinkbox.runtime.docker import DockerRuntime
from tinkbox.settings.appliance import Settings
from tinkbox.store.database import Store
from tinkbox.wire.dhcp.foreign_servers import foreign_lines
from tinkbox.wire.dhcp.pxe import BootService
from tinkbox.wire.dns import Zone
from tinkbox.wire.messages.worker import Credential

Part = Callable[[], Awaitable[object]]


class Appliance:
    """All of it but the doors; `load` comes before anything is served.

    Raises Unavailable when the program was built without its boot loaders.
    """

    def __init__(self, settings: Settings, sockets: Sockets, store: Store) -> None:
        first = sockets.first
        address = str(first.interface.address)
        self._settings = settings
        self._sockets = sockets
        self._store = store
        self._loaders = load_loaders()
        self.people: People = read_people(settings.data, settings.operator.people)
        self._images = ImageStore(settings.data / "registry", clock=_now)
        self.traffic = Traffic()
        wakeups = Wakeups()

        # What workflows are, and what they run.
        directory = Directory(settings.services.domain, first.url)
        self.machines = machines = Machines(store, wakeups, _now, _new_token, directory.supply)
        self._services = Services(store, wakeups, machines, _now, directory, address)
        self._directory = directory
        names = Names(
            name=settings.name, address=address, domain=settings.services.domain, opened=settings.services.paths
        )
        self._workflows = Workflows(store, wakeups, machines, _now, _new_id, _new_token, names)
        self._breakpoints = Breakpoints(store, wakeups, machines, _now)
        self._shells = Shells(
            store, wakeups, _now, _new_id, _new_token, settings.data / "recordings", self._breakpoints.touch
        )
        self._meter = Meter(store, machines, _now)
        self._clockwork = [part(store, wakeups, machines, _now) for part in (Deadlines, Returns)]

        # What machines are told in their first minutes, and what is learned of them.
        self._syslog = Syslog(store, _now, machines.timeline.follows)
        self._firmware_knowledge = FirmwareKnowledge(store, _now, machines.known.knows, machines.known.cards)
        own = {each.interface.address for each in sockets.networks}
        self._leases = Leases(
            store, sockets.subnets, _now, time.monotonic,
            reserved=lambda each: each in own or machines.known.mac_at(str(each)) is not None,
        )  # fmt: skip
        strangers = Strangers(store, machines.known.knows, _now, time.monotonic, _new_token, settings.discovery.quotas)
        acceptance = Acceptance(rules=settings.discovery.rules, networks=[each.network for each in sockets.subnets])
        self._discovery = Discovery(store, wakeups, machines, self._workflows, strangers, _now, acceptance)
        self.booting = Booting(
            machines, self._leases, self._discovery if settings.discovers else None, sockets.subnets, settings.dhcp.mode,
            neighbour, time.monotonic, self._firmware_knowledge, own,
        )  # fmt: skip
        self._seen = Seen(store, machines, self._syslog, _now)

        # Services on this host's own engine.
        self.docker = DockerRuntime(settings.docker)
        self.proxy = Proxy(directory, self.booting.machine_at)

        self._wakeups = wakeups

    async def load(self) -> list[str]:
        """Take over what is stored; returns what does not fit together any more.  Raises Unavailable when the store is."""
        for load in (
            self.machines.load, self._syslog.load, self._firmware_knowledge.load, self._leases.load, self._services.load,
            self._meter.begin, self._shells.load,
        ):  # fmt: skip
            await load()
        self._host = ServiceHost(self.docker, LocalHostLink(self._services), self._place(), time.monotonic)
        self._attempts = Attempts(
            self._store, self._wakeups, self.machines, _now, _new_token, self._host.gather, self._directory.name_of
        )
        return await self._discovery.load()

    def parts(self) -> list[Part]:
        """Everything that is to run for as long as the appliance does."""
        parts: list[Part] = [each.run for each in self._clockwork]
        parts += [
            self._store.run, self.machines.progress.run, self.machines.timeline.run, self._syslog.run, self._firmware_knowledge.run,
            self._leases.run, self._discovery.run, self._services.run, self._host.run, self._shells.run,
        ]  # fmt: skip
        if self._settings.discovers:
            parts.append(self._discovery.watch)
        rate_limit = RateLimit(self.booting.knows, time.monotonic)
        prober = Prober({each.interface.name: each.interface.network for each in self._sockets.networks})
        for each in self._sockets.networks:
            parts += self._first_minutes(each, rate_limit, prober)
        return parts

    def _first_minutes(self, at: Listening, rate_limit: RateLimit, prober: Prober) -> list[Part]:
        """What machines on one network ask over UDP."""
        settings, name = self._settings, at.interface.name
        service = BootService(
            address=at.interface.address,
            url=at.url,
            proxy=settings.dhcp.mode == "proxy",
            # Option 7 names no port.
            syslog=at.interface.address if at.syslog and settings.node.syslog_port == SYSLOG_PORT else None,
        )
        raspberrypi = settings.data / "raspberrypi"
        tftp_files = TftpFiles(self._loaders, self.booting, self._credential, self._boot_folder(at), raspberrypi)
        parts: list[Part] = [TftpServer(at.tftp, tftp_files, tftp_files, time.monotonic).serve]
        if at.dhcp is not None:
            parts.append(DhcpServer(at.dhcp, name, self.booting, self._leases, prober, service, rate_limit).serve)
        if at.boot_server is not None:
            parts.append(BootServer(at.boot_server, name, self.booting, service, rate_limit).serve)
        if at.syslog is not None:
            parts.append(SyslogServer(at.syslog, self.booting.at, self._syslog).serve)
        if at.names is not None:
            parts.append(NamesServer(*at.names, Zone(settings.services.domain, at.interface.address)).serve)
        return parts

    def operator_routes(self) -> list[web.RouteDef]:
        """What people ask, on the operator door."""
        settings, first = self._settings, self._sockets.first
        osie = partial(osie_images, settings.data / "osie")
        premises = Premises(
            address=first.interface.address, since=_now(), mode=settings.dhcp.mode, subnets=self._sockets.subnets,
            discovers=settings.discovers,
        )  # fmt: skip
        examiner = Examiner(
            self.machines,
            self._seen,
            premises,
            ask=partial(other_servers_on, [each.interface.name for each in self._sockets.networks], _new_identity),
            osie=lambda: [_size(each) for each in osie()],
            inventory=self._inventory,
            firmware_traits=self._firmware_knowledge.firmware_traits,
            clock=_now,
        )
        others = settings.dhcp.mode in OTHERS_ADDRESSES
        return OperatorDoor(
            machines=self.machines,
            seen=self._seen,
            discovery=self._discovery,
            examiner=examiner,
            foreign=foreign_lines(first.interface.address, first.url) if others else (),
            templates=Templates(self._store, _now, _new_id),
            workflows=self._workflows,
            overview=Overview(self._store, self.machines, _now),
            breakpoints=self._breakpoints,
            services=self._services,
            directory=self._directory,
            shells=self._shells,
            images=self._images,
            meter=self._meter,
            answers=self.traffic.answers,
            leases=self._leases.all,
            osie=lambda: [asdict(each) for each in osie()],
            server=first.url,
            registry=first.registry,
            firmware_traits=self._firmware_knowledge.of,
        ).routes()

    def image_routes(self) -> list[web.RouteDef]:
        """The registry."""
        return registry_routes(self._images, self.people.may_operate)

    def node_routes(self, at: Listening) -> list[web.RouteDef]:
        """What machines on one network ask over HTTP."""
        authenticate = self.machines.authenticate
        return [
            *worker_routes(self._attempts, self._breakpoints, authenticate, _now, self.booting),
            *discovery_routes(self._discovery, time.monotonic),
            *hosting_routes(self._services, authenticate, self.machines.progress.contact),
            *shell_routes(self._shells, authenticate),
            *boot_routes(self.booting, self._credential, self._boot_folder(at)),
            *self.image_routes(),
        ]

    async def save(self) -> None:
        """Save what waits to be saved in batches; raises Unavailable when that cannot be."""
        for save in (
            self.machines.progress.save, self._syslog.save, self._firmware_knowledge.save, self._leases.save, self._discovery.save,
        ):  # fmt: skip
            await save()

    def _boot_folder(self, at: Listening) -> BootFolder:
        settings = self._settings
        return BootFolder(
            osie=settings.data / "osie",
            url=at.url,
            version=__version__,
            # Machines know of no other port for names.
            dns=str(at.interface.address) if at.names and settings.node.dns_port == DNS_PORT else "",
            syslog_port=settings.node.syslog_port,
        )

    def _credential(self, plan: Plan, server: str) -> Credential:
        """The identity of the worker that a plan is for, for the node door at `server`."""
        registry = server.removeprefix("http://")
        if plan.hardware_id:
            return self.machines.credential(plan.hardware_id, server, registry)
        return self._discovery.credential(plan.interface.mac, server, registry)

    async def _inventory(self, machine: str) -> Inventory | None:
        told = await self._discovery.inventory(machine)
        return told[0] if told else None

    def _place(self) -> Place:
        """Where the appliance runs services."""
        return Place(
            host=self._services.host_id,
            folder=self._settings.data / "services",
            registry="{}:{}".format(*self._sockets.images.getsockname()),
            server=self._sockets.first.url,
            privileged=False,
            subnets=self._settings.services.subnets,
            opened=self._settings.services.paths,
        )


def _now() -> datetime:
    return datetime.now(UTC)


def _new_id() -> str:
    return str(uuid.uuid4())


def _new_identity() -> bytes:
    return secrets.token_bytes(9)


def _new_token() -> str:
    return secrets.token_urlsafe(24)


def _size(image: OsieImage) -> OsieSize:
    return OsieSize(architecture=image.architecture, ramdisk=image.files["initramfs"].size)
