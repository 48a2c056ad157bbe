"""Boots as the timeline tells them, for the doctor's rules."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from tinkbox.engine.doctor.case import Case, OsieSize
from tinkbox.model.boot import Asker, Boot, Stage
from tinkbox.model.diagnosis import Rival
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.model.leases import Subnet
from tinkbox.model.sightings import Fact, Sighting

MAC = MacAddress("08:00:27:00:00:01")
OURS = IPv4Address("172.30.0.1")
MINE = "172.30.0.21"
BEGIN = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
NETWORK = Subnet(network=IPv4Network("172.30.0.0/24"), interface="eth1")
OSIE = OsieSize(architecture="x86_64", ramdisk=81 << 20)
KNOWN = Interface(mac=MAC, address=IPv4Address(MINE))


def seen(second: float, stage: Stage, detail: str = "", **facts: Fact) -> Sighting:
    """The machine at a stage, so many seconds after the beginning."""
    return Sighting(mac=MAC, at=BEGIN + timedelta(seconds=second), stage=stage, detail=detail, facts=facts)


def asked(second: float, asker: Asker = Asker.PXE, architecture: int = 7, **facts: Fact) -> Sighting:
    return seen(second, Stage.DISCOVER, asker.value, **{"asker": asker.value, "architecture": architecture, **facts})


def answered(second: float, address: str = MINE, **facts: Fact) -> list[Sighting]:
    """An address that the machine was offered and took."""
    told: dict[str, Fact] = {"address": address, "server": str(OURS), "boot": Boot.OSIE.value, **facts}
    stages = (Stage.OFFERED, Stage.REQUESTED, Stage.LEASED)
    return [seen(second + each / 10, stage, address, **told) for each, stage in enumerate(stages)]


def fetched(second: float, name: str = "snponly.efi", blksize: int = 1468) -> Sighting:
    return seen(second, Stage.LOADER, f"{name}, 250000 bytes", name=name, bytes=250_000, blksize=blksize)


def failed(
    second: float, why: str, block: int, *, name: str = "snponly.efi", blksize: int = 1468, **facts: Fact
) -> Sighting:
    told: dict[str, Fact] = {"name": name, "why": why, "block": block, "blocks": 171, "blksize": blksize, **facts}
    return seen(second, Stage.LOADER_FAILED, f"{name}: nothing heard after block {block} of 171", **told)


def osie_boot(second: float) -> list[Sighting]:
    """A boot that goes well, up to the worker."""
    return [
        asked(second),
        *answered(second + 1),
        fetched(second + 3),
        asked(second + 5, Asker.IPXE),
        *answered(second + 6),
        seen(second + 7, Stage.SCRIPT),
        seen(second + 8, Stage.KERNEL),
        seen(second + 9, Stage.RAMDISK),
        seen(second + 40, Stage.WORKER),
    ]


def case(*sightings: Sighting, after: float = 0, **more: Any) -> Case:
    """A known machine with a workflow, seen like that, looked at so many seconds later."""
    now = (sightings[-1].at if sightings else BEGIN) + timedelta(seconds=after)
    known = Case(
        now=now,
        since=BEGIN - timedelta(hours=1),
        address=OURS,
        mac=MAC,
        sightings=sightings,
        interface=KNOWN,
        ticket=True,
        subnets=(NETWORK,),
        osie=(OSIE,),
        rivals=(),
    )
    return replace(known, **more)


def appliance(**more: Any) -> Case:
    return replace(case(), mac=None, interface=None, ticket=False, **more)


def rival(**more: Any) -> Rival:
    known = Rival(
        interface="eth1",
        server=IPv4Address("172.30.0.9"),
        mac=MacAddress("00:25:90:00:00:09"),
        offered=IPv4Address("172.30.0.77"),
    )
    return replace(known, **more)
