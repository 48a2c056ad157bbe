"""What a service answers, on its way back to the client.

A service is as little trusted as a client: its answer is passed on only when its head is well-formed, and one that breaks
off is a broken connection for the client, never a complete answer.
"""

from aiohttp import ClientError, ClientResponse, hdrs, web

from tinkbox.model.errors import Invalid
from tinkbox.services.headers import to_client


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
    try:
        await passed.prepare(request)
        while chunk := await content.readany():
            await passed.write(chunk)
        await passed.write_eof()
    except (ClientError, OSError) as error:
        cut(request)
        raise Broken("an answer broke off") from error
    return passed


def cut(request: web.Request) -> None:
    """Break a client's connection in a way that cannot be taken for an orderly end."""
    if request.transport is not None:
        request.transport.abort()
