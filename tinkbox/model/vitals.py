"""What the appliance measures of itself: its interfaces, its own firewall, memory, clock, files, and what it rests on.

Each part is None, or empty, where nothing is known of it; `Vitals.unexamined` says why.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from ipaddress import IPv4Address
from typing import Final

from tinkbox.model.audit import Broken, Unguarded, WaitingLines
from tinkbox.model.audit_places import Delivery
from tinkbox.model.engine_trouble import EngineTrouble
from tinkbox.model.hardware import MacAddress
from tinkbox.model.host_vitals import HostVitals
from tinkbox.model.images.mirrors import MirrorTrouble
from tinkbox.model.write_fault import RefusedWrite

MOST_TIMES: Final = 16  # of `ArpQuestions`
AGREES: Final = timedelta(seconds=10)  # clocks that differ by less agree
MISSING: Final = "it is missing"  # of a file
PACKET_FILTER: Final = "part of the appliance's packet filter"  # of `Vitals.unexamined`: rules that are not understood
QUESTIONS_BY_MAC: Final = (
    "DHCP questions by MAC"  # of `Vitals.unexamined`: whether what some machines ask is dropped here
)


def firewalld_opens(interface: str, port: int, protocol: str) -> str:
    """What opens a port in firewalld, for good."""
    zone = f'--zone="$(firewall-cmd --get-zone-of-interface={interface})"'
    return f"firewall-cmd --permanent {zone} --add-port={port}/{protocol} && firewall-cmd --reload"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A provisioning interface as it is now, and the `address` that the appliance has there since its start.

    `present` tells whether the host has it, `up` whether it is switched on, `carrier` whether its cable or its bridge has
    a link (None: that is not told).  `addresses` are those that it has now, and `prefix` is the length of our network's.
    `master` is the bridge or bond of which it is a port, empty for none, and `master_has` the addresses of that.
    `silent_arp` says what keeps the host from answering ARP there, empty for nothing.  `index` is its number in the kernel, and `bound` that of the interface to which our sockets are bound (0: that is not known).
    """

    interface: str
    address: IPv4Address
    present: bool
    prefix: int = 24
    index: int = 0
    bound: int = 0
    up: bool = False
    carrier: bool | None = None
    addresses: frozenset[IPv4Address] = frozenset()
    master: str = ""
    master_has: frozenset[IPv4Address] = frozenset()
    silent_arp: str = ""

    @property
    def recreated(self) -> bool:
        """Whether it was deleted and created again: what our sockets are bound to is there no more."""
        return bool(self.present and self.index and self.bound and self.index != self.bound)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutPort:
    """A port of ours that this host's own firewall does not let machines reach, or from which it lets no reply out.

    `why` is the rule or policy, as it stands there.

    `asked` is what machines ask there, such as DHCP.  `firewall` is what its rules are made with (nft, iptables, ufw or firewalld),
    `opens` the command that lets machines through, and `shows` that which lists the chain.  `above`: packets up to so many bytes are let
    out all the same, 0: none.  `behind`: only for machines behind this port of the bridge that the interface is, empty: for all.
    """

    interface: str
    port: int
    protocol: str
    why: str
    asked: str = ""
    firewall: str = "nft"
    opens: str = ""
    shows: str = ""
    above: int = 0
    behind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenPort:
    """A port of ours of which this host diverts all that machines send: `to` is an address, a colon and a port, each empty where it stays.

    `why` is the rule in its `chain`, as it stands there, and `gives_back` the command that takes it away.  `asked` is as in `ShutPort`.
    """

    interface: str
    port: int
    protocol: str
    asked: str
    to: str
    why: str
    chain: str
    gives_back: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unheard:
    """So many questions, in as many `frames`, came in for a UDP port on an interface, the first at `since` and the last at `until`.

    None was delivered to our socket there, then or later.  `macs` are those of the machines that asked, each with when it did last.
    `others_at` is when the question of another machine was delivered last, since the first of them; None: none was.
    """

    interface: str
    port: int
    frames: int
    since: datetime
    until: datetime
    macs: Mapping[MacAddress, datetime]
    others_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggedQuestion:
    """The newest DHCP question of a machine that came in on an interface with the tag of a VLAN, which the interface itself does not take.

    `by_system`: it was a system that asked, which may put the tag there itself, and no firmware and no boot loader.
    """

    mac: MacAddress
    interface: str
    vlan_id: int
    at: datetime
    by_system: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ArpQuestions:
    """When a machine asked all hosts on an interface by ARP, from its address `asker`, who has our `address`.

    `times` are the newest MOST_TIMES, oldest first, since it last showed that it knows our MAC.
    """

    mac: MacAddress
    interface: str
    address: IPv4Address
    asker: IPv4Address
    times: tuple[datetime, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticPort:
    """The `port` to which a static entry of a `bridge` of this host sends what is for a machine, wherever that is heard.

    `unused` is why no machine that was heard meanwhile can be behind that port, as the end of a sentence; empty: one may be.
    """

    bridge: str
    port: str
    unused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """In bytes; `available` is what can be had without swapping (proc(5), MemAvailable)."""

    total: int
    available: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Inodes:
    """Of the file system of the data folder: each file takes one; `free` are those that we may have."""

    total: int
    free: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptors:
    """So many are `opened` of `most` that our `process` may have.

    `refused_at` is when the kernel last refused one, None: it never did; `used_up`: there is no room since.  `of_host`: it was refused
    because this host has none left for any process.
    """

    opened: int
    most: int
    process: int
    refused_at: datetime | None = None
    used_up: bool = False
    of_host: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockJump:
    """At `at`, by the clock as it was set then, it was found to be `by` ahead (or, negative, behind) of where it had to be."""

    at: datetime
    by: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockVitals:
    """`jump` is the newest; `newest` is the latest time that the store tells of when the appliance started.

    `offset` is how far the clock is ahead of the time server `source`, which was asked at `asked_at`, None where none was asked or none
    answered.
    """

    jump: ClockJump | None = None
    newest: datetime | None = None
    offset: timedelta | None = None
    source: str = ""
    asked_at: datetime | None = None

    @property
    def is_off(self) -> bool:
        """Whether the time server has another time."""
        return self.offset is not None and abs(self.offset) >= AGREES


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedFile:
    """A file that is not what its description says: `how` in a few words, MISSING where it is not there."""

    path: str
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherVersion:
    """A program of ours of another version: `what` is it (the OSIE for x86_64, the worker on node7), and its `version`."""

    what: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UncleanEnd:
    """The appliance before this one ended without being told to, at `alive_at` or within half a minute after that.

    `host_booted` tells that this host booted since.
    """

    alive_at: datetime
    host_booted: bool


class HandshakeTrouble(StrEnum):
    """Why a connection could not be encrypted: a client of TLS says it in an alert (RFC 8446 §6.2), and some hang up instead."""

    AUTHORITY = "authority"
    EXPIRED = "expired"
    NOTHING_IN_COMMON = "nothing-in-common"
    HUNG_UP = "hung-up"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedHandshake:
    """A host that did not take our certificate, or cannot be encrypted with: the last time of `times`, in OpenSSL's `words`.

    `door` is the URL of ours that it came to, `came_through` when another handshake of it was well there, None: none was lately.
    """

    host: str
    door: str
    why: HandshakeTrouble
    words: str
    at: datetime
    times: int
    came_through: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """`at` is when the last of them was measured.

    `shut_ports` are told by the rules of the firewall, and so are `shut_replies`, ports from which no reply gets out, and `taken_ports`;
    of `limited_ports` and `limited_replies` it drops a part, by the rule of `why`; all of which `filters_changed_at` last, as far as that was seen;
    `unheard` by what comes in, and so are `tagged` questions and `arp_questions`, by MAC.  `damaged_osie` are files of an OSIE,
    `damaged_images` are images by their names, and `registry` is why images cannot be used as a whole.  `database` is what SQLite found, in its last check or when it was asked; `refused_writes` are those that are
    refused, the newest of each kind until one of that kind is taken.  `operator_socket` is why the file of the operator door's unix socket is gone and cannot be
    made anew.  `engine` is why this host's container engine does not answer, where services run on it.
    `data_mount` is where the file system of the data folder is mounted.
    `mirrors` are those of registries of which nothing comes.  `unclean_end` is how the appliance before this one ended, None where it was told to.
    `file_size_limit` is how many bytes a file of the process may have, None for any number, and `descriptors` are those of the process.
    `certificates` are sentences about those that the doors show, `refused_certificates` about those of them that every client refuses, and
    `refused_handshakes` hosts that do not take them.
    `audit_broken` is when lines of the audit were found to be missing or replaced last.
    `audit_unguarded` is since when which parts of the database are missing or not ours, `audit_unwritten` which lines wait to be written.
    `audit_unsent` are the places that do not take its lines.
    `secrets` is why secrets that are kept cannot be read, empty: they can.
    `unexamined` says what was not looked at, each with its reason.
    """

    at: datetime
    attachments: tuple[Attachment, ...] = ()
    shut_ports: tuple[ShutPort, ...] = ()
    shut_replies: tuple[ShutPort, ...] = ()
    limited_ports: tuple[ShutPort, ...] = ()
    limited_replies: tuple[ShutPort, ...] = ()
    taken_ports: tuple[TakenPort, ...] = ()
    filters_changed_at: datetime | None = None
    unheard: tuple[Unheard, ...] = ()
    tagged: tuple[TaggedQuestion, ...] = ()
    arp_questions: Mapping[MacAddress, ArpQuestions] = field(default_factory=dict)
    memory: Memory | None = None
    inodes: Inodes | None = None
    data_mount: str = "/"
    clock: ClockVitals | None = None
    damaged_osie: tuple[DamagedFile, ...] = ()
    damaged_images: tuple[DamagedFile, ...] = ()
    registry: str = ""
    database: str = ""
    refused_writes: tuple[RefusedWrite, ...] = ()
    file_size_limit: int | None = None
    descriptors: Descriptors | None = None
    certificates: tuple[str, ...] = ()
    refused_certificates: tuple[str, ...] = ()
    refused_handshakes: tuple[RefusedHandshake, ...] = ()
    audit_broken: Broken | None = None
    audit_unguarded: Unguarded | None = None
    audit_unwritten: WaitingLines | None = None
    audit_unsent: tuple[Delivery, ...] = ()
    secrets: str = ""
    operator_socket: str = ""
    engine: EngineTrouble | None = None
    mirrors: tuple[MirrorTrouble, ...] = ()
    unclean_end: UncleanEnd | None = None
    other_versions: tuple[OtherVersion, ...] = ()
    host: HostVitals | None = None
    unexamined: Mapping[str, str] = field(default_factory=dict)
