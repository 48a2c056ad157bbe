"""Whether the engine answers while an attempt is under way."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.unit.worker.fakes import FakeDoor
from tinkbox.model.breakpoint import Armed
from tinkbox.runtime import ContainerFailed, EngineAway
from tinkbox.wire.messages.breakpoints import Orders
from tinkbox.worker.attempts import engine_watch
from tinkbox.worker.attempts.engine_watch import EngineWatch
from tinkbox.worker.attempts.order_listener import OrderListener


class Engine:
    """Answers `answers` one after the other, each when it is asked; `asked` is set anew at each question."""

    def __init__(self, *answers: Exception | None) -> None:
        self.answers = [*answers]
        self.all_asked = asyncio.Event()

    async def version(self) -> str:
        if not self.answers:
            self.all_asked.set()
            await asyncio.Event().wait()
        if (answer := self.answers.pop(0)) is not None:
            raise answer
        return "26.1"


@asynccontextmanager
async def watched(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EngineWatch]:
    monkeypatch.setattr(engine_watch, "EVERY", 0.0)
    monkeypatch.setattr(engine_watch, "PATIENCE", 600.0)
    watch = EngineWatch(engine.version)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        task = group.create_task(watch.run())
        await engine.all_asked.wait()
        yield watch
        task.cancel()


AWAY = EngineAway("no Docker engine answers")


async def test_an_engine_that_answers_is_not_away(monkeypatch: pytest.MonkeyPatch) -> None:
    assert EngineWatch(Engine().version).away() == 0
    async with watched(Engine(None, None), monkeypatch) as watch:
        assert watch.away() == 0


@pytest.mark.parametrize("answer", [AWAY, TimeoutError()])
async def test_one_that_does_not_answer_is_away_since_the_first_question_in_vain(
    answer: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with watched(Engine(None, answer, answer), monkeypatch) as watch:
        assert watch.away() > 0


@pytest.mark.parametrize("answer", [None, ContainerFailed("EngineFailed", "it cannot")])
async def test_one_that_is_back_is_not_away(answer: Exception | None, monkeypatch: pytest.MonkeyPatch) -> None:
    async with watched(Engine(AWAY, AWAY, answer), monkeypatch) as watch:
        assert watch.away() == 0


async def test_one_that_takes_questions_and_never_answers_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_watch, "EVERY", 0.0)
    monkeypatch.setattr(engine_watch, "PATIENCE", 0.0)
    asked = asyncio.Semaphore(0)

    async def hangs() -> None:
        asked.release()
        await asyncio.Event().wait()

    watch = EngineWatch(hangs)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        task = group.create_task(watch.run())
        await asked.acquire()
        await asked.acquire()  # after the first was given up
        assert watch.away() > 0
        task.cancel()


async def test_the_listener_tells_it_with_its_question() -> None:
    door, heard = FakeDoor(), asyncio.Event()
    door.order_now(Orders(armed=Armed(after=True)))
    listener = OrderListener(door, "a1", Armed(), lambda _: heard.set(), lambda: 12.0)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        task = group.create_task(listener.listen(0.0))
        await heard.wait()
        task.cancel()
    assert door.engine_away == 12.0
