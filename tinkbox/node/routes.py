"""What a worker asks of the appliance about attempts, over HTTP (`wire.messages.worker` and `wire.messages.breakpoints` have the messages)."""

import re
from collections.abc import Callable
from datetime import datetime
from functools import partial

from aiohttp import web

from tinkbox.door.answers.answers import in_pieces
from tinkbox.door.requests.bodies import body_of
from tinkbox.engine.boot.booting import Booting
from tinkbox.engine.workflows.attempts import Attempts
from tinkbox.engine.workflows.breakpoints import Breakpoints
from tinkbox.engine.workflows.lost_histories import LostHistories
from tinkbox.model.boot import Stage
from tinkbox.model.text import one_line
from tinkbox.node.handed_in import HandedIn
from tinkbox.node.polls import (
    MAX_MESSAGE_BODY,
    Authenticate,
    answered,
    awaited,
    is_private,
    nothing_yet,
    offset_of,
    worker_of,
)
from tinkbox.wire.ephemeral_limits import MAX_ARCHIVE_BYTES
from tinkbox.wire.messages import breakpoints as holds
from tinkbox.wire.messages import disks, journal
from tinkbox.wire.messages.breakpoints import Orders, decode_asked, decode_held, decode_resumed
from tinkbox.wire.messages.worker import (
    MAX_OUTPUT_CHUNK,
    Offer,
    decode_hello,
    decode_leaving,
    decode_pulled,
    decode_report,
    encode,
)
from tinkbox.wire.polling import ORDERS_SECONDS, POLL_SECONDS

MAX_DIGITS = 12
MAX_SECONDS_DIGITS = 6
MAX_TROUBLE = 4096  # bytes of what an OSIE tells, of which so many characters are kept
MAX_SAID = 300
_PART = re.compile("[a-z]{1,20}")


def routes(
    attempts: Attempts,
    breakpoints: Breakpoints,
    lost_histories: LostHistories,
    authenticate: Authenticate,
    clock: Callable[[], datetime],
    timeline: Booting,
    handed_in: HandedIn,
    poll_seconds: float = POLL_SECONDS,
) -> list[web.RouteDef]:
    """The worker protocol.  `authenticate` says whose session a request shows.

    A worker for which there is no work, is answered after `poll_seconds`, one that has its orders already after ORDERS_SECONDS at most.
    """
    door = _WorkerDoor(attempts, breakpoints, lost_histories, authenticate, clock, timeline, handed_in, poll_seconds)
    return [
        web.get("/worker/time", door.time),
        web.post("/worker/trouble", door.trouble),
        web.post("/worker/next", door.next),
        web.post("/worker/history", door.history),
        # They are tried in this order, so what every action asks comes first.
        web.get("/worker/attempts/{token}/data", door.data),
        web.put("/worker/attempts/{token}/data", door.keep_data),
        web.get("/worker/attempts/{token}/orders", door.orders),
        web.post("/worker/attempts/{token}/report", door.report),
        web.post("/worker/attempts/{token}/output", door.output),
        web.post("/worker/attempts/{token}/image", door.image),
        web.post("/worker/attempts/{token}/leaving", door.leaving),
        web.post("/worker/attempts/{token}/disks", door.disks),
        web.post("/worker/attempts/{token}/held", door.held),
        web.post("/worker/attempts/{token}/resumed", door.resumed),
        web.post("/worker/attempts/{token}/verdict", door.verdict),
    ]


class _WorkerDoor:
    def __init__(
        self,
        attempts: Attempts,
        breakpoints: Breakpoints,
        lost_histories: LostHistories,
        authenticate: Authenticate,
        clock: Callable[[], datetime],
        timeline: Booting,
        handed_in: HandedIn,
        poll_seconds: float,
    ) -> None:
        self._poll_seconds = poll_seconds
        self._attempts = attempts
        self._breakpoints = breakpoints
        self._lost_histories = lost_histories
        self._authenticate = authenticate
        self._clock = clock
        self._timeline = timeline
        self._handed_in = handed_in

    async def time(self, request: web.Request) -> web.Response:
        """What time it is; `?was=UNIX` says what the machine's own clock shows."""
        now = self._clock()
        was = request.query.get("was", "")
        if was.isascii() and was.isdecimal() and len(was) <= MAX_DIGITS:
            offset = int(was) - int(now.timestamp())
            self._timeline.saw_address(request.remote or "", Stage.CLOCK, f"{offset:+d} s", offset=offset)
        return web.json_response({"now": now.isoformat(), "unix": now.timestamp()})

    async def trouble(self, request: web.Request) -> web.Response:
        """What keeps an OSIE from starting its worker, in a line of text; `?part=NAME` says of which part of it."""
        part = request.query.get("part", "")
        why = one_line((await body_of(request, MAX_TROUBLE)).decode(errors="replace"), MAX_SAID)
        if why and _PART.fullmatch(part):
            self._timeline.osie_has_trouble(request.remote or "", part, why)
        return web.json_response({})

    async def next(self, request: web.Request) -> web.Response:
        worker = self._worker(request)
        hello = decode_hello(await body_of(request, MAX_MESSAGE_BODY))
        offer = await self._attempts.offer(worker, hello, private=is_private(request))
        if offer is None and not hello.finishing:
            # Once it waits, its machine may be switched off and nobody hears of it: it gets nothing before it asks again.
            due, wait = partial(self._attempts.is_due, worker, hello), partial(self._attempts.wait, worker)
            await awaited(request, due, wait, self._poll_seconds)
        # Meanwhile another may have become this machine's worker: what was begun is offered to that one.
        self._worker(request)
        return _offered(offer)

    async def history(self, request: web.Request) -> web.Response:
        worker = self._worker(request)
        told = journal.decode_history(await body_of(request, MAX_MESSAGE_BODY))
        ask, wait = partial(self._lost_histories.told, worker, told), partial(self._attempts.wait, worker)
        found = await awaited(request, ask, wait, self._poll_seconds)
        return nothing_yet() if found is None else answered(journal.encode(found))

    async def orders(self, request: web.Request) -> web.Response:
        worker, token, seen = self._worker(request), request.match_info["token"], request.query.get("seen", "")
        self._attempts.engine_is_away(worker, _seconds(request.query.get("engine_away", "")))

        async def news() -> Orders | None:
            orders = await self._breakpoints.orders(worker, token)
            return None if orders.mark == seen else orders

        wait, anew = partial(self._attempts.wait, worker), partial(self._attempts.must_show, worker)
        found = await awaited(request, news, wait, min(self._poll_seconds, ORDERS_SECONDS), anew)
        return nothing_yet() if found is None else answered(holds.encode(found))

    async def held(self, request: web.Request) -> web.Response:
        worker = self._worker(request)
        held = decode_held(await body_of(request, MAX_MESSAGE_BODY))
        await self._breakpoints.held(worker, request.match_info["token"], held)
        return web.json_response({})

    async def resumed(self, request: web.Request) -> web.Response:
        worker = self._worker(request)
        resumed = decode_resumed(await body_of(request, MAX_MESSAGE_BODY))
        await self._breakpoints.resumed(worker, request.match_info["token"], resumed)
        return web.json_response({})

    async def verdict(self, request: web.Request) -> web.Response:
        worker = self._worker(request)
        asked = decode_asked(await body_of(request, MAX_MESSAGE_BODY))
        await self._breakpoints.asked(worker, request.match_info["token"], asked)
        return web.json_response({})

    async def leaving(self, request: web.Request) -> web.Response:
        worker = self._worker(request)
        leaving = decode_leaving(await body_of(request, MAX_MESSAGE_BODY))
        await self._attempts.leave(worker, request.match_info["token"], leaving)
        return web.json_response({})

    async def image(self, request: web.Request) -> web.Response:
        worker = self._worker(request)
        pulled = decode_pulled(await body_of(request, MAX_MESSAGE_BODY))
        digest = await self._attempts.pulled(worker, request.match_info["token"], pulled)
        return web.json_response({"digest": digest})

    async def report(self, request: web.Request) -> web.Response:
        worker = self._worker(request)
        report = decode_report(await body_of(request, MAX_MESSAGE_BODY))
        token, private = request.match_info["token"], is_private(request)
        offer = await self._attempts.report(worker, token, report, private=private)
        self._worker(request)  # as above
        return answered("{}" if offer is None else encode(offer))

    async def disks(self, request: web.Request) -> web.Response:
        worker = self._worker(request)
        looked = disks.decode_looked(await body_of(request, MAX_MESSAGE_BODY))
        return answered(disks.encode_answer(await self._attempts.may_wipe(worker, request.match_info["token"], looked)))

    async def output(self, request: web.Request) -> web.Response:
        worker = self._worker(request)
        offset = offset_of(request)
        chunk = await body_of(request, MAX_OUTPUT_CHUNK)
        wanted = await self._attempts.output(worker, request.match_info["token"], offset, chunk)
        return web.json_response({"next": wanted})

    async def data(self, request: web.Request) -> web.StreamResponse:
        worker = self._worker(request)
        archive = await self._attempts.data(worker, request.match_info["token"])
        return await in_pieces(request, archive.size, archive, head=web.Response(content_type="application/x-tar"))

    async def keep_data(self, request: web.Request) -> web.Response:
        worker = self._worker(request)
        archive = await body_of(request, MAX_ARCHIVE_BYTES)
        self._handed_in.note(worker, len(archive))
        version = await self._attempts.keep_data(worker, request.match_info["token"], archive)
        return web.json_response({"version": version})

    def _worker(self, request: web.Request) -> str:
        return worker_of(request, self._authenticate)


def _seconds(told: str) -> int:
    """A number of seconds that a worker told; 0 for what is none."""
    return int(told) if told.isascii() and told.isdecimal() and len(told) <= MAX_SECONDS_DIGITS else 0


def _offered(offer: Offer | None) -> web.Response:
    return nothing_yet() if offer is None else answered(encode(offer))
