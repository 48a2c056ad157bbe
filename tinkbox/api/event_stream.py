"""Server-sent events, which resume after the `Last-Event-ID` that they gave, also after a restart."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Final

from aiohttp import web

from tinkbox.door.requests.lasting import lasting
from tinkbox.model.errors import Denied

LOOK_EVERY = 5.0
KEEP_ALIVE = b": still here\n\n"
EVENT_STREAM: Final = "text/event-stream"
# nginx keeps an answer back until a buffer is full, unless the answer says otherwise.
_AS_IT_COMES = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


async def streamed(
    request: web.Request, chunks: AsyncIterator[bytes], content_type: str, headers: Mapping[str, str] = _AS_IT_COMES
) -> web.StreamResponse:
    """Send each chunk as it comes, until the reader goes away."""
    response = web.StreamResponse(headers={"Content-Type": content_type, **_AS_IT_COMES, **headers})
    await response.prepare(request)
    with suppress(ConnectionResetError):
        # aiohttp would write the body, and a proxy take it for the answer to another's request.
        if request.method == "HEAD":
            await response.write_eof()
            return response
        try:
            with lasting(request):
                async for chunk in chunks:
                    await response.write(chunk)
        except Denied as refusal:
            # Events have a place for the reason; what has none is cut off, so that nobody takes it for whole.
            if content_type != EVENT_STREAM:
                if request.transport is not None:
                    request.transport.close()
                return response
            await response.write(f"event: denied\ndata: {json.dumps({'detail': str(refusal)})}\n\n".encode())
        await response.write_eof()
    return response


def sent(identity: str, kind: str = "", document: object = None) -> bytes:
    """One server-sent event; without a kind it only names the place to go on from."""
    what = f"event: {kind}\ndata: {json.dumps(document)}\n" if kind else ""
    return f"id: {identity}\n{what}\n".encode()
