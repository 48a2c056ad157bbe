"""`/v1/status`, the appliance at a glance, and `/healthz`."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from aiohttp import web

from tinkbox import __version__
from tinkbox.api.access import needing
from tinkbox.engine.views.overview import Overview, limit_lines
from tinkbox.model.access import Right
from tinkbox.model.limits import Standing
from tinkbox.wire.messages.status import encode_snapshot


def routes(overview: Overview, limits: Callable[[], Sequence[Standing]]) -> list[web.RouteDef]:
    async def status(_: web.Request) -> web.Response:
        snapshot = replace(await overview.snapshot(__version__), limits=limit_lines(limits()))
        return web.Response(text=encode_snapshot(snapshot), content_type="application/json")

    return needing(Right.LOOK, web.get("/healthz", health), web.get("/v1/status", status))


async def health(_: web.Request) -> web.Response:
    return web.json_response({"version": __version__, "status": "ok"})
