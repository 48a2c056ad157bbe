"""`/v1/events`: every event as it happens."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Annotated, Final, TypedDict

from aiohttp import web

from tinkbox.api import event_stream
from tinkbox.api.access import caller, needing
from tinkbox.api.answers import Media
from tinkbox.api.event_stream import EVENT_STREAM, KEEP_ALIVE, sent, streamed
from tinkbox.api.following import Followers
from tinkbox.api.json_values import Document, Time, time
from tinkbox.api.long_answers import turn
from tinkbox.api.parameters import Parameter
from tinkbox.api.requests import is_number, number, takes
from tinkbox.engine.turns import in_slices
from tinkbox.engine.workflows.workflows import Workflows
from tinkbox.model.access import Right
from tinkbox.model.errors import Invalid
from tinkbox.model.text import quoted
from tinkbox.model.workflow import Event

AT_ONCE: Final = 200


class EventHead(TypedDict):
    """What every event has; beside it stands what an event of its kind tells."""

    workflow_id: str
    number: int
    at: Time | None
    kind: str


EventDocument = Annotated[Document, EventHead]


def routes(workflows: Workflows, followers: Followers) -> list[web.RouteDef]:
    @takes(Parameter("after", int))
    async def watch(request: web.Request) -> Annotated[web.StreamResponse, Media((EVENT_STREAM,))]:
        """Every new event, and first those behind `after`, or behind the `Last-Event-ID` of who goes on."""
        reached = request.headers.get("Last-Event-ID", "")
        if reached and not is_number(reached):
            raise Invalid(f"Last-Event-ID is the number of an event, not {quoted(reached)}: leave it out to begin now")
        wanted = number(request, "after")
        with followers.place(request, caller(request).name):
            newest = await workflows.newest_event()
            after = int(reached) if reached else wanted if "after" in request.query else newest
            if after > newest:
                # The store was put back to an earlier day: who waited for what comes behind that place would miss events.
                after = 0
            return await streamed(request, stream_events(workflows, after, partial(turn, request)), EVENT_STREAM)

    return needing(Right.LOOK, web.get("/v1/events", watch))


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


def event_document(fact: Event) -> EventDocument:
    head: EventHead = {
        "workflow_id": fact.workflow_id,
        "number": fact.number,
        "at": time(fact.at),
        "kind": fact.kind,
    }
    return {**head, **fact.data}
