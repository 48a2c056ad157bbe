import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tinkbox.model.errors import Denied, Unavailable
from tinkbox.runtime import ContainerFailed, EngineAway
from tinkbox.worker.attempts.retrying import EngineGone, Patience

Ask = Callable[[], Coroutine[Any, Any, str]]


def answering(*errors: Exception) -> Ask:
    left = list(errors)

    async def ask() -> str:
        if left:
            raise left.pop(0)
        return "answer"

    return ask


async def test_what_is_waited_for_is_known_while_it_is_missing() -> None:
    patience, seen = Patience(lambda: True), []

    async def ask() -> str:
        seen.append(patience.missing)
        return await inner()

    inner = answering(Unavailable("the appliance"), Denied("not yet"))
    assert await patience.until_answered(ask) == "answer"
    assert [str(each) for each in seen] == ["None", "the appliance", "not yet"]
    assert patience.missing is None
    assert not patience.engine_was_away


async def test_that_the_engine_was_away_stays_known() -> None:
    patience = Patience(lambda: True)
    await patience.until_answered(answering(EngineAway("gone")))
    await patience.until_answered(answering())
    assert patience.engine_was_away


async def test_an_engine_that_stays_away_or_refuses_is_given_up_for_the_while() -> None:
    patience = Patience(lambda: True)

    async def never() -> str:
        await asyncio.Event().wait()
        return ""

    for ask in (never, answering(ContainerFailed("EngineFailed", "no"))):
        with pytest.raises(EngineGone):
            await patience.within(0.01, ask)
    assert await patience.within(10, answering()) == "answer"


@pytest.fixture
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinkbox.runtime.retrying.FIRST_WAIT", 0.0)


@pytest.mark.usefixtures("no_waits")
async def test_an_engine_that_stays_away_is_given_up_before_anything_was_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinkbox.worker.attempts.retrying.BEGIN_SECONDS", 0.0)
    with pytest.raises(EngineGone, match="no engine"):
        await Patience(lambda: False).until_answered(answering(EngineAway("no engine")))
    assert await Patience(lambda: True).until_answered(answering(EngineAway("no engine"))) == "answer"
    # An appliance that is away is waited for in any case.
    assert await Patience(lambda: False).until_answered(answering(Unavailable("away"), Denied("no"))) == "answer"


@pytest.mark.usefixtures("no_waits")
async def test_an_engine_that_only_restarts_is_waited_for() -> None:
    patience = Patience(lambda: False)
    for _ in range(50):
        assert await patience.until_answered(answering(EngineAway("restarts"), EngineAway("restarts"))) == "answer"
