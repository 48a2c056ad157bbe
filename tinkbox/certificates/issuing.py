"""Certificates that the box makes: an authority that signs itself, and what it signs for the doors (X.509, RFC 5280).

Time and keys are arguments.  All are RSA: iPXE before its release 2.0 takes nothing else.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from ipaddress import ip_address
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tinkbox.model.text import one_line
from tinkbox.wire.authority import NAME

BITS: Final = 2048
# A machine whose battery is empty believes that it is 1970.
BEGIN: Final = datetime(1970, 1, 1, tzinfo=UTC)
# The last moment that UTCTime has (RFC 5280 §4.1.2.5): machines and people need not learn another authority.
AUTHORITY_ENDS: Final = datetime(2049, 12, 31, 23, 59, 59, tzinfo=UTC)
LIFE: Final = timedelta(days=397)
# With so little left, what the doors show is made anew.
RENEWED_WITH: Final = LIFE / 3
# Before it no clock is right: a box without a battery must not make a certificate that is over when its clock is set.
_RIGHT_CLOCK: Final = datetime(2026, 11, 1, tzinfo=UTC)
_EXPONENT: Final = 65537
_MOST_IN_NAME: Final = 64  # characters of a common name (RFC 5280, appendix A.1, ub-common-name)
_MOST_SHOWN: Final = 200  # characters of a name
_HOST_NAME: Final = re.compile(
    r"(?=.{1,253}\Z)(\*\.)?[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*"
)


@dataclass(frozen=True, slots=True)
class Authority:
    """Who signs: a key and its certificate."""

    key: rsa.RSAPrivateKey
    certificate: x509.Certificate


def new_key() -> rsa.RSAPrivateKey:
    """Takes 0.05 to 1 s of a processor."""
    return rsa.generate_private_key(_EXPONENT, BITS)


def self_signed(key: rsa.RSAPrivateKey) -> Authority:
    """The authority of a key, always the same: so a backup of the key alone brings back the authority that people trust.

    Its signature is that of PKCS #1 v1.5, which has nothing of chance (RFC 8017 §8.2).  A piece of the key makes its name
    unlike that of any other box: some programs tell authorities apart by their names alone.
    """
    public = key.public_key()
    digest = sha256(encoded_key(public))
    subject = _subject(f"{NAME}{digest.hexdigest()[:8]}")
    usage = x509.KeyUsage(**_usage("key_cert_sign", "crl_sign"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(public)
        # Positive, and of 20 octets at most (RFC 5280 §4.1.2.2).
        .serial_number(int.from_bytes(digest.digest()[:16]) | 1)
        .not_valid_before(BEGIN)
        .not_valid_after(AUTHORITY_ENDS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Authority(key, certificate)


def signed(authority: Authority, key: rsa.RSAPublicKey, names: Sequence[str], now: datetime) -> x509.Certificate:
    """A server's certificate for all `names`, as `usable` gives them; it ends with its authority at the latest."""
    issuer = authority.certificate
    usage = x509.KeyUsage(**_usage("digital_signature", "key_encipherment"))
    return (
        x509.CertificateBuilder()
        .subject_name(_subject(next((each for each in names if len(each) <= _MOST_IN_NAME), "tinkbox")))
        .issuer_name(issuer.subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(BEGIN)
        .not_valid_after(min(_end(now, LIFE), issuer.not_valid_after_utc))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general_name(each) for each in names]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False)
        .sign(authority.key, hashes.SHA256())
    )


def is_due(leaf: x509.Certificate, authority: Authority, names: Sequence[str], now: datetime) -> bool:
    """Whether another certificate is to be made: not of this authority, for other names, or with too little time left."""
    if not is_signed_by(leaf, authority.certificate) or names_of(leaf) != frozenset(names):
        return True
    ends = leaf.not_valid_after_utc
    # One that is as good as its authority is not made better.
    return ends - now < RENEWED_WITH and ends < authority.certificate.not_valid_after_utc


def is_signed_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def may_sign(certificate: x509.Certificate) -> bool:
    """Whether a certificate is an authority's (RFC 5280 §4.2.1.9, §4.2.1.3); raises ValueError for extensions that nobody can read."""
    extensions = certificate.extensions
    try:
        is_authority = extensions.get_extension_for_class(x509.BasicConstraints).value.ca
        usage = extensions.get_extension_for_class(x509.KeyUsage).value
    except x509.ExtensionNotFound:
        return False
    return is_authority and usage.key_cert_sign


def is_authority(certificate: x509.Certificate) -> bool:
    """Whether a certificate says that it is an authority's (RFC 5280 §4.2.1.9), whatever else it lacks of one."""
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (x509.ExtensionNotFound, ValueError):
        return False


def called(certificate: x509.Certificate) -> str:
    """What people call a certificate by: whom it is for, or, where it says that by its names alone, the first of these."""
    return shown_name(certificate.subject) or next(iter(sorted(names_of(certificate))), "one without a name")


def shown_name(name: x509.Name) -> str:
    """A name as people read it, such as `CN=box`; empty for an empty one, which RFC 5280 §4.1.2.6 allows of servers."""
    return one_line(name.rfc4514_string(), _MOST_SHOWN)


def usable(names: Sequence[str]) -> list[str]:
    """Of names and addresses those that a certificate can have, each once; a name may begin with `*.`."""
    written = (_written(each.strip()) for each in names)
    return list(dict.fromkeys(each for each in written if each))


def names_of(certificate: x509.Certificate) -> frozenset[str]:
    """The names and addresses that a certificate is for (RFC 6125 §6.4: those in its subjectAltName alone)."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return frozenset()
    addresses = (str(each) for each in found.get_values_for_type(x509.IPAddress))
    return frozenset([*(each.lower() for each in found.get_values_for_type(x509.DNSName)), *addresses])


def covers(names: frozenset[str], host: str) -> bool:
    """Whether a certificate with these names is for a host; a `*` stands for its first label (RFC 6125 §6.4.3).

    It is for no address, for an address is no host's name (RFC 6066 §3), and yet iPXE asks by one.
    """
    name = host.lower().removesuffix(".")
    return not _is_address(name) and (name in names or f"*.{name.partition('.')[2]}" in names)


def encoded_key(key: CertificatePublicKeyTypes) -> bytes:
    """A public key in DER, by which two are compared."""
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _written(name: str) -> str:
    """A name as certificates have it; empty for what is none."""
    try:
        return str(ip_address(name))
    except ValueError:
        plain = name.lower().removesuffix(".")
        return plain if _HOST_NAME.fullmatch(plain) else ""


def _is_address(name: str) -> bool:
    try:
        ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _usage(*granted: str) -> dict[str, bool]:
    every = (
        "digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
        "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
    )  # fmt: skip
    return {each: each in granted for each in every}


def _end(now: datetime, life: timedelta) -> datetime:
    return (max(now, _RIGHT_CLOCK) + life).replace(microsecond=0)
