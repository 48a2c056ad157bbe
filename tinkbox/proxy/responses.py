"""What a service answers, on its way back to the client.

A service is as little trusted as a client: its answer is passed on only when its head is well-formed, and one that breaks
off is a broken connection for the client, never a complete answer.
"""

import asyncio
import socket
import struct
from typing import Final

from aiohttp import ClientError, ClientPayloadError, ClientResponse, hdrs, web

from tinkbox.model.errors import Invalid
from tinkbox.proxy.headers import to_client

NOBODY_THERE: Final = 499  # as nginx has it in its log
# Closed with this, a connection is reset; otherwise an answer whose end is that of the connection would seem whole.
_RESET: Final = struct.pack("ii", 1, 0)


class Broken(ConnectionError):
    """One of the two sides went away in the middle of an answer."""


async def pass_back(request: web.Request, answer: ClientResponse) -> web.StreamResponse:
    """Answer a request as a service did; raises Invalid before anything is sent, and Broken afterwards."""
    if answer.status < 200:
        raise Invalid("it switched to a protocol that was not asked for")
    codings = answer.headers.getall(hdrs.TRANSFER_ENCODING, ())
    if codings and [each.lower() for each in codings] != ["chunked"]:
        raise Invalid("it answered in another transfer coding than chunked")
    headers = to_client(answer.headers.items(), answer.headers.getall(hdrs.CONNECTION, ()))
    reason = answer.reason if answer.reason and answer.reason.isprintable() else None
    content = answer.content
    if content.is_eof():
        # All of it is here already: it leaves in one piece with its head.
        return web.Response(status=answer.status, reason=reason, headers=headers, body=content.read_nowait())
    passed = web.StreamResponse(status=answer.status, reason=reason, headers=headers)
    connection = _Connection(answer)
    try:
        await passed.prepare(request)
        while chunk := await content.readany():
            await passed.write(chunk)
        connection.check()
        await passed.write_eof()
    except (ClientError, OSError) as error:
        raise Broken("an answer broke off") from error
    return passed


class _Connection:
    """Fails the body of an answer when its connection ends before it.

    aiohttp does so only where it knows that bytes are missing: it would wait for ever for what follows a malformed chunk,
    and takes a connection that was reset for the end of a body that has no other.
    """

    def __init__(self, answer: ClientResponse) -> None:
        protocol = answer.connection.protocol if answer.connection is not None else None
        self._closed = protocol.closed if protocol is not None else None
        self._content = answer.content
        self._ends_body = hdrs.CONTENT_LENGTH not in answer.headers and hdrs.TRANSFER_ENCODING not in answer.headers
        if self._closed is not None:
            self._closed.add_done_callback(self._fail)

    def check(self) -> None:
        """Raises ClientPayloadError when the end of the connection was none of the body."""
        if self._ends_body and self._closed is not None and self._closed.done() and self._closed.exception():
            raise ClientPayloadError("the connection was reset")

    def _fail(self, closed: asyncio.Future[None]) -> None:
        closed.exception()  # otherwise the loop complains that nobody asked for it
        if not self._content.is_eof() and self._content.exception() is None:
            self._content.set_exception(ClientPayloadError("the connection ended before the answer"))


def cut(request: web.Request) -> web.StreamResponse:
    """Break a client's connection in a way that cannot be taken for an orderly end; returns an answer that nobody gets."""
    connection = request.get_extra_info("socket")
    if request.transport is not None and connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        request.transport.abort()
    return web.Response(status=NOBODY_THERE)
