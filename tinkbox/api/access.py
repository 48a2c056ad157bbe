"""Who may do what at the operator door.  Whoever may is held to the names that their route knows (`api.requests`)."""

import pwd
import socket
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final

from aiohttp import web
from aiohttp.typedefs import Middleware

from tinkbox.api.requests import refuse_unknown_names
from tinkbox.door.bodies import holder_of
from tinkbox.door.problems import Handler
from tinkbox.door.proven_hosts import ProvenHosts
from tinkbox.door.refused_tokens import RefusedTokens
from tinkbox.model.access import Caller, Means, Right, operator
from tinkbox.model.errors import Denied, Forbidden

TICKETED = "/v1/shells/{id}/attach"
TICKET: Final = "ticket"
_NEEDED: Final = "needed"
# Where a client takes its token from, only the client knows.
_TOKENS: Final = "The operator's is in DATA/operator.token on the appliance, a person's in DATA/people/NAME.token"
_CALLER = web.RequestKey("caller", Caller)
_UCRED = struct.Struct("3i")  # unix(7), SO_PEERCRED: pid, uid, gid


@dataclass(frozen=True, slots=True)
class _Needed:
    """What a route needs, in words; any one of `rights` will do, and where there are none it is a ticket."""

    words: str
    rights: tuple[Right, ...] = ()


def bearer_only(
    bearer: Callable[[str], Caller | None], refused: RefusedTokens, proven: ProvenHosts | None = None
) -> Middleware:
    """Middleware of the TCP listener: only who shows a token that `bearer` knows gets an answer; `refused` counts others.

    `proven` is told of the hosts that show one.

    A ticket for a shell stands in for a token, since a browser's WebSocket cannot send one: whoever serves
    `TICKETED` checks it.  The unix socket needs no guard beyond its file permissions.
    """

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        shown = token.strip() if scheme.lower() == "bearer" else ""
        known = bearer(shown)
        if known is not None:
            request[_CALLER] = known
            if proven is not None:
                proven.note(holder_of(request))
        elif shown:
            refused.note(holder_of(request), "operator door")
            raise Denied(
                f"the token is not known here. {_TOKENS}. To make a new one, delete its file and restart tinkbox there"
            )
        elif not _has_ticket(request):
            raise Denied(f"a token is needed. {_TOKENS}")
        return await handler(request)

    return guard


def may_look(request: web.Request) -> bool:
    """Whether who changes something may also read all of it."""
    return Right.LOOK in caller(request).rights


def caller(request: web.Request) -> Caller:
    """Who asks: the bearer of a token, or the user of this host at the other end of the unix socket.

    It is found out once: a handler goes on when its client is gone, and has no socket to ask any more then.  Raises Denied
    when it is neither, as with a ticket alone.
    """
    if _CALLER not in request:
        if not from_socket(request):
            raise Denied("this needs a token: set TINKBOX_TOKEN")
        connection = request.get_extra_info("socket")
        _, uid, _ = _UCRED.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
        request[_CALLER] = operator(_user(uid), Means.SOCKET)
    return request[_CALLER]


def from_socket(request: web.Request) -> bool:
    """Whether a request came over the unix socket."""
    connection = request.get_extra_info("socket")
    return connection is not None and connection.family == socket.AF_UNIX


def require(request: web.Request, right: Right) -> Caller:
    """The caller, who has this right; raises Denied or Forbidden."""
    known = caller(request)
    known.require(right)
    return known


def require_if_known(request: web.Request, person: str, right: Right) -> None:
    """Raises Forbidden for a request that says whose it is, where that is not this person or they lack the right.

    A ticket alone does not say it.
    """
    if (_CALLER in request or from_socket(request)) and require(request, right).name != person:
        raise Forbidden("this ticket was given to another person: ask for one of your own")


def needing(right: Right, *routes: web.RouteDef) -> list[web.RouteDef]:
    """The same routes for those only who have the right."""
    return [web.RouteDef(each.method, each.path, _guarded(each.handler, right), each.kwargs) for each in routes]


FOR_A_LOOK: Final = f", or, for what changes nothing, to {Right.LOOK}"


def needing_either(*routes: web.RouteDef) -> list[web.RouteDef]:
    """The same routes for those who may look or operate: what is asked decides, as `require_for` says."""
    return [web.RouteDef(each.method, each.path, _for_either(each.handler), each.kwargs) for each in routes]


def ticketed(*routes: web.RouteDef) -> list[web.RouteDef]:
    """The same routes, of which each looks itself who asks."""
    return [web.RouteDef(each.method, each.path, _for_whom_it_lets(each.handler), each.kwargs) for each in routes]


def require_for(request: web.Request, *, changes: bool) -> Caller:
    """The caller, who may operate, or look where nothing is changed; raises Denied or Forbidden.

    Who may operate learns by trying no more than by doing, so answers have no documents.
    """
    known = caller(request)
    if changes or Right.LOOK not in known.rights:
        known.require(Right.OPERATE, instead="" if changes else FOR_A_LOOK)
    return known


def _for_whom_it_lets(handler: Any) -> Handler:
    @wraps(handler)
    async def guarded(request: web.Request) -> web.StreamResponse:
        await refuse_unknown_names(request)
        response: web.StreamResponse = await handler(request)
        return response

    return _marked(guarded, _Needed(f"a {TICKET}"))


def _marked(handler: Handler, needed: _Needed) -> Handler:
    setattr(handler, _NEEDED, needed)
    return handler


def needed_by(handler: object) -> str:
    """What who asks a route of `needing` and its like needs, in words."""
    found = getattr(handler, _NEEDED, None)
    return found.words if isinstance(found, _Needed) else ""


def alternatives(handler: object) -> Sequence[Right]:
    """The rights of which any one will do for a route; a ticket does where there are none."""
    found = getattr(handler, _NEEDED, None)
    return found.rights if isinstance(found, _Needed) else ()


def _for_either(handler: Any) -> Handler:
    @wraps(handler)
    async def guarded(request: web.Request) -> web.StreamResponse:
        require_for(request, changes=False)
        await refuse_unknown_names(request)
        response: web.StreamResponse = await handler(request)
        return response

    words = f"{Right.OPERATE}, or {Right.LOOK} with `dry_run`"
    return _marked(guarded, _Needed(words, (Right.OPERATE, Right.LOOK)))


def _guarded(handler: Any, right: Right) -> Handler:
    @wraps(handler)
    async def guarded(request: web.Request) -> web.StreamResponse:
        require(request, right)
        await refuse_unknown_names(request)
        response: web.StreamResponse = await handler(request)
        return response

    return _marked(guarded, _Needed(right, (right,)))


def _has_ticket(request: web.Request) -> bool:
    resource = request.match_info.route.resource
    return resource is not None and resource.canonical == TICKETED and bool(request.query.get(TICKET))


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
