"""`/v1/status`, the appliance at a glance, and `/healthz`."""

from aiohttp import web

from tinkbox import __version__
from tinkbox.api.access import needing
from tinkbox.engine.views.overview import Overview
from tinkbox.model.access import Right
from tinkbox.wire.messages.status import encode_snapshot


def routes(overview: Overview) -> list[web.RouteDef]:
    async def status(_: web.Request) -> web.Response:
        snapshot = await overview.snapshot(__version__)
        return web.Response(text=encode_snapshot(snapshot), content_type="application/json")

    return needing(Right.LOOK, web.get("/healthz", health), web.get("/v1/status", status))


async def health(_: web.Request) -> web.Response:
    return web.json_response({"version": __version__, "status": "ok"})
