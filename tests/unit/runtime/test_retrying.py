import asyncio
import logging
from collections.abc import Callable

import pytest

from tinkbox.model.errors import Conflict, Unavailable
from tinkbox.runtime.retrying import patiently


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

    monkeypatch.setattr("tinkbox.runtime.retrying.FIRST_WAIT", 1.0)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    assert await patiently(failing(6, Unavailable("away")), Unavailable) == "answer"
    assert waits == [1, 2, 4, 8, 8, 8]


async def test_what_does_not_pass_is_raised_at_once() -> None:
    with pytest.raises(Conflict):
        await patiently(failing(1, Conflict("no")), Unavailable)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Has what is logged; no wait takes any time."""

    async def sleep(seconds: float) -> None:
        del seconds

    monkeypatch.setattr("tinkbox.runtime.retrying.FIRST_WAIT", 1.0)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    caplog.set_level(logging.INFO)
    return caplog


async def test_what_is_away_for_long_fills_no_log(log: pytest.LogCaptureFixture) -> None:
    await patiently(failing(100, Unavailable("nobody answers")), Unavailable)
    assert log.messages == [
        "nobody answers; trying again until it works",
        "nobody answers, for 63 s now",
        "nobody answers, for 127 s now",
        "nobody answers, for 255 s now",
        "nobody answers, for 511 s now",
        "it works again after 783 s: nobody answers",
    ]


async def test_what_changes_is_said_at_once(log: pytest.LogCaptureFixture) -> None:
    errors: list[Exception] = [Unavailable("full"), Unavailable("full"), Unavailable("away")]

    async def ask() -> str:
        if errors:
            raise errors.pop()
        return "answer"

    await patiently(ask, Unavailable)
    assert [each.partition(";")[0] for each in log.messages[:2]] == ["away", "full"]
    assert log.messages[2:] == ["it works again after 7 s: full"]


async def test_what_works_at_once_is_no_news(log: pytest.LogCaptureFixture) -> None:
    assert await patiently(failing(0, Unavailable("")), Unavailable) == "answer"
    assert log.messages == []
