import asyncio
from collections.abc import Callable

import pytest

from tinkbox.model.errors import Conflict, Unavailable
from tinkbox.runtime.patience import patiently


def failing(times: int, error: Exception) -> Callable[[], "asyncio.Future[str]"]:
    left = [error] * times

    async def ask() -> str:
        if left:
            raise left.pop()
        return "answer"

    return ask  # type: ignore[return-value]


async def test_the_waits_double_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("tinkbox.runtime.patience.FIRST_WAIT", 1.0)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    assert await patiently(failing(6, Unavailable("away")), Unavailable) == "answer"
    assert waits == [1, 2, 4, 8, 8, 8]


async def test_what_does_not_pass_is_raised_at_once() -> None:
    with pytest.raises(Conflict):
        await patiently(failing(1, Conflict("no")), Unavailable)
