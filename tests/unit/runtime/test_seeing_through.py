import asyncio

import pytest

from tinkbox.model.reasons import Reason
from tinkbox.runtime import ContainerFailed, EngineAway
from tinkbox.runtime.seeing_through import seen_through


class Engine:
    """Answers `started`, or raises `fault`, as soon as `answers` is set; `carried_out` counts how often it did."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.fault = fault
        self.asked = asyncio.Event()
        self.answers = asyncio.Event()
        self.carried_out = 0
        self.hung_up = False

    async def start(self) -> str:
        self.asked.set()
        try:
            await self.answers.wait()
        except asyncio.CancelledError:
            self.hung_up = True
            raise
        self.carried_out += 1
        if self.fault is not None:
            raise self.fault
        return "started"


async def turns() -> None:
    """Time for everything that can happen by itself."""
    for _ in range(50):
        await asyncio.sleep(0)


FAULTS = [
    EngineAway("the engine is away"),
    ContainerFailed(Reason.BAD_COMMAND, "no such file"),
    KeyError("what nobody expected"),
]


async def test_the_answer_is_handed_on() -> None:
    engine = Engine()
    engine.answers.set()
    assert await seen_through(engine.start) == "started"


@pytest.mark.parametrize("fault", FAULTS, ids=lambda each: type(each).__name__)
async def test_a_refusal_is_raised_as_the_engine_raised_it(fault: Exception) -> None:
    engine = Engine(fault)
    engine.answers.set()
    with pytest.raises(type(fault)) as raised:
        await seen_through(engine.start)
    assert raised.value is fault


@pytest.mark.parametrize("fault", [None, *FAULTS], ids=lambda each: type(each).__name__)
async def test_a_cancelled_caller_ends_once_there_is_an_answer_whatever_it_is(fault: Exception | None) -> None:
    engine = Engine(fault)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        asking = group.create_task(seen_through(engine.start))
        await engine.asked.wait()
        asking.cancel()
        await turns()
        assert not asking.done()
        engine.answers.set()
        await asyncio.wait({asking})
    assert (asking.cancelled(), engine.carried_out, engine.hung_up) == (True, 1, False)


async def test_a_deadline_that_passes_meanwhile_is_a_deadline_afterwards() -> None:
    engine = Engine()
    deadline = asyncio.timeout(None)

    async def within() -> None:
        with pytest.raises(TimeoutError):
            async with deadline:
                await seen_through(engine.start)

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        asking = group.create_task(within())
        await engine.asked.wait()
        deadline.reschedule(asyncio.get_running_loop().time())
        await turns()
        assert not asking.done()
        engine.answers.set()
    assert engine.carried_out == 1


@pytest.mark.parametrize("again", [True, False], ids=["cancelled again", "time is up"])
async def test_an_engine_that_does_not_answer_is_hung_up_on(again: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinkbox.runtime.seeing_through.SECONDS", 1000.0 if again else 0.01)
    engine = Engine()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        asking = group.create_task(seen_through(engine.start))
        await engine.asked.wait()
        asking.cancel()
        await turns()
        if again:
            asking.cancel()
        await asyncio.wait({asking})
    assert (asking.cancelled(), engine.carried_out, engine.hung_up) == (True, 0, True)
