"""The engine as one: which of its parts there are, what each is given, and in which order they come to life."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path

from tinkbox.engine.applying.applying import Applying
from tinkbox.engine.applying.creation import Creation
from tinkbox.engine.applying.exporting import Exporting
from tinkbox.engine.applying.kept_documents import KeptDocuments
from tinkbox.engine.audit.audit import Audit
from tinkbox.engine.audit.delivery import Deliveries
from tinkbox.engine.audit.head import HeadFile
from tinkbox.engine.boot.booting import Booting
from tinkbox.engine.boot.leases import Leases
from tinkbox.engine.clock_trust import ClockTrust
from tinkbox.engine.discovery.discovery import Acceptance, Discovery
from tinkbox.engine.discovery.unknown_machines import UnknownMachines
from tinkbox.engine.doctor.work_in_hand import WorkInHand
from tinkbox.engine.machines.additions import Additions, Answers
from tinkbox.engine.machines.addressing import Addressing, notes_on
from tinkbox.engine.machines.boot_history import Seen
from tinkbox.engine.machines.boot_tickets import Kind, Seal
from tinkbox.engine.machines.changes import MachineChanges
from tinkbox.engine.machines.firmware_knowledge import FirmwareKnowledge
from tinkbox.engine.machines.imports import Imports
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.machines.metadata_tokens import MetadataTokens
from tinkbox.engine.machines.sessions import Near
from tinkbox.engine.metadata.by_address import ByAddress
from tinkbox.engine.metadata.installed_systems import InstalledSystems, Policy
from tinkbox.engine.metadata.instances import check_texts
from tinkbox.engine.metadata.write_back import WriteBack
from tinkbox.engine.rollouts.progression import Progression
from tinkbox.engine.rollouts.rollouts import Rollouts
from tinkbox.engine.secrets.giving import Giving
from tinkbox.engine.secrets.key import NO_KEY, KeySource, SecretKey
from tinkbox.engine.secrets.masks import WorkflowMasks
from tinkbox.engine.secrets.secrets import Secrets
from tinkbox.engine.services.routing_table import RoutingTable
from tinkbox.engine.services.services import Services
from tinkbox.engine.shells.shells import Shells
from tinkbox.engine.templates.binding import Names
from tinkbox.engine.templates.templates import Templates
from tinkbox.engine.timeline.syslog import Syslog
from tinkbox.engine.turns import Rehearsals, Turns
from tinkbox.engine.views.disk import DiskGauge
from tinkbox.engine.views.metrics import Meter
from tinkbox.engine.views.overview import Overview
from tinkbox.engine.views.status_changes import StatusChanges
from tinkbox.engine.views.suggested_names import SuggestedNames
from tinkbox.engine.views.workflow_plans import WorkflowPlans
from tinkbox.engine.wakeups import Wakeups
from tinkbox.engine.workflows.attempts import Attempts
from tinkbox.engine.workflows.breakpoints import Breakpoints
from tinkbox.engine.workflows.deadlines import Deadlines
from tinkbox.engine.workflows.departures import Departures
from tinkbox.engine.workflows.image_digests import DigestOf
from tinkbox.engine.workflows.lost_histories import LostHistories
from tinkbox.engine.workflows.retention import Retainer
from tinkbox.engine.workflows.returns import Returns
from tinkbox.engine.workflows.running_progress import RunningProgress
from tinkbox.engine.workflows.shell_drivers import Bearers, ShellDrivers
from tinkbox.engine.workflows.shortages import Shortages
from tinkbox.engine.workflows.workflows import Workflows
from tinkbox.model.audit_places import AuditPlaces
from tinkbox.model.boot import Plan
from tinkbox.model.diagnosis import Diagnosis
from tinkbox.model.discovery import Quotas, Rule
from tinkbox.model.disk_usage import Stored
from tinkbox.model.documents.secret_fields import refuse_masked
from tinkbox.model.enrolment import HttpsBoot
from tinkbox.model.errors import Remarks
from tinkbox.model.hardware import Hardware, MacAddress
from tinkbox.model.images.standing import StandingOf
from tinkbox.model.leases import Lease, Subnet
from tinkbox.model.limits import RENDERINGS, Limits
from tinkbox.model.masking import Masks
from tinkbox.model.retention import Retention
from tinkbox.model.session import TpmRule
from tinkbox.model.token_mask import TokenMask
from tinkbox.store.database import Store, Tables
from tinkbox.wire.efi_signature_lists import authority_fingerprint
from tinkbox.wire.messages.worker import Credential


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """What the settings say to the engine.

    `names.address` is the appliance's own on its first network, where machines reach it at `url`; `own` are those on all of
    its networks.  `mode` is the setting `dhcp.mode`; without `discovers` unknown machines are ignored.  `recordings` is
    the folder for what was typed in shells, `images` the registry's, `osie` that of OSIEs.  `audit` is the folder for the head of
    the audit, None: it is kept nowhere; `audit_places` is where its lines are sent to.  `authority` is what our
    certificate is issued by (PEM), empty: there is none.  `secret_key` is where the key of secrets is.
    """

    names: Names
    url: str
    recordings: Path
    images: Path
    osie: Path
    mode: str
    subnets: Sequence[Subnet] = ()
    own: Collection[IPv4Address] = ()
    discovers: bool = False
    quotas: Quotas = field(default_factory=Quotas)
    rules: Sequence[Rule] = ()
    retention: Retention = field(default_factory=Retention)
    tpm_rule: TpmRule = TpmRule.FIRST
    https_boot: HttpsBoot = HttpsBoot.OFF
    authority: str = ""
    metadata: Policy = field(default_factory=Policy)
    audit: Path | None = None
    audit_places: AuditPlaces = field(default_factory=AuditPlaces)
    secret_key: KeySource = NO_KEY


async def _nobody(_: IPv4Address) -> bool:
    return False


def _none(_: str) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the engine asks of the world around it.

    `monotonic` is a steady clock in seconds, `seal` what boot tickets are known by.  `neighbours` gives the hardware address
    that the kernel has for an IPv4 address of one of our networks, of which `attached` tells that it is one.  `digest_of` gives the digest of an image by its name,
    empty when the appliance's registry has none, None when it is of another; `standing_of` tells where one comes from; `appliance_only` tells of which the appliance alone is asked; `free` the bytes that are free on our disk,
    `total` those that files may take there in all, 0 where that is not known.
    `sent` is how many bytes went out on the provisioning interfaces.  `held` and `cards` are as in `Addressing`.
    `gather` hands over what the services of a workflow wrote until now, and tells whether there are any near by.  `answers` tells whether a host answers at
    an address on a network of ours.  `diagnoses` are the gravest that the doctor's rounds found of each machine, by MAC,
    `diagnosis_of` is the cause of that of a workflow, by its id, where it was found since a time, or empty.
    `mask` keeps tokens that people typed out of the audit.  `bearers` tells whose tokens count.
    """

    clock: Callable[[], datetime]
    monotonic: Callable[[], float]
    seal: Seal
    new_id: Callable[[], str]
    new_token: Callable[[], str]
    neighbours: Callable[[str], MacAddress | None]
    attached: Callable[[str], bool]
    gather: Callable[[str], Awaitable[bool]]
    digest_of: DigestOf
    standing_of: StandingOf
    limits: Limits
    free: Callable[[], int]
    bearers: Bearers
    answers: Answers = _nobody
    appliance_only: Callable[[str], bool] = _none
    sent: Callable[[], int] = int
    total: Callable[[], int] = int
    held: Callable[[], Collection[IPv4Address]] = frozenset
    cards: Callable[[], Mapping[str, str]] = dict
    diagnoses: Callable[[], Mapping[str, Diagnosis]] = dict
    diagnosis_of: Callable[[str, datetime | None], str] = lambda _, __: ""
    mask: TokenMask = field(default_factory=TokenMask)


class Engine:
    """Every part of the engine, once, over one store; `load` comes before anything is served."""

    def __init__(self, store: Store, around: Surroundings, settings: EngineSettings) -> None:
        clock, new_id, new_token = around.clock, around.new_id, around.new_token
        self._discovers = settings.discovers
        self.wakeups = wakeups = Wakeups()

        self.clock_trust = clock_trust = ClockTrust(store, clock, around.monotonic)

        # Who did what.
        self.audit = audit = Audit(
            store, wakeups, clock, around.monotonic,
            HeadFile(settings.audit) if settings.audit is not None else None, settings.retention.audit, clock_trust, around.mask,
        )  # fmt: skip
        self.deliveries = Deliveries(audit, settings.audit_places)

        # What workflows are, and what they run.
        self.directory = RoutingTable(settings.names.domain, settings.url)
        self.machines = machines = Machines(
            store, wakeups, clock, around.monotonic, around.seal,
            Near(
                around.neighbours, around.attached, is_at=lambda mac, address: self.booting.is_at(mac, address),
                other_host=lambda mac, address: self.booting.other_host(mac, address),
                at=lambda address: self.booting.at(address),
            ),
            is_let_in=lambda mac: strangers.is_let_in(mac),
            supply=self.directory.supply,
            tpm_rule=settings.tpm_rule,
            reserved=(settings.names.name, settings.names.address),
            authority=authority_fingerprint(settings.authority),
        )  # fmt: skip
        self._enrolls = settings.https_boot is HttpsBoot.ENROLL
        addressing = Addressing(
            mode=settings.mode, subnets=settings.subnets, own=settings.own, held=around.held, cards=around.cards
        )
        self.remarks_on_machine = remarks_on_machine = partial(_remarks_on, addressing, self._lease_at)
        self.additions = Additions(store, machines, addressing, around.answers, clock)
        self.machine_changes = MachineChanges(store, machines, self.additions, clock)
        rehearsals = Rehearsals()
        self.imports = Imports(store, machines, self.additions, rehearsals, clock)
        secret_key = SecretKey(settings.secret_key)
        tokens = MetadataTokens(around.seal)
        self.giving, self.masks = giving, masks = Giving(secret_key), WorkflowMasks(secret_key, tokens.token)
        self.secrets = Secrets(store, wakeups, clock, secret_key)
        self.services = Services(
            store,
            wakeups,
            machines,
            clock,
            self.directory,
            settings.names.address,
            around.digest_of,
            giving,
            masks,
            around.appliance_only,
        )
        renderings = Turns(around.limits.of(RENDERINGS))
        self.templates = Templates(store, wakeups, clock, new_id, renderings, rehearsals, settings.names)
        self.workflows = Workflows(
            store, wakeups, machines, clock, new_id, new_token, settings.names, renderings, around.digest_of,
            around.standing_of, giving,
        )  # fmt: skip
        gap = ByAddress(settings.metadata, settings.own, settings.url).gap
        self.shortages = Shortages(around.standing_of, gap, settings.names.domain)
        self.rollouts = Rollouts(
            store, wakeups, machines, self.workflows, clock, new_id, settings.names, renderings, rehearsals, around.standing_of, gap
        )  # fmt: skip
        self.progression = Progression(store, wakeups, machines, self.workflows, clock, new_id, audit)
        self.departures = Departures(store, machines, self.workflows, clock)
        self.applying = Applying(
            store,
            wakeups,
            machines,
            self.templates,
            self.workflows,
            new_id,
            renderings,
            rehearsals,
            remarks_on_machine,
            self.shortages,
            self.secrets,
            discovers=settings.discovers,
        )
        self.creation = Creation(store, machines, self.workflows, new_id)
        self.exporting = Exporting(store, machines)
        self.kept_documents = KeptDocuments(store, wakeups)
        self.shell_drivers = ShellDrivers(machines, around.bearers)
        self.breakpoints = Breakpoints(store, wakeups, machines, clock, giving, masks, self.shell_drivers)
        self.shells = Shells(
            store, wakeups, clock, new_id, new_token, settings.recordings, self.breakpoints.touch, masks,
            self.shell_drivers,
            kept=settings.retention.recordings, audit=audit, clock_trust=clock_trust,
        )  # fmt: skip
        self.lost_histories = LostHistories(store, wakeups, machines, clock, new_token, around.digest_of, masks)
        self.attempts = Attempts(
            store,
            wakeups,
            machines,
            clock,
            new_token,
            around.gather,
            self.directory.name_of,
            around.digest_of,
            tokens.path,
            giving,
            masks,
            around.appliance_only,
            around.diagnosis_of,
        )
        self.running_progress = RunningProgress(store, around.monotonic, masks)
        self.deadlines = Deadlines(store, wakeups, machines, clock, around.diagnosis_of)
        self.returns = Returns(store, wakeups, machines, clock)

        # What machines are told in their first minutes, and what is learned of them.
        self.syslog = Syslog(store, clock, machines.timeline.follows, self._masks_of)
        self.firmware_knowledge = FirmwareKnowledge(store, clock, machines.known.knows, machines.known.cards)
        self.leases = Leases(
            store, settings.subnets, clock, around.monotonic,
            reserved=lambda each: each in settings.own or machines.known.reserves(each),
            known=machines.known.knows,
        )  # fmt: skip
        strangers = UnknownMachines(
            store, machines.known.knows, clock, around.monotonic, settings.quotas, machines.sessions.forget
        )
        self.retainer = Retainer(
            store, wakeups, machines, clock, settings.retention, self.shells.forget_recordings, around.free,
            surplus=(
                machines.timeline.forget_surplus, strangers.forget_surplus, self.shells.forget_old_recordings, self.secrets.forget_unused,
            ),
            audit=audit, clock_trust=clock_trust,
        )  # fmt: skip
        acceptance = Acceptance(rules=settings.rules, networks=[each.network for each in settings.subnets])
        self.discovery = Discovery(store, wakeups, machines, self.workflows, strangers, clock, acceptance, audit)
        self.booting = Booting(
            machines, self.leases, self.discovery if settings.discovers else None, settings.subnets, settings.mode,
            around.neighbours, around.attached, around.monotonic, self.firmware_knowledge, settings.own, self.discovery.firmware,
        )  # fmt: skip

        # What installed systems ask, and what they tell.
        self.installed_systems = InstalledSystems(
            store, machines, self.booting, tokens, settings.metadata, clock, around.monotonic
        )
        self.write_back = WriteBack(store, wakeups, machines, self.booting, clock, around.monotonic, masks)

        # What people look at.
        self.seen = Seen(store, machines, self.syslog, clock)
        folders = {
            Stored.RECORDINGS: settings.recordings, Stored.IMAGES: settings.images, Stored.OSIE: settings.osie,
        }  # fmt: skip
        self.disk = DiskGauge(store, folders, around.free, settings.retention.keep_free, clock, around.total)
        self.names = SuggestedNames(store, machines.known, self.templates, self.services)
        self.workflow_plans = WorkflowPlans(
            store, machines.known, self.workflows, settings.names, around.standing_of, self.shortages
        )
        self.overview = Overview(store, machines, self.disk.usage, self.running_progress.of, clock)
        self.status_changes = StatusChanges(
            store, machines, wakeups, self.disk.usage, self.running_progress.of, around.sent, clock, around.monotonic,
            around.diagnoses,
        )  # fmt: skip
        self.meter = Meter(store, machines, self.attempts, self.disk.usage, clock)
        self.work_in_hand = WorkInHand(
            store, machines, self.syslog, around.standing_of, clock, self.attempts.printed_at
        )

    async def load(self) -> list[str]:
        """Take over what is stored; returns what does not fit together any more.  Raises Unavailable when the store is."""
        for load in (
            self.machines.load, self.syslog.load, self.firmware_knowledge.load, self.leases.load, self.services.load,
            self.meter.begin, self.shells.load,
        ):  # fmt: skip
            await load()
        return [*await self.audit.load(), *await self.discovery.load(), *await self.secrets.examine()]

    def parts(self) -> list[Callable[[], Awaitable[object]]]:
        """Everything of it that is to run for as long as the appliance does; the store is not among it."""
        parts: list[Callable[[], Awaitable[object]]] = [
            self.deadlines.run, self.returns.run, self.retainer.run, self.progression.run, self.machines.progress.run, self.machines.timeline.run, self.syslog.run,
            self.firmware_knowledge.run, self.leases.run, self.discovery.run, self.services.run, self.shells.run,
            self.disk.run, self.status_changes.run, self.audit.run, *self.deliveries.parts(),
        ]  # fmt: skip
        if self._discovers:
            parts.append(self.discovery.watch)
        return parts

    def _masks_of(self, tables: Tables, mac: MacAddress) -> Masks:
        return self.masks.of_machine(tables, self.machines.known.holder(mac))

    def _lease_at(self, address: IPv4Address) -> Lease | None:
        return self.leases.lease_at(address)

    async def save(self) -> None:
        """Save what waits to be saved in batches; raises Unavailable when that cannot be."""
        for save in (
            self.machines.progress.save, self.syslog.save, self.firmware_knowledge.save, self.leases.save,
            self.discovery.save, self.audit.save,
        ):  # fmt: skip
            await save()

    def credential(self, plan: Plan, server: str, address: str) -> Credential:
        """What the worker that a plan is for begins with, for the node door at `server`: the ticket of this boot.

        It is asked for from an IPv4 address.  Raises Conflict when it was exchanged already.
        """
        registry, worker = server.partition("://")[2], plan.hardware_id
        if not worker:
            return self.discovery.credential(plan.interface.mac, server, registry, address)
        ticket = self.machines.sessions.ticket(Kind.BOOT, worker, address)
        return Credential(
            server=server,
            registry=registry,
            worker=worker,
            token=ticket,
            enroll=self._enrolls,
        )


def _remarks_on(addressing: Addressing, lease_at: Callable[[IPv4Address], Lease | None], machine: Hardware) -> Remarks:
    """What there is to say of a machine's document, its addresses, and its texts for cloud-init; raises Invalid."""
    refuse_masked(machine.document)
    return machine.remarks + Remarks(notes=tuple(notes_on(machine, addressing, lease_at))) + check_texts(machine)
