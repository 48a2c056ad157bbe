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
    patience, seen = Patience(), []

    async def ask() -> str:
        seen.append(patience.missing)
        return await inner()

    inner = answering(Unavailable("the appliance"), Denied("not yet"))
    assert await patience.until_answered(ask) == "answer"
    assert [str(each) for each in seen] == ["None", "the appliance", "not yet"]
    assert patience.missing is None
    assert not patience.engine_was_away


async def test_that_the_engine_was_away_stays_known() -> None:
    patience = Patience()
    await patience.until_answered(answering(EngineAway("gone")))
    await patience.until_answered(answering())
    assert patience.engine_was_away


async def test_an_engine_that_stays_away_or_refuses_is_given_up_for_the_while() -> None:
    patience = Patience()

    async def never() -> str:
        await asyncio.Event().wait()
        return ""

    for ask in (never, answering(ContainerFailed("EngineFailed", "no"))):
        with pytest.raises(EngineGone):
            await patience.within(0.01, ask)
    assert await patience.within(10, answering()) == "answer"
