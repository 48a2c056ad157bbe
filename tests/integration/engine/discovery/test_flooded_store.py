"""A store that a flood of invented machines filled, as earlier releases let it: 200,000 rows of strangers.

The appliance starts with it, keeps what it knows, and gets rid of the rest a little at a time.
"""

import sqlite3
import tracemalloc
from contextlib import closing
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import TypeVar

import pytest

from tests.integration.engine.appliance import Appliance, appliance, mac
from tinkbox.engine.discovery.unknown_machines import LOADED
from tinkbox.engine.timeline.timeline import ROWS_AT_ONCE, STRANGERS
from tinkbox.engine.workflows import retention
from tinkbox.model.boot import Stage
from tinkbox.model.discovery import Standing, Stranger
from tinkbox.model.hardware import MacAddress
from tinkbox.model.sightings import Line
from tinkbox.store.database import Tables, UseCase

SIGHTINGS, LINES, LET_IN = 120_000, 60_000, 20_000
WAITING, REFUSED = MacAddress("fe:ff:ff:ff:ff:01"), MacAddress("fe:ff:ff:ff:ff:02")
MOST_MEMORY = 8 << 20
T = TypeVar("T")


def invented(number: int) -> str:
    return MacAddress.from_bytes((0x02_00_00_00_00_00 + number).to_bytes(6))


async def known(box: Appliance) -> None:
    """What no flood may cost: a machine with its timeline and what it said, one that waits, and one that was refused."""
    await box.machine(1)
    for stage in (Stage.DISCOVER, Stage.OFFERED, Stage.WORKER):
        box.machines.progress.saw(mac(1), stage)
    await box.machines.timeline.save()
    now = box.clock()
    line = Line(mac=mac(1), at=now, severity=6, program="kernel", text="it boots")
    await box.store.write(lambda tables: tables.syslog.save({1: line}))
    strangers = [
        Stranger(mac=each, standing=standing, port="eth0", first_seen=now, last_seen=now)
        for each, standing in ((WAITING, Standing.WAITING), (REFUSED, Standing.REFUSED))
    ]
    await box.store.write(lambda tables: tables.discovery.put(strangers))


def flood(path: Path, now: str, share: int) -> None:
    """What was seen later of machines that nobody has: a `share`th of 200,000 rows."""
    with closing(sqlite3.connect(path)) as store:
        store.executemany(
            "INSERT INTO sighting (number, mac, at, stage, detail, facts) VALUES (?, ?, ?, 'IGNORED', 'invented', '{}')",
            ((1_000 + number, invented(number), now) for number in range(SIGHTINGS // share)),
        )
        store.executemany(
            "INSERT INTO syslog (number, mac, at, severity, program, text) VALUES (?, ?, ?, 6, 'x', 'invented')",
            ((1_000 + number, invented(number % 30_000), now) for number in range(LINES // share)),
        )
        store.executemany(
            "INSERT INTO stranger (mac, standing, port, architecture, boot_id, inventory, problem, first_seen, last_seen) "
            "VALUES (?, 'booting', 'eth0', 'x86_64', '', NULL, '', ?, ?)",
            ((invented(number), now, now) for number in range(LET_IN // share)),
        )
        store.commit()


async def rows(box: Appliance) -> list[int]:
    """How many sightings, lines of syslog and strangers are stored."""

    def counted(tables: Tables) -> list[int]:
        sql = tables.room._sql
        return [
            sql.execute(f"SELECT count(*) FROM {each}").fetchone()[0] for each in ("sighting", "syslog", "stranger")
        ]

    return await box.store.read(counted)


async def flooded(path: Path, share: int = 1) -> Path:
    """A store in a file that was flooded."""
    async with appliance(path) as box:
        await known(box)
    flood(path, (box.clock() + timedelta(seconds=1)).isoformat(), share)
    return path


async def test_a_store_with_200_000_rows_of_strangers_is_started_with_and_cleared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "PAUSE", 0.0)
    path = await flooded(tmp_path / "db")
    tracemalloc.start()
    async with appliance(path, numbers=count(1_000)) as box:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < MOST_MEMORY, "what is taken up is bounded while it is read"
        assert sum(await rows(box)) > 200_000
        assert len(box.machines.timeline.machines()) == STRANGERS + 1
        assert len(box.discovery.all()) == LOADED + 1
        snapshot = await box.overview.snapshot("1")
        assert [each.mac for each in snapshot.machines] == [mac(1)]
        deleted = await sizes(box, monkeypatch)
        await box.retainer.look()
        assert max(deleted) <= 2 * ROWS_AT_ONCE, "each transaction is a short one"
        assert await rows(box) == [STRANGERS + 3, 1, LOADED + 1]
        await whole(box)
    async with appliance(path, numbers=count(2_000)) as box:
        assert await rows(box) == [STRANGERS + 3, 1, LOADED + 1]
        await whole(box)


async def sizes(box: Appliance, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each transaction deletes from now on."""
    deleted: list[int] = []
    write = box.store.write

    async def written(use_case: UseCase[T]) -> T:
        def counted(tables: Tables) -> tuple[T, int]:
            before = tables.room._sql.total_changes
            return use_case(tables), tables.room._sql.total_changes - before

        value, changes = await write(counted)
        # Each row that goes is counted in another.
        deleted.append(changes // 2)
        return value

    monkeypatch.setattr(box.store, "write", written)
    return deleted


async def whole(box: Appliance) -> None:
    """What is known is all there."""
    told = [each.stage for each in await box.machines.timeline.of(mac(1))]
    assert told == [Stage.DISCOVER, Stage.OFFERED, Stage.WORKER]
    assert [each.text for each in await box.syslog.of([mac(1)], 9)] == ["it boots"]
    stored = await box.store.read(lambda tables: tables.discovery.some(LOADED))
    assert {WAITING: Standing.WAITING, REFUSED: Standing.REFUSED}.items() <= {
        each.mac: each.standing for each in stored
    }.items()
    assert box.machines.timeline.newest(invented(SIGHTINGS - 1)), "of the strangers those seen last are kept"


async def test_one_that_comes_while_the_store_is_cleared_is_kept(tmp_path: Path) -> None:
    async with appliance(await flooded(tmp_path / "db", 20), numbers=count(1_000)) as box:
        gone = MacAddress(invented(0))
        assert box.machines.timeline.newest(gone) is None
        assert await box.machines.timeline.forget_surplus()
        assert len(await box.machines.timeline.of(MacAddress(invented(4_000)))) == 1, "its turn comes later"
        comes = MacAddress(invented(4_000))
        box.machines.timeline.saw(comes, Stage.DISCOVER)
        await box.machines.timeline.save()
        while await box.machines.timeline.forget_surplus():
            assert len(await box.machines.timeline.of(comes)) == 2
        assert not await box.machines.timeline.forget_surplus()
        assert len(await box.machines.timeline.of(comes)) == 2
