"""The parts of a path that stand for a key: `{key}` takes whatever letters a name may have."""

import re
from collections.abc import Iterable

from aiohttp import web

_PART = re.compile(r"\{(\w+)\}")


def add_routes(application: web.Application, routes: Iterable[web.RouteDef]) -> None:
    """Serve these routes.  What aiohttp takes for a `{key}` has no braces, with which names may be written."""
    application.add_routes(
        [web.RouteDef(each.method, _PART.sub(r"{\1:[^/]+}", each.path), each.handler, each.kwargs) for each in routes]
    )
