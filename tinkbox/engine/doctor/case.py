"""What the doctor looks at, and what it finds.  Pure.

Rule 1: a finding without evidence cannot be made.
Rule 2: evidence is what was seen, with times and figures; conclusions stand in the cause.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address
from typing import Final

from tinkbox.engine.timeline.sighting_rules import Unnoted, begins, ended_at, is_in_its_name
from tinkbox.engine.workflows.journals import LostWork
from tinkbox.model.boot import FORGEABLE, Stage
from tinkbox.model.command_lines import not_ours
from tinkbox.model.diagnosis import Gravity, Rival
from tinkbox.model.disk_usage import DiskUsage
from tinkbox.model.firmware_traits import FirmwareTraits
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.model.inventory import Inventory
from tinkbox.model.leases import GIVES_ADDRESSES, Claimant, Subnet
from tinkbox.model.limits import Standing
from tinkbox.model.notes import Retirement
from tinkbox.model.sightings import Line, Sighting
from tinkbox.model.vitals import ArpQuestions, RefusedHandshake, StaticPort, TaggedQuestion, Vitals
from tinkbox.model.workflow import State
from tinkbox.wire.polling import ORDERS_SECONDS, SILENT_SECONDS

# What shows that a machine was told here what to boot, or fetched it: none comes without an address that works.
FETCHED_BY_HTTP: Final = (
    Stage.SCRIPT,
    Stage.DISCOVERY,
    Stage.SUPPLIED,
    Stage.OWN_BOOT,
    Stage.LOCAL_DISK,
    Stage.KERNEL,
    Stage.RAMDISK,
)
ON_APPLIANCE: Final = "the appliance"  # what the appliance is called as the host of a service
SWITCHED_ON_WITHIN: Final = timedelta(minutes=1)  # after a workflow for a machine was created
MOST_NAMED: Final = 4
# Beside the time between two polls of a worker.
_SLOW_WAY: Final = timedelta(seconds=SILENT_SECONDS - ORDERS_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class OsieSize:
    """An OSIE that was built, and the size of its ramdisk as it is sent, in bytes.

    `firmware` are the files of its second ramdisk, which not every machine is sent; None: it has none.  `instead_of` is the architecture in whose
    folder it lies, so that machines of that one get it; empty: it lies in its own.  `plain` tells that the appliance speaks
    HTTPS to machines, and this OSIE does not.
    """

    architecture: str
    ramdisk: int
    firmware: frozenset[str] | None = None
    instead_of: str = ""
    plain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitedService:
    """A service that its workflow waits for: `host` is what people call the machine where it runs, `timeout` since `begun_at`.

    `reason`, `message` and `tail` are as its host tells them (`model.services.Standing`), `phase` in its words.
    """

    name: str
    host: str
    phase: str
    begun_at: datetime | None = None
    timeout: timedelta = timedelta()
    restarts: int = 0
    reason: str = ""
    message: str = ""
    tail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """The gateway and the name servers (IPv4) of a machine by its document; `silent` are those at which nobody answers ARP.

    Of a `reserved` address a machine is told no others, where it has that of us.  `forwards` tells whether this host passes on what is
    for other networks where it is the gateway itself; None: it is another, or that is not known.
    `refused` is an address and a port of this host at which an action's question was refused, and the addresses at which that port is listened on now.
    """

    gateway: IPv4Address | None = None
    name_servers: tuple[IPv4Address, ...] = ()
    silent: frozenset[IPv4Address] = frozenset()
    reserved: bool = False
    refused: tuple[IPv4Address, int, frozenset[IPv4Address | IPv6Address]] | None = None
    forwards: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """What a running action printed: its last line, and when output came last, None: not since the appliance began.

    `anything` tells whether it printed at all.
    """

    last: str = ""
    at: datetime | None = None
    anything: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A workflow that is not over, or ended last, and where it stands; of a machine: the one that it works on or waits for.

    `action` is `task/action` in `action_state`, begun at `since`; empty before the first one.  `machine` is the MAC of the
    machine that it is for.  `contact` is when that machine's worker was heard of last, and `polls` tells how often it asks at least.
    `before` names the workflows that the machine does first, `waits_of` all that `waits` names, `awaited` the services that must be ready before it begins.
    `kernel` are lines of the machine's kernel since the action began, oldest first.
    `answers` tells whether the machine's address answers ARP now, None where that was not asked; `silent_beside` are other
    machines behind the same relay or on the same network whose workers are silent as well; `link` is what is wrong with the
    appliance's own interface to it, or empty.
    `called` is what people call the machine, `hardware_id` its id, `parked` why it may not boot, empty: it may.  `waits` says what keeps the next action from beginning, empty
    where nothing does.  `unkept` is since when the appliance cannot keep what the machine hands in, and why; None: it can, or the workflow
    is not looked at by itself.  `services` are the awaited ones, `images` says which images nothing can have, line by line.
    `hint` and `tail`, the last lines of output, are those of how it ended, at `ended_at`; `overtaken` is why it is not retried, which names `overtaken_of`, empty
    where it may be; `changed` that its template has another text by now than a retry runs, or empty.  `other_version` is that of the machine's worker, where it is not the appliance's.  `way` is how the machine reaches others,
    where a failed action may have missed them.  `engine_away` is since when the machine's engine does not answer its worker.  `gone` are services that were ready,
    and are not there any more.  `image` is that of the action.  `service` is the one that kept it from beginning, where it ended for that, on `service_host`.
    `template` is what its template is called.  `idle` tells that the machine was seen last with its worker in touch, and was sent nowhere since, so
    that the worker is to ask for what waits.  `printed` is what a running action printed, None: that was not asked.
    """

    id: str
    name: str
    state: State
    created_at: datetime
    action: str = ""
    action_state: State = State.PENDING
    since: datetime | None = None
    timeout: timedelta | None = None
    reason: str = ""
    message: str = ""
    machine: MacAddress | None = None
    contact: datetime | None = None
    polls: timedelta = timedelta(seconds=ORDERS_SECONDS)
    before: tuple[str, ...] = ()
    waits_of: tuple[str, ...] = ()
    awaited: tuple[str, ...] = ()
    kernel: tuple[Line, ...] = ()
    answers: bool | None = None
    silent_beside: tuple[str, ...] = ()
    link: str = ""
    hardware_id: str = ""
    called: str = ""
    parked: str = ""
    waits: str = ""
    unkept: tuple[datetime, str] | None = None
    services: tuple[AwaitedService, ...] = ()
    images: tuple[str, ...] = ()
    hint: str = ""
    tail: tuple[str, ...] = ()
    ended_at: datetime | None = None
    engine_away: datetime | None = None
    other_version: str = ""
    gone: tuple[AwaitedService, ...] = ()
    overtaken: str = ""
    overtaken_of: tuple[str, ...] = ()
    changed: str = ""
    way: Way | None = None
    image: str = ""
    service: str = ""
    service_host: str = ""
    template: str = ""
    idle: bool = False
    printed: Printed | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lent:
    """An address that is reserved for the patient, and is lent `until` then to the machine with this MAC, which people call `name`."""

    address: IPv4Address
    mac: MacAddress
    until: datetime
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkQuestion:
    """The question for other DHCP servers that was asked last on all interfaces, when it began.

    `answered` tells that one answered, `offered` that one offered an address.  `booting` are the answers that say what to boot.
    """

    at: datetime
    answered: bool
    offered: bool
    booting: tuple[Rival, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownHost:
    """A machine of ours whose MAC or address something shows on the network; `in_touch`: its worker is."""

    name: str
    in_touch: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """A MAC that may be another one of the patient's: of the two one is unknown and asks, the other is waited for in vain.

    `mac` is that of the other, which was seen last at `seen_at`, `key` means the machine that is known.  `of_one_machine`
    tells that an inventory has both MACs.
    """

    mac: MacAddress
    key: str
    seen_at: datetime | None = None
    of_one_machine: bool = False


class Duty(StrEnum):
    """What the appliance does for machines and workflows, where faults of its own can keep it from that."""

    DHCP = "DHCP"
    PXE = "PXE"  # port 4011
    TFTP = "TFTP"
    HTTP = "HTTP"
    HTTPS = "HTTPS"  # the node door over TLS, once an OSIE runs
    OSIE = "the OSIE"
    STORE = "what is kept"
    REGISTRY = "images"
    ENGINE = "containers on the appliance"


REACHING: Final = frozenset({Duty.DHCP, Duty.PXE, Duty.TFTP, Duty.HTTP, Duty.HTTPS})
BOOTING: Final = REACHING | {Duty.OSIE, Duty.STORE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stops:
    """The duties that a fault of the appliance stops: for machines on `interface` (or `beside` it) and of `architecture`; empty: for all.

    `behind` limits it to those behind this port of the bridge that the interface is.
    `registry` limits it to images of that host, spelled as repositories have it, `to` to machines with addresses in these networks (where it
    stops DHCP, also to those whose relays have such an address), and `unheard` to machines with these MACs, each with when it asked last without being
    heard.  `since` is None where nobody knows.
    """

    duties: frozenset[Duty]
    interface: str = ""
    behind: str = ""
    beside: str = ""
    architecture: str = ""
    registry: str = ""
    to: frozenset[IPv4Network] = frozenset()
    unheard: Mapping[MacAddress, datetime] = field(default_factory=dict)
    since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A machine, or without `mac` the appliance itself, and what is known there.

    `sightings` are those of its last boots, oldest first; `said` is what it complained of by syslog.  `interface` is what we were told about it, None for a
    machine that nobody knows; `ticket`, `installed`, `parked` and `retired` are as in its status, and `left` that an action sent it to its own disk; `waited_since` is when the first
    unfinished workflow that needs it was created, and `heard_at` when it last did anything that came here; `inventory_at` is when it told its
    inventory, None where that is not known; `discovers` tells
    that machines that nobody knows boot to tell what they are.  `address` is the appliance's on its first network, `own` are those on all of
    them, and `own_macs` those of its interfaces there, each with its interface; it serves since `since` in `mode` (as `dhcp.mode`).  `rivals` are the other DHCP servers that answered just
    now, None when nobody was asked.  `limits` are those that hold somebody back: the machine, or anybody.  One that is `surveyed` is looked at together with the appliance and all others.
    `refused_handshakes` are of a machine's own host where it is looked at by itself, else of all hosts.  `claimants` are hosts that answer for many addresses of a pool.  `lost_work` is what the machine did that the store does
    not know, until a person decides about it.  `osie_trouble` is why no OSIE can be used although there are files of one,
    or where these are `osie_served` to machines all the same, what is wrong with their description.
    `osie_folder` is where OSIEs are, `osie_gone` has the architectures of those that were there since the start and are not, each with the folder to put back,
    and `osie_fetched` is, where there is none, when a machine fetched the kernel of one last before the start.  `disk` and `vitals` are the appliance's, None where a machine is looked at.
    `work` is what the machine works on or waits for; without `mac` the workflow is the patient itself.
    `lent` tells who has the address that is reserved for the machine, `near` are MACs that may be another one of its own.
    `question` is the last one to the network for other DHCP servers, also where `rivals` are told of the appliance alone.
    `unnoted` tells of
    unknown machines that were not noted lately for lack of room.  `faults` are those of the appliance that stop duties of it.  `deaf_at` is when it was found last that one
    of them kept questions for addresses from us.  `mended` are those that are over, each with when it was found last.  `conflict` tells whether another host answers at the address that was given back in the
    machine's name as in use, None where that was not asked or is not known.  `relay_answers` tells whether
    the relay that the machine asks by answers ping, None where that was not asked.  `hosts` are the machines of ours whose MACs and
    addresses, by which they stand there, are among those that other servers, other appliances, holders of our address, claimants, those whom a limit
    holds back and hosts that were refused in its name show.  `tagged` are questions that came in for VLANs, of whichever machines,
    and `arp_questions` those by ARP for our addresses.
    `static_port` is the static entry that a bridge of the appliance's host has for the machine, and `behind` that bridge's port behind
    which it was heard; empty: not known, or no fault makes a difference between ports.
    `static_neighbour` is the machine's address, where the ARP table of that host has another MAC for it permanently, with the interface and this MAC.
    `pushed_at` is when its hardware document was pushed or edited last, since which its boots are counted anew, None where that is not known.
    `barred` is why the machine's hardware document, with all its cards, keeps it from booting for the workflow that waits; empty: it does not.
    `addressed` is the machine that was seen last with an address of another server, and when, since that server does not answer our own
    question; None where there is none, and where addresses are ours to give.
    """

    now: datetime
    since: datetime
    address: IPv4Address
    mode: str = "reservation"
    mac: MacAddress | None = None
    sightings: tuple[Sighting, ...] = ()
    said: tuple[Line, ...] = ()
    interface: Interface | None = None
    ticket: bool = False
    waited_since: datetime | None = None
    heard_at: datetime | None = None
    left: bool = False
    installed: bool = False
    parked: str = ""
    retired: Retirement | None = None
    discovers: bool = False
    firmware_traits: FirmwareTraits = field(default_factory=FirmwareTraits)
    inventory: Inventory | None = None
    inventory_at: datetime | None = None
    subnets: tuple[Subnet, ...] = ()
    osie: tuple[OsieSize, ...] = ()
    osie_trouble: str = ""
    osie_served: bool = False
    osie_folder: str = "osie"
    osie_gone: Mapping[str, str] = field(default_factory=dict)
    osie_fetched: Sighting | None = None
    rivals: tuple[Rival, ...] | None = None
    surveyed: bool = False
    limits: tuple[Standing, ...] = ()
    refused_handshakes: tuple[RefusedHandshake, ...] = ()
    claimants: tuple[Claimant, ...] = ()
    lost_work: LostWork | None = None
    disk: DiskUsage | None = None
    vitals: Vitals | None = None
    work: Work | None = None
    lent: Lent | None = None
    near: tuple[Near, ...] = ()
    deaf_at: datetime | None = None
    mended: tuple[tuple["Fault", datetime], ...] = ()
    relay_answers: bool | None = None
    conflict: bool | None = None
    unnoted: Unnoted | None = None
    question: NetworkQuestion | None = None
    faults: tuple["Fault", ...] = ()
    hosts: Mapping[str, KnownHost] = field(default_factory=dict)
    tagged: tuple[TaggedQuestion, ...] = ()
    arp_questions: Mapping[MacAddress, ArpQuestions] = field(default_factory=dict)
    static_port: StaticPort | None = None
    behind: str = ""
    static_neighbour: tuple[IPv4Address, str, MacAddress] | None = None
    pushed_at: datetime | None = None
    barred: str = ""
    addressed: tuple[MacAddress, datetime] | None = None
    own: frozenset[IPv4Address] = frozenset()
    own_macs: Mapping[str, str] = field(default_factory=dict)

    def is_own(self, address: IPv4Address | None) -> bool:
        """Whether an address is the appliance's, on whichever of its networks."""
        return address == self.address or address in self.own

    @property
    def gives_addresses(self) -> bool:
        """Whether machines are to have their addresses of us."""
        return self.mode in GIVES_ADDRESSES

    @property
    def boots(self) -> tuple[tuple[Sighting, ...], ...]:
        """The sightings of each of its boots, oldest first, without what shows nothing of them: what another host fetched, and late questions."""
        every = boots([each for each in self.sightings if not is_in_its_name(each.stage, each.facts)])
        return every if self.mode == "off" else tuple(filter(None, map(_without_late_questions, every)))

    @property
    def last(self) -> tuple[Sighting, ...]:
        """The sightings of its last boot."""
        found = self.boots
        return found[-1] if found else ()

    @property
    def furthest(self) -> tuple[Sighting, ...]:
        """The sightings of its last boot that came further than what any host can send in its name; else of its last boot."""
        every = self.boots
        return next((each for each in reversed(every) if not _is_forgeable(each)), every[-1] if every else ())

    @property
    def again_since(self) -> datetime | None:
        """When something asked in its name after that boot for the first time; None where nothing did."""
        again = self._again
        return again[0].at if again else None

    @property
    def _again(self) -> tuple[Sighting, ...]:
        told = next((each for each in reversed(self.furthest) if each.stage not in FORGEABLE), None)
        return of(self.sightings[self.sightings.index(told) + 1 :], Stage.DISCOVER) if told is not None else ()

    @property
    def asked_again(self) -> tuple[str, ...]:
        """As evidence, that something asked in its name after that boot, and came no further; empty where nothing did."""
        again = self._again
        if not again:
            return ()
        return (
            f"{moment(again[-1].at)} it, or another host in its name, asked for an address again, and came no further",
        )

    def named(self, mac: str) -> str:
        """A MAC or an address from the network, with the machine of ours that has it."""
        host = self.hosts.get(mac)
        return f"{mac} of machine {host.name}" if host is not None else mac

    def in_touch(self, *shown: str) -> bool:
        """Whether one of these MACs and addresses is of a machine of ours whose worker is in touch."""
        return any(each in self.hosts and self.hosts[each].in_touch for each in shown)

    @property
    def relay(self) -> str:
        """The address of the relay that its last questions came by, empty where they came without."""
        return next((found for each in reversed(of(self.last, Stage.DISCOVER)) if (found := text(each, "relay"))), "")

    def is_unheard(self, stops: Stops) -> bool:
        """Whether a fault of the appliance keeps what this very machine asks from us: it asked, and nothing of it was heard since."""
        asked_at = stops.unheard.get(self.mac) if self.mac is not None else None
        return asked_at is not None and all(ended_at(each) < asked_at for each in self.sightings)

    @property
    def worker_heard(self) -> datetime | None:
        """When the machine's worker was heard of last, while it is in touch; None: it is not."""
        work = self.work
        if work is None or work.contact is None or self.now - work.contact > work.polls + _SLOW_WAY:
            return None
        return work.contact


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a rule found: `cause` in one sentence, `evidence` line by line, `remedy`.

    `subject` tells findings of one rule apart, of one machine or of the appliance: an interface, a file, a holder.  It stays
    the same for as long as the condition lasts.  `stops` is told of a fault of the appliance that keeps it from its duties.  What is `past`
    is told although it is over: it explains nothing that is seen now.
    """

    gravity: Gravity
    cause: str
    evidence: tuple[str, ...]
    remedy: str
    subject: str = ""
    stops: Stops | None = None
    past: bool = False

    def __post_init__(self) -> None:
        if not self.evidence:
            raise ValueError(f"no evidence for: {self.cause}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What `rule` found of the appliance itself, and what that `stops`."""

    rule: str
    found: Finding
    stops: Stops

    @property
    def place(self) -> tuple[str, str]:
        """What tells it from the others."""
        return self.rule, self.found.subject or self.stops.interface


def _without_late_questions(boot: tuple[Sighting, ...]) -> tuple[Sighting, ...]:
    """A boot without the questions for a boot loader that come while one runs, whose script came by HTTP.

    Firmware that begins anew asks for an address first, where that comes here.  Any host can ask for a loader in its name.
    """
    found, runs = [], False
    for each in boot:
        if each.stage is Stage.DISCOVER:
            runs = False
        elif each.stage in (Stage.SCRIPT, Stage.DISCOVERY):
            runs = "file" not in each.facts  # GRUB has its script by TFTP, and loads the OSIE by that as well
        elif each.stage in (Stage.SUPPLIED, Stage.OWN_BOOT):
            runs = False  # what these load is up to them
        elif runs and each.stage in (Stage.LOADER_REQUESTED, Stage.LOADER, Stage.LOADER_FAILED):
            continue
        found.append(each)
    return tuple(found)


def boots(sightings: Sequence[Sighting]) -> tuple[tuple[Sighting, ...], ...]:
    """Sightings, oldest first, by boot."""
    found: list[list[Sighting]] = []
    for seen in sightings:
        if begins(found[-1] if found else (), seen):
            found.append([])
        found[-1].append(seen)
    return tuple(map(tuple, found))


def _is_forgeable(boot: Sequence[Sighting]) -> bool:
    return all(each.stage in FORGEABLE for each in boot)


def of(sightings: Sequence[Sighting], *stages: Stage) -> tuple[Sighting, ...]:
    """Those at one of these stages."""
    return tuple(each for each in sightings if each.stage in stages)


def text(seen: Sighting, fact: str) -> str:
    """A fact of a sighting as text, empty when it has none."""
    return str(seen.facts.get(fact, ""))


def number(seen: Sighting, fact: str) -> int | None:
    """A fact of a sighting as a whole number, None when it has none."""
    value = seen.facts.get(fact)
    return int(value) if isinstance(value, int | float) else None


def moment(at: datetime) -> str:
    """A time as evidence has it, in UTC."""
    return f"{at:%Y-%m-%d %H:%M:%S}"


def in_touch_anyway(heard: datetime) -> str:
    """That the machine's worker was in touch beside what another host may have sent, as evidence."""
    return f"{moment(heard)} its worker was in touch all the same: another host may have sent this in its name"


def line(seen: Sighting) -> str:
    """A sighting as evidence: its detail may be the words of a machine, or of whoever spoke in its name."""
    told = not_ours(seen.detail or text(seen, "why"))
    return f"{moment(seen.at)} {seen.stage}" + (f": {told}" if told else "")


def sized(octets: int) -> str:
    """Bytes for people: 81.1 MiB."""
    return f"{octets / (1 << 20):.1f} MiB"


def duties_of(asked: Iterable[str]) -> frozenset[Duty]:
    """Of what machines ask for by these names that without which none boots."""
    names = {*asked}
    return frozenset(each for each in REACHING if each.value in names)


def some(words: Sequence[str]) -> str:
    """A few of these words, and how many more there are."""
    if len(words) > MOST_NAMED:
        return f"{', '.join(words[:MOST_NAMED])} and {len(words) - MOST_NAMED} more"
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def held_back(limits: Iterable[Standing], is_it: Callable[[str], bool]) -> Iterator[Standing]:
    """Of the limits those that hold a machine back, which has the addresses that `is_it` knows, with nobody else."""
    for each in limits:
        if own := tuple(one for one in each.held_back if is_it(one.holder)):
            yield replace(each, held_back=own)
