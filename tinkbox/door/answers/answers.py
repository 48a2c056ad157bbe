"""What is answered, as far as it is read: in pieces, in time, and within what those who ask may leave unread in memory.

A connection whose client reads nothing keeps its answer.  So a large one is counted until it is read, and no connection has
more than a piece of it beside the answer itself.
"""

import asyncio
import logging
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from tinkbox.door.problems import Handler
from tinkbox.door.requests.bodies import holder_of
from tinkbox.door.requests.live_requests import while_token_counts
from tinkbox.model.errors import Refusal, TooLarge, TooMany
from tinkbox.model.limits import ANSWER_BYTES, Ledger

# Smaller ones are not counted: they fit into what a connection may have in any case.
SMALL: Final = 16 * 1024
PIECE: Final = 64 * 1024
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What answers may take of one door: memory, by the host that asked, and `seconds` in which some must be read.

    `known` tells whether a host is a known machine, which has a reserve.
    """

    ledger: Ledger
    known: Callable[[str], bool]
    seconds: float


_ANSWERS: Final = web.AppKey("answers", Answers)


def limit_answers(application: web.Application, answers: Answers) -> None:
    """Hold the answers to an application's requests to these limits."""
    application[_ANSWERS] = answers
    application.middlewares.append(_hand_out)


async def in_pieces(
    request: web.Request, size: int, pieces: AsyncIterable[bytes | memoryview], *, head: web.Response
) -> web.StreamResponse:
    """Answer with `size` bytes in pieces, each as soon as its client has read enough of those before; `head` has the rest.

    A connection whose client reads nothing for too long is closed, and so is one whose pieces end with a refusal: its
    client sees that it has not got all.
    """
    answer = web.StreamResponse(status=head.status, reason=head.reason, headers=_kept(head.headers))
    answer.content_length = size
    answers = request.app.get(_ANSWERS)
    seconds = answers.seconds if answers is not None else None
    await answer.prepare(request)
    try:
        if request.method != "HEAD":
            async for piece in pieces:
                async with asyncio.timeout(seconds):
                    with while_token_counts(request):
                        await answer.write(piece)
        async with asyncio.timeout(seconds):
            await answer.write_eof()
    except (TimeoutError, Refusal) as error:
        why = str(error) or f"nothing was read for {seconds:.0f} s"
        _log.info("an answer to %s is cut off: %s", holder_of(request), why, extra={"action": "door.answer-cut"})
        _abort(request)
    except ConnectionError:
        _abort(request)  # its client went away
    return answer


@contextmanager
def unread(request: web.Request, size: int) -> Iterator[None]:
    """Count `size` bytes that are kept for an answer until it is read; raises TooMany."""
    answers, holder = request.app.get(_ANSWERS), holder_of(request)
    if answers is None or size <= SMALL:
        yield
        return
    limit = answers.ledger.limit
    # One alone may be larger: a list of all there is has no other way.
    size = min(size, limit.each)
    if not answers.ledger.take(holder, size, answers.known):
        raise TooMany(
            f"too much is answered to {holder} that it has not read yet: {limit.shown(limit.each)} at once, "
            f"{limit.shown(limit.all)} to all ({limit.key} in tinkbox.yaml)"
        )
    try:
        yield
    finally:
        answers.ledger.give_back(holder, size)


class OneAnswer:
    """The bytes that one answer has, made part by part; `instead` is how its client asks for less."""

    def __init__(self, request: web.Request, instead: str = "") -> None:
        answers = request.app.get(_ANSWERS)
        self._limit = answers.ledger.limit if answers is not None else ANSWER_BYTES
        self._instead = instead
        self._octets = 0

    @property
    def most(self) -> str:
        """How many bytes it may have, and which setting says so."""
        return f"{self._limit.shown(self._limit.each)} ({self._limit.key} in tinkbox.yaml)"

    def has_room(self, part: bytes) -> bool:
        """Whether there is room for a part that may be left out, which is counted then."""
        if self._octets + len(part) > self._limit.each:
            return False
        self._octets += len(part)
        return True

    def take(self, part: bytes) -> bytes:
        """The part, once it is counted; raises TooLarge as soon as all have more than one host may leave unread."""
        self._octets += len(part)
        if self._octets > self._limit.each:
            raise TooLarge(f"this is more than one answer may have, {self.most}: {self._instead}")
        return part


def _kept(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() != "content-length"}


def _abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


@web.middleware
async def _hand_out(request: web.Request, handler: Handler) -> web.StreamResponse:
    response = await handler(request)
    body = response.body if isinstance(response, web.Response) and not response.prepared else None
    if not isinstance(response, web.Response) or not isinstance(body, bytes) or len(body) <= SMALL:
        return response
    if request.method == "HEAD":
        return response
    with unread(request, len(body)):
        return await in_pieces(request, len(body), _of(body), head=response)


async def _of(body: bytes) -> AsyncIterator[memoryview]:
    view = memoryview(body)
    for start in range(0, len(view), PIECE):
        yield view[start : start + PIECE]
