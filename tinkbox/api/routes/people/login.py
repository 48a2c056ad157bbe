"""`/v1/login`: how people of the company log in, and the token that they get for an id token.  Who asks has none yet."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final, TypedDict

from aiohttp import web

from tinkbox.api.access import log_in, open_to_all
from tinkbox.api.answers import Json, answered
from tinkbox.api.json_values import Time
from tinkbox.api.requests import declared_only, object_of, takes, text_field
from tinkbox.door.requests.auditing import recorded, route_of
from tinkbox.door.requests.bodies import body_of, holder_of
from tinkbox.door.requests.refused_tokens import RefusedTokens
from tinkbox.model.access import Caller, Means, Right
from tinkbox.model.audit import Did
from tinkbox.model.errors import Denied, NotFound, TooMany
from tinkbox.model.rates import Buckets, Rate
from tinkbox.oidc.logins import Login, Logins
from tinkbox.wire.oidc import MAX_TOKEN

PATH: Final = "/v1/login"
MAX_BODY: Final = MAX_TOKEN + 1024
# A person logs in once a day, and some behind one address do in the morning.  To look at an id token takes a fifth of a
# millisecond, and two where it is as long as it may be: so often it keeps nobody else waiting.
HOST: Final = Rate(burst=10, a_second=0.2)
ALL: Final = Rate(burst=500, a_second=50)
REMEMBERED: Final = 4096
_NONE: Final = "nobody logs in by OIDC here: set operator.oidc in tinkbox.yaml, or use a token (`tinkbox token create`)"


class OfferDocument(TypedDict):
    issuer: str
    client_id: str
    scopes: list[str]
    ca: str


class LoginWish(TypedDict):
    id_token: str


class LoginDocument(TypedDict):
    token: str
    name: str
    rights: list[Right]
    expires: Time


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginDoor:
    """What log-in needs; `logins` is None where nobody logs in so.  `monotonic` is a steady clock in seconds."""

    logins: Logins | None
    refused: RefusedTokens
    monotonic: Callable[[], float]


def routes(door: LoginDoor) -> list[web.RouteDef]:
    handlers = _Handlers(door)
    return open_to_all(web.get(PATH, handlers.show), web.post(PATH, handlers.log_in))


class _Handlers:
    def __init__(self, door: LoginDoor) -> None:
        self._door = door
        self._hosts = Buckets(HOST, REMEMBERED)
        self._all = Buckets(ALL, 1)

    async def show(self, _: web.Request) -> Json[OfferDocument]:
        """The issuer that people log in by, and what it knows tinkbox as; `ca` is its authority (PEM) where hosts do not trust it."""
        terms = self._logins().terms
        return answered(
            {"issuer": terms.issuer, "client_id": terms.client_id, "scopes": list(terms.scopes), "ca": terms.ca_pem}
        )

    @takes(body=LoginWish)
    async def log_in(self, request: web.Request) -> Json[LoginDocument]:
        """A token for an `id_token` of that issuer, which is good for one."""
        logins, host, now = self._logins(), holder_of(request), self._door.monotonic()
        if not (self._hosts.take(host, now) and self._all.take("", now)):
            raise TooMany("too many log-ins: try again in a minute", 60)
        document = declared_only(request, object_of(await body_of(request, MAX_BODY)))
        try:
            made = await logins.log_in(text_field(document, "id_token"), partial(_recorded, request))
        except Denied as error:
            if type(error) is Denied:
                self._door.refused.note(host, "operator door")
            raise
        log_in(request, Caller(name=made.name, rights=made.rights, means=Means.ISSUER))
        answer = answered(_document(made))
        answer.headers["Cache-Control"] = "no-store"
        return answer

    def _logins(self) -> Logins:
        if self._door.logins is None:
            raise NotFound(_NONE)
        return self._door.logins


@asynccontextmanager
async def _recorded(request: web.Request, name: str, told: str) -> AsyncIterator[None]:
    """A line of the audit before somebody gets a token, and one after it; what is no good id token makes none of these."""
    async with recorded(request, name, Means.ISSUER, route_of(request), name) as record:
        yield
        record.did.append(Did("logged in", name))
        record.why = told


def _document(made: Login) -> LoginDocument:
    return {
        "token": made.token,
        "name": made.name,
        "rights": [each for each in Right if each in made.rights],
        "expires": made.expires_at.isoformat(),
    }
