"""Requests that last: polls, streams and shells, which end when their door closes instead of holding it open."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final

from aiohttp import web

from tinkbox.door.requests.live_requests import while_token_counts


class _Lasting:
    """The tasks of the requests that last, of one door."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closing = False

    async def end(self, _: web.Application) -> None:
        self._closing = True
        for task in self._tasks:
            task.cancel()

    @contextmanager
    def noted(self) -> Iterator[None]:
        task = asyncio.current_task()
        assert task is not None
        if self._closing:
            task.cancel()
        self._tasks.add(task)
        try:
            yield
        finally:
            self._tasks.discard(task)


_LASTING: Final = web.AppKey("lasting", _Lasting)


def end_with_door(application: web.Application) -> None:
    """Have the lasting requests of an application cancelled as soon as it shuts down."""
    application[_LASTING] = _Lasting()
    application.on_shutdown.append(application[_LASTING].end)


@contextmanager
def lasting(request: web.Request) -> Iterator[None]:
    """What is done within may take as long as its client likes, and ends with the door, or with Denied when its token does."""
    of_door = request.app.get(_LASTING)
    with of_door.noted() if of_door is not None else nullcontext(), while_token_counts(request):
        yield
