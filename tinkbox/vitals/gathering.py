"""All that the appliance measures of itself, together: what is quick each time it is asked, what takes a while in the background."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, NoReturn

from tinkbox.model.audit import Broken, Unguarded, WaitingLines
from tinkbox.model.audit_places import Delivery
from tinkbox.model.engine_trouble import EngineTrouble
from tinkbox.model.errors import Refusal
from tinkbox.model.host_vitals import HostVitals
from tinkbox.model.images.mirrors import MirrorTrouble
from tinkbox.model.vitals import (
    PACKET_FILTER,
    QUESTIONS_BY_MAC,
    ArpQuestions,
    ClockVitals,
    DamagedFile,
    Descriptors,
    Inodes,
    OtherVersion,
    RefusedHandshake,
    TaggedQuestion,
    UncleanEnd,
    Unheard,
    Vitals,
)
from tinkbox.model.write_fault import RefusedWrite
from tinkbox.vitals.background import Background
from tinkbox.vitals.clock import ClockWatch
from tinkbox.vitals.file_digests import DescribedFile, FileDigests
from tinkbox.vitals.firewall import Firewall, FirewallReading
from tinkbox.vitals.flows import Port
from tinkbox.vitals.interfaces import OwnInterface, attachments
from tinkbox.vitals.memory import memory

# Seconds between two measurements.  What was changed a moment ago is told within 15.
OFTEN: Final = 7.0
SELDOM: Final = 600.0
UNTIL_RIGHT: Final = 60.0  # while the clock is off
DAILY: Final = 86400.0
SWAPPED_WITHIN: Final = 0.5


def _untold_inodes() -> Inodes | None:
    return None


def _untold_descriptors() -> Descriptors | None:
    return None


async def _all_readable() -> str:
    return ""


async def _sent_nowhere() -> Sequence[Delivery]:
    return ()


def _nothing_broken() -> Broken | None:
    return None


def _unknown_host() -> HostVitals | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What is asked of the rest of the appliance.

    `newest` is the latest time that the store tells of.  `osie` are the files of all OSIEs, and `versions` the programs of ours
    that are of another version; they raise Refusal where that cannot be known.  `images` finds damaged blobs, and why images cannot be used at all.  `database` is
    what a check of its file finds, empty for nothing; it blocks.  `engine` is why this host's container engine does not answer, None where it
    does; raises Refusal where it is not needed.  `time` is how far the clock is ahead of a time server, and which; raises Refusal where none tells.
    `refused` are the writes that are refused, and since when.  `unheard` are the ports to which something comes that we do not get,
    `unclear` why some of these cannot be known, empty where they can, `tagged` the questions that come in for a VLAN,
    `arp_questions` those for our addresses.
    `damage` is what the store heard of a damaged file while it was used, empty for nothing.  `operator_socket` is why the operator
    door's unix socket is gone, empty where it is there, `inodes` those of the data folder's file system, None where it counts none, and `data_mount` where that file system is mounted.  `file_size_limit`, `descriptors`, `certificates`, `refused_handshakes`, `audit_broken`, `audit_unguarded`, `audit_unwritten` and `secrets` are as in `Vitals`, `deliveries` how far each place has the lines of the audit.  `mirrors` are
    those of registries of which nothing comes.  `unclean_end` is how the appliance before this one ended, None where it was told to.  `host` is this host beside our parts.
    """

    newest: Callable[[], Awaitable[datetime | None]]
    osie: Callable[[], Sequence[DescribedFile]]
    versions: Callable[[], Sequence[OtherVersion]]
    images: Callable[[], Awaitable[tuple[tuple[DamagedFile, ...], str]]]
    database: Callable[[], str]
    engine: Callable[[], Awaitable[EngineTrouble | None]]
    time: Callable[[], Awaitable[tuple[timedelta | None, str]]]
    refused: Callable[[], Sequence[RefusedWrite]]
    unheard: Callable[[], Sequence[Unheard]]
    unclear: Callable[[], str] = str
    tagged: Callable[[], Sequence[TaggedQuestion]] = tuple
    arp_questions: Callable[[], Sequence[ArpQuestions]] = tuple
    damage: Callable[[], str] = str
    mirrors: Callable[[], Sequence[MirrorTrouble]] = tuple
    unclean_end: UncleanEnd | None = None
    operator_socket: Callable[[], str] = str
    inodes: Callable[[], Inodes | None] = _untold_inodes
    data_mount: Callable[[], str] = lambda: "/"
    file_size_limit: Callable[[], int | None] = lambda: None
    descriptors: Callable[[], Descriptors | None] = _untold_descriptors
    certificates: Callable[[], Sequence[str]] = tuple
    refused_certificates: Callable[[], Sequence[str]] = tuple
    refused_handshakes: Callable[[], Sequence[RefusedHandshake]] = tuple
    audit_broken: Callable[[], Broken | None] = _nothing_broken
    audit_unguarded: Callable[[], Unguarded | None] = lambda: None
    audit_unwritten: Callable[[], WaitingLines | None] = lambda: None
    deliveries: Callable[[], Awaitable[Sequence[Delivery]]] = _sent_nowhere
    secrets: Callable[[], Awaitable[str]] = _all_readable
    host: Callable[[], HostVitals | None] = _unknown_host


class Gatherer:
    """`ours` are the provisioning interfaces, `ports` what machines have to reach on them.

    `clock` is in UTC; `steady` in seconds, and goes on while the host sleeps.
    """

    def __init__(
        self,
        ours: Sequence[OwnInterface],
        ports: Sequence[Port],
        sources: Sources,
        clock: Callable[[], datetime],
        steady: Callable[[], float],
        often: float = OFTEN,
    ) -> None:
        self._ours = ours
        self._sources = sources
        self._clock = clock
        self._watch = ClockWatch(clock, steady)
        self._newest: datetime | None = None
        digests = FileDigests(steady)
        nothing: tuple[tuple[DamagedFile, ...], str] = ((), "")
        no_files: tuple[DamagedFile, ...] = ()
        no_programs: tuple[OtherVersion, ...] = ()
        self._filters = Firewall(ports, clock)
        self._firewall = Background(self._filters.look, FirewallReading(), often)
        self._osie = Background(lambda: self._osie_files(digests), no_files, often)
        self._versions = Background(lambda: asyncio.to_thread(lambda: tuple(sources.versions())), no_programs, often)
        self._images = Background(sources.images, nothing, often)
        self._database = Background(lambda: asyncio.to_thread(sources.database), "", DAILY)
        self._secrets = Background(sources.secrets, "", often)
        no_trouble: EngineTrouble | None = None
        self._engine = Background(sources.engine, no_trouble, often)
        self._time = Background(self._off_by, ClockVitals(), lambda told: UNTIL_RIGHT if told.is_off else SELDOM)
        self._backgrounds: Sequence[Background[Any]] = (
            self._firewall,
            self._osie,
            self._versions,
            self._images,
            self._database,
            self._engine,
            self._secrets,
            self._time,
        )

    async def run(self) -> NoReturn:
        """Measure what takes a while, for ever."""
        with suppress(Refusal):
            self._newest = await self._sources.newest()
        async with asyncio.TaskGroup() as group:
            for each in self._backgrounds:
                group.create_task(each.run())
        raise AssertionError("a group that never ends has ended")

    @property
    def is_complete(self) -> bool:
        """Whether everything was measured once, or could not be."""
        return all(each.is_measured for each in self._backgrounds)

    async def _deliveries(self) -> tuple[Sequence[Delivery], str]:
        try:
            return await self._sources.deliveries(), ""
        except Refusal as refusal:
            return (), str(refusal)

    async def vitals(self) -> Vitals:
        """As it is now, as far as that takes no time, and else as it was measured last."""
        images, registry = self._images.last
        deliveries, why_unsent = await self._deliveries()
        host_memory, host = memory(), self._sources.host()
        parts = {
            "its own firewall": self._firewall.why,
            PACKET_FILTER: self._firewall.last.why_unclear,
            "the files of the OSIE": self._osie.why,
            "versions": self._versions.why,
            "images": self._images.why,
            "the database": self._database.why,
            "its container engine": self._engine.why,
            "the key of secrets": self._secrets.why,
            "where the audit is sent to": why_unsent,
            "time servers": self._time.why,
            QUESTIONS_BY_MAC: self._sources.unclear(),
            "memory": "" if host_memory else "the kernel does not tell it",
        }
        return Vitals(
            at=self._clock(),
            attachments=attachments(self._ours),
            shut_ports=self._firewall.last.shut,
            shut_replies=self._firewall.last.replies,
            limited_ports=self._firewall.last.limited,
            limited_replies=self._firewall.last.limited_replies,
            taken_ports=self._firewall.last.taken,
            filters_changed_at=self._filters.changed_at,
            unheard=tuple(self._sources.unheard()),
            tagged=tuple(self._sources.tagged()),
            arp_questions={each.mac: each for each in self._sources.arp_questions()},
            memory=host_memory,
            inodes=self._sources.inodes(),
            data_mount=self._sources.data_mount(),
            clock=replace(self._time.last, jump=self._watch.look(), newest=self._newest),
            damaged_osie=self._osie.last,
            other_versions=self._versions.last,
            damaged_images=images,
            registry=registry,
            database=self._sources.damage() or self._database.last,
            engine=self._engine.last,
            mirrors=tuple(self._sources.mirrors()),
            unclean_end=self._sources.unclean_end,
            refused_writes=tuple(self._sources.refused()),
            file_size_limit=self._sources.file_size_limit(),
            descriptors=self._sources.descriptors(),
            certificates=tuple(self._sources.certificates()),
            refused_certificates=tuple(self._sources.refused_certificates()),
            refused_handshakes=tuple(self._sources.refused_handshakes()),
            audit_broken=self._sources.audit_broken(),
            audit_unguarded=self._sources.audit_unguarded(),
            audit_unwritten=self._sources.audit_unwritten(),
            audit_unsent=tuple(each for each in deliveries if each.problem),
            secrets=self._secrets.last,
            operator_socket=self._sources.operator_socket(),
            host=host,
            unexamined={part: why for part, why in parts.items() if why} | {**(host.unexamined if host else {})},
        )

    async def _off_by(self) -> ClockVitals:
        offset, source = await self._sources.time()
        return ClockVitals(offset=offset, source=source, asked_at=self._clock())

    async def _osie_files(self, digests: FileDigests) -> tuple[DamagedFile, ...]:
        found: tuple[DamagedFile, ...] = ()
        # One that is just put in the place of another may be seen half old and half new.
        for again in (True, False):
            found = await asyncio.to_thread(lambda: digests.look(self._sources.osie()))
            if not found:
                break
            if again:
                await asyncio.sleep(SWAPPED_WITHIN)
        return found
