"""Requests that are under way, by the token that they showed: they end as soon as that counts no more.

What lasts, and what waits for more of a body or for the reader of an answer, is given up with the reason, which is told where
the protocol has a place for it.  What changes something runs to its end.  A connection that still answers after GRACE seconds
is closed.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from aiohttp import web

from tinkbox.door.problems import Handler
from tinkbox.model.errors import Denied

GRACE: Final = 0.5


class _Live:
    """One request, and those of its tasks that may be given up."""

    def __init__(self, request: web.Request, token: str) -> None:
        self.token = token
        self.why = ""
        self._request = request
        self._waiting: set[asyncio.Task[Any]] = set()

    def end(self, why: str) -> None:
        self.why = why
        for task in self._waiting:
            task.cancel()

    def close(self) -> None:
        if self._request.transport is not None:
            self._request.transport.abort()

    @contextmanager
    def given_up(self) -> Iterator[None]:
        task = asyncio.current_task()
        assert task is not None
        self._refuse()
        before, nested = task.cancelling(), task in self._waiting
        self._waiting.add(task)
        try:
            yield
        except asyncio.CancelledError:
            # As asyncio.timeout tells its own cancelling from that of others.
            if self.why and not nested and task.uncancel() <= before:
                self._refuse()
            raise
        finally:
            if not nested:
                self._waiting.discard(task)

    def _refuse(self) -> None:
        if self.why:
            raise Denied(f"{self.why}: what was under way with it has ended") from None


class LiveRequests:
    """`counts` tells whether the token of an id counts still."""

    def __init__(self, counts: Callable[[str], bool]) -> None:
        self._counts = counts
        self._by_token: dict[str, set[_Live]] = {}

    @property
    def number(self) -> int:
        """How many are under way."""
        return sum(map(len, self._by_token.values()))

    def note(self, request: web.Request, token: str) -> None:
        """That a request is of a token, empty: of one that never ends; raises Denied for one that counts no more."""
        if not token:
            return
        if not self._counts(token):
            raise Denied("the token counts no more: it was revoked, or has expired")
        self.forget(request)
        live = request[_LIVE] = _Live(request, token)
        self._by_token.setdefault(token, set()).add(live)

    def forget(self, request: web.Request) -> None:
        """It is answered."""
        live = request.get(_LIVE)
        if live is None or live not in (of_token := self._by_token.get(live.token, set())):
            return
        of_token.discard(live)
        if not of_token:
            del self._by_token[live.token]

    def end(self, token: str, why: str) -> None:
        """End what is under way with a token."""
        for live in self._by_token.get(token, ()):
            if not live.why:
                live.end(why)
        if token in self._by_token:
            asyncio.get_running_loop().call_later(GRACE, self._close, token)

    def end_where(self, is_over: Callable[[str], bool], why: str) -> None:
        """End what is under way with the tokens of which this is true; whoever asks with them again is answered."""
        for token in [*self._by_token]:
            if is_over(token):
                self.end(token, why)

    def _close(self, token: str) -> None:
        for live in self._by_token.get(token, ()):
            if live.why:
                live.close()


_LIVE: Final = web.RequestKey("live", _Live)
_REQUESTS: Final = web.AppKey("live_requests", LiveRequests)


def end_with_token(application: web.Application, requests: LiveRequests) -> None:
    """Have the requests of an application end with their tokens."""
    application[_REQUESTS] = requests
    application.middlewares.append(_forget)


def note_token(request: web.Request, token: str) -> None:
    """That a request is of the token of this id; raises Denied for one that counts no more."""
    requests = request.app.get(_REQUESTS)
    if requests is not None:
        requests.note(request, token)


@contextmanager
def while_token_counts(request: web.Request) -> Iterator[None]:
    """What is done within is given up, with Denied, as soon as the token of the request counts no more."""
    live = request.get(_LIVE)
    if live is None:
        yield
        return
    with live.given_up():
        yield


@web.middleware
async def _forget(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    finally:
        request.app[_REQUESTS].forget(request)
