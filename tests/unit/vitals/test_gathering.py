"""All measurements together."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Interface
from pathlib import Path

import pytest

from tinkbox.model.audit_places import Delivery
from tinkbox.model.engine_trouble import EngineTrouble
from tinkbox.model.errors import Unavailable
from tinkbox.model.host_vitals import HostVitals
from tinkbox.model.vitals import QUESTIONS_BY_MAC, DamagedFile, Vitals
from tinkbox.model.write_fault import RefusedWrite, Unwritten, WriteFault
from tinkbox.vitals import gathering
from tinkbox.vitals.file_digests import DescribedFile
from tinkbox.vitals.firewall import FirewallReading
from tinkbox.vitals.gathering import Gatherer, Sources
from tinkbox.vitals.interfaces import OwnInterface

LOOPBACK = OwnInterface(name="lo", address=IPv4Interface("127.0.0.1/8"))
NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
GONE = DescribedFile(path=Path("/nowhere/vmlinuz"), size=1, sha256="0" * 64)


async def nothing_newer() -> datetime | None:
    return NOW - timedelta(days=1)


async def sound() -> tuple[tuple[DamagedFile, ...], str]:
    return (), ""


async def not_needed() -> EngineTrouble | None:
    raise Unavailable("no service of a workflow runs on this host")


async def no_server() -> tuple[timedelta | None, str]:
    raise Unavailable("no time server is configured on this host")


SOURCES = Sources(
    newest=nothing_newer,
    osie=tuple,
    versions=tuple,
    images=sound,
    database=str,
    engine=not_needed,
    time=no_server,
    refused=tuple,
    unheard=tuple,
)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "SWAPPED_WITHIN", 0.0)


async def measured(sources: Sources, enough: Callable[[Vitals], bool]) -> Vitals:
    """Vitals of an appliance on loopback, when they are enough."""
    gatherer = Gatherer([LOOPBACK], (), sources, lambda: NOW, lambda: 0.0, often=0.01)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        running = group.create_task(gatherer.run())
        while not enough(found := await gatherer.vitals()):
            await asyncio.to_thread(int)  # some turns of the loop, and of the threads
        running.cancel()
    return found


def is_looked_at(vitals: Vitals) -> bool:
    return "first time" not in " ".join(vitals.unexamined.values())


async def test_before_the_first_look_nothing_is_said_to_be_well() -> None:
    gatherer = Gatherer([LOOPBACK], (), SOURCES, lambda: NOW, lambda: 0.0)
    vitals = await gatherer.vitals()
    assert {"its own firewall", "the files of the OSIE", "images", "the database"} <= vitals.unexamined.keys()
    assert not gatherer.is_complete
    assert vitals.attachments[0].present
    assert vitals.memory is not None


async def test_damage_that_the_store_meets_is_told_before_its_next_check() -> None:
    vitals = await Gatherer((), (), replace(SOURCES, damage=lambda: "malformed"), lambda: NOW, lambda: 0.0).vitals()
    assert vitals.database == "malformed"


async def test_what_was_not_looked_at_is_told_with_why() -> None:
    vitals = await measured(SOURCES, is_looked_at)
    assert vitals.unexamined["its container engine"] == "no service of a workflow runs on this host"
    assert vitals.unexamined["time servers"] == "no time server is configured on this host"
    assert not {"the files of the OSIE", "images", "the database", "versions", "memory"} & vitals.unexamined.keys()
    assert vitals.clock is not None
    assert vitals.clock.newest == NOW - timedelta(days=1)


async def test_a_measurement_that_fails_keeps_no_other_from_being_made() -> None:
    def broken() -> Sequence[DescribedFile]:
        raise RuntimeError("a defect")

    async def away() -> datetime | None:
        raise Unavailable("the store is away")

    damaged = (DamagedFile(path="shell:v1", how="damaged"),)

    async def rotten() -> tuple[tuple[DamagedFile, ...], str]:
        return damaged, ""

    sources = replace(SOURCES, osie=broken, newest=away, images=rotten)
    vitals = await measured(sources, lambda found: is_looked_at(found) and bool(found.damaged_images))
    assert vitals.unexamined["the files of the OSIE"] == "it failed: RuntimeError: a defect"
    assert vitals.damaged_images == damaged
    assert vitals.clock is not None
    assert vitals.clock.newest is None


async def test_a_file_is_damaged_only_where_a_second_look_says_so() -> None:
    looks = iter([[GONE], []])  # the folder was just put in the place of the one before
    vitals = await measured(replace(SOURCES, osie=lambda: next(looks, [])), is_looked_at)
    assert vitals.damaged_osie == ()
    vitals = await measured(replace(SOURCES, osie=lambda: [GONE]), lambda found: bool(found.damaged_osie))
    assert vitals.damaged_osie[0].how == "it is missing"


FULL = RefusedWrite(since=NOW, what=Unwritten.DATABASE, text="the database: full", fault=WriteFault.FULL)


async def test_every_kind_of_refused_write_is_told_until_it_is_taken_again() -> None:
    standing = [FULL, replace(FULL, what=Unwritten.IMAGES)]
    gatherer = Gatherer((), (), replace(SOURCES, refused=lambda: standing), lambda: NOW, lambda: 0.0)
    assert (await gatherer.vitals()).refused_writes == (FULL, replace(FULL, what=Unwritten.IMAGES))
    del standing[0]
    assert (await gatherer.vitals()).refused_writes == (replace(FULL, what=Unwritten.IMAGES),)


async def test_a_clock_that_is_off_is_asked_about_again_until_it_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "UNTIL_RIGHT", 0.0)
    told = iter([timedelta(minutes=-7), timedelta(seconds=11), timedelta(seconds=9)])

    async def asked() -> tuple[timedelta | None, str]:
        return next(told), "ntp.example"

    vitals = await measured(
        replace(SOURCES, time=asked), lambda found: bool(found.clock and found.clock.offset == timedelta(seconds=9))
    )
    assert vitals.clock is not None
    assert not vitals.clock.is_off


async def test_a_clock_that_is_off_is_told_with_when_its_time_server_was_asked() -> None:
    async def off() -> tuple[timedelta | None, str]:
        return timedelta(hours=1), "ntp.example"

    times = [NOW]
    gatherer = Gatherer((), (), replace(SOURCES, time=off), lambda: times[-1], lambda: 0.0, often=0.01)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        running = group.create_task(gatherer.run())
        while (found := (await gatherer.vitals()).clock) is None or found.source == "":
            await asyncio.to_thread(int)
        running.cancel()
    times.append(NOW + timedelta(minutes=3))
    vitals = await gatherer.vitals()
    assert vitals.clock is not None
    assert (vitals.at, vitals.clock.asked_at) == (NOW + timedelta(minutes=3), NOW)


async def test_what_was_not_looked_at_of_the_host_is_told_beside_the_rest() -> None:
    host = HostVitals(unexamined={"the tc filters on lab": "tinkbox does not read them"})
    vitals = await Gatherer((), (), replace(SOURCES, host=lambda: host), lambda: NOW, lambda: 0.0).vitals()
    assert vitals.unexamined["the tc filters on lab"] == "tinkbox does not read them"
    assert "its own firewall" in vitals.unexamined


def test_tables_that_are_not_understood_are_named() -> None:
    assert FirewallReading().why_unclear == ""
    unclear = {"iptables-save": ("nat",), "nft list ruleset": ("bridge own", "inet mine")}
    assert FirewallReading(unclear=unclear, unread="nft failed").why_unclear == (
        "nft failed; iptables-save's table nat has rules that tinkbox does not understand: `iptables-save` shows them;"
        " nft's tables bridge own, inet mine have rules that tinkbox does not understand: `nft list ruleset` shows them"
    )


async def test_that_questions_by_mac_cannot_be_compared_is_not_examined() -> None:
    told = await measured(replace(SOURCES, unclear=lambda: "more came in"), lambda _: True)
    assert told.unexamined[QUESTIONS_BY_MAC] == "more came in"
    assert QUESTIONS_BY_MAC not in (await measured(SOURCES, lambda _: True)).unexamined


async def test_places_of_the_audit_that_cannot_be_looked_up_are_told_as_unexamined() -> None:
    async def unreadable() -> Sequence[Delivery]:
        raise Unavailable("the database is damaged")

    found = await measured(replace(SOURCES, deliveries=unreadable), lambda _: True)
    assert found.unexamined["where the audit is sent to"] == "the database is damaged"
