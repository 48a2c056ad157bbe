from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.worker.actions import HELPED
from tinkbox.worker.attempts.order_listener import OrderListener


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks again asks at once."""
    monkeypatch.setattr("tinkbox.runtime.retrying.FIRST_WAIT", 0.0)
    monkeypatch.setattr("tinkbox.worker.attempts.order_listener.FIRST_PAUSE", 0.0)
    monkeypatch.setattr("tinkbox.worker.attempts.order_listener.PAUSE", 0.0)


@pytest.fixture(params=[True, False], ids=["helped", "bare"])
def with_and_without_helper(request: pytest.FixtureRequest) -> Iterator[None]:
    """An action cannot tell the difference, and nobody else can as long as nothing is armed."""
    HELPED.append(request.param)
    yield
    HELPED.pop()


@pytest.fixture
def leashes(monkeypatch: pytest.MonkeyPatch) -> list[OrderListener]:
    """Those of the attempts that are begun, the newest last."""
    made: list[OrderListener] = []

    class Noted(OrderListener):
        def __init__(self, *words: Any) -> None:
            super().__init__(*words)
            made.append(self)

    monkeypatch.setattr("tinkbox.worker.attempts.attempt.OrderListener", Noted)
    return made
