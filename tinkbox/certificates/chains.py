"""Whether clients that trust a root alone find their way from it to a server's certificate, by what the server shows."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.x509.oid import AuthorityInformationAccessOID

from tinkbox.certificates.issuing import called, is_signed_by, shown_name
from tinkbox.model.text import one_line

_MOST: Final = 300  # characters of a URL


def broken_link(chain: Sequence[x509.Certificate], path: Path, trusted: Callable[[], Sequence[bytes]]) -> str:
    """What may keep clients from believing a chain that was read from `path`, server first, with the way out; empty: nothing is known.

    `trusted` gives the authorities of this host, in DER; it is asked only where the chain does not say.  Roots need not be shown (RFC 8446 §4.4.2),
    and a firm's is often on no list of this host: of a chain that goes on behind the server's certificate its end is not judged.
    """
    for at, each in enumerate(chain[:-1]):
        if not is_signed_by(each, chain[at + 1]):
            return _unlinked(chain, at, path)
    server = chain[0]
    if len(chain) > 1 or is_signed_by(server, server) or _is_of_one(server, trusted()):
        return ""
    issuer = shown_name(server.issuer)
    return (
        f"tls.certificate: {path} holds the certificate of {called(server)} alone. {issuer} signed it, and this host trusts no such authority. If "
        f"{issuer} is an authority in between (an intermediate), clients that trust only the root refuse the box: append the certificate of "
        f"{issuer}{_found_at(server)} with `cat {path} intermediate.pem > fullchain.pem`, and name that file. If it is the root, append that likewise"
    )


def _is_of_one(server: x509.Certificate, authorities: Sequence[bytes]) -> bool:
    """Whether one of these authorities signed it."""
    issuer = server.issuer.public_bytes()
    for each in authorities:
        # Lists of hosts have certificates that are not as they should be; those are not even read.
        with suppress(ValueError):
            if issuer in each and is_signed_by(server, x509.load_der_x509_certificate(each)):
                return True
    return False


def _unlinked(chain: Sequence[x509.Certificate], at: int, path: Path) -> str:
    """What to say of a certificate that the one behind it did not sign."""
    each, behind = chain[at], chain[at + 1]
    what = f"tls.certificate: in {path} certificate {at + 2}, {called(behind)}, did not sign the one before it, {called(each)}"
    signer = next((one for one in chain if one is not each and is_signed_by(each, one)), None)
    if signer is not None:
        return f"{what}, and some clients refuse that order: put {called(signer)} directly behind it"
    if is_signed_by(each, each):
        return f"{what}, which is a root: take out what stands behind it"
    issuer = shown_name(each.issuer)
    return (
        f"{what}, so clients that trust only a root refuse the box: put the certificate of {issuer}{_found_at(each)} between the two, or "
        "take out what signed none of the others"
    )


def _found_at(certificate: x509.Certificate) -> str:
    """Where a certificate says that its issuer's is to be had (RFC 5280 §4.2.2.1), to stand behind that one's name; empty: nowhere."""
    try:
        told = certificate.extensions.get_extension_for_class(x509.AuthorityInformationAccess).value
    except (x509.ExtensionNotFound, ValueError):
        return ""
    places = (
        one_line(str(each.access_location.value), _MOST)
        for each in told
        if each.access_method == AuthorityInformationAccessOID.CA_ISSUERS
        and isinstance(each.access_location, x509.UniformResourceIdentifier)
    )
    place = next((each for each in places if each.startswith(("http://", "https://"))), "")
    made = "`openssl x509 -inform der -in FILE -out intermediate.pem` makes PEM of it"
    return f" (it is to be had at {place}, in DER: {made})" if place else ""
