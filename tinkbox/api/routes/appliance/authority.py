"""`/v1/authority`: whom programs have to trust to speak with this box over HTTPS."""

from ssl import PEM_cert_to_DER_cert
from typing import TypedDict

from aiohttp import web

from tinkbox.api.access import needing_any
from tinkbox.api.answers import Json, answered
from tinkbox.wire.authority import fingerprint


class AuthorityDocument(TypedDict):
    """`certificate` is PEM; `fingerprint` its SHA-256, as `tinkbox login` and browsers show it."""

    certificate: str
    fingerprint: str


def routes(certificate: str) -> list[web.RouteDef]:
    async def show(_: web.Request) -> Json[AuthorityDocument]:
        """The certificate of the box's own authority, which signs what its doors show."""
        return answered({"certificate": certificate, "fingerprint": fingerprint(PEM_cert_to_DER_cert(certificate))})

    return needing_any(web.get("/v1/authority", show))
