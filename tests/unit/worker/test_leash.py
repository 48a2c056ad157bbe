import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.unit.worker.fakes import FakeDoor
from tinkbox.model.errors import Conflict, Denied, Invalid, NotFound, Refusal, Unavailable
from tinkbox.model.workflow import State
from tinkbox.wire.worker import Order
from tinkbox.worker.leash import Leash

CANCEL = Order(state=State.CANCELED, message="by the operator")
LATE = Order(state=State.TIMEOUT, message="the workflow took too long")


@asynccontextmanager
async def listening(door: FakeDoor) -> AsyncIterator[Leash]:
    leash = Leash(door, "a1")
    async with asyncio.TaskGroup() as group:
        task = group.create_task(leash.listen())
        yield leash
        task.cancel()


async def for_ever() -> None:
    await asyncio.Event().wait()


async def test_an_order_ends_what_is_under_way() -> None:
    door = FakeDoor()
    async with asyncio.timeout(5), listening(door) as leash:
        with pytest.raises(TimeoutError):
            async with leash.within(60):
                door.order_now(None, None, CANCEL)
                await for_ever()
        assert leash.order == CANCEL
        assert await leash.ordered() == CANCEL


async def test_time_ends_what_is_under_way_without_any_order() -> None:
    async with asyncio.timeout(5), listening(FakeDoor()) as leash:
        with pytest.raises(TimeoutError):
            async with leash.within(0.01):
                await for_ever()
        assert leash.order is None


@pytest.mark.parametrize("passing", [Unavailable("away"), Denied("who?"), Invalid("half an answer")])
async def test_an_appliance_that_is_away_is_asked_again(passing: Refusal) -> None:
    door = FakeDoor()
    async with asyncio.timeout(5), listening(door) as leash:
        door.order_now(passing, passing, None, passing, CANCEL)
        assert await leash.ordered() == CANCEL


@pytest.mark.parametrize("error", [NotFound("deleted"), Conflict("over")])
async def test_an_attempt_that_the_appliance_does_not_want_is_canceled(error: Refusal) -> None:
    door = FakeDoor()
    async with asyncio.timeout(5), listening(door) as leash:
        door.order_now(error)
        order = await leash.ordered()
    assert order.state is State.CANCELED
    assert str(error) in order.message


async def test_after_a_timeout_there_is_time_for_a_hook_until_a_cancellation_comes() -> None:
    door = FakeDoor()
    async with asyncio.timeout(5), listening(door) as leash:
        door.order_now(LATE)
        assert await leash.ordered() == LATE
        assert not leash.canceled
        with pytest.raises(TimeoutError):
            async with leash.within(60):
                door.order_now(LATE, None, LATE)
                while door.answers:
                    await asyncio.sleep(0)
                door.order_now(CANCEL)
                await for_ever()
        assert leash.canceled
        with pytest.raises(TimeoutError):
            async with leash.within(60):
                await for_ever()


async def test_an_order_that_comes_between_two_things_is_kept() -> None:
    door = FakeDoor()
    async with asyncio.timeout(5), listening(door) as leash:
        async with leash.within(60):
            pass
        door.order_now(CANCEL)
        assert await leash.ordered() == CANCEL


async def test_an_order_after_the_time_is_up_disturbs_nothing() -> None:
    door = FakeDoor()
    async with asyncio.timeout(5), listening(door) as leash:
        with pytest.raises(TimeoutError):
            async with leash.within(0.01):
                try:
                    await for_ever()
                finally:
                    door.order_now(CANCEL)
                    await leash.ordered()
