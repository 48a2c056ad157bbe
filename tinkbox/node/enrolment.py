"""What workers tell of their machines' firmware, over HTTP (`wire.messages.enrolment` has the message)."""

from collections.abc import Callable
from typing import Final

from aiohttp import web

from tinkbox.door.requests.bodies import body_of
from tinkbox.engine.machines.enrolments import Enrolments
from tinkbox.model.errors import TooMany
from tinkbox.model.rates import Buckets, Rate
from tinkbox.node.polls import Authenticate, worker_of
from tinkbox.wire.messages.enrolment import decode_enrolled

MAX_BODY: Final = 4096
# A worker tells once when it starts.
TELLS: Final = Rate(burst=8, a_second=0.125)
REMEMBERED: Final = 8192


def routes(enrolments: Enrolments, authenticate: Authenticate, monotonic: Callable[[], float]) -> list[web.RouteDef]:
    """`authenticate` says whose session a request shows; `monotonic` is a clock in seconds."""
    tells = Buckets(TELLS, REMEMBERED)

    async def tell(request: web.Request) -> web.Response:
        worker = worker_of(request, authenticate)
        if not tells.take(worker, monotonic()):
            seconds = round(1 / TELLS.a_second)
            raise TooMany(f"this machine told of its firmware too often: it may do so again in {seconds} s", seconds)
        await enrolments.told(worker, decode_enrolled(await body_of(request, MAX_BODY)))
        return web.json_response({})

    return [web.post("/worker/enrolment", tell)]
