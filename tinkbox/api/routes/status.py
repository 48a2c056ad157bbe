"""`/v1/status`, the appliance at a glance, and `/healthz`."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from aiohttp import web

from tinkbox import __version__
from tinkbox.api.access import needing
from tinkbox.engine.views.overview import Overview, limit_lines
from tinkbox.model.access import Right
from tinkbox.model.leases import Claimant
from tinkbox.model.limits import Standing
from tinkbox.wire.messages.status import encode_snapshot


def routes(
    overview: Overview, limits: Callable[[], Sequence[Standing]], claimants: Callable[[], Sequence[Claimant]]
) -> list[web.RouteDef]:
    async def status(_: web.Request) -> web.Response:
        notable = limit_lines(limits(), claimants())
        snapshot = replace(await overview.snapshot(__version__), limits=notable)
        return web.Response(text=encode_snapshot(snapshot), content_type="application/json")

    return needing(Right.LOOK, web.get("/healthz", health), web.get("/v1/status", status))


async def health(_: web.Request) -> web.Response:
    return web.json_response({"version": __version__, "status": "ok"})
