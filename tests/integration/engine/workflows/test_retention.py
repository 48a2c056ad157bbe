"""Workflows that have been over for long are deleted, with all that is theirs, and the disk gets its room back."""

import logging
import os
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import TypeVar

import pytest

from tests.integration.engine.appliance import HELLO, Appliance, appliance, mac
from tinkbox.engine.rollouts.planning import Wanted
from tinkbox.engine.workflows import retention, workflows
from tinkbox.engine.workflows.deletion import begin_deletion, delete_piece
from tinkbox.engine.workflows.retention import Retainer
from tinkbox.model.disk_usage import EarlyDeletion
from tinkbox.model.errors import NotFound
from tinkbox.model.retention import Retention
from tinkbox.model.workflow import State
from tinkbox.store.database import Tables, UseCase

AGE = timedelta(days=90)
T = TypeVar("T")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "PAUSE", 0.0)


def retainer(box: Appliance, newest: int = 1) -> Retainer:
    keeps = Retention(workflows=AGE, newest=newest)
    return Retainer(
        box.store, box.wakeups, box.machines, box.clock, keeps, box.shells.forget_recordings, lambda: 2**40
    )  # fmt: skip


async def over(box: Appliance, count: int, state: State = State.SUCCESS) -> list[str]:
    """Workflows of machine 1 that ended so; returns their ids."""
    worker, ids = str(box.machines.known.find(mac(1)).hardware.id), []
    for _ in range(count):
        ids.append(await box.workflow())
        while (offer := await box.offer(worker)) is not None:
            await box.report(worker, offer, state)
    return ids


async def there(box: Appliance) -> list[str]:
    return await box.store.read(lambda tables: tables.workflows.ids())


async def test_what_ended_long_ago_goes_but_for_the_newest_and_what_is_not_over(box: Appliance) -> None:
    await box.machine(1)
    old = await over(box, 25)
    await box.machine(2)
    waiting = await box.workflow(device_1=2)
    box.clock.forward(AGE.total_seconds() - 60)
    recent = await over(box, 2)
    assert await retainer(box).look() == 0
    box.clock.forward(120)
    assert await retainer(box, newest=4).look() == 23
    assert await there(box) == [*old[-2:], waiting, *recent]
    assert await retainer(box).look() == 2
    box.clock.forward(2 * AGE.total_seconds())
    assert await retainer(box).look() == 1
    assert await there(box) == [waiting, recent[-1]]


async def test_one_that_failed_takes_its_permission_to_boot_along(box: Appliance) -> None:
    worker = await box.machine(1)
    await over(box, 1, State.FAILED)
    other = await box.machine(2)
    await box.workflow(device_1=2)
    await box.finish(other)
    assert (await box.machines.get(worker)).ticket
    box.clock.forward(2 * AGE.total_seconds())
    await retainer(box).look()
    assert not (await box.machines.get(worker)).ticket


async def test_while_the_disk_is_nearly_full_the_oldest_go_before_their_time_and_it_is_said(
    box: Appliance, caplog: pytest.LogCaptureFixture
) -> None:
    await box.machine(1)
    ids = await over(box, 35)
    box.clock.forward(1)
    keeps, room = Retention(workflows=AGE, newest=1_000), count(100 * 2**20)
    pressed = Retainer(
        box.store, box.wakeups, box.machines, box.clock, keeps, box.shells.forget_recordings, lambda: next(room)
    )  # fmt: skip
    assert [await pressed.look() for _ in range(3)] == [10, 5, 0]
    assert await there(box) == ids[-20:]
    assert "the disk is nearly full" in caplog.text


async def test_every_workflow_that_is_deleted_is_named_in_the_log(
    box: Appliance, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await box.machine(1)
    ids = await over(box, 12)
    box.clock.forward(2 * AGE.total_seconds())
    await retainer(box).look()
    said = "".join(each.getMessage() for each in caplog.records if each.getMessage().startswith("workflows deleted: "))
    assert [f"{each} (" in said for each in ids] == [each not in await there(box) for each in ids]
    assert ", SUCCESS)" in said


async def test_what_was_deleted_early_is_told_for_a_week_with_how_much_and_when(box: Appliance) -> None:
    await box.machine(1)
    await over(box, 35)
    box.clock.forward(1)
    first, room = box.clock(), count(100 * 2**20)
    pressed = Retainer(
        box.store, box.wakeups, box.machines, box.clock, Retention(), box.shells.forget_recordings, lambda: next(room)
    )  # fmt: skip
    assert (await box.disk.usage()).early is None
    before = await taken(box)
    await pressed.look()
    box.clock.forward(60)
    await pressed.look()
    told = (await box.disk.usage()).early
    assert told == EarlyDeletion(
        workflows=15, octets=before - await taken(box), since=first, until=first + timedelta(seconds=60)
    )
    assert told.octets > 15 * 1_000
    box.clock.forward(timedelta(days=7).total_seconds())
    assert (await box.disk.usage()).early is None
    await over(box, 1)
    box.clock.forward(1)
    await pressed.look()
    told = (await box.disk.usage()).early
    assert told is not None
    assert (told.workflows, told.since, told.until) == (1, box.clock(), box.clock())


async def taken(box: Appliance) -> int:
    return await box.store.read(lambda tables: tables.room.taken())


async def test_recordings_go_with_their_workflow(tmp_path: Path) -> None:
    async with appliance(tmp_path / "db") as box:
        await box.machine(1)
        ids = await over(box, 2)
        folders = [tmp_path / "recordings" / each for each in ids]
        for folder in folders:
            folder.mkdir(parents=True)
            (folder / "s1.cast").write_text("{}")
        box.clock.forward(2 * AGE.total_seconds())
        await retainer(box).look()
        assert [folder.exists() for folder in folders] == [False, True]


async def test_the_disk_gets_its_room_back(tmp_path: Path) -> None:
    async with appliance(tmp_path / "db") as box:
        worker = await box.machine(1)
        for _ in range(40):
            await box.workflow()
            while (offer := await box.offer(worker)) is not None:
                await box.attempts.output(worker, offer.attempt, 0, os.urandom(200_000))
                await box.report(worker, offer)
        box.clock.forward(2 * AGE.total_seconds())
        before = await pages(box)
        assert await retainer(box).look() == 39
        after, free = await pages(box), await box.store.read(lambda tables: tables.room.free())
    assert free == 0
    assert after < before / 5


async def test_the_disk_gets_room_back_that_a_person_made(tmp_path: Path) -> None:
    async with appliance(tmp_path / "db") as box:
        await box.machine(1)
        await printed(box, 2_000_000)
        await box.workflows.delete((await there(box))[0])
        assert await box.store.read(lambda tables: tables.room.free())
        keeps = Retention(keep_free=2**20)
        for free in (2**20, 2**20 - 1):
            made = Retainer(
                box.store, box.wakeups, box.machines, box.clock, keeps, box.shells.forget_recordings, lambda free=free: free
            )  # fmt: skip
            await made.look()
            left = await box.store.read(lambda tables: tables.room.free())
            assert bool(left) == (free == 2**20), "so little only where there is too little"


async def test_the_disk_gets_much_room_back_that_a_person_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with appliance(tmp_path / "db") as box:
        await box.machine(1)
        await printed(box, 2_000_000)
        before = await pages(box)
        await box.workflows.delete((await there(box))[0])
        free = await box.store.read(lambda tables: tables.room.free())
        for spare, left in ((free, free), (free - 1, 0)):
            monkeypatch.setattr(retention, "SPARE_PAGES", spare)
            await retainer(box).look()
            assert await box.store.read(lambda tables: tables.room.free()) == left
        assert await pages(box) < before / 2


async def printed(box: Appliance, octets: int) -> str:
    """A workflow of machine 1 that failed and printed so much; returns its id."""
    worker, workflow_id = str(box.machines.known.find(mac(1)).hardware.id), await box.workflow()
    offer = await box.offer(worker)
    assert offer is not None
    for offset in range(0, octets, 10_000):
        await box.attempts.output(worker, offer.attempt, offset, os.urandom(10_000))
    await box.report(worker, offer, State.FAILED)
    return workflow_id


@pytest.mark.parametrize("who", ["retention", "person"])
async def test_no_transaction_deletes_more_than_a_few_megabytes(
    box: Appliance, who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (retention, workflows):
        monkeypatch.setattr(module, "OCTETS_AT_ONCE", 100_000)
    await box.machine(1)
    large = await printed(box, 900_000)
    small = await over(box, 3)
    sizes, before = [], await taken(box)
    write = box.store.write

    async def written(use_case: UseCase[T]) -> T:
        nonlocal before
        value = await write(use_case)
        now = await taken(box)
        sizes.append(before - now)
        before = now
        with pytest.raises(NotFound):
            await box.workflows.retry(large)
        assert large not in await there(box)
        return value

    monkeypatch.setattr(box.store, "write", written)
    if who == "person":
        await box.workflows.delete(large)
        assert await there(box) == small
    else:
        box.clock.forward(2 * AGE.total_seconds())
        assert await retainer(box).look() == 3
        assert await there(box) == small[-1:]
    monkeypatch.undo()
    assert sum(sizes) > 900_000
    assert max(sizes) < 120_000, sizes


async def test_what_was_half_deleted_is_deleted_after_a_restart(tmp_path: Path) -> None:
    async with appliance(tmp_path / "db") as box:
        await box.machine(1)
        large = await printed(box, 300_000)
        await box.workflow()
        waiting = await box.workflow()

        def begin(tables: Tables) -> None:
            for each in (large, waiting):
                begin_deletion(tables, tables.workflows.get(each))
                assert delete_piece(tables, each, 1_024) == 0

        await box.store.write(begin)
    async with appliance(tmp_path / "db", numbers=count(1_000)) as box:
        assert len(await there(box)) == 1
        assert await retainer(box).look() == 2
        assert await box.store.read(lambda tables: tables.workflows.half_deleted()) == []
        assert len(await there(box)) == 1


async def test_one_that_waits_begins_nowhere_once_its_deletion_began(box: Appliance) -> None:
    worker = await box.machine(1)
    waiting = await box.workflow()
    await box.store.write(lambda tables: begin_deletion(tables, tables.workflows.get(waiting)))
    assert await box.offer(worker) is None
    await box.machines.refresh([worker])
    assert not (await box.machines.get(worker)).ticket


async def pages(box: Appliance) -> int:
    """Of the database."""

    def count(tables: Tables) -> int:
        return int(tables.room._sql.execute("PRAGMA page_count").fetchone()[0])

    return await box.store.read(count)


async def test_no_more_is_deleted_early_once_that_gave_no_room(box: Appliance) -> None:
    await box.machine(1)
    ids = await over(box, 45)
    box.clock.forward(1)
    keeps = Retention(workflows=AGE, newest=1)
    room = 2**20  # whatever is deleted: somebody else fills the disk
    made = Retainer(
        box.store, box.wakeups, box.machines, box.clock, keeps, box.shells.forget_recordings, lambda: room
    )  # fmt: skip
    assert [await made.look() for _ in range(3)] == [10, 0, 0]
    box.clock.forward(3601)
    assert await made.look() == 10
    assert await there(box) == ids[20:]


async def test_a_rollout_that_ended_long_ago_goes_when_none_of_its_workflows_is_left(box: Appliance) -> None:
    ids = [await box.machine(number) for number in (1, 2, 3)]
    await box.templates.create("hello", HELLO)

    async def rolled_out(machines: list[str]) -> str:
        made = await box.rollouts.create(Wanted(template="hello", machines=machines), "ann")
        await box.progression.look()
        for each in machines:
            await box.finish(each)
        await box.progression.look()
        return made.rollout.id

    async def left() -> list[str]:
        return [each.rollout.id for each in await box.rollouts.all()]

    old = await rolled_out(ids)
    paused = (
        await box.rollouts.pause((await box.rollouts.create(Wanted(template="hello", machines=ids), "ann")).rollout.id)
    ).rollout.id
    box.clock.forward(AGE.total_seconds() - 60)
    assert await retainer(box, newest=1).look() == 0
    box.clock.forward(120)
    assert await retainer(box, newest=1).look() == 2
    assert await left() == [old, paused], "one of its workflows is left"
    await box.rollouts.cancel(paused)
    newest = await rolled_out(ids[:1])
    assert await retainer(box, newest=1).look() == 1
    assert await left() == [paused, newest]
    assert [each.place for each in (await box.rollouts.members(newest)).members] == ["SUCCESS"]
