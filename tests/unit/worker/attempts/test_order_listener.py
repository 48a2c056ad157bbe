import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.unit.worker.fakes import FakeDoor
from tinkbox.model.breakpoint import Armed, Verb, Verdict
from tinkbox.model.errors import Conflict, Denied, Invalid, NotFound, Refusal, Unavailable
from tinkbox.model.shells import ShellWish
from tinkbox.model.workflow import State
from tinkbox.wire.messages.breakpoints import Orders, Ruling
from tinkbox.wire.messages.worker import Order
from tinkbox.worker.attempts.order_listener import PAUSE, OrderListener

CANCEL = Order(state=State.CANCELED, message="by the operator")
LATE = Order(state=State.TIMEOUT, message="the workflow took too long")


@asynccontextmanager
async def listening(door: FakeDoor) -> AsyncIterator[OrderListener]:
    listener = OrderListener(door, "a1", Armed(), lambda _: None)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(listener.listen(asyncio.get_running_loop().time()))
        yield listener
        task.cancel()


async def for_ever() -> None:
    await asyncio.Event().wait()


async def cut_short(listener: OrderListener, seconds: float, door: FakeDoor, *answers: Order | None) -> bool:
    """Whether what would take for ever is ended, by time or by what the door answers meanwhile."""
    try:
        async with listener.within(seconds):
            door.order_now(*answers)
            await for_ever()
    except TimeoutError:
        return True
    return False


async def test_an_order_ends_what_is_under_way() -> None:
    door = FakeDoor()
    async with asyncio.timeout(60), listening(door) as listener:
        assert await cut_short(listener, 60, door, None, None, CANCEL)
        assert listener.order == CANCEL
        assert await listener.ordered() == CANCEL


async def test_time_ends_what_is_under_way_without_any_order() -> None:
    door = FakeDoor()
    async with asyncio.timeout(60), listening(door) as listener:
        assert await cut_short(listener, 0.01, door)
        assert listener.order is None


@pytest.mark.parametrize("passing", [Unavailable("away"), Denied("who?"), Invalid("half an answer")])
async def test_an_appliance_that_is_away_is_asked_again(passing: Refusal) -> None:
    door = FakeDoor()
    async with asyncio.timeout(60), listening(door) as listener:
        door.order_now(passing, passing, None, passing, CANCEL)
        assert await listener.ordered() == CANCEL


@pytest.mark.parametrize("error", [NotFound("deleted"), Conflict("over")])
async def test_an_attempt_that_the_appliance_does_not_want_is_canceled(error: Refusal) -> None:
    door = FakeDoor()
    async with asyncio.timeout(60), listening(door) as listener:
        door.order_now(error)
        order = await listener.ordered()
    assert order.state is State.CANCELED
    assert str(error) in order.message


async def test_after_a_timeout_there_is_time_for_a_hook_until_a_cancellation_comes() -> None:
    door = FakeDoor()
    async with asyncio.timeout(60), listening(door) as listener:
        door.order_now(LATE)
        assert await listener.ordered() == LATE
        assert not listener.canceled
        # The same order again is no news; a cancellation is.
        assert await cut_short(listener, 60, door, LATE, None, LATE, CANCEL)
        assert listener.order == CANCEL
        assert listener.canceled
        assert await cut_short(listener, 60, door)


async def test_the_same_order_again_ends_nothing() -> None:
    door = FakeDoor()
    async with asyncio.timeout(60), listening(door) as listener:
        door.order_now(LATE)
        await listener.ordered()
        async with listener.within(60):
            door.order_now(LATE, LATE, None)
            for _ in range(100):
                await asyncio.sleep(0)
        assert not door.answers


async def test_an_order_that_comes_between_two_things_is_kept() -> None:
    door = FakeDoor()
    async with asyncio.timeout(60), listening(door) as listener:
        async with listener.within(60):
            pass
        door.order_now(CANCEL)
        assert await listener.ordered() == CANCEL


async def test_an_order_after_the_time_is_up_disturbs_nothing() -> None:
    door = FakeDoor()

    async def late(listener: OrderListener) -> None:
        async with listener.within(0.01):
            try:
                await for_ever()
            finally:
                door.order_now(CANCEL)
                await listener.ordered()

    async with asyncio.timeout(60), listening(door) as listener:
        with pytest.raises(TimeoutError):
            await late(listener)
        assert listener.order == CANCEL


RULED = Ruling(sequence=2, verdict=Verdict(verb=Verb.FAIL, who="anna"))


async def test_the_verdict_on_this_hold_is_waited_for_and_not_another() -> None:
    door = FakeDoor()
    async with asyncio.timeout(60), listening(door) as listener:
        first = Ruling(sequence=1, verdict=Verdict(verb=Verb.RETRY, who="bert"))
        door.order_now(Orders(ruling=first), Orders(ruling=RULED))
        assert await listener.ruling(2) == RULED
        assert await listener.ruling(2) == RULED


async def test_an_order_to_stop_comes_before_any_verdict() -> None:
    door = FakeDoor()
    async with asyncio.timeout(60), listening(door) as listener:
        door.order_now(Orders(ruling=RULED, stop=CANCEL))
        assert await listener.ruling(2) is None


async def test_news_is_heard_once_and_without_a_pause() -> None:
    door, heard, all_of_it = FakeDoor(), [], asyncio.Event()
    shell = ShellWish(id="s1", tty=True)
    news = [Orders(armed=Armed(after=True)), Orders(armed=Armed(after=True), shells=(shell,)), Orders()]

    def hear(orders: Orders) -> None:
        heard.append(orders)
        if len(heard) == len(news):
            all_of_it.set()

    listener = OrderListener(door, "a1", Armed(), hear)
    async with asyncio.timeout(PAUSE), asyncio.TaskGroup() as group:
        task = group.create_task(listener.listen(asyncio.get_running_loop().time()))
        door.order_now(*news)
        await all_of_it.wait()
        task.cancel()
    assert heard == news


async def test_nothing_is_asked_at_first_unless_somebody_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinkbox.worker.attempts.order_listener.FIRST_PAUSE", 1e9)
    door = FakeDoor()
    async with asyncio.timeout(60), listening(door) as listener:
        door.order_now(CANCEL)
        for _ in range(100):
            await asyncio.sleep(0)
        assert door.faults.calls == []
        assert await listener.ordered() == CANCEL
