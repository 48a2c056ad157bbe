"""Refusals become HTTP answers here and nowhere else (RFC 9457 `application/problem+json`)."""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict

from aiohttp import web

from tinkbox.model.errors import Conflict, Denied, Forbidden, Invalid, NotFound, Refusal, TooLarge, Unavailable

STATUS: Mapping[type[Refusal], int] = {
    Invalid: 422,
    NotFound: 404,
    Conflict: 409,
    TooLarge: 413,
    Denied: 401,
    Forbidden: 403,
    Unavailable: 503,
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_log = logging.getLogger(__name__)


def problem(status: int, kind: str, detail: str, problems: tuple[object, ...] = ()) -> web.Response:
    """One problem document; `type` is stable and meant for programs, `detail` for people."""
    document = {"type": f"/problems/{kind}", "status": status, "detail": detail, "problems": list(problems)}
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return web.Response(
        status=status, text=json.dumps(document), content_type="application/problem+json", headers=headers
    )


@web.middleware
async def refusals_become_problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """The one place where a refusal meets HTTP; what is no refusal is our fault and a 500."""
    try:
        return await handler(request)
    except Refusal as refusal:
        listed = tuple(asdict(each) for each in refusal.problems) if isinstance(refusal, Invalid) else ()
        return problem(STATUS[type(refusal)], type(refusal).__name__.lower(), str(refusal), listed)
    except web.HTTPException as answer:
        if answer.status < 400:
            raise
        return problem(answer.status, answer.reason.lower().replace(" ", "-"), answer.text or answer.reason)
    except ConnectionError:
        raise  # the client went away; there is nobody left to answer
    except Exception:
        _log.exception("request failed", extra={"action": "http.failed", "path": request.path})
        return problem(500, "internal", "tinkbox failed to answer this; its log has the reason")
