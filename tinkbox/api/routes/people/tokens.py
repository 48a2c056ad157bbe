"""`/v1/tokens`: who may speak to the appliance from elsewhere, and for what.  KEY is a name."""

from collections.abc import Mapping
from typing import TypedDict

from aiohttp import web

from tinkbox.api.access import caller, needing
from tinkbox.api.answers import Json, answered
from tinkbox.api.auditing import changed, explain
from tinkbox.api.changes import log_change
from tinkbox.api.json_values import NamedIdentity, Time, time
from tinkbox.api.listing import listed
from tinkbox.api.long_answers import in_turn
from tinkbox.api.parameters import LIMIT, Parameter, sort_by
from tinkbox.api.requests import key_of, read_object, read_options, says_yes, takes, text_field
from tinkbox.api.work_under_way import AtWorkField, at_work_document
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.people.tokens import Tokens
from tinkbox.engine.workflows.deadlines import AtWork, Deadlines
from tinkbox.model.access import OPERATOR, Caller, Means, Right
from tinkbox.model.duration import show_duration
from tinkbox.model.given_credential import GivenCredential
from tinkbox.model.labels import parse_selector
from tinkbox.model.tokens import Token, parse_expiry, parse_overlap, parse_rights, refuse_useless
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


class RotationWish(TypedDict, total=False):
    """`expires` is as in a new one; `overlap` is how long the former text counts: a duration with its unit, `0` or 1h where it is left out."""

    expires: str
    overlap: str


class GivenDocument(NamedIdentity, AtWorkField):
    """A machine whose credential its reader has; `key` means it in a command.  `rotated`: it counts no more, since this request.

    `at_work` is null where no action runs on the machine.
    """

    key: str
    given_at: Time | None
    rotated: bool


class RevokedToken(TypedDict):
    """`revoked` is how many tokens had the name, `credentials` those of machines that were read by this name and counted still.

    `not_rotated` is why these count on although `rotate` was asked for, empty otherwise.
    """

    name: str
    revoked: int
    credentials: list[GivenDocument]
    not_rotated: str


def routes(tokens: Tokens, machines: Machines, deadlines: Deadlines) -> list[web.RouteDef]:
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
        named, rights = text(document, "scope", ""), parse_rights(texts(document, "rights"))
        scope = parse_selector(named) if named else None
        refuse_useless(rights, scope)
        shown, made = await tokens.make(
            text_field(document, "name"),
            rights,
            scope=scope,
            until=parse_expiry(text(document, "expires", ""), tokens.now()),
            by=by,
        )
        log_change(request, "token created", made.name)
        explain(request, made.describe())
        changed(request, "token", made.id, "", _said(made))
        return answered({**token_document(made, expired=False), "token": shown}, status=201)

    @takes(body=RotationWish, optional=True)
    async def rotate(request: web.Request) -> Json[MadeToken]:
        """Give a token another text; the former one counts for another hour, or as long as `overlap` says."""
        document, name = await read_options(request), key_of(request)
        now = tokens.now()
        until = parse_expiry(text(document, "expires", ""), now)
        overlap = parse_overlap(text(document, "overlap", ""), until - now if until is not None else None)
        shown, made = await tokens.rotate(name, until=until, overlap=overlap, by=caller(request))
        log_change(request, "token rotated", made.name)
        former = show_duration(overlap.total_seconds())
        explain(request, f"{made.describe()}; the former text counts for {former}")
        changed(request, "token", made.id, "", _said(made))
        return answered({**token_document(made, expired=False), "token": shown}, status=201)

    @takes(Parameter("rotate", bool, about="void the credentials of machines that were read by this name, as well"))
    async def revoke(request: web.Request) -> Json[RevokedToken]:
        """End a token, and what is under way with it; tells which machines' credentials its bearer has. `operator` gets another one, in its file.

        With `rotate`, who lacks the right to operate still ends the token: `not_rotated` of the answer says what was not done.
        """
        name, by, rotating = key_of(request), caller(request), says_yes(request, "rotate")
        # Whoever is to be locked out comes first: the token ends whatever becomes of the rest.
        ended, number = await _ended(name)
        given = await machines.sessions.given_to(name)
        if not number and not given:
            raise tokens.unknown(name)
        refused = _not_rotated(by) if rotating and given else ""
        if number:
            log_change(request, "token revoked", name)
        explain(request, "; ".join([*(each.describe() for each in ended), *filter(None, [refused])]))
        for each in ended:
            changed(request, "token", each.id, _said(each), "")
        ids, rotated = [each.hardware_id for each in given], rotating and not refused
        at_work = await deadlines.at_work(ids)
        if rotated and given:
            await machines.sessions.revoke(ids, by.name)
            log_change(request, "credential rotated", *ids)
        told = [_given_document(each, machines, at_work, rotated=rotated) for each in given]
        return answered({"name": name, "revoked": number, "credentials": told, "not_rotated": refused})

    async def show_machines(request: web.Request) -> Json[list[GivenDocument]]:
        """The machines whose credentials were read by a name and count still, as `DELETE` with `rotate` would void them."""
        given = await machines.sessions.given_to(key_of(request))
        at_work = await deadlines.at_work([each.hardware_id for each in given])
        return answered([_given_document(each, machines, at_work, rotated=False) for each in given])

    async def _ended(name: str) -> tuple[list[Token], int]:
        """The tokens of people that are revoked, and how many there were with the operator's."""
        if name == OPERATOR:
            await tokens.replace_own()
            return [], 1
        ended = await tokens.revoke(name)
        return ended, len(ended)

    return needing(
        Right.ADMIN,
        *in_turn(web.get("/v1/tokens", show_list)),
        web.post("/v1/tokens", create),
        web.get("/v1/tokens/{key}/machines", show_machines),
        web.post("/v1/tokens/{key}/rotate", rotate),
        web.delete("/v1/tokens/{key}", revoke),
    )


def _not_rotated(by: Caller) -> str:
    """Why somebody voids no credentials, empty where they may."""
    if Right.OPERATE in by.rights:
        return ""
    return f"{by.name} lacks the right to {Right.OPERATE}, so no credential of a machine was voided"


def _given_document(
    given: GivenCredential, machines: Machines, at_work: Mapping[str, AtWork], *, rotated: bool
) -> GivenDocument:
    record = machines.known.get(given.hardware_id)
    return {
        "id": given.hardware_id,
        "name": machines.known.name(given.hardware_id),
        "key": machines.known.key(record.hardware) if record is not None else given.hardware_id,
        "given_at": time(given.at),
        "rotated": rotated,
        "at_work": at_work_document(at_work.get(given.hardware_id)),
    }


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
