"""How the registry answers: OCI error documents, and the challenge that makes clients log in to push.

Pulling needs no credential, pushing needs a token with the right to push.  Docker and skopeo decide once, at `GET /v2/`,
how they will authenticate: a 200 there means they never send a credential, and a Basic challenge means they
cannot pull without one.  Only the token dance of the distribution project serves both: `GET /v2/` answers 401
and names a place to fetch a token from, which gives anybody one to pull with, and gives who has such a
token, known by Basic authentication (any user, the token as password), one to push with (`push_tokens`).
"""

import base64
import json
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress

from aiohttp import web

from tinkbox.door.problems import Handler, advice
from tinkbox.door.requests.auditing import refused as record_refused
from tinkbox.door.requests.bodies import chunks_of, holder_of
from tinkbox.door.requests.live_requests import note_token
from tinkbox.door.requests.refused_tokens import RefusedTokens
from tinkbox.model.access import Caller
from tinkbox.model.errors import (
    Conflict,
    Denied,
    Forbidden,
    Full,
    Invalid,
    NotFound,
    Refusal,
    TooLarge,
    TooMany,
    Unavailable,
)
from tinkbox.registry.manifests.manifests import MAX_MANIFEST
from tinkbox.registry.manifests.repositories import is_repository
from tinkbox.registry.mirrors.upstream_client import UpstreamFailed
from tinkbox.registry.protocol.pushers import require_push
from tinkbox.wire import refusal_statuses

ANONYMOUS = "anonymous"
_WAY = (
    "docker login, any user, the password is a token with the right to push: `tinkbox token create NAME --right push` makes "
    "one on the appliance"
)
PUSHING = f"pushing needs a token: {_WAY}"
VERSION = {"Docker-Distribution-Api-Version": "registry/2.0"}
STATUS: Mapping[type[Refusal], int] = {
    **refusal_statuses.STATUS,  # of 507 docker shows the words of the status, "Insufficient Storage", others the message too
    Invalid: 400,
    Conflict: 416,  # the only conflict of this protocol is a chunk that does not begin where the last one ended
    UpstreamFailed: 424,
}
CODES: Mapping[type[Refusal], str] = {
    Invalid: "UNSUPPORTED",
    NotFound: "NAME_UNKNOWN",
    Conflict: "BLOB_UPLOAD_INVALID",
    TooLarge: "SIZE_INVALID",
    Denied: "UNAUTHORIZED",
    Forbidden: "DENIED",
    Unavailable: "UNKNOWN",
    UpstreamFailed: "UNKNOWN",
    Full: "UNKNOWN",
    TooMany: "TOOMANYREQUESTS",
}
BLOB_CODES: Mapping[type[Refusal], str] = {NotFound: "BLOB_UNKNOWN", Invalid: "DIGEST_INVALID"}
_ASKING = ("GET", "HEAD", "DELETE")  # what there cannot be is not here; a push is told what is wrong
_HOST = re.compile(r"[A-Za-z0-9.:\[\]-]{1,255}\Z")


def refused(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    """An error as the OCI distribution-spec writes it."""
    text = json.dumps({"errors": [{"code": code, "message": message}]})
    return web.Response(
        status=status, text=text, content_type="application/json", headers={**VERSION, **(headers or {})}
    )


def refusal_answer(
    refusal: Refusal, codes: Mapping[type[Refusal], str], headers: Mapping[str, str] | None = None
) -> web.Response:
    """A refusal as such an error, with these codes before those of CODES."""
    kind = type(refusal)
    return refused(STATUS[kind], codes.get(kind, CODES[kind]), str(refusal), headers)


def answering(handler: Handler, codes: Mapping[type[Refusal], str]) -> Handler:
    """The handler with a checked repository name, and its refusals as OCI errors with these codes."""

    async def answer(request: web.Request) -> web.StreamResponse:
        name = request.match_info.get("name")
        if name is not None and not is_repository(name):
            status = 404 if request.method in _ASKING else 400
            return refused(status, "NAME_INVALID", "a repository's name is lower case words, parted by / . _ or -")
        try:
            response = await handler(request)
        except Refusal as refusal:
            # Who shows nothing is only told where to fetch a token.
            if isinstance(refusal, Denied | Forbidden) and "Authorization" in request.headers:
                record_refused(request, refusal)
            headers = {"WWW-Authenticate": challenge_for(request)} if type(refusal) is Denied else advice(refusal)
            await _heard_out(request)
            return refusal_answer(refusal, codes, headers)
        except ConnectionError:  # the client went away, which is no error of ours; nobody reads this
            return refused(400, "BLOB_UPLOAD_INVALID", "the connection broke")
        response.headers.update(VERSION)
        return response

    return answer


async def _heard_out(request: web.Request) -> None:
    """Take what is left of a refused manifest: `ctr` of containerd 1.6, answered before it has sent all, may wait for ever."""
    if 0 < (request.content_length or 0) <= MAX_MANIFEST:
        with suppress(Invalid, Denied, ConnectionError):
            async for _ in chunks_of(request):
                pass


def unsupported(methods: Collection[str]) -> Handler:
    """The answer to other methods than a path has; the library adds HEAD to what has GET."""
    allow = ", ".join(sorted({*methods, *(["HEAD"] if "GET" in methods else [])}))

    async def answer(request: web.Request) -> web.Response:
        return refused(405, "UNSUPPORTED", f"no {request.method[:20]} here, only {allow}", {"Allow": allow})

    return answer


def challenge_for(request: web.Request) -> str:
    """Where to fetch a token (RFC 6750 §3, with the distribution project's `realm` and `service`)."""
    if not _HOST.match(request.host):
        raise web.HTTPBadRequest(text="the Host header is no host")
    return f'Bearer realm="{request.scheme}://{request.host}/v2/token",service="tinkbox"'


def credential(request: web.Request) -> str:
    """The token that a request carries, as Bearer or as the password of Basic; empty when it carries none."""
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value.strip(), validate=True).decode().partition(":")[2]
        except ValueError:  # no base64, no ASCII, or no UTF-8 in it
            return ""
    return ""


def operator_only(request: web.Request, bearer: Callable[[str], Caller | None], refused: RefusedTokens) -> Caller:
    """Whose token it carries, who may push; raises Forbidden of one who may not, and Denied where `bearer` knows nobody.

    `refused` counts tokens that are not valid.
    """
    given = credential(request)
    known = bearer(given)
    if known is not None:
        note_token(request, known.token)
        return require_push(known)
    if given in ("", ANONYMOUS):
        raise Denied(PUSHING)
    refused.note(holder_of(request), "registry")
    raise Denied(f"this token is not valid here: {_WAY}. Pulls need none: `docker logout` forgets it")
