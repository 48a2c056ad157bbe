"""What the questions of all workers have in common: who asks, how long it waits for an answer.

Its session is the worker's identity; a name it merely claims counts for nothing.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from aiohttp import web

from tinkbox.door.requests.lasting import lasting
from tinkbox.model.errors import Denied, Invalid
from tinkbox.wire.messages.session import INSTANCE

LOOK_EVERY = 5.0
MAX_MESSAGE_BODY = 1024 * 1024
T = TypeVar("T")


# Maps a session's secret, the process that shows it and the IPv4 address it comes from to the machine's id, or to the MAC
# of one that nobody knows; raises Denied or Forbidden, or Unavailable while another host is seen at that address.
Authenticate = Callable[[str, str, str], str]


def worker_of(request: web.Request, authenticate: Authenticate) -> str:
    """The machine whose session the request shows; raises Denied, Forbidden or Unavailable."""
    return authenticate(bearer_of(request), request.headers.get(INSTANCE, ""), request.remote or "")


def bearer_of(request: web.Request) -> str:
    """What the request shows (RFC 6750 §2.1); raises Denied when it is nothing."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise Denied("a worker must show its session: Authorization: Bearer <secret>")
    return token.strip()


def is_private(request: web.Request) -> bool:
    """Whether nobody but who asks can read the answer: it is encrypted, or never leaves this host."""
    return request.secure or (request.remote or "").startswith("127.")


def offset_of(request: web.Request) -> int:
    """The place of the first byte of the output that comes; raises Invalid."""
    offset = request.query.get("offset", "")
    if not offset.isdecimal() or len(offset) > 18:
        raise Invalid("output: offset is the place of the first byte, such as ?offset=0")
    return int(offset)


async def awaited(
    request: web.Request,
    ask: Callable[[], Awaitable[T | None]],
    wait: Callable[[float], Awaitable[None]],
    seconds: float,
    anew: Callable[[], bool] = lambda: False,
) -> T | None:
    """Ask until there is something, at most `seconds`; `wait` returns when there may be.

    `anew` tells that the worker is to ask again, by which it shows that it is there.
    """
    waited = 0.0
    while (found := await ask()) is None and waited < seconds and not anew():
        pause = min(LOOK_EVERY, seconds - waited)
        with lasting(request):
            await wait(pause)
        waited += pause
        if request.transport is None:
            # The worker hung up: what is begun for it now would be begun for nobody.
            return None
    return found


def answered(text: str) -> web.Response:
    """A message that is JSON already."""
    return web.Response(text=text, content_type="application/json")


def nothing_yet() -> web.Response:
    """The answer to a question that was waited for in vain."""
    return web.Response(status=204)
