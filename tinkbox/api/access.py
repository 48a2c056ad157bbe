"""Who may use the operator door, and what it takes in."""

import hmac
import json
from collections.abc import Callable
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Middleware

from tinkbox.door.problems import Handler
from tinkbox.model.errors import Denied, Invalid, TooLarge

MAX_DOCUMENT = 4 * 1024 * 1024
MAX_DIGITS = 18


def token_check(token: str) -> Callable[[str], bool]:
    """A comparison with the operator's token that takes the same time whatever it is given."""
    return lambda given: hmac.compare_digest(given.encode(errors="replace"), token.encode())


def bearer_only(is_operator: Callable[[str], bool]) -> Middleware:
    """Middleware of the TCP listener: the unix socket's guard is its file permissions."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not is_operator(token.strip()):
            raise Denied("the operator's token is needed: set TINKBOX_TOKEN to what DATA/operator.token holds")
        return await handler(request)

    return guard


async def read_object(request: web.Request) -> dict[str, Any]:
    """The request's JSON object; raises Invalid or TooLarge."""
    try:
        document = json.loads(await read_text(request))
        # JSON can spell what is no text: half of a surrogate pair.
        json.dumps(document, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise Invalid(f"invalid json: {error}") from None
    if not isinstance(document, dict):
        raise Invalid("invalid json: expected an object")
    return document


async def read_text(request: web.Request) -> bytes:
    """The request's body; raises TooLarge beyond a few MiB."""
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > MAX_DOCUMENT:
            raise TooLarge(f"more than {MAX_DOCUMENT // 1024} KiB: that is no document for here")
    return bytes(body)


def text_field(document: dict[str, Any], name: str) -> str:
    """A required text of a document."""
    value = document.get(name)
    if not isinstance(value, str) or not value:
        raise Invalid(f"{name} is required and is text")
    return value


def is_number(text: str) -> bool:
    """Whether this is a whole number that the store can count to."""
    return text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS
