"""What machines say by syslog, over a real store."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Clock, mac
from tests.integration.store.stores import opened_store
from tinkbox.engine.timeline.syslog import (
    BURST,
    DISKS_TOLD,
    FIRST_TOLD,
    KERNEL_LINES,
    LINES_PER_SECOND,
    NEWEST_TOLD,
    Syslog,
)
from tinkbox.model.errors import Unavailable
from tinkbox.model.hardware import MacAddress
from tinkbox.store.database import Store, UseCase
from tinkbox.store.syslog import KEPT_LINES
from tinkbox.wire.syslog import Message, Severity


@dataclass
class Bench:
    store: Store
    clock: Clock = field(default_factory=Clock)
    seen: set[MacAddress] = field(default_factory=lambda: {mac(1), mac(2)})

    def __post_init__(self) -> None:
        self.syslog = Syslog(self.store, self.clock, lambda each: each in self.seen)

    def say(self, number: int, *texts: str) -> None:
        for text in texts:
            message = Message(severity=Severity.INFORMATIONAL, facility=0, program="kernel", text=text)
            self.syslog.said(mac(number), message)

    async def texts(self, *numbers: int, most: int = KEPT_LINES) -> list[str]:
        return [each.text for each in await self.syslog.of([mac(each) for each in numbers], most)]


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[Bench]:
    async with opened_store(path) as store:
        bench = Bench(store)
        await bench.syslog.load()
        yield bench


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with opened(tmp_path / "db") as bench:
        yield bench


async def test_what_a_machine_said_is_told_before_and_after_it_is_saved(tmp_path: Path) -> None:
    async with opened(tmp_path / "db") as bench:
        bench.say(1, "one", "two")
        bench.say(2, "another")
        for _ in range(2):
            (first, _) = await bench.syslog.of([mac(1)], 10)
            assert (first.mac, first.at, first.severity, first.program, first.text) == (
                mac(1), bench.clock.now, 6, "kernel", "one",
            )  # fmt: skip
            assert await bench.texts(1, 2) == ["one", "two", "another"]
            assert await bench.texts(1, 2, most=2) == ["two", "another"]
            assert await bench.texts(1, most=0) == []
            await bench.syslog.save()
        bench.say(1, "three")
        assert await bench.texts(1, most=2) == ["two", "three"]
        await bench.syslog.save()
    async with opened(tmp_path / "db") as bench:
        bench.say(1, "four")
        await bench.syslog.save()
        assert await bench.texts(1) == ["one", "two", "three", "four"]


async def test_who_was_never_seen_is_not_listened_to(bench: Bench) -> None:
    bench.say(3, "who am I?")
    assert not bench.syslog.admits(mac(3))
    assert await bench.texts(3) == []


async def test_one_that_floods_is_cut_off_is_told_of_and_hurts_nobody_else(bench: Bench) -> None:
    for number in range(int(BURST) + 300):
        bench.say(1, str(number))
    bench.say(2, "still heard")
    assert bench.syslog.admits(mac(2))
    assert not bench.syslog.admits(mac(1))
    assert len(await bench.texts(1)) == KEPT_LINES
    assert (await bench.texts(1))[-1] == str(int(BURST) - 1)
    assert await bench.texts(2) == ["still heard"]
    bench.clock.forward(1 / LINES_PER_SECOND)
    bench.say(1, "calm again", "not yet")
    assert (await bench.texts(1))[-2:] == [
        "it said too much: what came 301 times before this was dropped",
        "calm again",
    ]
    bench.clock.forward(100_000)
    bench.say(1, *["again"] * int(BURST + 1))
    assert (await bench.texts(1)).count("again") == KEPT_LINES
    assert not bench.syslog.admits(mac(1))
    bench.clock.forward(1 / LINES_PER_SECOND)
    bench.say(1, "at last")
    assert (await bench.texts(1))[-2:] == ["it said too much: what came 2 times before this was dropped", "at last"]


async def test_one_that_floods_with_nothing_is_cut_off_as_well(bench: Bench) -> None:
    for _ in range(int(BURST)):
        assert bench.syslog.admits(mac(1))
        bench.syslog.said(mac(1), None)
    assert not bench.syslog.admits(mac(1))
    assert await bench.texts(1) == []


async def _saved(store: Store, machine: MacAddress) -> bool:
    return bool(await store.read(lambda tables: tables.syslog.of([machine], 9)))


async def test_what_waits_to_be_saved_is_bounded(bench: Bench) -> None:
    for _ in range(10):
        bench.say(1, *map(str, range(int(BURST))))
        bench.clock.forward(1_000)
    assert len(bench.syslog._unsaved[mac(1)]) <= 2 * KEPT_LINES


async def test_lines_are_saved_by_themselves(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinkbox.engine.batch_saving.SAVE_EVERY", 0.0)
    async with asyncio.TaskGroup() as parts:
        saving = parts.create_task(bench.syslog.run())
        bench.say(1, "one")
        async with asyncio.timeout(60):
            while not await _saved(bench.store, mac(1)):  # noqa: ASYNC110 - the disk rings no bell
                await asyncio.sleep(0)
        saving.cancel()


async def test_only_the_newest_lines_of_each_machine_are_kept(bench: Bench) -> None:
    bench.say(2, "quiet")
    for begin in range(0, 3 * KEPT_LINES, KEPT_LINES):
        bench.say(1, *map(str, range(begin, begin + KEPT_LINES)))
        await bench.syslog.save()
    kept = list((await bench.store.read(lambda tables: tables.syslog.of([mac(1)], 10_000))).values())
    assert len(await bench.store.read(lambda tables: tables.syslog.of([mac(2)], 10))) == 1
    assert [each.text for each in kept] == list(map(str, range(2 * KEPT_LINES, 3 * KEPT_LINES)))


async def test_shares_of_machines_that_are_no_more_are_forgotten(bench: Bench) -> None:
    bench.say(1, "x")
    bench.seen = {mac(2)}
    bench.say(2, "x")
    assert list(bench.syslog._shares) == [mac(2)]


async def test_what_a_full_disk_refused_is_saved_later_the_newest_of_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = bench.store.write

    async def full(use_case: object) -> None:
        bench.say(1, "meanwhile")
        raise Unavailable("the disk is full")

    bench.say(1, *map(str, range(KEPT_LINES)))
    monkeypatch.setattr(bench.store, "write", full)
    with pytest.raises(Unavailable):
        await bench.syslog.save()
    monkeypatch.setattr(bench.store, "write", write)
    await bench.syslog.save()
    kept = await bench.store.read(lambda tables: [each.text for each in tables.syslog.of([mac(1)], 10_000).values()])
    assert kept == [*map(str, range(1, KEPT_LINES)), "meanwhile"]


async def test_what_is_being_saved_is_told_all_the_while(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    write, told = bench.store.write, []

    async def ask_then_write(use_case: UseCase[None]) -> None:
        told.extend(await bench.texts(1))
        bench.say(1, "two")
        await write(use_case)

    bench.say(1, "one")
    monkeypatch.setattr(bench.store, "write", ask_then_write)
    await bench.syslog.save()
    assert told == ["one"]
    monkeypatch.undo()
    assert await bench.texts(1) == ["one", "two"]
    await bench.syslog.save()
    assert await bench.texts(1) == ["one", "two"]


async def test_two_who_save_at_once_save_each_line_once(bench: Bench) -> None:
    bench.say(1, "one", "two")
    async with asyncio.TaskGroup() as both:
        for _ in range(2):
            both.create_task(bench.syslog.save())
    assert await bench.texts(1) == ["one", "two"]
    assert await bench.texts(2) == []


async def test_nothing_is_kept_of_a_machine_that_was_forgotten_meanwhile(bench: Bench) -> None:
    bench.say(1, "one")
    bench.say(2, "another")
    bench.seen.discard(mac(1))
    await bench.syslog.save()
    assert await bench.texts(1, 2) == ["another"]


TROUBLE = (
    "Out of memory: Killed process 412 (tail) total-vm:809344kB, anon-rss:805376kB",
    "I/O error, dev sda, sector 1",
    "bnx2 0000:02:00.0: firmware: failed to load bnx2/bnx2-mips-09.fw (-2)",
    "CPU3: Core temperature above threshold, cpu clock throttled (total events = 12)",
    "mce: [Hardware Error]: CPU 2: Machine Check: 0 Bank 5: bea0000000000108",
    "INFO: task dd:1234 blocked for more than 120 seconds.",
    "Kernel panic - not syncing: Fatal exception",
)


async def of_kernel(bench: Bench, since: datetime, until: datetime | None = None) -> list[str]:
    return [each.text for each in await bench.syslog.of_kernel([mac(1)], since, until)]


@pytest.mark.parametrize("saves", [False, True])
async def test_a_storm_drives_out_nothing_else_that_the_kernel_told_of(bench: Bench, saves: bool) -> None:
    since = bench.clock.now
    bench.say(1, "Linux version 6.1", *TROUBLE)
    for begin in range(0, 5_000, 500):
        bench.say(1, *(f"I/O error, dev vd{each}, sector 1" for each in range(begin, begin + 500)))
        bench.clock.forward(10)
        if saves:
            await bench.syslog.save()
    said = await of_kernel(bench, since)
    assert said[: len(TROUBLE)] == [*TROUBLE]
    assert said[len(TROUBLE) :][: DISKS_TOLD - 1] == [
        f"I/O error, dev vd{each}, sector 1" for each in range(DISKS_TOLD - 1)
    ]
    assert len(said) == len(TROUBLE) + DISKS_TOLD - 1 + KERNEL_LINES


async def test_of_each_kind_of_trouble_the_first_and_newest_lines_are_kept(bench: Bench) -> None:
    since = bench.clock.now
    bench.say(1, *(f"I/O error, dev sda, sector {each}" for each in range(20)))
    bench.say(1, *["something else"] * 2 * KERNEL_LINES)
    said = [each for each in await of_kernel(bench, since) if each != "something else"]
    kept = [*range(FIRST_TOLD), *range(20 - NEWEST_TOLD, 20)]
    assert said == [f"I/O error, dev sda, sector {each}" for each in kept]


async def test_trouble_before_an_action_leaves_room_for_that_of_the_action(bench: Bench) -> None:
    bench.say(1, *(f"I/O error, dev vd{each}, sector 1" for each in range(DISKS_TOLD)))
    bench.clock.forward(10)
    since = bench.clock.now
    assert await of_kernel(bench, since) == []
    bench.say(1, TROUBLE[1])
    until = bench.clock.now
    bench.clock.forward(10)
    bench.say(1, "afterwards", TROUBLE[0], *["something else"] * 2 * KERNEL_LINES)
    assert (await of_kernel(bench, since))[:2] == [TROUBLE[1], TROUBLE[0]]
    assert await of_kernel(bench, since, until) == [TROUBLE[1]]


async def test_trouble_of_machines_that_are_no_more_is_forgotten(bench: Bench) -> None:
    bench.say(1, *TROUBLE)
    bench.seen = {mac(2)}
    bench.say(2, "x")
    assert not bench.syslog._troubles
