"""What machines tell of themselves, and how those that nobody knows wait to be accepted, over HTTP.

`wire.messages.inventory` has the messages.
"""

from collections.abc import Callable
from typing import Final

from aiohttp import web

from tinkbox.door.requests.bodies import body_of
from tinkbox.engine.discovery.discovery import Discovery
from tinkbox.model.errors import TooMany
from tinkbox.model.rates import Buckets, Rate
from tinkbox.node.polls import Authenticate, answered, awaited, nothing_yet, worker_of
from tinkbox.wire.messages.inventory import MAX_INVENTORY, Accepted, decode_told, encode_message
from tinkbox.wire.polling import POLL_SECONDS

# A worker tells once when it starts, and one that is told to wait asks again within eight seconds.
TELLS: Final = Rate(burst=8, a_second=0.125)
REMEMBERED: Final = 8192


def routes(
    discovery: Discovery,
    authenticate: Authenticate,
    monotonic: Callable[[], float],
    poll_seconds: float = POLL_SECONDS,
) -> list[web.RouteDef]:
    """`authenticate` says whose session a request shows, also of machines that nobody knows.

    One that nobody has accepted yet is answered after `poll_seconds`; `monotonic` is a clock in seconds.

    Each report of what a machine is costs a transaction, so every machine may tell it only so often.
    """
    tells = Buckets(TELLS, REMEMBERED)

    async def told(request: web.Request) -> web.Response:
        holder = worker_of(request, authenticate)
        # Before its body is read: neither an invented credential nor a flood has any of it looked at.
        if not tells.take(holder, monotonic()):
            seconds = round(1 / TELLS.a_second)
            raise TooMany(f"this machine told what it is too often: it may do so again in {seconds} s", seconds)
        await discovery.told(holder, decode_told(await body_of(request, MAX_INVENTORY)))
        return web.json_response({})

    async def accepted(request: web.Request) -> web.Response:
        async def ask() -> Accepted | None:
            # Whoever is accepted while it waits has the same session, and another name.
            return await discovery.accepted(worker_of(request, authenticate))

        found = await awaited(request, ask, discovery.wait, poll_seconds)
        return nothing_yet() if found is None else answered(encode_message(found))

    return [web.post("/worker/inventory", told), web.get("/worker/acceptance", accepted)]
