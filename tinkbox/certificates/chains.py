"""Whether clients that trust a root alone find their way from it to a server's certificate, by what the server shows."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import AuthorityInformationAccessOID, ExtendedKeyUsageOID

from tinkbox.certificates.issuing import called, is_signed_by, shown_name
from tinkbox.model.text import one_line

_MOST: Final = 300  # characters of a URL
# What renews certificates (ACME's clients, cert-manager) does so with a third of their life left, or with half of a short one's:
# with less than a quarter it did not.
_LATE: Final = 4
_ENDS_SOON: Final = timedelta(days=14)  # at most
_PURPOSES: Final = {
    ExtendedKeyUsageOID.CLIENT_AUTH: "clientAuth",
    ExtendedKeyUsageOID.CODE_SIGNING: "codeSigning",
    ExtendedKeyUsageOID.EMAIL_PROTECTION: "emailProtection",
    ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE: "anyExtendedKeyUsage",
}


def followed(chain: Sequence[x509.Certificate], trusted: Sequence[bytes]) -> list[x509.Certificate]:
    """Those of a chain that clients need, the server's first, each signed by the one behind it.

    They need none behind one that an authority of this host (`trusted`, in DER) signed, unless the chain shows that authority itself.
    Where two have the same key, as of an authority that was renewed, the one that lasts longer counts.
    """
    shown = {each.public_bytes(Encoding.DER) for each in chain}
    others = [each for each in trusted if each not in shown]
    found = [chain[0]]
    while not is_signed_by(found[-1], found[-1]) and not _is_of_one(found[-1], others):
        signers = [each for each in chain if each not in found and is_signed_by(found[-1], each)]
        if not signers:
            break
        found.append(max(signers, key=_end))
    return found


def outdated(needed: Sequence[x509.Certificate], path: Path, now: datetime) -> str:
    """What to say where an authority in `needed`, as `followed` gives it, is not valid now; empty: all are."""
    for server, each in pairwise(needed):
        who = f"tls.certificate: in {path} the certificate of {called(each)}, which signed {called(server)},"
        if now >= _end(each):
            return f"{who} expired on {_end(each):%Y-%m-%d}, so clients refuse the box: {_current_chain(server)}"
        if now < each.not_valid_before_utc:
            return (
                f"{who} is not valid before {each.not_valid_before_utc:%Y-%m-%d %H:%M} UTC, and here it is {now:%Y-%m-%d %H:%M}, so clients "
                f"refuse the box: set this host's clock right (`date -u`), or {_current_chain(server)}"
            )
    return ""


def soon_outdated(needed: Sequence[x509.Certificate], path: Path, now: datetime) -> str:
    """The same of one that ends soon, and before the server's: the renewal of that would bring another chain."""
    for server, each in pairwise(needed):
        if _end(each) < _end(needed[0]) and ends_soon(each.not_valid_before_utc, _end(each), now):
            return (
                f"tls.certificate: in {path} the certificate of {called(each)}, which signed {called(server)}, expires on "
                f"{_end(each):%Y-%m-%d %H:%M} UTC, and clients refuse the box from then on: {_current_chain(server)}"
            )
    return ""


def ends_soon(begins: datetime, ends: datetime, now: datetime) -> bool:
    """Whether what renews a certificate is late with it."""
    return ends - now < min(_ENDS_SOON, (ends - begins) / _LATE)


def unfit(needed: Sequence[x509.Certificate], path: Path) -> str:
    """What to say where one in `needed`, as `followed` gives it, is not for servers (RFC 5280 §4.2.1.12); empty: all are.

    OpenSSL takes `anyExtendedKeyUsage` for no server's certificate, and wants it of authorities in between as well.
    """
    for at, each in enumerate(needed):
        try:
            purposes = list(each.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
        except (x509.ExtensionNotFound, ValueError):
            continue
        if ExtendedKeyUsageOID.SERVER_AUTH in purposes or (at > 0 and is_signed_by(each, each)):
            continue
        has = ", ".join(_PURPOSES.get(purpose, purpose.dotted_string) for purpose in purposes)
        lacks = f"is not for servers, so clients refuse the box: its extended key usage is {has}, and lacks serverAuth"
        if at == 0:
            return f"tls.certificate: {path} begins with {called(each)}, which {lacks}. Have a certificate made for a server"
        signed = called(needed[at - 1])
        return f"tls.certificate: in {path} the certificate of {called(each)}, which signed {signed}, {lacks}. Have one made by an authority for servers"
    return ""


def _end(certificate: x509.Certificate) -> datetime:
    return certificate.not_valid_after_utc


def _current_chain(certificate: x509.Certificate) -> str:
    """Where to get another certificate of who signed one."""
    issuer = shown_name(certificate.issuer)
    return f"get the current certificate of {issuer}{_found_at(certificate)} from who issued yours, and put it in that one's place. If there is none, renew yours"


def broken_link(chain: Sequence[x509.Certificate], path: Path, trusted: Sequence[bytes]) -> str:
    """What may keep clients from believing a chain that was read from `path`, server first, with the way out; empty: nothing is known.

    `trusted` are the authorities of this host, in DER.  Roots need not be shown (RFC 8446 §4.4.2), and a firm's is often on no list of
    this host: of a chain that goes on behind the server's certificate its end is not judged.
    """
    for at, each in enumerate(chain[:-1]):
        if not is_signed_by(each, chain[at + 1]):
            return _unlinked(chain, at, path, trusted)
    server = chain[0]
    if len(chain) > 1 or is_signed_by(server, server) or _is_of_one(server, trusted):
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


def _unlinked(chain: Sequence[x509.Certificate], at: int, path: Path, trusted: Sequence[bytes]) -> str:
    """What to say of a certificate that the one behind it did not sign."""
    each, behind = chain[at], chain[at + 1]
    what = f"tls.certificate: in {path} certificate {at + 2}, {called(behind)}, did not sign the one before it, {called(each)}"
    signer = next((one for one in chain if one is not each and is_signed_by(each, one)), None)
    if signer is not None:
        return f"{what}, and some clients refuse that order: put {called(signer)} directly behind it"
    if is_signed_by(each, each):
        return f"{what}, which is a root: take out what stands behind it"
    issuer = shown_name(each.issuer)
    if _is_of_one(each, trusted):
        return f"{what}, nor has to: this host trusts {issuer}, which did. Take out certificate {at + 2}"
    if at > 0:
        return (
            f"{what}: take out certificate {at + 2}, unless {issuer} is an authority in between (an intermediate) as well. Then clients "
            f"that trust only the root refuse the box: put the certificate of {issuer}{_found_at(each)} between the two"
        )
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
    # Without a colon: what stands behind the last one of a warning is the way out (`engine.doctor.rules.encryption`).
    made = "`openssl x509 -inform der -in FILE -out intermediate.pem` makes PEM of that"
    return f" (it is to be had at {place}, in DER; {made})" if place else ""
