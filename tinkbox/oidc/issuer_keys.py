"""The keys of an issuer, as far as they are known: fetched when an id token needs them, and not at every stranger's wish."""

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from tinkbox.client.issuer import SECONDS, IssuerClient, trusting
from tinkbox.model.errors import Invalid, Refusal, Unavailable
from tinkbox.oidc.id_tokens import Head, Key, fitting, parse_keys
from tinkbox.trusted_authorities import trusted_authorities

# For so many seconds keys are believed; behind it they may have been taken back.
FRESH: Final = 3600.0
# An unknown key has them fetched again, but no sooner, and an issuer that failed is left alone for so long.
ASKED_AGAIN: Final = 30.0
TRIED_AGAIN: Final = 5.0
_CERTIFICATE: Final = re.compile(r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----")
_log = logging.getLogger(__name__)


class IssuerKeys:
    """The keys of one issuer, whose authority is `ca_pem`, or one that the host trusts.  `monotonic` is a steady clock in seconds."""

    def __init__(self, issuer: str, ca_pem: str, monotonic: Callable[[], float], seconds: float = SECONDS) -> None:
        self._issuer = issuer
        self._ca_pem = ca_pem
        self._monotonic = monotonic
        self._seconds = seconds
        self._keys: Sequence[Key] = ()
        self._fetched_at: float | None = None
        self._failed: tuple[float, Unavailable] | None = None
        self._turn = asyncio.Lock()  # one question for many who ask at once

    async def fitting(self, head: Head) -> Sequence[Key]:
        """Those that may have signed a token; raises Unavailable when the issuer does not tell its keys."""
        if (known := self._known(head)) is not None:
            return known
        async with self._turn:
            if (known := self._known(head)) is not None:  # somebody fetched them meanwhile
                return known
            await self._fetch()
        return fitting(head, self._keys)

    async def fetch(self) -> None:
        """Have them before a token needs them; raises Unavailable, which the log has then."""
        async with self._turn:
            if self._fetched_at is None:
                await self._fetch()

    def _known(self, head: Head) -> Sequence[Key] | None:
        """None: they have to be fetched."""
        now = self._monotonic()
        if self._failed is not None and now < self._failed[0] + TRIED_AGAIN:
            raise Unavailable(str(self._failed[1]))
        if self._fetched_at is None or now >= self._fetched_at + FRESH:
            return None
        found = fitting(head, self._keys)
        return found if found or now < self._fetched_at + ASKED_AGAIN else None

    async def _fetch(self) -> None:
        try:
            keys = await fetched_keys(self._issuer, self._ca_pem, self._seconds)
        except Unavailable as failed:
            self._failed = (self._monotonic(), failed)
            _log.warning("%s", failed, extra={"action": "oidc.failed"})
            raise
        self._keys, self._fetched_at, self._failed = keys, self._monotonic(), None


async def fetched_keys(issuer: str, ca_pem: str, seconds: float) -> Sequence[Key]:
    """The keys of an issuer, each of whose documents is waited for so long; raises Unavailable, which names it, where it does not tell them."""
    try:
        tls = await asyncio.to_thread(partial(trusting, ca_pem) if ca_pem else trusted_authorities)
        async with IssuerClient(issuer, tls, seconds, by="the box") as client:
            where = (await client.discovery()).jwks_uri
            if not where:
                raise Invalid("the issuer's discovery document has no jwks_uri")
            keys = parse_keys(await client.document(where))
        if not keys:
            raise Invalid(f"{where} has no key that tinkbox can use")
    except Refusal as error:
        raise Unavailable(f"the issuer {issuer} does not tell its keys: {error}") from None
    return keys


def authority_in(file: Path) -> str:
    """The certificates of a file, and nothing else of it: everybody is told them.  Raises Unavailable."""
    try:
        found = "\n".join(_CERTIFICATE.findall(file.read_text()))
        trusting(found)
    except (OSError, UnicodeDecodeError, Invalid) as error:
        told = error.strerror if isinstance(error, OSError) else "it has no certificate"
        raise Unavailable(f"cannot read operator.oidc.ca, {file}: {told}: name a file of certificates (PEM)") from None
    return found
