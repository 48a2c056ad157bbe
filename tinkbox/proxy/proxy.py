"""The reverse proxy of the node door: requests for the services of workflows, by the routes that their labels make.

Below the domain of workflows only services answer.  Elsewhere they answer where nothing else of the door does.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address
from types import TracebackType
from typing import Final, Self

from aiohttp import HttpVersion10, HttpVersion11, hdrs, web
from aiohttp.typedefs import Middleware
from yarl import URL

from tinkbox.door.connections.reading_pace import ReadingPace
from tinkbox.door.problems import Handler, problem
from tinkbox.door.requests.bodies import holder_of
from tinkbox.engine.services.routing_table import Found, RoutingTable, doing, serves
from tinkbox.model.errors import Invalid, NotFound, TooMany
from tinkbox.model.limits import Room
from tinkbox.model.services import APPLIANCE, ENDED, Phase
from tinkbox.proxy.headers import origin, to_service
from tinkbox.proxy.request_target import Target, read_host, read_target, rewritten
from tinkbox.proxy.requests import Forwarder, Unanswered
from tinkbox.proxy.websocket_tunnel import asks_for_websocket, asks_to_switch
from tinkbox.wire.routing.rules import Request

RETRY_SECONDS: Final = 2
_OVER: Final = ENDED | {Phase.STOPPING}


def is_nobodys(address: IPv4Address) -> bool:
    """Whether an address is no other host's on the network: ours on loopback, that of a group, or without a route."""
    return (
        address.is_loopback
        or address.is_unspecified
        or address.is_multicast
        or address.is_reserved
        or address.is_link_local
    )


class Proxy:
    """Use it in an `async with`, and `middleware` in the door's application.

    `machine_at` maps an address to the id of the machine that is seen to have it, or to nothing.  The application must leave bodies
    as they are: `web.AppRunner(application, auto_decompress=False)`.  An address that `refuses` is never connected to,
    whatever a host says of its services.  `websockets` is room for so many of them, by the host that asks; `pace` is how services' answers are read.
    """

    def __init__(
        self,
        directory: RoutingTable,
        machine_at: Callable[[str], str],
        websockets: Room,
        pace: ReadingPace,
        refuses: Callable[[IPv4Address], bool] = is_nobodys,
    ) -> None:
        self._directory = directory
        self._machine_at = machine_at
        self._websockets = websockets
        self._refuses = refuses
        self._forwarder = Forwarder(pace)

    async def __aenter__(self) -> Self:
        await self._forwarder.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._forwarder.__aexit__(kind, error, trace)

    @property
    def middleware(self) -> Middleware:
        """It belongs inside of `refusals_become_problems`, and outside of what concerns the door's own routes."""

        @web.middleware
        async def pass_on(request: web.Request, handler: Handler) -> web.StreamResponse:
            host = read_host(request.headers.get(hdrs.HOST, ""))
            covered = self._directory.covers(host)
            if not covered and not isinstance(request.match_info.http_exception, web.HTTPNotFound):
                return await handler(request)
            try:
                answer = await self._answer(request, host)
                # aiohttp may drop what stands behind a request that asks for another protocol and gets none.
                return _closing(answer) if hdrs.UPGRADE in request.headers else answer
            except NotFound:
                if covered:
                    raise
                return await handler(request)

        return pass_on

    async def _answer(self, request: web.Request, host: str) -> web.StreamResponse:
        client = request.remote or ""
        try:
            target = _read(request, host)
            found = self._directory.find(_asked(request, host, target, client), self._machine_at(client))
            if found is None:
                # The same answer whether there is no such workflow, or it is another machine's.
                raise NotFound("no route of a service that is for you leads here")
            path, stripped = rewritten(target, found.route)
            headers = to_service(request.headers.items(), request.headers.getall(hdrs.CONNECTION, ()))
        except Invalid as refused:
            return _closing(problem(400, "bad-request", str(refused)))
        if asks_to_switch(request) and not asks_for_websocket(request):
            return _closing(
                problem(501, "not-implemented", "of all protocols to switch to only WebSocket is known here")
            )
        name = found.service.service.spec.name
        if waiting := _awaited(found):
            return _later(f"service {name} {waiting}")
        try:
            address, port = self._place(found)
            url = URL.build(
                scheme="http", host=address, port=port, path=path, query_string=target.raw_query, encoded=True
            )
            named = request.headers.get(hdrs.HOST, "")
            headers += [(hdrs.HOST, named)] if named else []
            headers += origin(client, named, _port(request), stripped, request.scheme)
            with self._room(request):
                return await self._forwarder.forward(request, url, headers)
        except Unanswered as unanswered:
            return problem(502, "bad-gateway", f"service {name} {unanswered}")

    @contextmanager
    def _room(self, request: web.Request) -> Iterator[None]:
        """Room for what a request begins, until it is over; raises TooMany."""
        if not asks_to_switch(request):
            yield
            return
        holder, room = holder_of(request), self._websockets
        if not room.take(holder):
            limit = room.ledger.limit
            raise TooMany(
                f"too many WebSockets to services: {limit.each} by a host, {limit.all} in all are open at once "
                f"({limit.key} in tinkbox.yaml)"
            )
        try:
            yield
        finally:
            room.give_back(holder)

    def _place(self, found: Found) -> tuple[str, int]:
        """Address and port of a service; raises Unanswered when there is nothing to connect to."""
        service, standing = found.service.service, found.service.standing
        if standing.phase in _OVER:
            raise Unanswered(doing(found.service))
        port = found.route.port or next(iter(standing.ports), None)
        if port is None:
            raise Unanswered("has no port that requests could go to: say in its `ports` what it listens on")
        address = _ipv4(standing.address)
        if address is None:
            raise Unanswered("is at no IPv4 address")
        if self._refuses(address) or (service.host != APPLIANCE and self._machine_at(str(address)) != service.host):
            raise Unanswered(f"is said to be at {address}, which is no address of its host")
        return str(address), port


@lru_cache(maxsize=1024)
def _ipv4(text: str) -> IPv4Address | None:
    try:
        return IPv4Address(text)
    except AddressValueError:
        return None


def _awaited(found: Found) -> str:
    """What a request waits for, to follow the service's name; empty when it need not wait."""
    if not found.hosted.wanted:
        return "is not started yet: its workflow waits for its turn"
    if found.service.standing.phase in _OVER or serves(found.service):
        return ""
    return doing(found.service)


def _read(request: web.Request, host: str) -> Target:
    """Raises Invalid for a request that a service could understand in another way; `host` is empty when it names none."""
    if request.version < HttpVersion10:
        raise Invalid("HTTP/0.9 is not spoken here")
    codings = request.headers.getall(hdrs.TRANSFER_ENCODING, ())
    if codings and (request.version != HttpVersion11 or [each.lower() for each in codings] != ["chunked"]):
        raise Invalid("of all transfer codings only chunked is known here, in HTTP/1.1")
    if not host and (request.version == HttpVersion11 or hdrs.HOST in request.headers):
        raise Invalid("the Host header names no host: it is a name or an IPv4 address, and a port if need be")
    return read_target(request.raw_path)


def _asked(request: web.Request, host: str, target: Target, client: str) -> Request:
    return Request(
        method=request.method,
        host=host,
        path=target.path,
        query=_listed(request.rel_url.query.items()),
        headers=_listed((name.lower(), value) for name, value in request.headers.items()),
        client=client,
    )


def _listed(pairs: Iterable[tuple[str, str]]) -> Mapping[str, tuple[str, ...]]:
    listed: defaultdict[str, list[str]] = defaultdict(list)
    for name, value in pairs:
        listed[name].append(value)
    return {name: tuple(values) for name, values in listed.items()}


def _port(request: web.Request) -> int:
    sockname = request.get_extra_info("sockname")
    return int(sockname[1]) if sockname else 0


def _later(why: str) -> web.Response:
    answer = problem(503, "unavailable", why)
    answer.headers[hdrs.RETRY_AFTER] = str(RETRY_SECONDS)
    return answer


def _closing(answer: web.StreamResponse) -> web.StreamResponse:
    """A connection on which a request was sent that is not understood is used no further."""
    answer.force_close()
    return answer
