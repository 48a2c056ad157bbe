"""What a request says, as far as it is taken in."""

from aiohttp import web

from tinkbox.model.errors import TooLarge


async def body_of(request: web.Request, limit: int) -> bytes:
    """Raises TooLarge, without reading more than `limit` bytes."""
    if (request.content_length or 0) > limit:
        raise TooLarge(f"{request.content_length} bytes: at most {limit} are taken here")
    body = bytearray()
    # Most come with their head.
    if request.content.is_eof():
        body += request.content.read_nowait()
    else:
        async for chunk in request.content.iter_any():
            body += chunk
            if len(body) > limit:
                break
    if len(body) > limit:
        raise TooLarge(f"more than {limit} bytes: that is too much here")
    return bytes(body)
