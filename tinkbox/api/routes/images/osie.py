"""`/v1/osie`: what was built of the in-memory operating system."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aiohttp import web

from tinkbox.api.access import needing
from tinkbox.api.answers import Json, answered
from tinkbox.api.json_values import Document
from tinkbox.model.access import Right


def routes(osie: Callable[[], Sequence[Mapping[str, Any]]]) -> list[web.RouteDef]:
    async def show_list(_: web.Request) -> Json[list[Document]]:
        """What was built of the in-memory operating system."""
        return answered([dict(each) for each in osie()])

    return needing(Right.LOOK, web.get("/v1/osie", show_list))
