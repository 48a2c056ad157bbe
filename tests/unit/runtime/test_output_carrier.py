import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.unit.worker.fakes import FakeDoor, FakeRuntime
from tests.unit.worker.programs import Program
from tinkbox.runtime import Container, ContainerSpec, EngineAway
from tinkbox.runtime.output import OutputPump
from tinkbox.runtime.output_carrier import Carrier

IMAGE = "write:v1"


@asynccontextmanager
async def carrying(program: Program) -> AsyncIterator[tuple[Carrier, FakeRuntime, FakeDoor, Container]]:
    runtime, door = FakeRuntime({IMAGE: program}), FakeDoor()
    await runtime.pull(IMAGE)
    container = await runtime.create(ContainerSpec(image=IMAGE, labels={}))
    await runtime.start(container.id)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        carrier = Carrier(runtime, OutputPump(door, "a1"), group)
        yield carrier, runtime, door, container
        carrier.drop()


async def test_of_a_container_that_ended_everything_is_carried() -> None:
    async with carrying(Program(output=b"one\ntwo\n")) as (carrier, _, door, container):
        assert not carrier.carries
        carrier.begin(container)
        assert carrier.carries
        await carrier.end()
        assert not carrier.carries
        assert (door.printed, carrier.tail) == ({"a1": b"one\ntwo\n"}, ("one", "two"))


@pytest.mark.parametrize("limit", [0, 1024])
@pytest.mark.parametrize("untold", [1, 5, 9, 14])
async def test_what_a_follow_leaves_out_at_its_end_is_carried_once(
    limit: int, untold: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinkbox.runtime.output_carrier.MOST_READ_AGAIN", limit)
    async with carrying(Program(output=b"one\ntwo\nthree!")) as (carrier, runtime, door, container):
        runtime.untold = untold
        carrier.begin(container)
        for _ in range(100):  # the follow ends of itself
            await asyncio.sleep(0)
        await carrier.end()
        assert (door.printed, carrier.tail) == ({"a1": b"one\ntwo\nthree!"}, ("one", "two", "three!"))
        runtime.containers[container.id].output += b" four"
        carrier.begin(container)
        await carrier.end_soon()
        assert (door.printed, carrier.tail) == ({"a1": b"one\ntwo\nthree! four"}, ("one", "two", "three! four"))


async def test_an_engine_that_stays_away_keeps_the_rest_and_ends_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinkbox.runtime.output_carrier.REST_SECONDS", 0.0)
    async with carrying(Program(output=b"one\ntwo")) as (carrier, runtime, door, container):
        runtime.untold = 3
        carrier.begin(container)
        for _ in range(100):
            await asyncio.sleep(0)
        runtime.away = True
        await carrier.end()
        assert (carrier.carries, door.printed) == (False, {"a1": b"one\n"})
        runtime.away = False
        carrier.begin(container)
        await carrier.end()
        assert door.printed == {"a1": b"one\ntwo"}


async def test_an_engine_that_comes_back_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinkbox.runtime.retrying.FIRST_WAIT", 0.0)
    async with carrying(Program(output=b"one\ntwo")) as (carrier, runtime, door, container):
        runtime.untold = 3
        carrier.begin(container)
        for _ in range(100):
            await asyncio.sleep(0)
        runtime.faults.error, runtime.faults.at = EngineAway("restarts"), len(runtime.faults.calls)
        await carrier.end()
        assert door.printed == {"a1": b"one\ntwo"}


async def test_what_does_not_arrive_soon_arrives_when_it_is_carried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinkbox.runtime.output_carrier.LOST_SECONDS", 0.01)
    async with carrying(Program(output=b"one\ntwo")) as (carrier, runtime, door, container):
        runtime.untold, runtime.away = 3, True
        carrier.begin(container)
        await carrier.end_soon()
        assert (carrier.carries, door.printed) == (False, {})
        runtime.away = False
        carrier.begin(container)
        await carrier.end_soon()
        assert door.printed == {"a1": b"one\ntwo"}


async def test_a_container_that_is_started_again_goes_on_where_its_output_was() -> None:
    async with carrying(Program(output=b"once\n")) as (carrier, runtime, door, container):
        carrier.begin(container)
        await carrier.end()
        runtime.containers[container.id].output += b"more\n"
        carrier.begin(container)
        await carrier.end()
        assert (door.printed, carrier.tail) == ({"a1": b"once\nmore\n"}, ("once", "more"))


async def test_of_one_that_goes_on_what_was_printed_until_now_is_waited_for() -> None:
    async with carrying(Program(output=b"a line that comes in several pieces\n", lasts=True)) as (
        carrier,
        _,
        _,
        container,
    ):
        carrier.begin(container)
        await carrier.settle()
        assert carrier.tail == ("a line that comes in several pieces",)
        assert carrier.carries


async def test_what_another_run_prints_is_the_tail_and_follows_what_there_was() -> None:
    async with carrying(Program(output=b"first\n", lasts=True)) as (carrier, runtime, door, container):
        carrier.begin(container)
        await carrier.settle()
        carrier.begin_run()
        assert carrier.tail == ()
        runtime.containers[container.id].output += b"second\n"
        await runtime.stop(container.id, 10)
        await carrier.end()
        assert (carrier.tail, door.printed) == (("second",), {"a1": b"first\nsecond\n"})


async def test_output_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinkbox.runtime.output_carrier.LOST_SECONDS", 0.01)
    async with carrying(Program(output=b"on and on\n", lasts=True)) as (carrier, _, _, container):
        carrier.begin(container)
        await carrier.end_if_it_ends()
        assert not carrier.carries


@pytest.mark.parametrize("limit", [0, 1024])
async def test_what_an_engine_has_of_one_that_ended_is_not_waited_for(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinkbox.runtime.output_carrier.MOST_READ_AGAIN", limit)
    async with carrying(Program(output=b"one\ntwo\n", lasts=True)) as (carrier, runtime, door, container):
        carrier.begin(container)
        await carrier.settle()
        runtime.containers[container.id].output += b"three\n"  # those who follow have not heard of it
        async with asyncio.TaskGroup() as group:
            ending = group.create_task(carrier.end())
            if limit == 0:
                for _ in range(100):
                    await asyncio.sleep(0)
                assert not ending.done()
                runtime.containers[container.id].ended.set()
        assert (door.printed, carrier.tail) == ({"a1": b"one\ntwo\nthree\n"}, ("one", "two", "three"))
