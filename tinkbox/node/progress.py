"""How far an action is, told by its worker (`wire.messages.progress` has the message)."""

from aiohttp import web

from tinkbox.door.requests.bodies import body_of
from tinkbox.engine.workflows.running_progress import RunningProgress
from tinkbox.node.polls import Authenticate, worker_of
from tinkbox.wire.messages.progress import decode_telling

MAX_BODY = 4096


def routes(progress: RunningProgress, authenticate: Authenticate) -> list[web.RouteDef]:
    """`authenticate` says whose session a request shows."""

    async def tell(request: web.Request) -> web.Response:
        worker = worker_of(request, authenticate)
        telling = decode_telling(await body_of(request, MAX_BODY))
        await progress.tell(worker, request.match_info["token"], telling)
        return web.json_response({})

    return [web.post("/worker/attempts/{token}/progress", tell)]
