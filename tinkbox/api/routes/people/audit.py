"""`/v1/audit`: who did what, for those who have the right to see that."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Final, NotRequired, TypedDict

from aiohttp import web

from tinkbox.api import event_stream
from tinkbox.api.access import caller, needing
from tinkbox.api.answers import Json, Media, answered
from tinkbox.api.auditing import recorded_reading
from tinkbox.api.event_stream import EVENT_STREAM, KEEP_ALIVE, sent, streamed
from tinkbox.api.following import Followers
from tinkbox.api.json_values import Time
from tinkbox.api.listing import SINCE, Query
from tinkbox.api.long_answers import in_turn, json_list
from tinkbox.api.parameters import LIMIT, Parameter, sort_by
from tinkbox.api.requests import is_number, number, says_yes, takes
from tinkbox.engine.audit.audit import Audit
from tinkbox.model.access import Right
from tinkbox.model.audit import FIELDS, Kind, Line, Listing, Standing, no_such_line
from tinkbox.model.audit_places import Delivery
from tinkbox.model.errors import Invalid, NotFound
from tinkbox.model.listing import Order
from tinkbox.model.text import quoted
from tinkbox.wire.list_total import HEADER

AT_ONCE: Final = 200
MOST_LISTED: Final = 10_000  # lines of one answer; an export has all
JSON_LINES: Final = "application/jsonl"


class DidDocument(TypedDict):
    """`names` are all that the thing was called then, and what belongs to it."""

    what: str
    which: str
    names: NotRequired[list[str]]


class ChangedDocument(TypedDict):
    """`before` and `after` are digests, empty where there was or is nothing."""

    kind: str
    key: str
    before: str
    after: str


# `from` is a word of Python.
_From = TypedDict("_From", {"from": str})


class LineDocument(_From):
    """A line of the audit: all but `digest` is what that is the SHA-256 of, in canonical JSON; `names` are those of `object`.

    Its `seal` is made of the rest with `audit.key`; lines of earlier releases have none.

    Of a line that another program changed `number` is told, the `kind` is `damaged`, `why` says so, and the rest is empty.

    A list has beside it what became of what a line only asks, its `outcome`, which is no part of it.
    """

    number: int
    at: Time
    kind: str
    who: str
    how: str
    what: str
    object: str
    previous: str
    digest: str
    names: NotRequired[list[str]]
    asked: NotRequired[int]
    status: NotRequired[int]
    did: NotRequired[list[DidDocument]]
    changed: NotRequired[list[ChangedDocument]]
    times: NotRequired[int]
    why: NotRequired[str]
    through: NotRequired[int]
    through_digest: NotRequired[str]
    seal: NotRequired[str]
    outcome: NotRequired[Standing]


class DeliveryDocument(TypedDict):
    """`waiting` is how many lines the place is not known to have taken, `sent` whether the place took any since the appliance started (over UDP: whether any was sent)."""

    place: str
    first: int
    waiting: int
    sent: bool
    missed: int
    problem: str


class VerdictDocument(TypedDict):
    """`wrong` is the number of the first line that is not as it was written or is missing, 0: none; `digest` is the last line's.

    More can be examined `after` the line `goes_on_after`, 0: nothing follows.
    """

    lines: int
    first: int
    last: int
    wrong: int
    problem: str
    digest: str
    goes_on_after: int
    deliveries: list[DeliveryDocument]


def routes(
    audit: Audit, deliveries: Callable[[], Awaitable[Sequence[Delivery]]], followers: Followers
) -> list[web.RouteDef]:
    @takes(
        "who",
        "object",
        "what",
        SINCE,
        Parameter("every", bool, about="also lines that only ask, of which another tells the end"),
        LIMIT,
        sort_by(FIELDS),
    )
    async def show_list(request: web.Request) -> Json[list[LineDocument]]:
        """Lines of the audit, the newest first and 10,000 at most; `object` and `what` are parts of what they tell, `object` of any name of it."""
        query = Query(request)
        wanted = Listing(
            who=query.text("who"),
            object=query.text("object"),
            what=query.text("what"),
            since=query.since(audit.now()),
            order=query.order(Order("number", descending=True)),
            limit=min(query.limit() or MOST_LISTED, MOST_LISTED),
            every=says_yes(request, "every"),
        )
        found, total = await audit.listed(wanted)
        return await json_list(found, partial(_listed, audit), {HEADER: str(total)})

    @takes(Parameter("after", int))
    async def watch(request: web.Request) -> Annotated[web.StreamResponse, Media((EVENT_STREAM,))]:
        """Every new line, and first those behind `after`, or behind the `Last-Event-ID` of who goes on."""
        reached = request.headers.get("Last-Event-ID", "")
        if reached and not is_number(reached):
            raise Invalid(f"Last-Event-ID is the number of a line, not {quoted(reached)}: leave it out to begin now")
        wanted = number(request, "after")
        with followers.place(request, caller(request).name):
            newest = await audit.newest()
            after = int(reached) if reached else wanted if "after" in request.query else newest
            if after > newest:  # an earlier database was put back: what has these numbers is other lines
                after = 0
            return await streamed(request, _watched(audit, after), EVENT_STREAM)

    @recorded_reading
    @takes(Parameter("after", int))
    async def export(request: web.Request) -> Annotated[web.StreamResponse, Media((JSON_LINES,))]:
        """Every line as JSON in a line of its own, from the oldest on, or behind `after`, which has to be there or deleted for its age."""
        after, newest = number(request, "after"), await audit.newest()
        if after > newest:
            raise NotFound(no_such_line(after, newest))
        with followers.place(request, caller(request).name):
            return await streamed(request, _exported(audit, after, newest), JSON_LINES)

    @takes(Parameter("after", int))
    async def verify(request: web.Request) -> Json[VerdictDocument]:
        """Whether every line, or each behind `after`, is as it was written, and none is missing."""
        verdict = await audit.verify(number(request, "after"))
        told: list[DeliveryDocument] = [
            {
                "place": each.place,
                "first": each.first,
                "waiting": each.waiting,
                "sent": each.sent,
                "missed": each.missed,
                "problem": each.problem,
            }
            for each in await deliveries()
        ]
        document: Any = {**asdict(verdict), "deliveries": told}
        return answered(document)

    return needing(
        Right.AUDIT,
        *in_turn(web.get("/v1/audit", show_list), web.get("/v1/audit/verify", verify)),
        web.get("/v1/audit/watch", watch),
        web.get("/v1/audit/export", export),
    )


def _document(line: Line) -> LineDocument:
    document: Any = line.document()
    return document  # type: ignore[no-any-return]


def _listed(audit: Audit, line: Line) -> LineDocument:
    told = _document(line)
    if told["kind"] == Kind.ASKED:
        told["outcome"] = audit.standing(line)
    return told


async def _watched(audit: Audit, after: int) -> AsyncIterator[bytes]:
    yield sent(str(after))
    while True:
        if found := await audit.after(after, AT_ONCE):
            after = found[-1].number
            yield b"".join(sent(str(each.number), "line", each.document()) for each in found)
        else:
            yield KEEP_ALIVE
            await audit.changed(event_stream.LOOK_EVERY)


async def _exported(audit: Audit, after: int, newest: int) -> AsyncIterator[bytes]:
    """The lines up to the newest of now: what comes meanwhile, such as that of this export, has no end."""
    while after < newest and (found := await audit.after(after, AT_ONCE)):
        after = found[-1].number
        yield b"".join(json.dumps(each.document()).encode() + b"\n" for each in found if each.number <= newest)
