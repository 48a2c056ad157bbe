"""Log-in: an id token of the company's issuer becomes a token of tinkbox, once."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from tinkbox.model.access import OPERATOR, Caller, Means, Right
from tinkbox.model.errors import Denied, Forbidden, Refusal, TooMany, Unavailable
from tinkbox.model.labels import Selector
from tinkbox.model.text import quoted
from tinkbox.model.tokens import describe
from tinkbox.oidc.id_tokens import LEEWAY, MAX_AGE, IdToken, head_of, verify
from tinkbox.oidc.issuer_keys import IssuerKeys

MAX_USED: Final = 10_000
MAX_GROUPS: Final = 10_000
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_log = logging.getLogger(__name__)


class Tokens(Protocol):
    """Who makes the tokens of the operator door."""

    def issue(
        self,
        name: str,
        rights: frozenset[Right],
        *,
        scope: Selector | None = None,
        until: datetime | None,
        by: Caller,
        means: Means = Means.TOKEN,
    ) -> Awaitable[str]:
        """A new token, which is shown this once; raises Conflict for a name of somebody else, and other refusals."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Who may log in: as `settings.oidc` has it.  `ca_pem` is the issuer's authority where it is not one that hosts trust."""

    issuer: str
    client_id: str
    scopes: Sequence[str]
    groups: Mapping[str, frozenset[Right]]
    claim: str
    name: str
    lifetime: timedelta
    ca_pem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """What somebody gets who logged in."""

    token: str
    name: str
    rights: frozenset[Right]
    expires_at: datetime


# Has it recorded that somebody of this name logs in, and with what rights and until when, before and after that is done.
Recorded = Callable[[str, str], AbstractAsyncContextManager[object]]


class Logins:
    """`now` is the wall clock, `monotonic` a steady one in seconds."""

    def __init__(
        self,
        terms: Terms,
        keys: IssuerKeys,
        tokens: Tokens,
        now: Callable[[], datetime],
        monotonic: Callable[[], float],
    ) -> None:
        self.terms = terms
        self._keys = keys
        self._tokens = tokens
        self._now = now
        self._monotonic = monotonic
        self._began = monotonic()
        self._used: dict[bytes, datetime] = {}  # until when each could be shown again

    async def run(self) -> None:
        """Look whether the issuer can be reached, once: the log tells that at the start, and not only when somebody logs in."""
        await self.look_ahead()
        await asyncio.Event().wait()  # parts of the appliance never end

    async def look_ahead(self) -> None:
        """Fetch the issuer's keys before an id token needs them; that it fails is logged, and is no error."""
        try:
            await self._keys.fetch()
        except Unavailable:
            pass  # the keys log it
        except Exception:  # whatever an issuer answers, the appliance goes on
            _log.exception("cannot see whether the issuer %s can be reached", self.terms.issuer)

    async def log_in(self, id_token: str, recorded: Recorded = lambda *_: nullcontext()) -> Login:
        """The token is made within `recorded`, which is given the person's name, and what the token lets them do.

        Raises Denied for an id token that is not good, Forbidden for who gets no rights, Unavailable without the issuer.
        """
        keys = await self._keys.fitting(head_of(id_token))
        found = verify(id_token, keys, issuer=self.terms.issuer, client_id=self.terms.client_id, now=self._now())
        self._refuse_used(found)
        name = self._name(found)
        rights = self._rights(found, name)
        self._use(found)
        until = self._now() + self.terms.lifetime
        try:
            async with recorded(name, describe(rights, None, until)):
                token = await self._tokens.issue(
                    name, rights, until=until, by=self._issuer_with(rights), means=Means.ISSUER
                )
        except Refusal:
            del self._used[found.fingerprint]  # nobody got anything for it
            raise
        _log.info(
            "%s logged in by %s as %s", name, self.terms.issuer, quoted(found.subject), extra={"action": "oidc.login"}
        )
        return Login(token=token, name=name, rights=rights, expires_at=until)

    def _issuer_with(self, rights: frozenset[Right]) -> Caller:
        """Who makes the token, for the records."""
        return Caller(name=self.terms.issuer, rights=rights, means=Means.ISSUER)

    def _refuse_used(self, found: IdToken) -> None:
        if found.fingerprint in self._used:
            raise Denied("this id token was used already: log in again with `tinkbox login --oidc`")
        # What was used before this process began is not remembered, and the issuer's clock may be ahead of ours.
        # The wall clock may have been set since.
        began_at = self._now() - timedelta(seconds=self._monotonic() - self._began)
        if (wait := began_at + LEEWAY - found.issued_at) > timedelta():
            raise Denied(
                "tinkbox began after this id token was made, or just before, and cannot tell whether it was used already: "
                f"log in again in {max(1, round(wait.total_seconds()))} seconds"
            )

    def _use(self, found: IdToken) -> None:
        now = self._now()
        for each in [print_ for print_, until in self._used.items() if until < now]:
            del self._used[each]
        if len(self._used) >= MAX_USED:
            raise TooMany(f"{MAX_USED} people logged in within minutes: try again later", 60)
        self._used[found.fingerprint] = min(found.expires_at, found.issued_at + MAX_AGE) + 2 * LEEWAY

    def _name(self, found: IdToken) -> str:
        claim = self.terms.name
        name = found.claims.get(claim)
        if not isinstance(name, str) or not name:
            told = ", ".join(sorted(quoted(each, 40) for each, value in found.claims.items() if isinstance(value, str)))
            raise Forbidden(
                f"the id token has no name in its claim {claim}. It has {told}: set operator.oidc.name in tinkbox.yaml, or ask the "
                "issuer for another scope"
            )
        if claim == "email" and found.claims.get("email_verified") is not True:
            raise Forbidden(
                f"the issuer did not verify the address {quoted(name)}: verify it there, or set operator.oidc.name"
            )
        if not _NAME.fullmatch(name):
            raise Forbidden(
                f"{quoted(name)} cannot be a name here, which is up to 64 letters, digits and . _ @ - in between: set operator.oidc.name"
            )
        if name == OPERATOR:
            raise Forbidden(f"{name} is somebody else here: set operator.oidc.name in tinkbox.yaml to another claim")
        return name

    def _rights(self, found: IdToken, name: str) -> frozenset[Right]:
        claimed = _value(found.claims, self.terms.claim)
        listed = [claimed] if isinstance(claimed, str) else claimed if isinstance(claimed, list) else []
        groups = {each for each in listed[:MAX_GROUPS] if isinstance(each, str)}
        rights = frozenset[Right]().union(*(given for group, given in self.terms.groups.items() if group in groups))
        if rights:
            return rights
        wanted = ", ".join(map(quoted, sorted(self.terms.groups)))
        if claimed is None:
            raise Forbidden(
                f"the issuer does not say in which groups {name} is: the id token has no claim {self.terms.claim}. Set operator.oidc.claim or "
                f"operator.oidc.scopes in tinkbox.yaml, or have the issuer put groups into id tokens. Rights come with {wanted}"
            )
        has = ", ".join(map(quoted, sorted(groups)[:10])) or "no group"
        raise Forbidden(
            f"{name} has no rights here: in the claim {self.terms.claim} is {has}, and rights come with {wanted}"
        )


def _value(claims: Mapping[str, Any], path: str) -> object:
    """A claim by its name, or one within others, such as `realm_access.roles`."""
    if path in claims:
        return claims[path]
    found: object = claims
    for each in path.split("."):
        found = found.get(each) if isinstance(found, dict) else None
    return found
