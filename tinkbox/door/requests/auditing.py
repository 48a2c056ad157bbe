"""What both doors tell the audit: what is about to be done and what became of it, and attempts that were refused."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from aiohttp import web

from tinkbox.door.problems import Handler
from tinkbox.engine.audit.audit import Audit
from tinkbox.model.audit import Act, Changed, Did, Kind
from tinkbox.model.errors import Denied, Forbidden, Refusal
from tinkbox.wire.refusal_statuses import STATUS

_AUDIT: Final = web.AppKey("audit", Audit)
_WHO: Final = web.RequestKey("who asks", tuple)
_RECORDED: Final = web.RequestKey("recorded", bool)
_WELL: Final = 200
# Parts of paths that let their bearer in.
_SECRET: Final = ("token", "ticket", "rest")
_FAILED: Final = 500
# What `door.problems` answers, though nobody reads it; the words are by whether the body was whole.
_GONE: Final = 400
_GONE_BEFORE: Final = {
    False: "the client went away before its request was whole",
    True: "the client went away before it had the whole answer",
}


@dataclass(slots=True, kw_only=True)
class Record:
    """What a handler adds to the line that tells what became of its request; a `status` of 0 is not known yet."""

    status: int = 0
    why: str = ""
    did: list[Did] = field(default_factory=list)
    changed: list[Changed] = field(default_factory=list)


def keep_audit(application: web.Application, audit: Audit) -> None:
    """Have what is done through an application recorded there."""
    application[_AUDIT] = audit


def audit_of(request: web.Request) -> Audit | None:
    return request.app.get(_AUDIT)


def known_as(request: web.Request, who: str, how: str) -> None:
    """Say who asks, and how they showed it, for a refusal that may follow."""
    request[_WHO] = (who, how)


@asynccontextmanager
async def recorded(
    request: web.Request,
    who: str,
    how: str,
    what: str,
    named: str = "",
    *,
    names: Sequence[str] = (),
    frees_room: bool = False,
    reads: bool = False,
    alone: bool = False,
) -> AsyncIterator[Record]:
    """Do what is within between two lines: that it was asked, and what became of it.

    `what` is the request, such as `PUT /v2/{name}/manifests/{selector}`, and `named` what it is about, which has these `names`; the rest is as in `Audit.begin`.  Raises Unavailable where it
    cannot be recorded, as `Audit.begin` says.  Who stops the appliance meanwhile leaves the first line alone.
    """
    audit, record = audit_of(request), Record()
    if audit is None:
        yield record
        return
    act = Act(kind=Kind.ASKED, who=who, how=how, source=request.remote or "", what=what, object=named, names=names)
    request[_RECORDED] = True
    asked = await audit.begin(act, frees_room=frees_room, reads=reads, alone=alone)
    try:
        yield record
        record.status = record.status or _WELL
    except Refusal as refusal:
        record.status, record.why = STATUS[type(refusal)], str(refusal)
        raise
    except web.HTTPException as error:
        record.status = error.status
        raise
    except ConnectionError:
        record.status, record.why = _GONE, _GONE_BEFORE[request.content.is_eof()]
        raise
    except Exception as error:
        record.status, record.why = _FAILED, type(error).__name__
        raise
    finally:
        try:
            if record.status:
                await audit.end(
                    replace(act, status=record.status, why=record.why, did=record.did, changed=record.changed), asked
                )
        finally:
            audit.leave(asked)


def refused(request: web.Request, refusal: Refusal) -> None:
    """Record that a request was refused to who asked, unless it has lines of its own."""
    audit = audit_of(request)
    if audit is None or _RECORDED in request:
        return
    who, how = request.get(_WHO, ("", ""))
    audit.refuse(
        Act(
            kind=Kind.REFUSED, who=who, how=how, source=request.remote or "",
            what=route_of(request), object=named_in(request), status=STATUS[type(refusal)], why=str(refusal),
        )
    )  # fmt: skip


def route_of(request: web.Request) -> str:
    """What is asked, such as `DELETE /v1/hardware/{key}`; of a path that the door does not have, the path itself."""
    resource = request.match_info.route.resource
    return f"{request.method} {resource.canonical if resource is not None else request.path}"


def named_in(request: web.Request) -> str:
    """What a request is about, as its path names it: the names in it that are no secret, with slashes between."""
    names = [value for name, value in request.match_info.items() if name not in _SECRET]
    return "/".join(names) or request.query.get("reference", "")


@web.middleware
async def refused_attempts(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Record those that are refused because of who asks."""
    try:
        return await handler(request)
    except (Denied, Forbidden) as refusal:
        refused(request, refusal)
        raise
