"""What the operator door tells the audit: every request that may change something, and those that read what is secret.

A route that changes something needs no word for it: a request with another method than GET, of somebody who may change things
there, is recorded.  What is recorded beyond that, and what is not, its handler says: `recorded_reading`, `record_reading`,
`changes_nothing`, `frees_room`.  What was done its handler says by `api.changes.log_change`, and by `changed` what it was before and is now.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final, Protocol, TypeVar

from aiohttp import hdrs, web

from tinkbox.api.access import TICKET, alternatives, caller
from tinkbox.door.problems import Handler
from tinkbox.door.requests.auditing import Record, audit_of, known_as, named_in, recorded, route_of
from tinkbox.model.access import Caller, Right
from tinkbox.model.audit import Changed, Did, digest_of, fits
from tinkbox.model.duration import show_duration
from tinkbox.model.errors import Denied

_RECORD: Final = web.RequestKey("record", Record)
_READING, _HARMLESS, _FREEING = "recorded_reading", "changes_nothing", "frees_room"
_LOOKS: Final = (hdrs.METH_GET, hdrs.METH_HEAD, hdrs.METH_OPTIONS)
_NAMES = "names"
_SLICE: Final = 64
H = TypeVar("H", bound=Callable[..., Any])


class Naming(Protocol):
    """What things are called (`api.audited_names`)."""

    async def of_path(self, request: web.Request) -> Sequence[str]: ...
    async def of_done(self, what: str, which: str) -> Sequence[str]: ...


def named_by(handler: H, names: Naming) -> H:
    """Have the lines of this know all names of what they are about."""
    setattr(handler, _NAMES, names)
    return handler


def recorded_reading(handler: H) -> H:
    """Have it recorded who reads this: a credential, a recording, a secret."""
    return _marked(handler, _READING)


def changes_nothing(handler: H) -> H:
    """Have requests not recorded that change nothing, though they are no GET."""
    return _marked(handler, _HARMLESS)


def frees_room(handler: H) -> H:
    """Have this done also while the disk takes no line of the audit, which waits then: it may be what makes room."""
    return _marked(handler, _FREEING)


@web.middleware
async def record_changes(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Record what is asked, and what became of it; it stands behind what finds out who asks."""
    try:
        person = caller(request)
    except Denied:  # who has a ticket alone
        return await handler(request)
    known_as(request, person.name, person.means)
    return await (_recorded(request, handler, person) if _is_recorded(request, person) else handler(request))


def did(request: web.Request, what: str, *which: str) -> None:
    """Add to a request's line what was done to these, in words."""
    if (record := request.get(_RECORD)) is not None:
        record.did += [Did(what, each) for each in which]


def changed(
    request: web.Request, kind: str, key: str, before: Mapping[str, Any] | str, after: Mapping[str, Any] | str
) -> None:
    """Add to a request's line a document before and after it was changed; a text is its digest already, empty: there is none.

    Of what is secret nothing may be given that its value can be guessed from.
    """
    if (record := request.get(_RECORD)) is not None:
        old, new = (each if isinstance(each, str) else digest_of(each) for each in (before, after))
        record.changed.append(Changed(kind, key, old, new))


async def record_reading(request: web.Request, what: str, which: str) -> None:
    """Record that something secret is read, where only the handler knows whether it is; raises Unavailable as `recorded` does."""
    person = caller(request)
    names = await _names(request)
    async with recorded(
        request, person.name, person.means, route_of(request), named_in(request), names=names, reads=True
    ) as record:
        record.did.append(Did(what, which))


def explain(request: web.Request, why: str) -> None:
    """Add a word to a request's line, such as what a token is for."""
    if (record := request.get(_RECORD)) is not None:
        record.why = why


def record_of(request: web.Request) -> Record | None:
    """What the handler of a recorded request adds to; None: the request is not recorded."""
    return request.get(_RECORD)


def note_rehearsal(request: web.Request, is_rehearsal: bool) -> None:
    """Say whether a request only tells what it would change."""
    if is_rehearsal and (record := request.get(_RECORD)) is not None:
        record.why = "dry run: nothing was changed"


@asynccontextmanager
async def recorded_attachment(request: web.Request, person: str, session: str) -> AsyncIterator[Record]:
    """Do what is within between the line that a person comes to a shell, and the one that they left it."""
    names, audit = await _names(request), audit_of(request)
    async with recorded(request, person, TICKET, "shell attached", session, names=names, alone=True) as record:
        began = audit.now() if audit is not None else None
        try:
            yield record
        finally:
            if audit is not None and began is not None:
                record.why = record.why or f"for {show_duration((audit.now() - began).total_seconds())}"


def _is_recorded(request: web.Request, person: Caller) -> bool:
    """Whether a request may change something, or reads what is secret, and is of somebody who may."""
    handler, rights = request.match_info.handler, alternatives(request.match_info.handler)
    if request.method in _LOOKS:
        return hasattr(handler, _READING) and bool(person.rights.intersection(rights))
    # Who may only look is let in where a rehearsal changes nothing.
    return not hasattr(handler, _HARMLESS) and bool(person.rights.intersection(rights) - {Right.LOOK})


async def _recorded(request: web.Request, handler: Handler, person: Caller) -> web.StreamResponse:
    freeing, names = hasattr(request.match_info.handler, _FREEING), await _names(request)
    async with recorded(
        request, person.name, person.means, route_of(request), named_in(request), names=names, frees_room=freeing,
        reads=request.method in _LOOKS,
    ) as record:  # fmt: skip
        request[_RECORD] = record
        try:
            response = await handler(request)
        finally:
            await _name_what_was_done(request, record, names)
        record.status = response.status
        return response


async def _names(request: web.Request) -> Sequence[str]:
    naming: Naming | None = getattr(request.match_info.handler, _NAMES, None)
    return await naming.of_path(request) if naming is not None else ()


async def _name_what_was_done(request: web.Request, record: Record, known: Sequence[str]) -> None:
    """Add names to what was done, but where the line has all of them."""
    naming: Naming | None = getattr(request.match_info.handler, _NAMES, None)
    if naming is None:
        return
    for number, each in enumerate(record.did):
        if (which := each.which.split(",", 1)[0]) not in known or not fits(known):
            record.did[number] = replace(each, names=await naming.of_done(each.what, which))
        if number % _SLICE == _SLICE - 1:
            await asyncio.sleep(0)


def _marked(handler: H, mark: str) -> H:
    setattr(handler, mark, True)
    return handler
