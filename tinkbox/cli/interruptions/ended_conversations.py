"""A conversation with the appliance that a signal ends: the event loop is told, so that it closes what stands open and says nothing."""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from tinkbox.cli.exit_statuses import BY_SIGNAL
from tinkbox.cli.interruptions.breaking_off import ENDS, EndedBySignal

T = TypeVar("T")
_Handler = Callable[[int, FrameType | None], object]


def run_until_ended(conversation: Coroutine[Any, Any, T]) -> T:
    """Run it in an event loop of its own; raises EndedBySignal where `ended_in_order` does, when the loop is at its end."""
    outcome = asyncio.run(_outcome(conversation))
    if isinstance(outcome, EndedBySignal):
        raise outcome
    return outcome


async def _outcome(conversation: Coroutine[Any, Any, T]) -> T | EndedBySignal:
    ended: list[EndedBySignal] = []
    try:
        with _cancelled_by_signals(ended):
            return await conversation
    except EndedBySignal as error:  # raised on from here, a task would keep it as its own and tell of it
        return error
    except asyncio.CancelledError:
        if ended:
            return ended[0]
        raise


@contextmanager
def _cancelled_by_signals(ended: list[EndedBySignal]) -> Iterator[None]:
    """A signal that would raise EndedBySignal while the loop waits, in the middle of its own work, cancels this task instead."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None
    # The others end the process at once.
    before: dict[int, _Handler] = {number: handler for number in ENDS if callable(handler := signal.getsignal(number))}

    def end(number: int, frame: FrameType | None) -> None:
        if asyncio.current_task(loop) is not None:
            before[number](number, frame)
        elif not ended:
            ended.append(EndedBySignal(BY_SIGNAL + number))
            loop.call_soon_threadsafe(task.cancel)

    for number in before:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
