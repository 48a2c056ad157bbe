"""`/v1/authority`: whom programs have to trust to speak with this box over HTTPS."""

from collections.abc import Callable, Set
from ssl import PEM_cert_to_DER_cert
from typing import TypedDict

from aiohttp import web

from tinkbox.api.access import needing_any
from tinkbox.api.answers import Json, answered
from tinkbox.wire.authority import fingerprint


class OwnCertificateDocument(TypedDict):
    """The certificate of `tls.certificate`: the `names` that it is shown for, and the `fingerprint` of the one at the end of its chain."""

    names: list[str]
    fingerprint: str


class AuthorityDocument(TypedDict):
    """`certificate` is PEM; `fingerprint` its SHA-256, as `tinkbox login` and browsers show it; `own` null without `tls.certificate`."""

    certificate: str
    fingerprint: str
    own: OwnCertificateDocument | None


# The fingerprint of the end of the operator's chain, and the names that it is shown for; None: there is none.
Own = Callable[[], tuple[str, Set[str]] | None]


def routes(certificate: str, own: Own) -> list[web.RouteDef]:
    async def show(_: web.Request) -> Json[AuthorityDocument]:
        """The certificate of the box's own authority, which signs what its doors show, and what is told of the operator's."""
        found = own()
        return answered(
            {
                "certificate": certificate,
                "fingerprint": fingerprint(PEM_cert_to_DER_cert(certificate)),
                "own": {"names": sorted(found[1]), "fingerprint": found[0]} if found is not None else None,
            }
        )

    return needing_any(web.get("/v1/authority", show))
