"""How workers begin, over HTTP: a boot ticket is exchanged for a session (`wire.messages.session` has the messages)."""

from aiohttp import web

from tinkbox.door.requests.bodies import body_of
from tinkbox.door.requests.refused_tokens import RefusedTokens
from tinkbox.engine.machines.sessions import Sessions
from tinkbox.model.errors import Denied
from tinkbox.node.polls import answered, bearer_of
from tinkbox.wire.messages.session import MAX_OPENING, Opened, decode_opening, encode


def routes(sessions: Sessions) -> list[web.RouteDef]:
    """The one route that takes a boot ticket.  Of those that are none of this appliance's machines the log is told, by address."""
    refused = RefusedTokens("boot ticket")

    async def exchange(request: web.Request) -> web.Response:
        ticket = bearer_of(request)
        opening = decode_opening(await body_of(request, MAX_OPENING))
        address = request.remote or ""
        try:
            answer = await sessions.exchange(ticket, opening, address)
        except Denied:
            refused.note(address, "node door")
            raise
        return answered(encode(Opened(worker=answer) if isinstance(answer, str) else answer))

    return [web.post("/worker/session", exchange)]
