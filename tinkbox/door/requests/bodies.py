"""What a request says, as far as it is taken in: in time, and within what its sender and all together may have in memory."""

import asyncio
import math
import mmap
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from tinkbox.door.connections.connections import THIS_HOST
from tinkbox.door.problems import Handler
from tinkbox.door.requests.live_requests import while_token_counts
from tinkbox.model.errors import Invalid, TooLarge, TooMany
from tinkbox.model.limits import Ledger

# Smaller ones are not counted: there are no more of them than connections, and a report is taken whatever else comes.
SMALL: Final = 16 * 1024
# In the long run a body comes no slower than a modem of the nineties, in bytes a second.
SLOWEST: Final = 8 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Bodies:
    """What bodies may take of one door: memory, by the host that sends them, and `seconds` without progress.

    `host_at` names the host that has an address; `known` tells whether one is a known machine, which has a reserve.
    """

    ledger: Ledger
    host_at: Callable[[str], str]
    known: Callable[[str], bool]
    seconds: float


_BODIES: Final = web.AppKey("bodies", Bodies)
_TAKEN: Final = web.RequestKey("taken", int)
_HOLDER: Final = web.RequestKey("holder", str)


def limit_bodies(application: web.Application, bodies: Bodies) -> None:
    """Hold the bodies of an application's requests to these limits; what one takes it has until it is answered."""
    application[_BODIES] = bodies
    application.middlewares.append(_give_back)


async def body_of(request: web.Request, limit: int) -> bytes:
    """Raises TooLarge, without reading more than `limit` bytes, TooMany, and what `chunks_of` raises."""
    announced = request.content_length or 0
    if announced > limit:
        raise TooLarge(f"{announced} bytes: at most {limit} are taken here")
    body, pages = bytearray(), None
    try:
        async for chunk in chunks_of(request):
            size = (pages.tell() if pages is not None else len(body)) + len(chunk)
            if size > limit:
                raise TooLarge(f"more than {limit} bytes: that is too much here")
            _take(request, size)
            if pages is None and size > SMALL:
                pages = _pages(limit)
                pages.write(body)
                body.clear()
            if pages is None:
                body += chunk
            else:
                pages.write(chunk)
        return bytes(body) if pages is None else pages[: pages.tell()]
    finally:
        if pages is not None:
            pages.close()


def _pages(size: int) -> mmap.mmap:
    """Pages of which the kernel gives those that are written to, and takes all back at once.

    What grows within the heap is copied meanwhile, takes an eighth more, and leaves holes that are kept.
    """
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    # The first byte of a huge page takes two megabytes; a kernel that has none refuses this.
    with suppress(OSError):
        pages.madvise(mmap.MADV_NOHUGEPAGE)
    return pages


async def chunks_of(request: web.Request) -> AsyncIterator[bytes]:
    """The body as it comes.

    Raises HTTPRequestTimeout when it stands still or is too slow, Invalid when it is no body, and Denied as soon as the token of
    the request counts no more.
    """
    content = request.content
    # Most come with their head.
    if content.is_eof():
        if whole := content.read_nowait():
            yield whole
        return
    bodies, clock = request.app.get(_BODIES), asyncio.get_running_loop().time
    patience = bodies.seconds if bodies is not None else math.inf
    left = patience
    while True:
        since = clock()
        try:
            async with asyncio.timeout(left if left < math.inf else None):
                with while_token_counts(request):
                    chunk = await content.readany()
        except TimeoutError:
            slow = f"came slower than {SLOWEST >> 10} KiB a second" if left < patience else "stood still"
            raise web.HTTPRequestTimeout(text=f"the body {slow} for {patience:.0f} s") from None
        except web.RequestPayloadError as error:
            raise Invalid(f"the body is not what its head says: {error}") from None
        if not chunk:
            return
        # Time in which nobody read it does not count.
        left = min(patience, left - (clock() - since) + len(chunk) / SLOWEST)
        yield chunk


def holder_of(request: web.Request) -> str:
    """The host that a request comes from, or what stands for this one's own."""
    if _HOLDER not in request:
        bodies, address = request.app.get(_BODIES), request.remote or THIS_HOST
        request[_HOLDER] = address if bodies is None or address == THIS_HOST else bodies.host_at(address)
    return request[_HOLDER]


def _take(request: web.Request, size: int) -> None:
    """Take memory until there is so much for this request; raises TooLarge and TooMany."""
    bodies, taken = request.app.get(_BODIES), request.get(_TAKEN, 0)
    if bodies is None or size <= max(taken, SMALL):
        return
    holder, limit = holder_of(request), bodies.ledger.limit
    if size > limit.each:
        raise TooLarge(f"{limit.key}.each is {limit.shown(limit.each)}: the body has more, raise it in tinkbox.yaml")
    if not bodies.ledger.take(holder, size - taken, bodies.known):
        raise TooMany(
            f"no room for so many bytes of {holder} now: {limit.shown(limit.each)} are for all its requests that are not "
            f"answered yet, {limit.shown(limit.all)} for those of all machines ({limit.key} in tinkbox.yaml)"
        )
    request[_TAKEN] = size


@web.middleware
async def _give_back(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    finally:
        if taken := request.get(_TAKEN, 0):
            request.app[_BODIES].ledger.give_back(holder_of(request), taken)
