"""The boot timeline of machines, known or not, over a real store."""

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Clock
from tests.integration.store.stores import opened_store
from tinkbox.engine.timeline import timeline as module
from tinkbox.engine.timeline.sighting_rules import MOST_IN_ITS_NAME, Unnoted
from tinkbox.engine.timeline.stalls import PATIENCE, stalled
from tinkbox.engine.timeline.timeline import EVIDENCE_OF_BOOT, KEPT_OF_BOOT, STRANGERS, Timeline
from tinkbox.model.boot import Asker, Stage
from tinkbox.model.errors import Unavailable
from tinkbox.model.hardware import MacAddress
from tinkbox.model.sightings import OTHER_HOST, Line, Sighting
from tinkbox.store.database import Store
from tinkbox.store.sightings import KEPT_SIGHTINGS


def mac(number: int) -> MacAddress:
    return MacAddress.from_bytes((0x02_00_00_00_00_00 + number).to_bytes(6))


KNOWN, GREEDY = mac(0xFFFFFF), mac(0xFFFFFE)


@dataclass
class Bench:
    store: Store
    clock: Clock = field(default_factory=Clock)
    known: set[MacAddress] = field(default_factory=lambda: {KNOWN})
    rung: int = 0

    def __post_init__(self) -> None:
        self.timeline = Timeline(self.store, self.clock, self.wake, lambda each: each in self.known)

    def wake(self) -> None:
        self.rung += 1

    async def stages(self, of: MacAddress) -> list[Stage]:
        return [each.stage for each in await self.timeline.of(of)]


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[Bench]:
    async with opened_store(path) as store:
        bench = Bench(store)
        await bench.timeline.load()
        yield bench


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with opened(tmp_path / "db") as bench:
        yield bench


def boot(bench: Bench, of: MacAddress, *stages: Stage) -> None:
    """A machine is switched on, and comes as far as that."""
    bench.clock.forward(700)
    bench.timeline.saw(of, Stage.DISCOVER, asker=Asker.PXE)
    for stage in stages:
        bench.clock.forward(1)
        bench.timeline.saw(of, stage)


def stage_of(seen: Sighting | None) -> Stage | None:
    return seen.stage if seen else None


async def test_who_fetched_the_kernel_of_an_osie_before_the_start_is_known_whatever_it_booted_since(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path / "db") as bench:
        assert bench.timeline.kernel_fetched is None
        for each in (mac(1), KNOWN):
            boot(bench, each, Stage.KERNEL)
            boot(bench, each, Stage.LOCAL_DISK)
        newest = (await bench.timeline.of(KNOWN))[1]
        await bench.timeline.save()
    async with opened(tmp_path / "db") as bench:
        assert (bench.timeline.kernel_fetched, newest.stage) == (newest, Stage.KERNEL)


async def test_what_was_seen_of_any_machine_is_told_before_and_after_it_is_saved(bench: Bench) -> None:
    bench.timeline.saw(KNOWN, Stage.DISCOVER, "PXE\n", xid=7)
    bench.timeline.saw(mac(1), Stage.IGNORED, "nobody knows it")
    for _ in range(2):
        (first,) = await bench.timeline.of(KNOWN)
        assert (first.mac, first.at, first.stage, first.detail) == (KNOWN, bench.clock.now, Stage.DISCOVER, "PXE")
        assert first.facts == {"xid": 7}
        (other,) = await bench.timeline.of(mac(1))
        assert other.detail == "nobody knows it"
        assert [each.stage for each in await bench.timeline.of(mac(1), KNOWN)] == [Stage.DISCOVER, Stage.IGNORED]
        await bench.timeline.save()
    assert await bench.timeline.of(mac(2)) == []
    assert bench.rung == 2


async def test_no_detail_looks_like_a_command_of_ours(bench: Bench) -> None:
    bench.timeline.saw(KNOWN, Stage.LOADER_FAILED, "`tinkbox workflow cancel node1` is not served")
    (seen,) = await bench.timeline.of(KNOWN)
    assert seen.detail == "'tinkbox workflow cancel node1' is not served"


async def test_the_newest_boot_is_told_apart_from_earlier_ones(bench: Bench) -> None:
    first, second = [Stage.DISCOVER, Stage.LEASED], [Stage.DISCOVER, Stage.OFFERED, Stage.LEASED]
    boot(bench, KNOWN, Stage.LEASED)
    boot(bench, KNOWN, Stage.OFFERED)
    assert stage_of(bench.timeline.newest(KNOWN)) is Stage.OFFERED
    for _ in range(2):
        # A lease is renewed for as long as its boot lasts; one of another boot is another lease.
        bench.timeline.saw(KNOWN, Stage.LEASED)
        assert await bench.stages(KNOWN) == first + second
        bench.clock.forward(1_800)
    assert bench.timeline.newest(mac(1)) is None


async def test_machines_are_listed_with_the_one_seen_last_first(bench: Bench) -> None:
    for each in (mac(1), KNOWN, mac(2), mac(1)):
        bench.clock.forward(200)
        bench.timeline.saw(each, Stage.IGNORED)
    assert [each.mac for each in bench.timeline.machines()] == [mac(1), mac(2), KNOWN]


async def test_a_machine_that_asks_again_and_again_takes_one_line(bench: Bench) -> None:
    for _ in range(20):
        bench.timeline.saw(KNOWN, Stage.DISCOVER, "PXE", asker=Asker.PXE, secs=0)
        bench.timeline.saw(KNOWN, Stage.OFFERED, "172.30.0.11")
        await bench.timeline.save()
        bench.clock.forward(8)
    bench.timeline.saw(KNOWN, Stage.OFFERED, "172.30.0.11")
    asked, offered = await bench.timeline.of(KNOWN)
    assert asked.facts == {"asker": Asker.PXE, "secs": 0, "count": 20, "lasted": 152.0}
    assert offered.facts["count"] == 21, "what is not saved yet is told"


async def test_what_another_host_fetches_at_its_address_is_no_progress_and_takes_hardly_any_room(bench: Bench) -> None:
    boot(bench, mac(1), Stage.DISCOVER, Stage.SCRIPT, Stage.KERNEL, Stage.STEP_FAILED)
    for turn in range(500):
        stage = (Stage.KERNEL, Stage.RAMDISK)[turn % 2]
        bench.timeline.saw(mac(1), stage, f"{turn} bytes", **{OTHER_HOST: mac(3 + turn % 7)})
    assert stage_of(bench.timeline.newest(mac(1))) is Stage.STEP_FAILED
    assert [each.stage for each in bench.timeline.machines()] == [Stage.STEP_FAILED]
    told = await bench.timeline.of(mac(1))
    assert [each.stage for each in told[:4]] == [Stage.DISCOVER, Stage.SCRIPT, Stage.KERNEL, Stage.STEP_FAILED]
    assert len(told) == 4 + 2 * MOST_IN_ITS_NAME


async def test_a_machine_at_whose_address_only_another_host_was_is_not_seen(bench: Bench) -> None:
    bench.timeline.saw(mac(1), Stage.LOADER, "ipxe.efi", **{OTHER_HOST: mac(3)})
    assert bench.timeline.newest(mac(1)) is None
    assert bench.timeline.machines() == []
    assert len(await bench.timeline.of(mac(1))) == 1


async def test_machine_for_which_bytes_flow_has_not_stalled(bench: Bench) -> None:
    """Whether what it asked for was saved meanwhile or not."""
    boot(bench, KNOWN, Stage.SCRIPT)
    for saves in (True, False):
        bench.clock.forward(PATIENCE[Stage.SCRIPT])
        bench.timeline.moves(KNOWN)
        if saves:
            await bench.timeline.save()
        bench.clock.forward(PATIENCE[Stage.SCRIPT])
        newest = bench.timeline.newest(KNOWN)
        assert newest is not None
        assert (await bench.timeline.of(KNOWN))[-1] == newest
        assert stalled(newest, bench.clock()) == ""
    bench.clock.forward(1)
    assert stalled(newest, bench.clock()) == "stalled here for 1 min 1 s"
    rung = bench.rung
    bench.timeline.moves(mac(1))  # which was never seen
    assert bench.rung == rung
    assert await bench.stages(KNOWN) == [Stage.DISCOVER, Stage.SCRIPT]


async def test_everything_is_there_again_after_a_restart(tmp_path: Path) -> None:
    async with opened(tmp_path / "db") as bench:
        boot(bench, KNOWN, Stage.SCRIPT, Stage.KERNEL)
        boot(bench, KNOWN, Stage.LEASED)
        boot(bench, mac(1), Stage.IGNORED)
        bench.timeline.saw(mac(1), Stage.DISCOVER, asker=Asker.PXE)
        await bench.timeline.save()
        before = bench.timeline.machines()
        told = await bench.timeline.of(KNOWN)
    async with opened(tmp_path / "db") as bench:
        bench.clock.forward(2_500)
        assert bench.timeline.machines() == before
        assert await bench.timeline.of(KNOWN) == told
        bench.timeline.saw(KNOWN, Stage.LEASED)
        assert (await bench.timeline.of(KNOWN))[-1].facts["count"] == 2, "its boot goes on where it was"
        bench.timeline.saw(KNOWN, Stage.SCRIPT)
        assert await bench.stages(KNOWN) == [*[each.stage for each in told], Stage.SCRIPT]
        await bench.timeline.save()
        assert len(await bench.timeline.of(KNOWN)) == len(told) + 1


async def test_a_flood_of_invented_machines_costs_known_ones_nothing_and_stays_bounded(bench: Bench) -> None:
    bench.timeline.saw(KNOWN, Stage.SCRIPT)
    for number in range(20 * STRANGERS):
        bench.timeline.saw(mac(number), Stage.IGNORED, "x" * 5_000)
        bench.clock.forward(0.01)
    assert len(bench.timeline.machines()) == STRANGERS + 1
    assert await bench.stages(KNOWN) == [Stage.SCRIPT]
    await bench.timeline.save()
    kept = await bench.store.read(
        lambda tables: tables.sightings.recent(list(tables.sightings.newest_first()), KEPT_SIGHTINGS)
    )
    assert len(kept) == STRANGERS + 1
    assert {each.mac for each in kept.values()} == {each.mac for each in bench.timeline.machines()}


async def test_new_strangers_are_let_in_slowly_once_many_have_come(bench: Bench) -> None:
    let_in = [bench.timeline.saw(mac(number), Stage.IGNORED) for number in range(STRANGERS + 50)]
    assert let_in == [True] * STRANGERS + [False] * 50
    assert bench.timeline.saw(mac(1), Stage.DISCOVER), "who was seen before is seen"
    assert bench.timeline.saw(KNOWN, Stage.DISCOVER)
    bench.clock.forward(1)
    assert [bench.timeline.saw(mac(5_000 + number), Stage.IGNORED) for number in range(11)] == [True] * 10 + [False]
    assert bench.timeline.newest(mac(0)) is None, "the one seen longest ago made room"
    assert bench.timeline.newest(mac(1)) is not None


async def test_unknown_machines_for_which_there_is_no_room_are_counted(bench: Bench) -> None:
    begun = bench.clock()
    assert bench.timeline.unnoted() is None
    bench.timeline.saw(mac(0), Stage.DISCOVER, relay="172.31.0.2")
    for number in range(1, STRANGERS):
        bench.timeline.saw(mac(number), Stage.DISCOVER)
    assert bench.timeline.unnoted() is None
    for number in range(50):
        assert not bench.timeline.saw(mac(5_000 + number), Stage.DISCOVER, relay="172.31.0.1")
        assert not bench.timeline.saw(mac(5_000 + number), Stage.IGNORED), (
            "that it is not answered is no other question"
        )
    told = bench.timeline.unnoted()
    assert told == Unnoted(since=begun, newest=begun, times=50, mac=mac(5_049), relay="172.31.0.1")
    bench.clock.forward(1)
    assert bench.timeline.saw(mac(6_000), Stage.DISCOVER), "it makes another one forgotten"
    newest = bench.timeline.unnoted()
    assert newest is not None
    assert (newest.times, newest.mac, newest.since, newest.relay) == (51, mac(0), begun, "172.31.0.2")
    bench.clock.forward(601)
    assert bench.timeline.unnoted() is None, "it is over"
    assert bench.timeline.saw(mac(6_001), Stage.DISCOVER), "one that was seen long ago is not missed"
    assert bench.timeline.unnoted() is None


async def test_a_long_silence_lets_no_more_than_a_thousand_new_strangers_in(bench: Bench) -> None:
    bench.clock.forward(1_000_000)
    assert sum(bench.timeline.saw(mac(number), Stage.IGNORED) for number in range(2 * STRANGERS)) == STRANGERS


async def test_strangers_of_an_earlier_run_make_room_as_well(tmp_path: Path) -> None:
    async with opened(tmp_path / "db") as bench:
        for number in range(3):
            bench.timeline.saw(mac(number), Stage.IGNORED)
        await bench.timeline.save()
    async with opened(tmp_path / "db") as bench:
        for number in range(10, 10 + STRANGERS - 1):
            bench.timeline.saw(mac(number), Stage.IGNORED)
        assert [bench.timeline.newest(mac(number)) is None for number in range(4)] == [True, True, False, True]
        assert len(bench.timeline.machines()) == STRANGERS


async def test_a_stranger_that_becomes_known_is_not_forgotten_for_others(bench: Bench) -> None:
    bench.timeline.saw(mac(0), Stage.IGNORED)
    bench.known.add(mac(0))
    for number in range(1, 2 * STRANGERS):
        bench.timeline.saw(mac(number), Stage.IGNORED)
        bench.clock.forward(0.1)
    assert await bench.stages(mac(0)) == [Stage.IGNORED]


async def test_one_machine_cannot_fill_memory_or_disk(bench: Bench) -> None:
    boot(bench, GREEDY)
    for number in range(3 * KEPT_SIGHTINGS):
        bench.timeline.saw(GREEDY, Stage.LOADER_FAILED, str(number), **{f"fact{each}": "x" * 999 for each in range(99)})
    for _ in range(2):  # the store lets go of what it wrote when it has the next to write
        await bench.timeline.save()
    remembered = [each for each in gc.get_objects() if type(each) is Sighting and each.mac == GREEDY]
    assert len(remembered) == KEPT_OF_BOOT
    assert {Stage.DISCOVER, Stage.LOADER_FAILED} == {each.stage for each in remembered}, "how it began stays"
    assert str(3 * KEPT_SIGHTINGS - 1) in {each.detail for each in remembered}
    assert max(sum(len(str(value)) for value in each.facts.values()) for each in remembered) < 5_000
    assert len(await bench.timeline.of(GREEDY)) == KEPT_SIGHTINGS


async def test_nobody_has_the_evidence_of_a_stolen_ticket_forgotten(bench: Bench) -> None:
    boot(bench, GREEDY)
    for stage in (Stage.TICKET, Stage.SESSION, Stage.TICKET_REFUSED):
        bench.timeline.saw(GREEDY, stage, "of the theft")
    for number in range(3 * KEPT_SIGHTINGS):
        bench.timeline.saw(GREEDY, Stage.CLOCK, str(number))
    for number in range(EVIDENCE_OF_BOOT):
        bench.timeline.saw(GREEDY, Stage.TICKET_REFUSED, f"since then {number}")
        bench.timeline.saw(GREEDY, Stage.CLOCK, f"since then {number}")
    await bench.timeline.save()
    kept = [each.stage for each in await bench.timeline.of(GREEDY) if each.detail == "of the theft"]
    assert kept == [Stage.TICKET, Stage.SESSION, Stage.TICKET_REFUSED]


@pytest.mark.parametrize("asked", [Stage.LOADER_FAILED, Stage.LOADER])
async def test_what_any_host_can_ask_in_its_name_takes_no_room_from_how_far_it_came(bench: Bench, asked: Stage) -> None:
    boot(bench, GREEDY)
    bench.timeline.saw(GREEDY, Stage.STEP_FAILED, "the fault")
    for number in range(3 * KEPT_SIGHTINGS):
        bench.timeline.saw(GREEDY, asked, str(number))
        if number % 100 == 0:
            await bench.timeline.save()
    for _ in range(2):
        await bench.timeline.save()
    remembered = [each for each in gc.get_objects() if type(each) is Sighting and each.mac == GREEDY]
    assert "the fault" in {each.detail for each in remembered}
    assert "the fault" in {each.detail for each in await bench.timeline.of(GREEDY)}


async def test_a_machine_that_is_no_more_takes_what_was_seen_of_it_along(bench: Bench) -> None:
    for each in (KNOWN, mac(1)):
        bench.timeline.saw(each, Stage.SCRIPT)
    await bench.timeline.save()
    said = {
        number: Line(mac=each, at=bench.clock.now, severity=6, program="", text="x")
        for number, each in enumerate((KNOWN, mac(1)))
    }
    await bench.store.write(lambda tables: tables.syslog.save(said))
    bench.timeline.saw(KNOWN, Stage.KERNEL)
    bench.timeline.forget([KNOWN])
    assert bench.timeline.newest(KNOWN) is None
    await bench.timeline.save()
    assert await bench.timeline.of(KNOWN) == []
    assert await bench.store.read(
        lambda tables: [each.mac for each in tables.syslog.of([KNOWN, mac(1)], 9).values()]
    ) == [mac(1)]
    assert [each.stage for each in await bench.timeline.of(mac(1))] == [Stage.SCRIPT]
    bench.timeline.saw(KNOWN, Stage.DISCOVER)
    await bench.timeline.save()
    assert [each.stage for each in await bench.timeline.of(KNOWN)] == [Stage.DISCOVER]


async def test_what_a_full_disk_refused_is_saved_later_but_not_what_was_forgotten_meanwhile(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = bench.store.write

    async def full(use_case: object) -> None:
        bench.timeline.forget([mac(1)])
        for stage in (Stage.DISCOVER, Stage.OFFERED):
            bench.timeline.saw(KNOWN, stage)
        raise Unavailable("the disk is full")

    bench.timeline.saw(mac(2), Stage.DISCOVER)
    await bench.timeline.save()
    bench.timeline.forget([mac(2)])
    for each in (KNOWN, mac(1)):
        bench.timeline.saw(each, Stage.DISCOVER)
    monkeypatch.setattr(bench.store, "write", full)
    with pytest.raises(Unavailable):
        await bench.timeline.save()
    monkeypatch.setattr(bench.store, "write", write)
    await bench.timeline.save()
    stored = await bench.store.read(lambda tables: tables.sightings.of([KNOWN, mac(1), mac(2)]))
    assert [(each.mac, each.stage) for each in stored.values()] == [(KNOWN, Stage.DISCOVER), (KNOWN, Stage.OFFERED)]
    assert [each.facts.get("count") for each in stored.values()] == [2, None], "the newer of both is saved"


async def test_what_is_being_saved_is_told_all_the_while(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    write, told = bench.store.write, []

    async def ask_then_write(use_case: object) -> None:
        told.extend(await bench.timeline.of(KNOWN))
        bench.timeline.saw(KNOWN, Stage.DISCOVER)
        await write(use_case)  # type: ignore[arg-type]

    bench.timeline.saw(KNOWN, Stage.DISCOVER)
    monkeypatch.setattr(bench.store, "write", ask_then_write)
    await bench.timeline.save()
    assert [each.stage for each in told] == [Stage.DISCOVER]
    monkeypatch.undo()
    await bench.timeline.save()
    (stored,) = (await bench.store.read(lambda tables: tables.sightings.of([KNOWN]))).values()
    assert stored.facts["count"] == 2, "what was noted meanwhile is saved next"


async def test_while_the_disk_is_full_the_newest_sightings_wait(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_UNSAVED", 3)
    for number in range(7):
        bench.timeline.saw(KNOWN, Stage.SCRIPT, str(number))
    await bench.timeline.save()
    assert await bench.store.read(lambda tables: [each.detail for each in tables.sightings.of([KNOWN]).values()]) == [
        "4",
        "5",
        "6",
    ]
