"""Who may do what at the operator door.  Whoever may is held to the names that their route knows (`api.requests`)."""

import pwd
import socket
import struct
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final

from aiohttp import web
from aiohttp.typedefs import Middleware

from tinkbox.api.requests import refuse_unknown_names
from tinkbox.door.connections.proven_hosts import ProvenHosts
from tinkbox.door.problems import Handler
from tinkbox.door.requests.bodies import holder_of
from tinkbox.door.requests.live_requests import note_token
from tinkbox.door.requests.refused_tokens import RefusedTokens
from tinkbox.model.access import Caller, Means, Right, operator
from tinkbox.model.errors import Denied, Forbidden

TICKETED = "/v1/shells/{id}/attach"
TICKET: Final = "ticket"
NOTHING: Final = "nothing"
ANY: Final = f"any of {', '.join(Right)}"
_NEEDED: Final = "needed"
_KEEPS: Final = "keeps_to_scope"
# Raises for what is outside of the scope of who asks, before the route is asked.
ScopeCheck = Callable[[web.Request, Caller], Awaitable[None]]
# Where a client takes its token from, only the client knows.
_TOKENS: Final = (
    "The operator's is in DATA/operator.token on the appliance. There `tinkbox token list` shows all others, and "
    "`tinkbox token create NAME --right look` makes one"
)
_CALLER = web.RequestKey("caller", Caller)
_UCRED = struct.Struct("3i")  # unix(7), SO_PEERCRED: pid, uid, gid


@dataclass(frozen=True, slots=True)
class _Needed:
    """What a route needs, in words; any one of `rights` will do, and where there are none it is a ticket, or nothing."""

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
            note_token(request, known.token)
            request[_CALLER] = known
            if proven is not None:
                proven.note(holder_of(request))
        elif is_open(request.match_info.handler):
            pass  # whoever logs in may have a token that is not good any more
        elif shown:
            refused.note(holder_of(request), "operator door")
            raise Denied(
                f"the token is not known here: it is another appliance's, was revoked, or has expired. {_TOKENS}"
            )
        elif not _has_ticket(request):
            needed = (
                "a token is needed"
                if not scheme
                else "a token is needed as `Authorization: Bearer TOKEN`, and no other way"
            )
            raise Denied(f"{needed}. {_TOKENS}")
        return await handler(request)

    return guard


def may_look(request: web.Request) -> bool:
    """Whether who changes something may also read all of it."""
    return Right.LOOK in caller(request).rights


def may_read_secrets(request: web.Request) -> bool:
    """Whether who asks is shown what the field calls secret (`model.documents.secret_fields`)."""
    return Right.SECRETS in caller(request).rights


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


def require(request: web.Request, right: Right, *, within_scope: bool = True) -> Caller:
    """The caller, who has this right; raises Denied or Forbidden.  `within_scope` is as for `Caller.require`."""
    known = caller(request)
    known.require(right, within_scope=within_scope)
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


def needing_any(*routes: web.RouteDef) -> list[web.RouteDef]:
    """The same routes for everybody whose token is known here, whatever its rights and scope: each is to tell of no machine."""
    return [web.RouteDef(each.method, each.path, _for_anybody_known(each.handler), each.kwargs) for each in routes]


def keeping_to_scope(check: ScopeCheck, *routes: web.RouteDef) -> list[web.RouteDef]:
    """The same routes, which keep to the scope of who asks: `check` raises for what is outside of it.

    A route without this refuses whoever has a scope.
    """
    return [web.RouteDef(each.method, each.path, _keeping(each.handler, check), each.kwargs) for each in routes]


async def by_itself(_: web.Request, __: Caller) -> None:
    """The check of a route that keeps to a scope by itself, or tells of no machine."""


def keeps_to_scope(handler: object) -> bool:
    """Whether a route answers those who have a scope."""
    return hasattr(handler, _KEEPS)


FOR_A_LOOK: Final = f", or, for what changes nothing, to {Right.LOOK}"


def needing_either(*routes: web.RouteDef, right: Right = Right.OPERATE) -> list[web.RouteDef]:
    """The same routes for those who may look or have the right to change: what is asked decides, as `require_for` says."""
    return [web.RouteDef(each.method, each.path, _for_either(each.handler, right), each.kwargs) for each in routes]


def ticketed(*routes: web.RouteDef) -> list[web.RouteDef]:
    """The same routes, of which each looks itself who asks."""
    return [web.RouteDef(each.method, each.path, _for_whom_it_lets(each.handler), each.kwargs) for each in routes]


def open_to_all(*routes: web.RouteDef) -> list[web.RouteDef]:
    """The same routes for everybody, without a token: each is to tell nothing secret, and to change what it proves alone."""
    return [
        web.RouteDef(each.method, each.path, _for_whom_it_lets(each.handler, NOTHING), each.kwargs) for each in routes
    ]


def is_open(handler: object) -> bool:
    """Whether a route is for everybody."""
    return needed_by(handler) == NOTHING


def log_in(request: web.Request, known: Caller) -> None:
    """From now on this is whose request it is, who showed nothing that the door knows."""
    request[_CALLER] = known


def require_for(
    request: web.Request, *, changes: bool, right: Right = Right.OPERATE, within_scope: bool = True
) -> Caller:
    """The caller, who has the right to change, or may look where nothing is changed; raises Denied or Forbidden.

    Who may operate learns by trying no more than by doing, so answers have no documents.  `within_scope` is as for
    `Caller.require`.
    """
    known = caller(request)
    if changes or Right.LOOK not in known.rights:
        known.require(right, instead="" if changes else FOR_A_LOOK, within_scope=within_scope)
    return known


def _for_anybody_known(handler: Any) -> Handler:
    @wraps(handler)
    async def guarded(request: web.Request) -> web.StreamResponse:
        caller(request)
        await refuse_unknown_names(request)
        response: web.StreamResponse = await handler(request)
        return response

    setattr(guarded, _KEEPS, by_itself)
    return _marked(guarded, _Needed(ANY, tuple(Right)))


def _for_whom_it_lets(handler: Any, needed: str = f"a {TICKET}") -> Handler:
    @wraps(handler)
    async def guarded(request: web.Request) -> web.StreamResponse:
        await refuse_unknown_names(request)
        response: web.StreamResponse = await handler(request)
        return response

    return _marked(guarded, _Needed(needed))


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


def _for_either(handler: Any, right: Right) -> Handler:
    @wraps(handler)
    async def guarded(request: web.Request) -> web.StreamResponse:
        person = require_for(request, changes=False, right=right, within_scope=keeps_to_scope(handler))
        await _refuse_beyond_scope(request, person, handler, right)
        await refuse_unknown_names(request)
        response: web.StreamResponse = await handler(request)
        return response

    words = f"{right}, or {Right.LOOK} with `dry_run`"
    return _marked(guarded, _Needed(words, (right, Right.LOOK)))


def _keeping(handler: Any, check: ScopeCheck) -> Handler:
    @wraps(handler)
    async def keeping(request: web.Request) -> web.StreamResponse:
        response: web.StreamResponse = await handler(request)
        return response

    setattr(keeping, _KEEPS, check)
    return keeping


async def _refuse_beyond_scope(request: web.Request, person: Caller, handler: object, right: Right) -> None:
    if person.scope is None:
        return
    check: ScopeCheck | None = getattr(handler, _KEEPS, None)
    if check is None:
        resource = request.match_info.route.resource
        what = f"{request.method} {resource.canonical if resource is not None else request.path}"
        raise Forbidden(
            f"{person.name} has the scope {person.scope}, and {what} is about more than the machines with these labels: a "
            f"token without a scope may ask for it, and who may {Right.ADMIN} makes one, `tinkbox token create NAME --right {right}`"
        )
    await check(request, person)


def _guarded(handler: Any, right: Right) -> Handler:
    @wraps(handler)
    async def guarded(request: web.Request) -> web.StreamResponse:
        person = require(request, right, within_scope=keeps_to_scope(handler))
        await _refuse_beyond_scope(request, person, handler, right)
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
