"""Refusals become HTTP answers here and nowhere else (RFC 9457 `application/problem+json`)."""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict

from aiohttp import web

from tinkbox.model.errors import Conflict, Denied, Forbidden, Invalid, NotFound, Refusal, TooLarge, TooMany, Unavailable

STATUS: Mapping[type[Refusal], int] = {
    Invalid: 422,
    NotFound: 404,
    Conflict: 409,
    TooLarge: 413,
    Denied: 401,
    Forbidden: 403,
    Unavailable: 503,
    TooMany: 429,
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_log = logging.getLogger(__name__)


def problem(
    status: int, kind: str, detail: str, problems: tuple[object, ...] = (), headers: Mapping[str, str] | None = None
) -> web.Response:
    """One problem document; `type` is stable and meant for programs, `detail` for people."""
    document = {"type": f"/problems/{kind}", "status": status, "detail": detail, "problems": list(problems)}
    return web.Response(
        status=status, text=json.dumps(document), content_type="application/problem+json", headers=headers
    )


def advice(refusal: Refusal) -> Mapping[str, str]:
    """The headers that say what to do about a refusal (RFC 9110 §11.6.1 and §10.2.3)."""
    if isinstance(refusal, TooMany):
        return {"Retry-After": str(refusal.retry_after)}
    return {"WWW-Authenticate": "Bearer"} if type(refusal) is Denied else {}


@web.middleware
async def refusals_become_problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """The one place where a refusal meets HTTP; what is no refusal is our fault and a 500."""
    try:
        return await handler(request)
    except Refusal as refusal:
        listed = tuple(asdict(each) for each in refusal.problems) if isinstance(refusal, Invalid) else ()
        answer = problem(STATUS[type(refusal)], type(refusal).__name__.lower(), str(refusal), listed, advice(refusal))
        if type(refusal) is Denied:
            answer.force_close()  # who shows nothing keeps no connection from those who do
        return answer
    except web.HTTPException as error:
        if error.status < 400:
            raise
        return problem(error.status, error.reason.lower().replace(" ", "-"), error.text or error.reason)
    except ConnectionError:
        # The client went away, and nobody reads this; aiohttp would write a traceback into the log.
        return problem(400, "bad-request", "the connection broke")
    except Exception:
        _log.exception("request failed", extra={"action": "http.failed", "path": request.path})
        return problem(500, "internal", "tinkbox failed to answer this; its log has the reason")
