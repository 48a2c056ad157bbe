"""Who reads what is printed: a program behind a pipe may have had enough while nothing is there to print."""

import sys
from collections.abc import Coroutine
from contextlib import suppress
from io import UnsupportedOperation
from select import POLLERR, poll
from typing import Any, Final, TypeVar

T = TypeVar("T")
SECONDS: Final = 1.0  # between two looks at the reader


def check_reader() -> None:
    """Raise BrokenPipeError, as printing would, when the pipe that is printed into has no reader any more."""
    with suppress(UnsupportedOperation):  # standard output is no file
        polled = poll()
        polled.register(sys.stdout.fileno(), 0)
        if any(state & POLLERR for _, state in polled.poll(0)):
            raise BrokenPipeError


async def while_read(work: Coroutine[Any, Any, T]) -> T:
    """What work returns that may print nothing for long; as soon as nothing reads what it prints, BrokenPipeError."""
    import asyncio

    try:
        async with asyncio.TaskGroup() as group:
            working = group.create_task(work)
            while not (await asyncio.wait({working}, timeout=SECONDS))[0]:
                check_reader()
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return working.result()
