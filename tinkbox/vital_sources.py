"""Where the appliance's own measurements come from: what `vitals` is given of the store, the registry, the OSIEs and the engine."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path
from typing import Final

from tinkbox import __version__
from tinkbox.engine.machines.known_machines import KnownMachines
from tinkbox.listening import Listening
from tinkbox.model.engine_trouble import EngineFault, EngineTrouble
from tinkbox.model.errors import Unavailable
from tinkbox.model.vitals import DamagedFile, OtherVersion
from tinkbox.model.write_fault import RefusedWrite, Unwritten
from tinkbox.osie.image import OsieImage, undescribed
from tinkbox.refused_writes import RefusedWrites
from tinkbox.registry.storage import ImageStore
from tinkbox.runtime import ContainerFailed, EngineAway
from tinkbox.runtime.docker import DockerRuntime
from tinkbox.runtime.docker_faults import is_socket
from tinkbox.store.database import Store
from tinkbox.vitals.file_digests import DescribedFile
from tinkbox.vitals.flows import Port
from tinkbox.vitals.interfaces import OwnInterface, bound_number

# Without one of these nothing of what machines hand in is kept.
_KEEPING: Final = (Unwritten.DATABASE, Unwritten.DAMAGED, Unwritten.HANDED_IN)
# To name the images of damaged blobs costs the more the more images there are: without news it is done so often, in seconds.
_NAMED_EVERY: Final = 300.0
_ENGINE_SECONDS: Final = 5.0
_ASKED_FOR: Final = 86_400.0  # seconds, as long as the doctor tells of a failure among many machines
# There once the kernel has its helper for TFTP, whether or not a rule uses it.
_TFTP_HELPER: Final = Path("/sys/module/nf_conntrack_tftp")
# Where engines have their sockets, as Docker's packages place them.
_USUAL_SOCKETS: Final = (Path("/var/run/docker.sock"),)


def ports_for_machines(networks: Sequence[Listening], *, direct: bool, single_port: bool) -> Iterator[Port]:
    """What machines have to reach on each network; `direct` is as in `Port`, `single_port` tells that TFTP sends from where it was asked."""
    for each in networks:
        udp = {"DHCP": each.dhcp, "TFTP": each.tftp, "PXE": each.boot_server, "syslog": each.syslog}
        if each.names is not None:
            udp["DNS"] = each.names[0]
        sockets = [("udp", what, found) for what, found in udp.items() if found is not None]
        tls = [("tcp", "HTTPS", each.node_tls)] if each.node_tls is not None else []
        for protocol, what, found in [("tcp", "HTTP", each.node), *tls, *sockets]:
            yield Port(
                interface=each.interface.name,
                address=each.interface.address,
                network=each.interface.network,
                port=found.getsockname()[1],
                protocol=protocol,
                what=what,
                direct=direct,
                followed=single_port or _TFTP_HELPER.exists(),
            )


def own_interfaces(networks: Sequence[Listening]) -> Iterator[OwnInterface]:
    """The provisioning interfaces, with what our sockets there are bound to."""
    for each in networks:
        at = each.interface
        yield OwnInterface(
            name=at.name,
            address=IPv4Interface((at.address, at.network.prefixlen)),
            bound=bound_number(each.tftp),
        )


def reserved_addresses(known: KnownMachines) -> Iterator[IPv4Address]:
    """Those that hardware documents have for machines that are not retired."""
    for each in known.all():
        if each.retired is None:
            yield from (one.address for one in each.hardware.interfaces if one.address is not None)


def osie_files(folder: Path, images: Callable[[], Sequence[OsieImage]]) -> Iterator[DescribedFile]:
    """The files of all OSIEs below a folder, as their descriptions have them, and the descriptions that are missing; raises as `images` does."""
    for image in images():
        for name, file in sorted(image.files.items()):
            yield DescribedFile(path=folder / image.architecture / name, size=file.size, sha256=file.sha256)
    yield from (DescribedFile(path=each, size=0, sha256="") for each in undescribed(folder))


def other_versions(images: Callable[[], Sequence[OsieImage]]) -> Iterator[OtherVersion]:
    """The OSIEs that another version of tinkbox made; raises as `images` does."""
    for image in images():
        if image.version != __version__:
            yield OtherVersion(what=f"the OSIE for {image.architecture}", version=image.version)


async def newest_time(store: Store) -> datetime | None:
    """The time of what the store was told last."""
    told = await store.read(lambda tables: (tables.events.newest_at(), tables.sightings.newest_at()))
    return max((each for each in told if each is not None), default=None)


def refused(writes: RefusedWrites) -> tuple[RefusedWrite, ...]:
    """What is refused, the longest first; `damage` tells of a damaged database."""
    return tuple(each for each in writes.all if each.what is not Unwritten.DAMAGED)


def damage(writes: RefusedWrites) -> str:
    """What SQLite said where the database could not be read or written because it is damaged; empty: it never was."""
    return next((each.text for each in writes.all if each.what is Unwritten.DAMAGED), "")


def first_unkept(writes: RefusedWrites) -> tuple[datetime, str] | None:
    """Since when, and why, what machines hand in cannot be kept."""
    return next(((each.since, each.text) for each in writes.all if each.what in _KEEPING), None)


class DamagedImages:
    """Which images are damaged, by their names."""

    def __init__(self, images: ImageStore) -> None:
        self._images = images
        self._blobs: frozenset[str] | None = None
        self._named_at = 0.0
        self._named: tuple[DamagedFile, ...] = ()

    async def look(self) -> tuple[tuple[DamagedFile, ...], str]:
        """The damaged ones, each with what is wrong; and why none can be used, or nothing.  It hashes blobs, some each time."""
        try:
            blobs = await self._images.damaged_blobs()
        except Unavailable as why:
            self._blobs = None
            return (), str(why)
        is_old = time.monotonic() - self._named_at >= _NAMED_EVERY
        if self._named or is_old or blobs != self._blobs:
            lines = await self._images.images()
            self._named = tuple(
                DamagedFile(path=_name(each["name"], each["tag"], each["digest"]), how=each["problem"])
                for each in lines
                if each["problem"]
            )
            self._blobs, self._named_at = blobs, time.monotonic()
        return self._named, ""


def _name(name: str, tag: str, digest: str) -> str:
    return f"{name}:{tag}" if tag else f"{name}@{digest}"


class NeededEngine:
    """The engine of this host, as `engine_trouble` finds it.

    One that was away when it was needed is asked until it answers, for a day at most: a workflow that failed for it needs it no more, and
    fails again when it is retried meanwhile.
    """

    def __init__(self, docker: DockerRuntime, steady: Callable[[], float] = time.monotonic) -> None:
        self._docker = docker
        self._steady = steady
        self._away_until: float | None = None

    async def look(self, *, needed: bool) -> EngineTrouble | None:
        """Raises Unavailable where it is not needed."""
        if needed:
            self._away_until = self._steady() + _ASKED_FOR
        still = self._away_until is not None and self._steady() < self._away_until
        trouble = await engine_trouble(self._docker, needed=still)
        self._away_until = self._away_until if trouble is not None else None
        return trouble


async def engine_trouble(docker: DockerRuntime, *, needed: bool) -> EngineTrouble | None:
    """Why this host's engine does not answer, None where it does; raises Unavailable where it is not needed."""
    if not needed:
        raise Unavailable("no service of a workflow runs on this host")
    try:
        async with asyncio.timeout(_ENGINE_SECONDS):
            await docker.version()
    except EngineAway as error:
        missing = error.fault in (EngineFault.NO_SOCKET, EngineFault.NOT_A_SOCKET)
        others = tuple(f"unix://{each}" for each in _USUAL_SOCKETS if missing and is_socket(each))
        return EngineTrouble(fault=error.fault, why=str(error), url=docker.url, others=others)
    except ContainerFailed as error:
        return EngineTrouble(fault=EngineFault.SILENT, why=str(error), url=docker.url)
    except TimeoutError:
        why = f"the Docker engine at {docker.url} does not answer within {_ENGINE_SECONDS:.0f} seconds"
        return EngineTrouble(fault=EngineFault.SILENT, why=why, url=docker.url)
    return None
