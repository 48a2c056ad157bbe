"""The doctor's rounds over a real store: what is kept, since when, and what is told of it once."""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance, Clock, appliance
from tinkbox.engine.doctor import rounds
from tinkbox.engine.doctor.rounds import (
    AFTER_START,
    EVERY,
    FAILED,
    FOUND_AGAIN,
    GONE,
    KEPT_EVENTS,
    LEFT_OUT,
    MOST,
    MOST_UNSAVED,
    OF_ONE_CONDITION,
    OF_ONE_RULE,
    RELAPSE,
    PartlyExamined,
    Rounds,
)
from tinkbox.model.diagnosis import Diagnosis, Gravity
from tinkbox.model.errors import Unavailable
from tinkbox.model.workflow import Event

LOG = "tinkbox.engine.doctor.rounds"


def found(rule: str = "DiskNearlyFull", cause: str = "", **more: object) -> Diagnosis:
    told = {"gravity": Gravity.FAULT, "evidence": ("seen",), "remedy": "Free room.", **more}
    return Diagnosis(rule=rule, cause=cause or f"{rule} it is.", **told)  # type: ignore[arg-type]  # any field


class World:
    """`found` is what the next round finds, or raises."""

    def __init__(self, box: Appliance, mode: str = "reservation") -> None:
        self.box = box
        self.found: list[Diagnosis] | Exception = []
        self.is_ready = self.has_asked = False
        self.mode = mode
        self.rounds = self.started()

    def started(self) -> Rounds:
        async def examine() -> list[Diagnosis]:
            if isinstance(self.found, Exception):
                raise self.found
            return self.found

        return Rounds(
            examine,
            examine,
            self.box.store,
            self.box.wakeups,
            self.box.clock,
            ready=lambda: self.is_ready,
            asked=lambda: self.has_asked,
            mode=self.mode,
        )

    async def go(self, *seen: Diagnosis, times: int = 1) -> None:
        self.found = list(seen)
        await self.again(times)

    async def again(self, times: int = 1) -> None:
        for _ in range(times):
            self.box.clock.forward(EVERY)
            await self.rounds.round()

    @property
    def rules(self) -> list[str]:
        return [each.rule for each in self.rounds.all()]

    async def events(self) -> list[Event]:
        return await self.box.store.read(lambda tables: tables.events.of(""))

    async def told(self) -> list[str]:
        return [f"{each.kind} {each.data['rule']}" for each in await self.events()]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with appliance(tmp_path / "tinkbox.sqlite") as box:
        yield World(box)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.name == LOG]


async def test_a_condition_is_told_when_it_begins_and_when_it_is_over(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await world.go(found(), times=10)
    assert await world.told() == ["condition.began DiskNearlyFull"]
    assert lines(caplog) == ["fault DiskNearlyFull began: DiskNearlyFull it is. What to do: Free room."]
    await world.go(times=10)
    assert await world.told() == ["condition.began DiskNearlyFull", "condition.over DiskNearlyFull"]
    assert lines(caplog)[1:] == ["DiskNearlyFull is over after 45 s: DiskNearlyFull it is."]
    assert world.rules == []


async def test_one_that_a_single_round_saw_is_not_said_to_last_0_seconds(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await world.go(found())
    await world.go(times=10)
    assert lines(caplog)[1:] == ["DiskNearlyFull is over; one look saw it: DiskNearlyFull it is."]
    assert [each.data["lasted"] for each in await world.events() if each.kind == "condition.over"] == [0]


async def test_one_that_is_missing_in_one_round_lasts(world: World) -> None:
    await world.go(found())
    since = world.rounds.all()[0].since
    for _ in range(5):
        await world.go(times=GONE - 1)
        assert [each.since for each in world.rounds.all()] == [since]
        await world.go(found())
    assert await world.told() == ["condition.began DiskNearlyFull"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("It is nearly full: 300 MiB are free.", "It is nearly full: 2.5 MiB are free."),
        (
            "172.30.0.66 is held back: it has 128 of 128 connections.",
            "172.30.0.66 is held back: it has 7 of 128 connections.",
        ),
        ("It was silent for 1:46.", "It was silent for 1:12:01."),
        ("It is full: 13.6MiB are free.", "It is full: 900KiB are free."),
        ("It has been so for 12m5s.", "It has been so for 1d."),
    ],
)
async def test_figures_that_change_do_not_begin_another(world: World, before: str, after: str) -> None:
    await world.go(found(cause=before))
    since = world.rounds.all()[0].since
    await world.go(found(cause=after), times=5)
    assert [(each.cause, each.since) for each in world.rounds.all()] == [(after, since)]
    assert len(await world.events()) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (found(cause="172.30.0.66 is held back."), found(cause="172.30.0.67 is held back.")),
        (found(cause="The host 00:ab:cd:00:00:01 answers."), found(cause="The host 00:ab:cd:00:00:02 answers.")),
        (found(cause="The interface enp1s0 is down."), found(cause="The interface enp2s0 is down.")),
        (found(cause="A file is damaged.", subject="kernel"), found(cause="A file is damaged.", subject="initramfs")),
        (found(machine="08:00:27:00:00:01"), found(machine="08:00:27:00:00:02")),
        (found(workflow="a"), found(workflow="b")),
    ],
)
async def test_several_of_one_rule_are_kept_apart(world: World, one: Diagnosis, other: Diagnosis) -> None:
    await world.go(one)
    first = world.box.clock()
    await world.go(other, one)
    second = world.box.clock()
    assert [each.since for each in world.rounds.all()] == [first, second]
    await world.go(other, times=GONE)
    assert [each.since for each in world.rounds.all()] == [second]


async def test_equal_ones_of_a_round_are_all_there(world: World) -> None:
    await world.go(found(cause="One of 3."), found(cause="One of 4."), times=3)
    assert [each.cause for each in world.rounds.all()] == ["One of 3.", "One of 4."]


async def test_the_gravest_comes_first_and_what_is_harmless_is_left_out(world: World) -> None:
    await world.go(found("A", gravity=Gravity.SUSPECT), found("B", gravity=Gravity.HARMLESS))
    await world.go(found("A", gravity=Gravity.SUSPECT), found("B", gravity=Gravity.HARMLESS), found("C"))
    assert world.rules == ["C", "A"]


async def test_what_says_why_a_machine_is_where_it_is_is_the_likeliest_whatever_lasts_longest(world: World) -> None:
    machine = {"machine": "08:00:27:00:00:01", "workflow": "w"}
    loop, silent, down = (found(rule, **machine) for rule in ("BootLoop", "SilentLoader", "InterfaceDown"))
    aside, suspect = found("DiskNotFound", leads=False, **machine), found("Stalled", gravity=Gravity.SUSPECT, **machine)
    told = []
    for seen in ((suspect, aside), (suspect, aside, loop), (loop, silent), (loop, silent, down), (loop, silent), ()):
        await world.go(*seen)
        led = world.rounds.of_machine(["08:00:27:00:00:01"])
        assert world.rounds.of_workflow("w") == led
        told.append(led.rule if led else "")
    assert told == ["Stalled", "BootLoop", "SilentLoader", "InterfaceDown", "SilentLoader", ""]
    assert "SilentLoader" in world.rules, "it is listed until it is over"


async def test_machines_and_workflows_have_their_own(world: World) -> None:
    of_both = found("Slow", gravity=Gravity.SUSPECT, machine="08:00:27:00:00:01", workflow="w")
    of_machine = found("Dead", machine="08:00:27:00:00:01")
    await world.go(of_both, of_machine, found())
    rounds = world.rounds
    assert [each.rule for each in rounds.appliance()] == ["DiskNearlyFull"]
    machine = rounds.of_machine(["08:00:27:00:00:09", "08:00:27:00:00:01"])
    workflow = rounds.of_workflow("w")
    assert machine
    assert workflow
    assert (machine.rule, workflow.rule) == ("Dead", "Slow")
    assert rounds.of_machine(["08:00:27:00:00:09"]) is None
    assert rounds.of_workflow("v") is None
    assert await world.told() == ["condition.began DiskNearlyFull"], "events are of the appliance alone"


async def test_one_that_comes_and_goes_is_told_ever_more_seldom(world: World) -> None:
    for _ in range(300):
        await world.go(found(), times=2)
        await world.go(times=GONE)
    assert len(await world.events()) <= 5


async def test_one_that_was_away_for_long_is_over_as_soon_as_the_first_time(world: World) -> None:
    await world.go(found())
    await world.go(times=GONE)
    world.box.clock.forward(RELAPSE.total_seconds())
    await world.go(found())
    await world.go(times=GONE)
    assert len(await world.events()) == 4


async def test_a_round_that_fails_keeps_what_was_found_and_is_logged_once(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    await world.go(found(), found("Slow", machine="08:00:27:00:00:01"))
    caplog.clear()
    caplog.set_level(logging.INFO)
    world.found = Unavailable("the store is away")
    await world.again(times=10)
    assert world.rules == ["DiskNearlyFull", "Slow", FAILED]
    failed = world.rounds.appliance()[1]
    assert "Unavailable: the store is away" in failed.evidence[0]
    assert "evidence" not in failed.remedy, "the log and the status show none"
    assert [each for each in lines(caplog) if "cannot examine itself:" in each and "began" not in each] == [
        "the appliance cannot examine itself: the store is away"
    ]
    await world.go(found(), times=GONE)
    assert world.rules == ["DiskNearlyFull"]


async def test_a_defect_of_a_round_is_logged_with_its_place(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.found = KeyError("x")
    await world.again(times=3)
    assert len([each for each in caplog.records if each.exc_info]) == 1


async def test_after_a_restart_what_lasts_is_not_told_again_and_has_its_since(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    async with appliance(tmp_path / "tinkbox.sqlite", clock) as box:
        world = World(box)
        await world.go(found("Lasts", cause="It has 3 of 4."), found("Ends"))
        since = box.clock()
    caplog.clear()
    clock.forward(3600)
    async with appliance(tmp_path / "tinkbox.sqlite", clock) as box:
        world = World(box)
        world.is_ready = True
        await world.go(found("Lasts", cause="It has 4 of 4."), times=AFTER_START - 1)
        assert await world.told() == ["condition.began Lasts", "condition.began Ends"]
        await world.again()
        assert [(each.rule, each.since) for each in world.rounds.all()] == [("Lasts", since)]
        assert await world.told() == ["condition.began Lasts", "condition.began Ends", "condition.over Ends"]
        last = (await world.events())[-1].data
        assert timedelta(seconds=last["lasted"]) >= timedelta(hours=1)  # type: ignore[arg-type]  # a number
        assert last["gravity"] == "fault"
        assert not [each for each in lines(caplog) if "began" in each]


async def test_after_a_restart_another_server_is_over_when_the_network_was_asked_and_shows_none(tmp_path: Path) -> None:
    clock = Clock()
    async with appliance(tmp_path / "tinkbox.sqlite", clock) as box:
        await World(box).go(found("OtherServer"))
    async with appliance(tmp_path / "tinkbox.sqlite", clock) as box:
        world = World(box)
        world.is_ready = True
        await world.go(times=AFTER_START + GONE)
        assert (world.rules, len(world.rounds.unconfirmed())) == (["OtherServer"], 1)
        world.has_asked = True
        assert not world.rounds.unconfirmed(), "the examination that asked tells what there is"
        await world.go(times=GONE)
        assert world.rules == []
        assert (await world.told())[-1] == "condition.over OtherServer"


@pytest.mark.parametrize(
    ("before", "mode", "stays"),
    [
        ("reservation", "proxy", False),
        ("proxy", "off", False),
        ("proxy", "proxy", True),
        ("reservation", "pool", True),
    ],
)
async def test_what_to_do_about_other_servers_in_another_mode_is_over_with_that_mode(
    tmp_path: Path, before: str, mode: str, stays: bool
) -> None:
    clock = Clock()
    async with appliance(tmp_path / "tinkbox.sqlite", clock) as box:
        await World(box, before).go(found("OtherServer"), found("NobodyGivesAddresses"), found("OsieDamaged"))
    async with appliance(tmp_path / "tinkbox.sqlite", clock) as box:
        world = World(box, mode)
        await world.rounds.recall()
        depending = ["OtherServer", "NobodyGivesAddresses"]
        assert world.rules == [*(depending if stays else []), "OsieDamaged"]
        await world.again()
        over = [each for each in await world.told() if "over" in each]
        assert over == ([] if stays else [f"condition.over {each}" for each in depending])
    async with appliance(tmp_path / "tinkbox.sqlite", clock) as box:
        world = World(box, before)
        await world.rounds.recall()
        assert world.rules == [*(depending if stays else []), "OsieDamaged"], "what is over is so for ever"


async def test_after_a_restart_what_lasted_stands_until_everything_was_examined(tmp_path: Path) -> None:
    clock = Clock()
    async with appliance(tmp_path / "tinkbox.sqlite", clock) as box:
        await World(box).go(
            found("OsieDamaged", subject="x86_64"), found("OtherServer"), found("Figures", cause="3 are.")
        )
    async with appliance(tmp_path / "tinkbox.sqlite", clock) as box:
        world = World(box)
        await world.go(times=20)
        assert world.rules == ["OsieDamaged", "OtherServer", "Figures"], "nothing of it was examined yet"
        assert not world.rounds.have_examined
        assert {each.rule: each.subject for each in world.rounds.unconfirmed().values()} == {
            "OsieDamaged": "x86_64",
            "OtherServer": "",
            "Figures": "",
        }
        assert "it was not examined since" in world.rounds.all()[0].evidence[-1]
        world.is_ready = True
        await world.go(found("OsieDamaged", subject="x86_64"), times=AFTER_START)
        assert world.rules == ["OsieDamaged", "OtherServer"], "of others on the network nobody heard yet"
        assert [*world.rounds.unconfirmed()] == [("OtherServer", "", "", "OtherServer it is.")]
        await world.go(times=GONE)
        assert world.rules == ["OtherServer"]
        assert [each for each in await world.told() if "over" in each] == [
            "condition.over Figures",
            "condition.over OsieDamaged",
        ]


async def test_a_round_that_could_examine_only_a_part_tells_that_part_and_ends_nothing(world: World) -> None:
    await world.go(found("OfMachine", machine="08:00:27:00:00:01"), found("Ends"))
    world.found = PartlyExamined([found("DatabaseDamaged")], Unavailable("the store is damaged"))
    await world.again(times=GONE + 1)
    assert world.rules == ["Ends", "DatabaseDamaged", "OfMachine", FAILED]
    assert "the store is damaged" in world.rounds.all()[-1].evidence[0]


async def test_it_lasted_until_it_was_found_for_the_last_time(world: World) -> None:
    await world.go(found(), times=2)
    await world.go(times=GONE)
    assert (await world.events())[-1].data["lasted"] == EVERY


MANY = 3_000
RARE = found("OutOfMemory", machine="08:00:27:00:00:01", workflow="w")
OWN = found("OsieDamaged")


def many(rule: str = "ImageMissing", number: int = MANY, gravity: Gravity = Gravity.FAULT) -> list[Diagnosis]:
    return [
        found(rule, machine=f"08:00:28:00:{each >> 8:02x}:{each & 255:02x}", gravity=gravity) for each in range(number)
    ]


async def test_many_alike_hide_neither_a_rare_one_nor_the_appliances_own(world: World) -> None:
    await world.go(*many(), RARE, OWN)
    rules = world.rules
    assert rules[0] == "OsieDamaged"
    assert (rules.count("OutOfMemory"), rules.count("ImageMissing")) == (1, MOST - 2)
    assert world.rounds.of_workflow("w") == world.rounds.of_machine([RARE.machine])
    assert {each.rule for each in world.rounds.appliance()} == {"OsieDamaged", LEFT_OUT}


async def test_how_many_are_left_out_is_told_and_counted(world: World) -> None:
    await world.go(*many(), RARE, OWN)
    (told,) = [each for each in world.rounds.all() if each.rule == LEFT_OUT]
    assert told.cause == "1,002 more machines or workflows have ImageMissing than are listed."
    assert [each[20:] for each in told.evidence] == ["ImageMissing: 3,000 found, 1,998 listed"]
    numbers = world.rounds.numbers()
    assert numbers["ImageMissing", Gravity.FAULT] == MANY
    assert numbers["OutOfMemory", Gravity.FAULT] == numbers["OsieDamaged", Gravity.FAULT] == 1
    assert numbers[LEFT_OUT, Gravity.SUSPECT] == 1
    told_of_each = world.rounds.of_machines()
    assert {each.machine for each in many()} <= {*told_of_each}
    await world.go(*many(number=MOST), times=GONE)
    assert (len(world.rules), LEFT_OUT in world.rules) == (MOST, False)
    assert world.rounds.numbers() == {("ImageMissing", Gravity.FAULT): MOST}
    assert await world.told() == [
        "condition.began OsieDamaged", f"condition.began {LEFT_OUT}",
        "condition.over OsieDamaged", f"condition.over {LEFT_OUT}",
    ]  # fmt: skip


async def test_those_that_are_listed_stay_so_in_whatever_order_all_are_found(world: World) -> None:
    await world.go(*many())
    before = world.rounds.all()
    await world.go(*reversed(many()))
    assert {(each.machine, each.since) for each in world.rounds.all()} == {
        (each.machine, each.since) for each in before
    }
    # A rare one that comes later takes the place of one of the many, which is not over.
    await world.go(*many(), RARE)
    assert (world.rules.count("ImageMissing"), "OutOfMemory" in world.rules) == (MOST - 1, True)
    assert world.rounds.numbers()["ImageMissing", Gravity.FAULT] == MANY


async def test_two_of_which_there_are_many_have_the_same_room_whatever_their_gravity(world: World) -> None:
    await world.go(*many(), *many("Stalled", gravity=Gravity.SUSPECT), RARE)
    rules = world.rules
    assert (rules.count("ImageMissing"), rules.count("Stalled")) == (1_000, 999)
    (told,) = [each for each in world.rounds.all() if each.rule == LEFT_OUT]
    assert told.cause == "4,001 more machines or workflows have Stalled or ImageMissing than are listed."


async def test_events_that_the_disk_refuses_are_kept_until_it_takes_them(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(_: object) -> None:
        raise Unavailable("the disk is full")

    with monkeypatch.context() as full:
        full.setattr(world.box.store, "write", refused)
        await world.go(found(), times=3)
        began = world.rounds.all()[0].since
    assert await world.told() == []
    await world.again()
    assert [(each.kind, each.at) for each in await world.events()] == [("condition.began", began)]
    await world.again()
    assert len(await world.events()) == 1


async def test_of_the_appliances_events_the_newest_are_kept(world: World, tmp_path: Path) -> None:
    def fill(number: int) -> None:
        with closing(sqlite3.connect(tmp_path / "tinkbox.sqlite")) as connection, connection:
            connection.executemany(
                "INSERT INTO event (workflow_id, number, at, kind, data) VALUES ('', ?, '2026-11-21T03:00:00+00:00', 'condition.over', ?)",
                [(each, f'{{"rule": "R{each % 50}", "subject": "{each}"}}') for each in range(1, number + 1)],
            )

    fill(KEPT_EVENTS + 7)
    await world.go(found())
    events = await world.events()
    assert (len(events), events[-1].number) == (KEPT_EVENTS, KEPT_EVENTS + 8)


async def test_rounds_go_on_by_themselves_and_others_are_asked_for_although_asking_fails(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("EVERY", "LISTEN_AFTER", "LISTEN_EVERY"):
        monkeypatch.setattr(rounds, name, 0)
    thrice = [asyncio.Event(), asyncio.Event()]
    asked = [0, 0]

    async def counted(which: int) -> list[Diagnosis]:
        asked[which] += 1
        if asked[which] == 3:
            thrice[which].set()
        raise OSError("the interface is down")

    going = Rounds(partial(counted, 0), partial(counted, 1), world.box.store, world.box.wakeups, world.box.clock)
    async with asyncio.TaskGroup() as group:
        parts = [group.create_task(going.run()), group.create_task(going.listen())]
        for each in thrice:
            await each.wait()
        for part in parts:
            part.cancel()
    assert "asking for other DHCP servers failed" in caplog.text


async def test_a_machines_condition_keeps_its_since_over_a_restart(tmp_path: Path) -> None:
    clock = Clock()
    machine, workflow = found("Dead", machine="08:00:27:00:00:01"), found("Slow", workflow="w", subject="db")
    async with appliance(tmp_path / "tinkbox.sqlite", clock) as box:
        world = World(box)
        await world.go(machine, workflow, found("Ends", machine="08:00:27:00:00:02"))
        since = box.clock()
        await world.go(machine, workflow, times=GONE)
    clock.forward(3600)
    async with appliance(tmp_path / "tinkbox.sqlite", clock) as box:
        world = World(box)
        world.is_ready = True
        await world.rounds.recall()
        assert world.rounds.all() == (), "what is not examined yet is told of the appliance alone"
        await world.go(times=3)
        await world.go(machine, workflow, found("Ends", machine="08:00:27:00:00:02"))
        assert [(each.rule, each.since) for each in world.rounds.all()] == [
            ("Dead", since), ("Slow", since), ("Ends", box.clock()),
        ]  # fmt: skip
    async with appliance(tmp_path / "tinkbox.sqlite", clock) as box:
        world = World(box)
        await world.go(machine)
        assert [each.since for each in world.rounds.all()] == [since], "nor does a second one end it"


async def test_a_machines_condition_that_is_not_found_soon_after_a_restart_is_another_one(tmp_path: Path) -> None:
    clock = Clock()
    machine = found("Dead", machine="08:00:27:00:00:01")
    async with appliance(tmp_path / "tinkbox.sqlite", clock) as box:
        await World(box).go(machine)
    async with appliance(tmp_path / "tinkbox.sqlite", clock) as box:
        world = World(box)
        await world.go(times=2 * FOUND_AGAIN)
        assert len(await box.store.read(lambda tables: tables.conditions.all())) == 1, "not everything was examined yet"
        world.is_ready = True
        await world.go(times=FOUND_AGAIN + 1)
        await world.go(machine)
        assert [each.since for each in world.rounds.all()] == [box.clock()]


async def test_what_lasts_is_stored_as_it_is_kept_and_no_more_of_it(world: World) -> None:
    async def stored() -> set[str]:
        return {rule for rule, *_ in await world.box.store.read(lambda tables: tables.conditions.all())}

    await world.go(*many(), RARE, OWN)
    kept = await world.box.store.read(lambda tables: tables.conditions.all())
    assert len(kept) == len(world.rounds.all()) == MOST + 1
    await world.go(OWN, times=GONE)
    assert await stored() == {"OsieDamaged"}
    await world.go(times=GONE)
    assert await stored() == set()


async def test_a_store_that_does_not_tell_what_lasted_loses_no_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(_: object) -> None:
        raise Unavailable("the disk is full")

    clock = Clock()
    machine = found("Dead", machine="08:00:27:00:00:01")
    async with appliance(tmp_path / "tinkbox.sqlite", clock) as box:
        await World(box).go(machine, OWN)
        since = clock()
    async with appliance(tmp_path / "tinkbox.sqlite", clock) as box:
        world = World(box)
        with monkeypatch.context() as away:
            away.setattr(box.store, "read", refused)
            await world.go(machine, OWN, times=3)
        await world.again(2)
        assert {each.since for each in world.rounds.all()} == {since}


async def test_one_that_comes_and_goes_leaves_the_events_of_others(world: World) -> None:
    await world.go(OWN)
    for each in range(300):
        await world.go(OWN, found("HeldBack", subject=f"172.30.0.{each}"))
        await world.go(OWN, times=GONE)
    told = await world.told()
    assert (told[0], len(told)) == ("condition.began OsieDamaged", OF_ONE_RULE + 1)


async def test_one_condition_has_its_share_of_its_rules_events(world: World) -> None:
    for _ in range(OF_ONE_CONDITION):
        await world.go(found(subject="lab"))
        await world.go(times=GONE)
        world.box.clock.forward(RELAPSE.total_seconds())
    await world.go(found(subject="rack"))
    subjects = [each.data["subject"] for each in await world.events()]
    assert (subjects.count("lab"), subjects.count("rack")) == (OF_ONE_CONDITION, 1)


async def test_how_often_one_came_and_went_is_told_with_the_next_event(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    await world.go(found())
    first = world.box.clock()
    for _ in range(9):
        await world.go(times=GONE - 1)
        await world.go(found())
    await world.go(times=GONE)
    await world.go(found())
    began, over, again = [str(each.data["message"]) for each in await world.events()]
    assert began == "DiskNearlyFull it is."
    assert over == f"DiskNearlyFull it is. It came and went 9 times since {first:%Y-%m-%d %H:%M:%S} UTC."
    assert again == over.replace("9 times", "10 times")
    assert "It came and went 10 times" in lines(caplog)[-1]


async def test_many_at_once_push_no_event_of_another_rule_out_of_those_that_wait(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(_: object) -> None:
        raise Unavailable("the disk is full")

    with monkeypatch.context() as full:
        full.setattr(world.box.store, "write", refused)
        await world.go(OWN, *[found("HeldBack", subject=f"172.30.{each}.1") for each in range(2 * MOST_UNSAVED)])
    await world.again()
    told = await world.told()
    assert told[0] == "condition.began OsieDamaged"
    assert len(told) == OF_ONE_RULE + 1
