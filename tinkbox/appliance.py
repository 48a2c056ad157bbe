"""What the appliance is made of, in the order in which it comes to life: reads like a table of contents."""

import itertools
import secrets
import shutil
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Final

from aiohttp import web

from tinkbox import __version__
from tinkbox.api.following import Followers
from tinkbox.api.routes.operator_door import OperatorDoor
from tinkbox.api.routes.people.login import LoginDoor
from tinkbox.api.scopes import end_with_rights
from tinkbox.api.tokens import another_operators_token, operators_token, retired_people, take_in_files
from tinkbox.boot.dhcp.address_probe import Prober
from tinkbox.boot.dhcp.boot_server import BootServer
from tinkbox.boot.dhcp.joined_networks import JoinedNetworks
from tinkbox.boot.dhcp.other_appliances import OtherAppliances
from tinkbox.boot.dhcp.other_servers import number_of, other_servers_on
from tinkbox.boot.dhcp.own_addresses import taken_addresses
from tinkbox.boot.dhcp.rate_limit import RateLimit
from tinkbox.boot.dhcp.server import DhcpServer
from tinkbox.boot.dhcp.tagged_questions import TaggedQuestions
from tinkbox.boot.dhcp.unheard import DhcpArrivals
from tinkbox.boot.dns import NamesServer
from tinkbox.boot.http.boot_files import BootFolder
from tinkbox.boot.http.boot_files import routes as boot_routes
from tinkbox.boot.http.kernel_command_line import SYSLOG_PORT
from tinkbox.boot.http.loaders import load_loaders
from tinkbox.boot.network.arp_questions import ArpAsked
from tinkbox.boot.network.bytes_sent import bytes_sent
from tinkbox.boot.network.neighbours import Neighbours
from tinkbox.boot.network.refused_replies import Refusals
from tinkbox.boot.syslog import SyslogServer
from tinkbox.boot.tftp.files import TftpFiles
from tinkbox.boot.tftp.server import TftpServer
from tinkbox.boot.tftp.transfer_room import TransferRoom
from tinkbox.certificates import Certificates
from tinkbox.disk_room import free_in, inodes_in, mounted_at, size_in
from tinkbox.door.connections.connections import THIS_HOST
from tinkbox.door.connections.encryption import RefusedHandshakes
from tinkbox.door.connections.local_users import user_holder
from tinkbox.door.connections.reading_pace import ReadingPace
from tinkbox.door.open_files import OpenFiles
from tinkbox.door.requests.live_requests import LiveRequests
from tinkbox.door.requests.refused_tokens import RefusedTokens
from tinkbox.door.requests.request_counts import Traffic
from tinkbox.engine.doctor.case import OsieSize
from tinkbox.engine.doctor.examiner import Examiner, Premises
from tinkbox.engine.doctor.presence import Presence
from tinkbox.engine.doctor.rounds import Rounds
from tinkbox.engine.engine import Engine, EngineSettings, Surroundings
from tinkbox.engine.machines.addressing import OTHERS_ADDRESSES
from tinkbox.engine.machines.boot_tickets import Seal
from tinkbox.engine.metadata.installed_systems import Policy
from tinkbox.engine.people.tokens import Tokens
from tinkbox.engine.secrets.key import key_source
from tinkbox.engine.templates.binding import Names
from tinkbox.engine.turns import Turns
from tinkbox.hosting import Place
from tinkbox.hosting.host import ServiceHost
from tinkbox.hosting.local_link import LocalHostLink
from tinkbox.listening import DNS_PORT, HTTP_PORT, Listening, Sockets
from tinkbox.model.audit_places import AuditPlaces
from tinkbox.model.diagnosis import Heard
from tinkbox.model.disk_usage import Share, Stored
from tinkbox.model.enrolment import HttpsBoot
from tinkbox.model.errors import Invalid, Unavailable
from tinkbox.model.hardware import MacAddress
from tinkbox.model.images.needs import ImageNeed, stood_in
from tinkbox.model.inventory import Inventory
from tinkbox.model.limits import (
    ADDRESS_PROBES,
    EXAMINATIONS,
    NAME_CONNECTIONS,
    SERVICES,
    STREAMS,
    TFTP_TRANSFERS,
    WEBSOCKETS,
    Limit,
    Limits,
    Room,
)
from tinkbox.model.metadata import Defaults
from tinkbox.model.token_mask import TokenMask
from tinkbox.model.vitals import UncleanEnd
from tinkbox.node.authority import routes as authority_routes
from tinkbox.node.discovery import routes as discovery_routes
from tinkbox.node.enrolment import routes as enrolment_routes
from tinkbox.node.handed_in import HandedIn
from tinkbox.node.hosting import routes as hosting_routes
from tinkbox.node.metadata import compatible_routes
from tinkbox.node.metadata import routes as metadata_routes
from tinkbox.node.progress import routes as progress_routes
from tinkbox.node.routes import routes as worker_routes
from tinkbox.node.sessions import routes as session_routes
from tinkbox.node.shells import routes as shell_routes
from tinkbox.oidc.issuer_keys import IssuerKeys, authority_in
from tinkbox.oidc.logins import Logins, Terms
from tinkbox.osie.image import BuiltImages, OsieImage, TakesHttps, undescribed
from tinkbox.osie.image import images as osie_images
from tinkbox.private_files import kept_secret
from tinkbox.proxy.proxy import Proxy
from tinkbox.refused_writes import RefusedWrites
from tinkbox.registry.blobs.room import Room as RegistryRoom
from tinkbox.registry.image_lookup import ImageLookup
from tinkbox.registry.mirrors.upstreams import Upstreams
from tinkbox.registry.own_names import OwnNames
from tinkbox.registry.protocol.push_tokens import PushTokens
from tinkbox.registry.protocol.pushers import Pushers
from tinkbox.registry.protocol.routes import routes as registry_routes
from tinkbox.registry.storage import ImageStore
from tinkbox.runtime.docker import DockerRuntime
from tinkbox.settings.all_settings import Settings
from tinkbox.settings.doors import HTTPS_PORT
from tinkbox.settings.environment import credentials_folder
from tinkbox.settings.metadata import ALL, OFF
from tinkbox.store.database import Store
from tinkbox.store.integrity import damage_of
from tinkbox.unwritable import file_size_limit
from tinkbox.vital_sources import (
    DamagedImages,
    NeededEngine,
    damage,
    first_unkept,
    newest_time,
    osie_files,
    other_versions,
    own_interfaces,
    ports_for_machines,
    refused,
    reserved_addresses,
)
from tinkbox.vitals.bridge_entries import learned_port, static_port
from tinkbox.vitals.forwarding import forwards
from tinkbox.vitals.gathering import Gatherer, Sources
from tinkbox.vitals.host_watch import HostSources, HostWatch
from tinkbox.vitals.ipv4_addresses import own_addresses
from tinkbox.vitals.link_settings import cards
from tinkbox.vitals.listeners import listening_at
from tinkbox.vitals.time_servers import offset
from tinkbox.wire.dhcp.other_server_config import foreign_lines
from tinkbox.wire.dhcp.pxe import BootService
from tinkbox.wire.dns import Zone
from tinkbox.wire.messages.worker import TlsDoor

Part = Callable[[], Awaitable[object]]
# Below the data folder.
BOOT_KEY = "boot.key"
BOOT_KEY_REMEDY: Final = (
    "it is the key by which the appliance knows its own boot tickets. Put it back from a backup. Without a backup delete it: the next "
    "start makes another one, and what the former one sealed no longer counts. So machines that wait for work boot again, and "
    "credentials made by hand and metadata tokens of installed systems have to be made anew"
)
REGISTRY = "registry"
STORE = "tinkbox.sqlite"
_END = "-----END CERTIFICATE-----"


class Appliance:
    """All of it but the doors; `load` comes before anything is served.

    Raises Unavailable when the program was built without its boot loaders.
    """

    def __init__(
        self,
        settings: Settings,
        sockets: Sockets,
        store: Store,
        limits: Limits,
        refused_writes: RefusedWrites,
        certificates: Certificates,
        unclean_end: UncleanEnd | None = None,
        mask: TokenMask | None = None,
    ) -> None:
        """`unclean_end` is how the one before this one ended, None where it was told to.

        `mask` is told of the tokens that there are, and keeps them out of the audit.
        """
        self._takes_https = TakesHttps(settings.data / "osie")
        self._unclean_end = unclean_end
        self._settings = settings
        self._sockets = sockets
        self.certificates = certificates
        self._store = store
        self.refused_writes = refused_writes
        self._loaders = load_loaders()
        mask, own = mask or TokenMask(), operators_token(settings.data)
        self.tokens = Tokens(
            store, _now, _new_id, partial(secrets.token_hex, 24), own,
            lambda: self.engine.clock_trust.may_delete(), partial(another_operators_token, settings.data),
        )  # fmt: skip
        mask.know(own, self.tokens.knows)
        self.live_requests = LiveRequests(self.tokens.counts)
        self._logins = logins(settings, self.tokens)
        self.limits = limits
        self.open_files = OpenFiles(_now)
        self._images = ImageStore(
            settings.data / REGISTRY,
            _now,
            limits,
            _room_of_images(settings),
            needs=self._needed_images,
            is_own=lambda host: self._own_names.has(host),
            refused_writes=refused_writes,
        )
        self._upstreams = Upstreams(self._images, settings.registry.asked, time.monotonic)
        self._lookup = ImageLookup(
            self._images, self._upstreams, lambda host: self._own_names.has(host), offline=settings.registry.offline
        )
        self._pushers = Pushers(self.tokens, PushTokens(secrets.token_bytes(32), time.monotonic))
        self.traffic = Traffic()
        self._handed_in = HandedIn(time.monotonic)
        self.refused_tokens = RefusedTokens()
        self.refused_handshakes = RefusedHandshakes(_now)

        self._own_names = OwnNames(
            addresses={str(each.interface.address) for each in sockets.networks},
            domain=settings.services.domain,
            ports={HTTP_PORT, settings.node.http_port, HTTPS_PORT, settings.node.https_port},
        )
        self._neighbours = Neighbours({each.interface.name: each.interface.network for each in sockets.networks})

        self._prober = Prober({each.interface.name: each.interface.network for each in sockets.networks})

        # What it decides, and what that is told of the world around it.
        around = Surroundings(
            clock=_now, monotonic=time.monotonic, new_id=_new_id, new_token=_new_token, neighbours=self._neighbours.mac_at, attached=self._neighbours.attached,
            seal=Seal(kept_secret(settings.data / BOOT_KEY, remedy=BOOT_KEY_REMEDY).encode()), digest_of=self._lookup.digest, standing_of=self._lookup.standing,
            gather=self._gather, limits=limits, free=self.free, total=partial(size_in, settings.data), answers=self._answers, sent=self._sent,
            diagnoses=lambda: self.rounds.of_machines(), diagnosis_of=lambda workflow, since: self.rounds.cause(workflow, since),
            appliance_only=self._lookup.appliance_only, held=own_addresses, cards=lambda: cards(self._own), mask=mask, bearers=self.tokens,
        )  # fmt: skip
        self.engine = Engine(store, around, _said(settings, sockets, certificates.authority_pem))
        end_with_rights(self.engine.machines, self.tokens, self.live_requests, self.engine.shells)
        self.engine.disk.count(Stored.IMAGES, self._share_of_images)

        self._refusals = Refusals(_now)
        self._others = OtherAppliances(_now)
        self._own = {each.interface.name: each.interface.address for each in sockets.networks}
        self._joined = JoinedNetworks(self._own, _now)
        self._host_watch = HostWatch(
            self._own,
            sockets.subnets,
            HostSources(
                taken=partial(taken_addresses, self._prober, self._own), refused_replies=self._refusals.look,
                appliances=self._others.all, joined=self._joined.all, database=store.lost, reserved=lambda: reserved_addresses(self.engine.machines.known),
            ),
        )  # fmt: skip
        self._arrivals: list[DhcpArrivals] = []
        self._tagged: list[TaggedQuestions] = []
        self._arp_asked: list[ArpAsked] = []
        self.vitals = Gatherer(
            [*own_interfaces(sockets.networks)],
            [
                *ports_for_machines(
                    sockets.networks,
                    direct=settings.dhcp.gives_addresses and sockets.has_no_relays,
                    single_port=settings.node.tftp_single_port,
                )
            ],
            self._vital_sources(),
            _now,
            lambda: time.clock_gettime(time.CLOCK_BOOTTIME),
        )

        # What is wrong, and since when.
        self._osie = partial(osie_images, settings.data / "osie")
        self._doctor = self._examiner()
        self.rounds = Rounds(
            self._doctor.round,
            self._doctor.listen,
            store,
            self.engine.wakeups,
            _now,
            ready=lambda: self.vitals.is_complete,
            asked=lambda: self._doctor.has_asked,
            mode=settings.dhcp.mode,
        )

        # Services on this host's own engine.
        self.docker = DockerRuntime(settings.docker)
        self._own_engine = NeededEngine(self.docker)
        self.pace = ReadingPace()
        self.proxy = Proxy(self.engine.directory, self.engine.booting.asking_from, self._room(WEBSOCKETS), self.pace)

    async def load(self) -> list[str]:
        """Take over what is stored; returns what does not fit together any more.  Raises Unavailable when the store is."""
        wrong = await self.engine.load()
        await self.tokens.load()
        await self.rounds.recall()  # so that nobody is told that all is well before the first round
        self._host = ServiceHost(
            self.docker,
            LocalHostLink(self.engine.services),
            self._place(),
            time.monotonic,
            room=self.limits.of(SERVICES),
        )
        return wrong

    async def take_in_tokens(self) -> list[str]:
        """Keep the tokens that earlier releases kept in files; returns what the operator has to know.  Raises Unavailable."""
        named = self._settings.operator.people
        said = await take_in_files(self._settings.data, named, self.tokens)
        return [*said, *retired_people(named, self.tokens.known)]

    def parts(self) -> list[Part]:
        """Everything that is to run for as long as the appliance does."""
        parts: list[Part] = [
            self._store.run,
            self.refused_writes.run,
            *self.engine.parts(),
            self._host.run,
            self._images.run,
            self._upstreams.run,
            self._upstreams.watch,
            self.vitals.run,
            self._host_watch.run,
            self.rounds.run,
            self.rounds.listen,
            self.tokens.run,
            *([self._logins.run] if self._logins is not None else []),
        ]
        rate_limit = RateLimit(self.engine.booting.knows, time.monotonic)
        transfers = TransferRoom(self._room(TFTP_TRANSFERS), time.monotonic)
        for each in self._sockets.networks:
            parts += self._first_minutes(each, rate_limit, transfers)
        return parts

    def _first_minutes(self, at: Listening, rate_limit: RateLimit, transfers: TransferRoom) -> list[Part]:
        """What machines on one network ask over UDP."""
        settings, name = self._settings, at.interface.name
        service = BootService(
            address=at.interface.address,
            url=at.url,
            https_url=at.https_url,
            proxy=settings.dhcp.mode == "proxy",
            # Option 7 names no port.
            syslog=at.interface.address if at.syslog and settings.node.syslog_port == SYSLOG_PORT else None,
        )
        raspberrypi = settings.data / "raspberrypi"
        tftp_files = TftpFiles(
            self._loaders, self.engine.booting, self.engine.credential, self._boot_folder(at), raspberrypi
        )
        parts: list[Part] = [
            TftpServer(
                at.tftp,
                tftp_files,
                tftp_files,
                time.monotonic,
                transfers,
                self.host_at,
                single_port=settings.node.tftp_single_port,
                refusals=self._refusals,
            ).serve
        ]
        if at.dhcp is not None:
            server = DhcpServer(
                at.dhcp, name, self.engine.booting, self.engine.leases, self._prober, service, rate_limit,
                self._room(ADDRESS_PROBES), self._refusals, self._others, self._joined,
            )  # fmt: skip
            parts.append(server.serve)
            arrivals = DhcpArrivals(
                name, at.interface.address, at.interface.network, server, _now, self.engine.booting.known
            )
            self._arrivals.append(arrivals)
            parts.append(arrivals.run)
            tagged = TaggedQuestions(name, _now)
            self._tagged.append(tagged)
            parts.append(tagged.run)
        if not at.interface.address.is_loopback:
            arp_asked = ArpAsked(name, at.interface.address)
            self._arp_asked.append(arp_asked)
            parts.append(arp_asked.run)
        if at.boot_server is not None:
            parts.append(
                BootServer(at.boot_server, name, self.engine.booting, service, rate_limit, self._refusals).serve
            )
        if at.syslog is not None:
            parts.append(SyslogServer(at.syslog, self.engine.booting.at, self.engine.syslog).serve)
        if at.names is not None:
            zone = Zone(settings.services.domain, at.interface.address)
            parts.append(NamesServer(*at.names, zone, self._room(NAME_CONNECTIONS), self.host_at).serve)
        return parts

    def operator_routes(self) -> list[web.RouteDef]:
        """What people ask, on the operator door."""
        settings, first = self._settings, self._sockets.first
        others = settings.dhcp.mode in OTHERS_ADDRESSES
        return OperatorDoor(
            machines=self.engine.machines,
            additions=self.engine.additions,
            remarks_on_machine=self.engine.remarks_on_machine,
            machine_changes=self.engine.machine_changes,
            imports=self.engine.imports,
            departures=self.engine.departures,
            seen=self.engine.seen,
            discovery=self.engine.discovery,
            examiner=self._doctor,
            rounds=self.rounds,
            foreign=foreign_lines(first.interface.address, first.url) if others else (),
            followers=Followers(self.limits.of(STREAMS)),
            templates=self.engine.templates,
            workflows=self.engine.workflows,
            applying=self.engine.applying,
            creation=self.engine.creation,
            shortages=self.engine.shortages,
            exporting=self.engine.exporting,
            kept_documents=self.engine.kept_documents,
            workflow_plans=self.engine.workflow_plans,
            tokens=self.tokens,
            deadlines=self.engine.deadlines,
            rollouts=self.engine.rollouts,
            overview=self.engine.overview,
            status_changes=self.engine.status_changes,
            breakpoints=self.engine.breakpoints,
            lost_histories=self.engine.lost_histories,
            secrets=self.engine.secrets,
            services=self.engine.services,
            directory=self.engine.directory,
            shells=self.engine.shells,
            images=self._images,
            names=self.engine.names,
            meter=self.engine.meter,
            answers=self.traffic.answers,
            refused_tokens=lambda: self.refused_tokens.total,
            leases=self.engine.leases.all,
            osie=lambda: [asdict(each) for each in self._osie()],
            server=first.url,
            registry=first.registry,
            authority=self.certificates.authority_pem,
            own_certificate=lambda: self.certificates.own,
            tls=partial(self._tls, first),
            firmware_traits=self.engine.firmware_knowledge.of,
            limits=self.limits.standings,
            progress=self.engine.running_progress.of,
            claimants=self.engine.leases.claimants,
            ssh_keys=settings.metadata.ssh_keys,
            login=LoginDoor(logins=self._logins, refused=self.refused_tokens, monotonic=time.monotonic),
            audit=self.engine.audit,
            audit_deliveries=self.engine.deliveries.standing,
        ).routes()

    def image_routes(self, encrypted_at: str = "") -> list[web.RouteDef]:
        """The registry, which is `encrypted_at` a URL as well."""
        return registry_routes(self._images, self._upstreams, self._pushers, self.refused_tokens, encrypted_at)

    def node_routes(self, at: Listening) -> list[web.RouteDef]:
        """What machines on one network ask over HTTP."""
        authenticate = self.engine.machines.authenticate
        return [
            *worker_routes(
                self.engine.attempts,
                self.engine.breakpoints,
                self.engine.lost_histories,
                authenticate,
                _now,
                self.engine.booting,
                self._handed_in,
            ),
            *progress_routes(self.engine.running_progress, authenticate),
            *session_routes(self.engine.machines.sessions),
            *discovery_routes(self.engine.discovery, self.engine.machines.sessions.authenticate, time.monotonic),
            *enrolment_routes(self.engine.machines.enrolments, authenticate, time.monotonic),
            *hosting_routes(self.engine.services, authenticate, self.engine.machines.progress.contact, self._handed_in),
            *shell_routes(self.engine.shells, authenticate),
            *boot_routes(self.engine.booting, self.engine.credential, self._boot_folder(at)),
            *metadata_routes(self.engine.installed_systems, self.engine.write_back, at.url),
            *authority_routes(self.certificates.authority_pem),
            *self.compatible_routes(),
            *self.image_routes(at.https_url),
        ]

    def compatible_routes(self) -> list[web.RouteDef]:
        """What machines ask by their address alone, as templates for Tinkerbell have them ask."""
        return compatible_routes(self.engine.installed_systems) if self._settings.metadata.by_address != OFF else []

    def free(self) -> int:
        """The bytes that are free where the data folder is."""
        return free_in(self._settings.data)

    def _sent(self) -> int:
        """The bytes that went out on the provisioning interfaces since the host started: boot files, images, all of it."""
        return sum(bytes_sent(each.interface.name) for each in self._sockets.networks)

    def is_known(self, holder: str) -> bool:
        """Whether some of each limit is kept for this holder: a known machine's host or address, or this host's operator or engine."""
        if ":" in holder:
            return bool(self.engine.machines.known.holder(MacAddress(holder)))
        return holder in (THIS_HOST, user_holder(self._engine_user())) or bool(self.engine.booting.machine_at(holder))

    def host_at(self, address: str) -> str:
        """Which host has an address: its MAC on a network of ours, where it may have many addresses, else the address."""
        return self._neighbours.mac_at(address) or address

    def _engine_user(self) -> int:
        """The user of this host as whom its container engine pulls: whose socket it is, else root."""
        try:
            return Path(self._settings.docker.removeprefix("unix://")).stat().st_uid
        except OSError:
            return 0

    def _room(self, limit: Limit) -> Room:
        return Room(ledger=self.limits.of(limit), known=self.is_known)

    async def save(self) -> None:
        """Save what waits to be saved in batches; raises Unavailable when that cannot be."""
        await self.engine.save()
        await self.tokens.save()

    def _vital_sources(self) -> Sources:
        """What the appliance's measurements of itself are given."""
        data = self._settings.data
        osie = partial(osie_images, data / "osie")
        return Sources(
            newest=partial(newest_time, self._store),
            osie=lambda: [*osie_files(data / "osie", osie)],
            versions=lambda: [*other_versions(osie)],
            images=DamagedImages(self._images).look,
            database=partial(damage_of, data / STORE),
            engine=lambda: self._own_engine.look(needed=self._host.is_needed),
            unheard=lambda: [each.found for each in self._arrivals if each.found is not None],
            unclear=lambda: "; ".join(each.unclear for each in self._arrivals if each.unclear),
            tagged=lambda: [question for each in self._tagged for question in each.found],
            arp_questions=lambda: [questions for each in self._arp_asked for questions in each.found],
            time=partial(offset, _now, lambda: secrets.token_bytes(8)),
            refused=partial(refused, self.refused_writes),
            damage=partial(damage, self.refused_writes),
            mirrors=self._upstreams.troubles,
            unclean_end=self._unclean_end,
            inodes=partial(inodes_in, data),
            data_mount=lambda: str(mounted_at(data)),
            file_size_limit=file_size_limit,
            descriptors=self.open_files.look,
            certificates=lambda: [*self.certificates.problems, *self.certificates.warnings],
            refused_certificates=lambda: self.certificates.refused,
            refused_handshakes=self.refused_handshakes.all,
            secrets=self.engine.secrets.unreadable,
            audit_broken=lambda: self.engine.audit.broken,
            audit_unguarded=lambda: self.engine.audit.unguarded,
            audit_unwritten=lambda: self.engine.audit.unwritten,
            deliveries=self.engine.deliveries.standing,
            operator_socket=lambda: self._sockets.operator_local.problem,
            host=self._host_watch.look,
        )

    def _examiner(self) -> Examiner:
        """Who says what is wrong."""
        settings, first = self._settings, self._sockets.first
        premises = Premises(
            address=first.interface.address, since=_now(), mode=settings.dhcp.mode, subnets=self._sockets.subnets,
            discovers=settings.discovers, osie=str(settings.data / "osie"), own=frozenset(self._own.values()),
        )  # fmt: skip
        built = BuiltImages(settings.data / "osie")
        return Examiner(
            self.engine.machines,
            self.engine.seen,
            premises,
            ask=self._ask_others,
            osie=lambda: [
                replace(
                    each, plain=bool(first.https_url) and not self._takes_https(each.instead_of or each.architecture)
                )
                for each in (*itertools.starmap(_size, built().items()), *_undescribed(settings.data / "osie"))
            ],
            osie_gone=lambda: built.gone,
            inventory=self._inventory,
            inventory_at=self._inventory_at,
            firmware_traits=self.engine.firmware_knowledge.firmware_traits,
            lost=self.engine.lost_histories.by_machine,
            disk=self.engine.disk.usage,
            clock=_now,
            turns=Turns(self.limits.of(EXAMINATIONS)),
            limits=self.limits.standings,
            at=self.engine.booting.at,
            claimants=self.engine.leases.claimants,
            vitals=self.vitals.vitals,
            unkept=partial(first_unkept, self.refused_writes),
            work=self.engine.work_in_hand,
            presence=Presence(
                ask=self._answers_arp,
                ask_anybody=self._is_anybody,
                ask_relay=self._prober.echoes,
                forwards=self._forwards,
                static_port=partial(static_port, self._own),
                learned_port=partial(learned_port, self._own),
                static_neighbour=lambda address: self._neighbours.permanent_at(str(address)),
                listening_at=self._listening_at,
                clock=_now,
            ),
            lease_at=self.engine.leases.lease_at,
        )

    async def _ask_others(self) -> Heard:
        """Ask on all interfaces who else answers DHCP; raises Unavailable."""
        begun = _now()
        heard = await other_servers_on([*self._own], self._new_identity, addresses=self._own, hear=self._others.hear)
        if not heard.unasked:
            self._others.asked(self._own, begun)
            self._joined.asked(begun)
        return heard

    def _new_identity(self) -> bytes:
        identity = secrets.token_bytes(9)
        self._joined.asking(number_of(identity))
        return identity

    def _boot_folder(self, at: Listening) -> BootFolder:
        settings = self._settings
        return BootFolder(
            osie=settings.data / "osie",
            url=at.url,
            version=__version__,
            # Machines know of no other port for names.
            dns=str(at.interface.address) if at.names and settings.node.dns_port == DNS_PORT else "",
            syslog_port=settings.node.syslog_port,
            console=settings.boot.console_access,
            tls=partial(self._tls, at),
            takes_https=self._takes_https,
        )

    def _tls(self, at: Listening) -> TlsDoor | None:
        """The node door over TLS, as machines on one network reach it."""
        if not at.https_url:
            return None
        return TlsDoor(server=at.https_url, registry=at.https_registry, authority=self.certificates.authority_pem)

    async def _answers(self, address: IPv4Address) -> bool:
        """Whether a host answers at an address that is on a network of ours."""
        for each in self._sockets.networks:
            if address in each.interface.network:
                return await self._prober.occupant(address, each.interface.name) is not None
        return False

    async def _answers_arp(self, address: IPv4Address, mac: MacAddress) -> bool | None:
        """Whether a machine answers ARP at its address; None where that cannot be asked, as behind a relay or on loopback."""
        if address.is_loopback or not any(address in each.interface.network for each in self._sockets.networks):
            return None
        return await self._prober.answers(address, mac)

    async def _is_anybody(self, address: IPv4Address) -> bool | None:
        """Whether a host is there, ourselves included; None where that cannot be asked."""
        if any(address == each.interface.address for each in self._sockets.networks):
            return True
        return await self._prober.is_anybody(address)

    def _listening_at(self, address: IPv4Address, port: int) -> frozenset[IPv4Address | IPv6Address] | None:
        """Where a port is listened on that was asked for at an own address; None of another host's."""
        return listening_at(port) if address in self._own.values() else None

    def _forwards(self, address: IPv4Address) -> bool | None:
        """Whether this host passes on what comes in for others at an own address; None of another host's."""
        return next((forwards(name) for name, own in self._own.items() if own == address), None)

    async def _gather(self, workflow_id: str) -> bool:
        """Have what the services of a workflow wrote handed over."""
        return await self._host.gather(workflow_id)

    async def _needed_images(self) -> list[ImageNeed]:
        """The images that unfinished workflows and rollouts need, and those that templates and settings name by their digests."""
        needed, systems, templates, rollouts = await self._store.read(
            lambda tables: (
                tables.images.needed(),
                tables.images.needed_systems(),
                tables.images.named_by_templates(),
                tables.images.needed_by_rollouts(),
            )
        )
        of_workflows = {each.workflow_id: each for each in needed}
        for image, workflow in systems.items():
            if workflow in of_workflows:
                needed.append(replace(of_workflows[workflow], digest="", image=image))
        named = [*templates, *self._settings.images.needs()]
        found = [*named]
        for each in (*needed, *rollouts, *stood_in([*named, *rollouts], self._settings.images.stand_ins.meant)):
            digest: str | None = each.digest
            if not digest:
                with suppress(Invalid):  # a URL, or something else of that name
                    digest = self._lookup.digest(each.image)
            if digest:
                found.append(replace(each, digest=digest))
        return found

    def _share_of_images(self) -> Share:
        room = self._images.room()
        return Share(octets=room.blobs.octets + room.incoming, number=room.blobs.number)

    async def _inventory(self, machine: str) -> Inventory | None:
        told = await self.engine.discovery.inventory(machine)
        return told[0] if told else None

    async def _inventory_at(self, machine: str) -> datetime | None:
        told = await self.engine.discovery.inventory(machine)
        return told[1] if told else None

    def _place(self) -> Place:
        """Where the appliance runs services."""
        return Place(
            host=self.engine.services.host_id,
            folder=self._settings.data / "services",
            registry="{}:{}".format(*self._sockets.images.getsockname()),
            server=self._sockets.first.url,
            https_server=self._sockets.first.https_url,
            authority=self.certificates.authority_pem,
            privileged=False,
            subnets=self._settings.services.subnets,
            volumes=self._settings.services.volumes,
            share=self._settings.services.share,
        )


def _said(settings: Settings, sockets: Sockets, authority: str) -> EngineSettings:
    """What the settings say to the engine; `authority` is what the certificates of the doors are issued by (PEM)."""
    first = sockets.first
    names = Names(
        name=settings.name, address=str(first.interface.address), domain=settings.services.domain,
        volumes=settings.services.volumes, most=settings.services.share.most, images=settings.images.stand_ins,
    )  # fmt: skip
    return EngineSettings(
        names=names,
        url=first.url,
        recordings=settings.data / "recordings",
        secret_key=key_source(settings.data, credentials_folder(), kept_secret),
        osie=settings.data / "osie",
        images=settings.data / REGISTRY,
        mode=settings.dhcp.mode,
        subnets=sockets.subnets,
        own={each.interface.address for each in sockets.networks},
        discovers=settings.discovers,
        quotas=settings.discovery.quotas,
        rules=settings.discovery.rules,
        retention=settings.retention.of.fitted(room_on_disk(settings.data)),
        tpm_rule=settings.tpm_rule,
        # Port 443 may be another program's: who is enrolled could not boot then.
        https_boot=settings.boot.https_boot if all(each.https_url for each in sockets.networks) else HttpsBoot.OFF,
        authority=authority,
        metadata=replace(told_systems(settings), ports=_metadata_ports(settings, sockets)),
        audit=settings.data,
        audit_places=AuditPlaces(syslog=settings.audit.syslog, file=settings.audit.file, name=settings.name),
    )


def _metadata_ports(settings: Settings, sockets: Sockets) -> frozenset[int]:
    """The ports on which metadata is answered to who asks by its address."""
    if settings.metadata.by_address == OFF:
        return frozenset()
    bound = (each.getsockname()[1] for one in sockets.networks for each in (one.node, *one.compatible))
    return frozenset(bound)


def told_systems(settings: Settings) -> Policy:
    """What installed systems are told, and for how long; raises Unavailable for certificates that cannot be read."""
    told = settings.metadata
    try:
        ca = told.ca.read_text() if told.ca else ""
    except (OSError, UnicodeDecodeError) as error:
        raise Unavailable(f"cannot read metadata.ca, {told.ca}: {error}: name a file of certificates (PEM)") from None
    found = tuple(each + _END for each in ca.split(_END)[:-1])
    if told.ca and not found:
        raise Unavailable(f"metadata.ca, {told.ca}, has no certificate: name a file of certificates (PEM)")
    defaults = Defaults(
        ssh_keys=told.ssh_keys,
        timezone=told.timezone,
        proxy=told.proxy,
        ca=tuple(each.strip() + "\n" for each in found),
    )
    return Policy(lifetime=told.lifetime, secrets=told.by_address == ALL, defaults=defaults)


def logins(settings: Settings, tokens: Tokens) -> Logins | None:
    """Log-in by the issuer of `operator.oidc`, None where there is none; raises Unavailable for an authority that cannot be read."""
    oidc = settings.operator.oidc
    if not oidc.issuer:
        return None
    terms = Terms(
        issuer=oidc.issuer, client_id=oidc.client_id, scopes=oidc.scopes, groups=oidc.groups, claim=oidc.claim, name=oidc.name,
        lifetime=oidc.lifetime, ca_pem=examine_issuer(settings),
    )  # fmt: skip
    keys = IssuerKeys(oidc.issuer, terms.ca_pem, time.monotonic)
    return Logins(terms, keys, tokens, _now, time.monotonic)


def examine_issuer(settings: Settings) -> str:
    """The authority of the issuer as PEM, empty where it is one of the host's; raises Unavailable when it cannot be read."""
    return authority_in(ca) if (ca := settings.operator.oidc.ca) else ""


def _room_of_images(settings: Settings) -> RegistryRoom:
    """What the registry may take of its disk, which may be another one than that of the data folder."""
    folder = settings.data / REGISTRY
    keep_free = settings.retention.of.fitted(room_on_disk(settings.data)).keep_free
    reserve = settings.images.reserve_on(room_on_disk(folder if folder.exists() else settings.data), keep_free)
    return RegistryRoom(free=lambda: free_in(folder), reserve=reserve, most=settings.images.most)


def room_on_disk(place: Path) -> int:
    """The bytes that files may take on the disk of a folder; what a disk keeps for root can never be free for others."""
    usage = shutil.disk_usage(place)
    return usage.used + usage.free


def _now() -> datetime:
    return datetime.now(UTC)


def _new_id() -> str:
    return str(uuid.uuid4())


def _new_token() -> str:
    return secrets.token_urlsafe(24)


def _undescribed(folder: Path) -> Iterator[OsieSize]:
    """The OSIEs without a description, which machines are given all the same."""
    for each in undescribed(folder):
        with suppress(OSError):
            yield OsieSize(architecture=each.parent.name, ramdisk=each.with_name("initramfs").stat().st_size)


def _size(place: str, image: OsieImage) -> OsieSize:
    firmware = frozenset(image.firmware.files) if image.firmware else None
    ramdisk = image.files.get("initramfs")
    if ramdisk is None:
        raise Invalid(f"the OSIE for {image.architecture} has no initramfs: build it again with `tinkbox osie build`")
    return OsieSize(
        architecture=image.architecture,
        ramdisk=ramdisk.size,
        firmware=firmware,
        instead_of=place if place != image.architecture else "",
    )
