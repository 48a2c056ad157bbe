"""`/v1/metadata/defaults`: what the appliance's configuration tells every installed system of who may log in."""

from collections.abc import Sequence

from aiohttp import web

from tinkbox.api.access import needing
from tinkbox.model.access import Right


def routes(ssh_keys: Sequence[str]) -> list[web.RouteDef]:
    async def show(_: web.Request) -> web.Response:
        """What every installed system is told of who may log in."""
        return web.json_response({"ssh_keys": list(ssh_keys)})

    return needing(Right.LOOK, web.get("/v1/metadata/defaults", show))
