"""What a worker asks and says as the host of services, over HTTP (`wire.messages.hosting` has the messages)."""

from collections.abc import Callable
from functools import partial

from aiohttp import web

from tinkbox.door.requests.bodies import body_of
from tinkbox.engine.services.services import Services
from tinkbox.node.handed_in import HandedIn
from tinkbox.node.polls import Authenticate, answered, awaited, is_private, nothing_yet, offset_of, worker_of
from tinkbox.wire.ephemeral_limits import MAX_ARCHIVE_BYTES
from tinkbox.wire.messages.hosting import decode_observed, encode
from tinkbox.wire.messages.worker import MAX_OUTPUT_CHUNK
from tinkbox.wire.polling import POLL_SECONDS

# As many services as one host may have, each with its last lines and the longest message.
MAX_OBSERVED_BODY = 8 * 1024 * 1024


def routes(
    services: Services,
    authenticate: Authenticate,
    contact: Callable[[str, str], None],
    handed_in: HandedIn,
    poll_seconds: float = POLL_SECONDS,
) -> list[web.RouteDef]:
    """`authenticate` says whose session a request shows.

    `contact` notes that a machine is in touch, and in which boot; it raises Conflict for one that is over.
    A host of which nothing else is wanted than it saw is answered after `poll_seconds`.
    """
    door = _ServicesDoor(services, authenticate, contact, handed_in, poll_seconds)
    return [
        web.get("/worker/services", door.wanted),
        web.post("/worker/services", door.observed),
        web.post("/worker/services/{run}/output", door.output),
        web.put("/worker/services/{run}/data", door.keep_data),
    ]


class _ServicesDoor:
    def __init__(
        self,
        services: Services,
        authenticate: Authenticate,
        contact: Callable[[str, str], None],
        handed_in: HandedIn,
        poll_seconds: float,
    ) -> None:
        self._services = services
        self._authenticate = authenticate
        self._contact = contact
        self._handed_in = handed_in
        self._poll_seconds = poll_seconds

    async def wanted(self, request: web.Request) -> web.Response:
        host = self._host(request)
        ask = partial(self._services.wanted, host, request.query.get("seen", ""), private=is_private(request))
        found = await awaited(request, ask, partial(self._services.wait, host), self._poll_seconds)
        return nothing_yet() if found is None else answered(encode(found))

    async def observed(self, request: web.Request) -> web.Response:
        host = self._host(request)
        observed = decode_observed(await body_of(request, MAX_OBSERVED_BODY))
        self._contact(host, observed.boot_id)
        await self._services.observed(host, observed.standings)
        return web.json_response({})

    async def output(self, request: web.Request) -> web.Response:
        host, offset = self._host(request), offset_of(request)
        chunk = await body_of(request, MAX_OUTPUT_CHUNK)
        wanted = await self._services.output(host, request.match_info["run"], offset, chunk)
        return web.json_response({"next": wanted})

    async def keep_data(self, request: web.Request) -> web.Response:
        host = self._host(request)
        archive = await body_of(request, MAX_ARCHIVE_BYTES)
        self._handed_in.note(host, len(archive))
        version = await self._services.keep_data(host, request.match_info["run"], archive)
        return web.json_response({"version": version})

    def _host(self, request: web.Request) -> str:
        return worker_of(request, self._authenticate)
