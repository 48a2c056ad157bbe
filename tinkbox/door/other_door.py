"""What a door says to those who ask it for what only the other one has."""

from collections.abc import Iterable

from aiohttp import web
from aiohttp.typedefs import Middleware

from tinkbox.door.problems import Handler
from tinkbox.model.errors import NotFound


def leads_to_other_door(routes: Iterable[web.RouteDef], where: str) -> Middleware:
    """Middleware that says `where` the other door is, which has these routes, to requests for them and for `/`.

    It belongs inside of all that may answer them here after all, such as services.
    """
    theirs = {_first(each.path) for each in routes} | {""}

    @web.middleware
    async def lead(request: web.Request, handler: Handler) -> web.StreamResponse:
        nothing_here = isinstance(request.match_info.http_exception, web.HTTPNotFound)
        if nothing_here and _first(request.path) in theirs:
            raise NotFound(where)
        return await handler(request)

    return lead


def _first(path: str) -> str:
    return path.removeprefix("/").partition("/")[0]
