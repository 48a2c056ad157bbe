"""`/v1/tokens`: who may speak to the appliance from elsewhere, and for what.  KEY is a name."""

from typing import TypedDict

from aiohttp import web

from tinkbox.api.access import caller, needing
from tinkbox.api.answers import Json, answered
from tinkbox.api.auditing import changed, explain
from tinkbox.api.changes import log_change
from tinkbox.api.json_values import NamedIdentity, Time, time
from tinkbox.api.listing import listed
from tinkbox.api.long_answers import in_turn
from tinkbox.api.parameters import LIMIT, sort_by
from tinkbox.api.requests import key_of, read_object, takes, text_field
from tinkbox.engine.people.tokens import Tokens
from tinkbox.model.access import Means, Right
from tinkbox.model.labels import parse_selector
from tinkbox.model.tokens import Token, parse_expiry, parse_rights
from tinkbox.wire.messages.json_fields import text, texts


class TokenWish(TypedDict, total=False):
    """`scope` is a label selector of machines, empty: all; `expires` a duration with its unit, or `never`, and 90d where it is left out."""

    name: str
    rights: list[str]
    scope: str
    expires: str


class TokenDocument(NamedIdentity):
    rights: list[Right]
    means: Means
    scope: str
    created_at: Time | None
    expires_at: Time | None
    expired: bool
    used_at: Time | None
    by: str


class MadeToken(TokenDocument):
    token: str


class RevokedToken(TypedDict):
    name: str
    revoked: int


def routes(tokens: Tokens) -> list[web.RouteDef]:
    @takes(LIMIT, sort_by(("name", "created_at", "expires_at", "used_at")))
    async def show_list(request: web.Request) -> Json[list[TokenDocument]]:
        """The tokens but the operator's own, those that expired in the last week included; `used_at` is late by a minute."""
        now = tokens.now()
        return await listed(
            request, [token_document(each, expired=each.is_over(now)) for each in tokens.all()], filters={}
        )

    @takes(body=TokenWish)
    async def create(request: web.Request) -> Json[MadeToken]:
        """Make a token; `token` of the answer is its text, which is told this once."""
        document, by = await read_object(request), caller(request)
        scope = text(document, "scope", "")
        shown, made = await tokens.make(
            text_field(document, "name"),
            parse_rights(texts(document, "rights")),
            scope=parse_selector(scope) if scope else None,
            until=parse_expiry(text(document, "expires", ""), tokens.now()),
            by=by,
        )
        log_change(request, "token created", made.name)
        explain(request, made.describe())
        changed(request, "token", made.id, "", _said(made))
        return answered({**token_document(made, expired=False), "token": shown}, status=201)

    async def revoke(request: web.Request) -> Json[RevokedToken]:
        """End a token, and what is under way with it."""
        name = key_of(request)
        ended = await tokens.revoke(name)
        log_change(request, "token revoked", name)
        explain(request, "; ".join(each.describe() for each in ended))
        for each in ended:
            changed(request, "token", each.id, _said(each), "")
        return answered({"name": name, "revoked": len(ended)})

    return needing(
        Right.ADMIN,
        *in_turn(web.get("/v1/tokens", show_list)),
        web.post("/v1/tokens", create),
        web.delete("/v1/tokens/{key}", revoke),
    )


def _said(token: Token) -> dict[str, object]:
    """What a token lets its bearer do, as the audit has its digest; nothing of its text is in it."""
    told = token_document(token, expired=False)
    return {name: value for name, value in told.items() if name not in ("expired", "used_at")}


def token_document(token: Token, *, expired: bool) -> TokenDocument:
    return {
        "id": token.id,
        "name": token.name,
        "rights": [each for each in Right if each in token.rights],
        "means": token.means,
        "scope": str(token.scope) if token.scope is not None else "",
        "created_at": time(token.created_at),
        "expires_at": time(token.until),
        "expired": expired,
        "used_at": time(token.used_at),
        "by": token.by,
    }
