"""Refusals become HTTP answers here and nowhere else (RFC 9457 `application/problem+json`)."""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated, Any, Final, NotRequired, TypedDict

from aiohttp import web

from tinkbox.door.open_files import refusal_for
from tinkbox.model.errors import Denied, Invalid, Problem, Refusal, TooMany
from tinkbox.wire.refusal_statuses import BY_STATUS, STATUS


def _kind(refusal: type[Refusal]) -> str:
    return refusal.__name__.lower()


PROBLEM: Final = "application/problem+json"
# What must be said with a status (RFC 9110 §15.5.6: the methods that a path has).
_TOLD: Final = ("Allow",)
# To write so many takes some milliseconds of the event loop.
MOST_LISTED: Final = 1000
_SHOWN: Final = 200  # letters of what was asked for
# Python 3.13 has the phrases of RFC 9110 for these, which are not those of RFC 7231 and 7233.
_AS_BEFORE: Final[Mapping[int, str]] = {
    HTTPStatus.REQUEST_URI_TOO_LONG: "request-uri-too-long",
    HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE: "requested-range-not-satisfiable",
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_log = logging.getLogger(__name__)


class ProblemDocument(TypedDict):
    """A refusal as RFC 9457 has it: `type` is stable and meant for programs, `detail` for people.

    There are so many `more` problems than are listed.
    """

    type: str
    status: int
    detail: str
    problems: list[Annotated[Any, Problem]]
    more: NotRequired[int]


def problem(
    status: int,
    kind: str,
    detail: str,
    problems: tuple[object, ...] = (),
    headers: Mapping[str, str] | None = None,
    more: int = 0,
) -> web.Response:
    """One problem document; `type` is stable and meant for programs, `detail` for people.  There are so many `more` problems."""
    return web.Response(
        status=status, text=problem_text(status, kind, detail, problems, more), content_type=PROBLEM, headers=headers
    )


def problem_text(status: int, kind: str, detail: str, problems: tuple[object, ...] = (), more: int = 0) -> str:
    """The JSON of one."""
    document: ProblemDocument = {
        "type": _type(kind),
        "status": status,
        "detail": detail,
        "problems": list(problems),
    }
    if more:
        document["more"] = more
    return json.dumps(document)


def _type(kind: str) -> str:
    return f"/problems/{kind}"


def type_of(status: int) -> str:
    """The `type` of a problem with this status."""
    return _type(kind_of(status))


def kind_of(status: int) -> str:
    """The type of a problem that only has a status; who refuses does not matter: a path is as little found as a machine."""
    if (refusal := BY_STATUS.get(status)) is not None:
        return _kind(refusal)
    return _AS_BEFORE.get(status) or HTTPStatus(status).phrase.lower().replace(" ", "-")


def advice(refusal: Refusal) -> Mapping[str, str]:
    """The headers that say what to do about a refusal (RFC 9110 §11.6.1 and §10.2.3)."""
    if isinstance(refusal, TooMany):
        return {"Retry-After": str(refusal.retry_after)}
    return {"WWW-Authenticate": "Bearer"} if type(refusal) is Denied else {}


def _kept(headers: Mapping[str, str]) -> Mapping[str, str]:
    return {name: value for name, value in headers.items() if name in _TOLD}


def refusal_problem(refusal: Refusal) -> web.Response:
    """The problem document that a refusal is."""
    problems = refusal.problems if isinstance(refusal, Invalid) else ()
    listed = tuple(asdict(each) for each in problems[:MOST_LISTED])
    answer = problem(
        STATUS[type(refusal)],
        _kind(type(refusal)),
        str(refusal),
        listed,
        advice(refusal),
        more=len(problems) - len(listed),
    )
    if type(refusal) is Denied:
        answer.force_close()  # who shows nothing keeps no connection from those who do
    return answer


def _detail(request: web.Request, error: web.HTTPException) -> str:
    """What an answer of the library says; it says nothing of a path, or of a method at a path, that the door does not have."""
    if error is request.match_info.http_exception:
        asked = f"{request.method[:_SHOWN]} {request.path[:_SHOWN]}"
        if isinstance(error, web.HTTPMethodNotAllowed):
            return f"there is no {asked} here, only {', '.join(sorted(error.allowed_methods))}"
        if error.status == HTTPStatus.NOT_FOUND:
            return f"there is no {asked} here: is the URL right, and the client of the same release?"
    return error.text or error.reason


@web.middleware
async def refusals_become_problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """The one place where a refusal meets HTTP; what is no refusal is our fault and a 500.

    Once an answer has begun there is no place for another one: it is cut off, so that its client sees that it has not got all.
    """
    try:
        return await handler(request)
    except Exception as error:
        if not request.writer.output_size:
            return _problem_of(request, error)
        if not isinstance(error, (Refusal, web.HTTPException, ConnectionError)):
            _log_failed(request, "request failed, and its answer is cut off")
        if request.transport is not None:
            request.transport.abort()
        return web.Response()  # goes nowhere


def _problem_of(request: web.Request, error: Exception) -> web.Response:
    if isinstance(error, Refusal):
        return refusal_problem(error)
    if isinstance(error, web.HTTPException):
        if error.status < HTTPStatus.BAD_REQUEST:
            raise error
        return problem(error.status, kind_of(error.status), _detail(request, error), headers=_kept(error.headers))
    if isinstance(error, ConnectionError):
        # The client went away, and nobody reads this; aiohttp would write a traceback into the log.
        return problem(HTTPStatus.BAD_REQUEST, "bad-request", "the connection broke")
    if isinstance(error, OSError) and (used_up := refusal_for(request, error)) is not None:
        return refusal_problem(used_up)
    _log_failed(request, "request failed")
    return problem(
        HTTPStatus.INTERNAL_SERVER_ERROR, "internal", "tinkbox failed to answer this; its log has the reason"
    )


def _log_failed(request: web.Request, what: str) -> None:
    _log.exception(what, extra={"action": "http.failed", "path": request.path})
