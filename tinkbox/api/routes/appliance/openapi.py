"""`/openapi.json`: what the operator door can be asked, for programs."""

import json
from collections.abc import Sequence

from aiohttp import web

from tinkbox.api.access import by_itself, keeping_to_scope, needing
from tinkbox.api.answers import Json, written
from tinkbox.api.json_values import Document
from tinkbox.api.openapi import description
from tinkbox.model.access import Right


def routes(others: Sequence[web.RouteDef]) -> list[web.RouteDef]:
    """`others` are the routes that it describes beside itself."""
    described: list[str] = []

    async def show(_: web.Request) -> Json[Document]:
        """Everything that can be asked here, as OpenAPI 3.1."""
        if not described:
            described.append(json.dumps(description([*others, *own])))
        return written(described[0])

    own = needing(Right.LOOK, *keeping_to_scope(by_itself, web.get("/openapi.json", show)))
    return own
