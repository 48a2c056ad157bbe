"""An event loop whose time passes when nobody has anything to do: hours in milliseconds, always the same way."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, TypeVar

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    """Waits for nobody; the time it was to wait is over at once."""

    waited = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        assert timeout is not None, "everybody waits, and nothing will ever happen"
        self.waited += max(timeout, 0.0)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._times = _Selector()
        super().__init__(self._times)

    def time(self) -> float:
        return self._times.waited

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, work: Callable[..., T], *arguments: Any
    ) -> "asyncio.Future[T]":
        """A thread would take real time: it is done now."""
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(work(*arguments))
        except Exception as error:
            done.set_exception(error)
        return done


def run(story: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run it to its end in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(story())
