"""`/v1/events`: every event as it happens.

The numbers of all events would count those that a token with a scope may not know.  So its places are `WORKFLOW:NUMBER`, of
the event that was told last, and when it is told that nothing happened depends on nothing that happens outside.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Annotated, Final, TypedDict

from aiohttp import web

from tinkbox.api import event_stream
from tinkbox.api.access import by_itself, caller, keeping_to_scope, needing
from tinkbox.api.answers import Media
from tinkbox.api.event_stream import EVENT_STREAM, KEEP_ALIVE, sent, streamed
from tinkbox.api.following import Followers
from tinkbox.api.json_values import Document, Time, time
from tinkbox.api.long_answers import turn
from tinkbox.api.parameters import Parameter
from tinkbox.api.requests import is_number, number, takes
from tinkbox.api.scopes import Scopes
from tinkbox.engine.turns import in_slices
from tinkbox.engine.workflows.workflows import Workflows
from tinkbox.model.access import Right
from tinkbox.model.errors import Invalid
from tinkbox.model.labels import Selector
from tinkbox.model.text import quoted
from tinkbox.model.workflow import Event

AT_ONCE: Final = 200
BEGINNING: Final = "0"
_PLACE: Final = re.compile(r"([0-9a-f-]{36}):([0-9]{1,18})")


class EventHead(TypedDict):
    """What every event has; beside it stands what an event of its kind tells."""

    workflow_id: str
    number: int
    at: Time | None
    kind: str


EventDocument = Annotated[Document, EventHead]


def routes(workflows: Workflows, followers: Followers, scopes: Scopes) -> list[web.RouteDef]:
    @takes(Parameter("after", int, about="with a scope 0, and every other place in `Last-Event-ID`"))
    async def watch(request: web.Request) -> Annotated[web.StreamResponse, Media((EVENT_STREAM,))]:
        """Every new event, and first those behind `after`, or behind the `Last-Event-ID` of who goes on."""
        person = caller(request)
        if person.scope is not None:
            return await watch_within(request, person.name, person.scope)
        reached = request.headers.get("Last-Event-ID", "")
        if reached and not is_number(reached):
            raise Invalid(
                f"Last-Event-ID is the number of an event, not {quoted(reached)}: leave it out to begin now (WORKFLOW:NUMBER is a "
                "place of tokens with a scope)"
            )
        wanted = number(request, "after")
        with followers.place(request, person.name):
            newest = await workflows.newest_event()
            after = int(reached) if reached else wanted if "after" in request.query else newest
            if after > newest:
                # The store was put back to an earlier day: who waited for what comes behind that place would miss events.
                after = 0
            return await streamed(request, stream_events(workflows, after, partial(turn, request)), EVENT_STREAM)

    async def watch_within(request: web.Request, who: str, scope: Selector) -> web.StreamResponse:
        reached = request.headers.get("Last-Event-ID", "")
        asked = reached or request.query.get("after", "")
        place = _PLACE.fullmatch(reached)
        if place is None and asked not in ("", BEGINNING):
            raise Invalid(
                f"a token with a scope goes on from 0, or from a place such as WORKFLOW:NUMBER, which it was told, in the header "
                f"Last-Event-ID (`tinkbox events watch --after`), not from {quoted(asked)}: leave it out to begin now"
            )
        with followers.place(request, who):
            after, begins = 0, BEGINNING
            if place is not None:
                found = await workflows.place_within(scope, place[1], int(place[2]))
                after, begins = (found, asked) if found is not None else (0, BEGINNING)
            elif not asked:
                after, newest = await workflows.newest_within(scope)
                begins = _place_of(newest) if newest is not None else BEGINNING
            chunks = stream_events_within(
                workflows, scope, after, begins, partial(turn, request), partial(scopes.events_for, request)
            )
            return await streamed(request, chunks, EVENT_STREAM)

    return needing(Right.LOOK, *keeping_to_scope(by_itself, web.get("/v1/events", watch)))


def _place_of(fact: Event) -> str:
    return f"{fact.workflow_id}:{fact.number}"


async def stream_events(
    source: Workflows, after: int, turn: Callable[[], AbstractAsyncContextManager[None]]
) -> AsyncIterator[bytes]:
    """Every event after the one of this number, then every new one, for ever.

    What may be many is read in a turn.  It begins with that number alone, so that who was cut off before the first event can
    resume too, and who asked for another place sees that it begins anew.
    """
    yield sent(str(after))
    behind = True
    while True:
        async with turn() if behind else nullcontext():
            found = await source.events_after(after, AT_ONCE)
            told = await in_slices(lambda each: sent(str(each[0]), each[1].kind, event_document(each[1])), found)
        behind = len(found) == AT_ONCE
        if found:
            after = found[-1][0]
            yield b"".join(told)
        else:
            yield KEEP_ALIVE
            await source.changed(event_stream.LOOK_EVERY)


async def stream_events_within(
    source: Workflows,
    scope: Selector,
    after: int,
    begins: str,
    turn: Callable[[], AbstractAsyncContextManager[None]],
    told_to: Callable[[Sequence[Event]], Awaitable[Sequence[Event]]],
) -> AsyncIterator[bytes]:
    """As `stream_events` of what is within a scope: every event after this place in the whole, which is told as `begins`."""
    yield sent(begins)
    time, behind = asyncio.get_running_loop().time, True
    quiet_since = time()
    while True:
        async with turn() if behind else nullcontext():
            found, after, behind = await source.events_within(scope, after, AT_ONCE)
            told = [sent(_place_of(each), each.kind, event_document(each)) for each in await told_to(found)]
        left = quiet_since + event_stream.LOOK_EVERY - time()
        if told or left <= 0:
            yield b"".join(told) or KEEP_ALIVE
            quiet_since = time()
        elif not behind:
            await source.changed(left)


def event_document(fact: Event) -> EventDocument:
    head: EventHead = {
        "workflow_id": fact.workflow_id,
        "number": fact.number,
        "at": time(fact.at),
        "kind": fact.kind,
    }
    return {**head, **fact.data}
