"""What a door says to those who ask it for what only the other one has."""

from collections.abc import Iterable
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Middleware

from tinkbox.door.problems import Handler, kind_of, problem
from tinkbox.wire.operator_door import HEADER

_NOT_FOUND: Final = 404


def leads_to_other_door(routes: Iterable[web.RouteDef], listens: str) -> Middleware:
    """Middleware of a door for machines: requests for these routes, and for `/`, are told where the operator door is.

    That door has these routes, and `listens` at ADDRESS:PORT.  The middleware belongs inside of all that may answer
    such requests here after all, such as services.
    """
    where = (
        f"this is the machines' door. The operator door is https://{listens} on the appliance: `tinkbox login` with that "
        "URL takes your token. On the appliance itself the commands need neither"
    )
    theirs = {_first(each.path) for each in routes} | {""}

    @web.middleware
    async def lead(request: web.Request, handler: Handler) -> web.StreamResponse:
        nothing_here = isinstance(request.match_info.http_exception, web.HTTPNotFound)
        if nothing_here and _first(request.path) in theirs:
            return problem(_NOT_FOUND, kind_of(_NOT_FOUND), where, headers={HEADER: listens})
        return await handler(request)

    return lead


def leads_to_registry(registry: str) -> Middleware:
    """Middleware of the operator door, outside of what asks for a token: who looks for the registry here is told where the `registry` is.

    The answer is an error of OCI distribution, as such clients show it.
    """
    where = f"this is the operator door. The registry is on the node door: `docker login {registry}`"
    told = {"errors": [{"code": "NAME_UNKNOWN", "message": where}]}

    @web.middleware
    async def lead(request: web.Request, handler: Handler) -> web.StreamResponse:
        if _first(request.path) == "v2" and isinstance(request.match_info.http_exception, web.HTTPNotFound):
            return web.json_response(told, status=_NOT_FOUND)
        return await handler(request)

    return lead


def _first(path: str) -> str:
    return path.removeprefix("/").partition("/")[0]
