"""Answers that are the longer the more machines and workflows there are: one is made at a time, in slices.

To make one takes up to a second of the event loop, which booting machines need as well.  So it is made in slices, between
which they are answered, and people take turns: however many are asked for at once, a machine waits for one slice.  What is
made waits to be read without a turn (`door.answers.answers`).
"""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import wraps
from typing import Any, Final, TypeVar

from aiohttp import web

from tinkbox.api.access import caller
from tinkbox.api.answers import Json, written
from tinkbox.door.answers.answers import OneAnswer
from tinkbox.door.connections.client_presence import WhileThere
from tinkbox.door.problems import Handler
from tinkbox.engine.turns import Queue, in_slices

T = TypeVar("T")
D = TypeVar("D")
_QUEUE: Final = web.AppKey("long_answers", Queue)


def queue() -> Queue:
    """What all listeners of one door share."""
    return Queue(at_once=1)


def take_turns(application: web.Application, long_answers: Queue) -> None:
    """Have the long answers of an application made one after the other."""
    application[_QUEUE] = long_answers


@asynccontextmanager
async def turn(request: web.Request) -> AsyncIterator[None]:
    """The turn of who asks, for as long as an answer, or a piece of it, is made; raises ClientGone."""
    async with WhileThere(request), request.app[_QUEUE].turn(caller(request).name):
        yield


def in_turn(*routes: web.RouteDef) -> list[web.RouteDef]:
    """The same routes, of which each answer is made in the turn of who asks, and read afterwards."""
    return [web.RouteDef(each.method, each.path, _in_turn(each.handler), each.kwargs) for each in routes]


def _in_turn(handler: Any) -> Handler:
    @wraps(handler)
    async def waiting(request: web.Request) -> web.StreamResponse:
        async with turn(request):
            response: web.StreamResponse = await handler(request)
        return response

    return waiting


async def json_list(
    entries: Iterable[T], document: Callable[[T], D], headers: Mapping[str, str] | None = None
) -> Json[list[D]]:
    """A JSON list of a document for each entry."""
    body = b"[" + b", ".join(await encoded(entries, document)) + b"]"
    return written(body, headers)


def unless_gone(request: web.Request, *, changes: bool) -> AbstractAsyncContextManager[object]:
    """What is done within is given up, with ClientGone, soon after the client is gone; what changes something goes on."""
    return nullcontext() if changes else WhileThere(request)


def json_object(fields: Mapping[str, Any], lists: Mapping[str, Sequence[bytes]]) -> Json[Any]:
    """A JSON object of these fields, and of lists of which the entries are `encoded`."""
    listed = [json.dumps(name).encode() + b": " + json.dumps(value).encode() for name, value in fields.items()]
    listed += [json.dumps(name).encode() + b": [" + b", ".join(entries) + b"]" for name, entries in lists.items()]
    return written(b"{" + b", ".join(listed) + b"}")


async def encoded(entries: Iterable[T], document: Callable[[T], Any], within: OneAnswer | None = None) -> list[bytes]:
    """A document in JSON for each entry; raises TooLarge when an answer has no room for them, before the rest is made."""

    def made(entry: T) -> bytes:
        part = json.dumps(document(entry)).encode()
        return part if within is None else within.take(part)

    return await in_slices(made, entries)
