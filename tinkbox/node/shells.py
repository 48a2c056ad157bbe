"""The worker's end of a shell: a WebSocket that it dials, since a machine opens no port."""

from aiohttp import web

from tinkbox.door.answers.frames import carry, expect_websocket
from tinkbox.engine.shells.shells import Shells
from tinkbox.node.polls import Authenticate, worker_of


def routes(shells: Shells, authenticate: Authenticate) -> list[web.RouteDef]:
    """`authenticate` says whose session a request shows."""

    async def serve(request: web.Request) -> web.StreamResponse:
        worker = worker_of(request, authenticate)
        expect_websocket(request)
        async with shells.served(worker, request.match_info["token"], request.match_info["id"]) as line:
            return await carry(request, line)

    return [web.get("/worker/attempts/{token}/shells/{id}", serve)]
