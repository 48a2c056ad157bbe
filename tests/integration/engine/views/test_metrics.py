"""Figures of a running engine."""

import asyncio

from tests.integration.engine.appliance import Appliance
from tests.integration.engine.holding import FAILURE, begun
from tinkbox.engine.views.metrics import AT_ONCE, Durations, Meter
from tinkbox.model.boot import Stage
from tinkbox.model.breakpoint import Kind, Verb
from tinkbox.model.workflow import State


def meter(box: Appliance) -> Meter:
    return Meter(box.store, box.machines, box.attempts, box.disk.usage, box.clock)


async def test_every_end_of_an_attempt_is_counted_once_however_often_one_asks(box: Appliance) -> None:
    worker = await box.machine(1)
    counting = meter(box)
    for state in (State.SUCCESS, State.FAILED):
        await box.workflow()
        offer = await box.offer(worker)
        assert offer is not None
        box.clock.forward(20)
        await box.report(worker, offer, state, reason="" if state is State.SUCCESS else "DiskNotFound")
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(counting.figures())
        await box.finish(worker)
    tally = (await counting.figures()).tally
    assert tally.begun == 3
    assert tally.ended == {(State.SUCCESS, ""): 2, (State.FAILED, "DiskNotFound"): 1}
    assert tally.actions[State.FAILED] == Durations([0, 0, 0, 1, 0, 0, 0, 0, 0, 0], 20)
    assert [(state, sum(each.counts), each.total) for state, each in tally.workflows.items()] == [
        (State.SUCCESS, 1, 20), (State.FAILED, 1, 20),
    ]  # fmt: skip


async def test_what_happened_before_is_not_counted(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.workflow()
    await box.finish(worker)
    counting = meter(box)
    await counting.begin()
    assert (await counting.figures()).tally.begun == 0
    await box.workflow()
    await box.offer(worker)
    assert (await counting.figures()).tally.begun == 1


async def test_more_events_than_are_read_at_once_are_all_counted(box: Appliance) -> None:
    worker = await box.machine(1)
    counting = meter(box)
    rounds = AT_ONCE // 6
    for _ in range(rounds):
        await box.workflow()
        await box.finish(worker)
    assert (await counting.figures()).tally.begun == 2 * rounds


async def test_queues_tell_how_long_a_workflow_waits(box: Appliance) -> None:
    first, second = await box.machine(1), await box.machine(2)
    await box.workflow(device_1=1)
    box.clock.forward(30)
    await box.workflow(device_1=1)
    await box.workflow(device_1=2)
    box.clock.forward(5)
    queues = {each.hardware_id: (each.length, each.seconds) for each in (await meter(box).figures()).queues}
    assert queues == {first: (2, 35), second: (1, 5)}
    await box.offer(first)
    queues = {each.hardware_id: (each.length, each.seconds) for each in (await meter(box).figures()).queues}
    assert queues == {first: (2, 5), second: (1, 5)}


async def test_holds_are_counted_and_their_time_is_nobodys(box: Appliance) -> None:
    counting = meter(box)
    work = await begun(box)
    box.clock.forward(10)
    await work.held()
    box.clock.forward(100)
    figures = await counting.figures()
    assert (figures.held, figures.tally.holds, figures.tally.held_seconds) == ({Kind.FAILURE: 1}, {Kind.FAILURE: 1}, 0)
    await work.decide(Verb.RETRY)
    await work.resumed()
    await work.held(Kind.AFTER, 2)
    box.clock.forward(200)
    await work.decide(Verb.FAIL)
    await work.report(FAILURE)
    figures = await counting.figures()
    assert (figures.held, figures.tally.holds) == ({}, {Kind.FAILURE: 1, Kind.AFTER: 1})
    assert (figures.tally.verdicts, figures.tally.held_seconds) == ({Verb.RETRY: 1, Verb.FAIL: 1}, 300)
    assert figures.tally.actions[State.FAILED].total == 10
    assert figures.tally.workflows[State.FAILED].total == 10


async def test_machines_are_counted_by_stage(box: Appliance) -> None:
    worker, _ = await box.machine(1), await box.machine(2)
    await box.offer(worker)
    figures = await meter(box).figures()
    assert (figures.stages, figures.parked) == ({Stage.WORKER: 1, "": 1}, 0)
