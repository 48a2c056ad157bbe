"""Sprig's certificates: authorities, those that these sign, and those that sign themselves (X.509, RFC 5280).

They have what Go's x509.CreateCertificate makes of Sprig's template: for servers and clients, from the moment of the rendering on.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, TypeAlias

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tinkbox.gotemplate.types.structs import Struct
from tinkbox.gotemplate.values import GoError, from_bytes, sprint, to_bytes
from tinkbox.sprig.arguments import Function, typed
from tinkbox.sprig.cryptography import private_keys
from tinkbox.sprig.cryptography.private_keys import PrivateKey
from tinkbox.sprig.surroundings import Surroundings
from tinkbox.sprig.text.basecodes import base64_bytes

TYPE: Final = "sprig.certificate"
LIST: Final = "[]interface {}"
MAX_PEM: Final = 64 * 1024  # characters of a certificate
MAX_NAMES: Final = 1000
_SECOND: Final = 1_000_000_000
_BLOCK: Final = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_SERVERS_AND_CLIENTS: Final = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
SigningKey: TypeAlias = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a certificate is to say."""

    name: str
    days: int
    ips: Sequence[object] = ()
    names: Sequence[object] = ()
    is_authority: bool = False


def functions(around: Surroundings) -> Mapping[str, Function]:
    """The functions by name, with the moment and the chance of a rendering."""

    def authority(name: str, days: int, key: PrivateKey) -> Struct:
        return _made(around, _Wanted(name, days, is_authority=True), key)

    def self_signed(name: str, ips: Sequence[object], names: Sequence[object], days: int, key: PrivateKey) -> Struct:
        return _made(around, _Wanted(name, days, ips, names), key)

    def signed(
        name: str, ips: Sequence[object], names: Sequence[object], days: int, signer: Struct, key: PrivateKey
    ) -> Struct:
        parent = _certificate(str(signer["Cert"]))
        signing = _read(str(signer["Key"]), "error parsing private key")
        return _made(around, _Wanted(name, days, ips, names), key, parent, signing)

    def _read(text: str, what: str = "parsing private key") -> PrivateKey:
        try:
            return private_keys.read(text, around)
        except GoError as error:
            raise GoError(f"{what}: {error}") from None

    def new() -> PrivateKey:
        return private_keys.make_rsa(around)

    def build_custom(certificate: str, key: str) -> Struct:
        """A certificate and its key, both in base64, once they were looked at."""
        held = _decoded(certificate, "certificate"), _decoded(key, "private key")
        _certificate(held[0])
        _read(held[1], "error parsing private key")
        return _struct(*held)

    return {
        "buildCustomCert": typed(build_custom, "string", "string"),
        "genCA": typed(lambda name, days: authority(name, days, new()), "string", "int"),
        "genCAWithKey": typed(lambda name, days, key: authority(name, days, _read(key)), "string", "int", "string"),
        "genSelfSignedCert": typed(
            lambda name, ips, names, days: self_signed(name, ips, names, days, new()), "string", LIST, LIST, "int"
        ),
        "genSelfSignedCertWithKey": typed(
            lambda name, ips, names, days, key: self_signed(name, ips, names, days, _read(key)),
            *("string", LIST, LIST, "int", "string"),
        ),
        "genSignedCert": typed(
            lambda name, ips, names, days, signer: signed(name, ips, names, days, signer, new()),
            *("string", LIST, LIST, "int", TYPE),
        ),
        "genSignedCertWithKey": typed(
            lambda name, ips, names, days, signer, key: signed(name, ips, names, days, signer, _read(key)),
            *("string", LIST, LIST, "int", TYPE, "string"),
        ),
    }


def _struct(certificate: str, key: str) -> Struct:
    fields = {"Cert": certificate, "Key": key}
    return Struct(TYPE, fields, fields)


def _decoded(text: str, what: str) -> str:
    try:
        return from_bytes(base64_bytes(text))
    except GoError:
        raise GoError(f"unable to decode base64 {what}") from None


def _certificate(text: str) -> x509.Certificate:
    if len(text) > MAX_PEM:
        raise GoError(f"a certificate may have {MAX_PEM} characters, and this one has {len(text)}")
    block = _BLOCK.search(text)
    if block is None:
        raise GoError("unable to decode certificate")
    try:
        return x509.load_pem_x509_certificate(to_bytes(block[0]))
    except ValueError as error:
        raise GoError(f"error parsing certificate: {str(error)[:200]}") from None


def _signing(key: PrivateKey) -> SigningKey:
    if isinstance(key, dsa.DSAPrivateKey):
        raise GoError("error creating certificate: x509: only RSA, ECDSA and Ed25519 keys supported")
    return key


def _made(
    around: Surroundings,
    wanted: _Wanted,
    key: PrivateKey,
    parent: x509.Certificate | None = None,
    parents_key: PrivateKey | None = None,
) -> Struct:
    """Make a certificate for a key; without a parent it signs itself.

    Raises GoError for names and numbers that no certificate can have.
    """
    if len(wanted.ips) + len(wanted.names) > MAX_NAMES:
        raise GoError(f"a certificate may have {MAX_NAMES} names and addresses")
    begin = datetime.fromtimestamp(around.moment // _SECOND, UTC)
    try:
        end = begin + timedelta(days=wanted.days)
    except OverflowError:
        raise GoError(f"a certificate ends in the year 9999 at the latest, not in {wanted.days} days") from None
    alternatives = [*map(_dns, wanted.names), *map(_ip, wanted.ips)]
    own, signing = _signing(key), _signing(parents_key or key)
    try:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, wanted.name)] if wanted.name else [])
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(parent.subject if parent else subject)
            .public_key(own.public_key())
            .serial_number(int.from_bytes(around.chance(16), "big") or 1)
            .not_valid_before(begin)
            .not_valid_after(end)
            .add_extension(_usage(signs=wanted.is_authority), critical=True)
            .add_extension(_SERVERS_AND_CLIENTS, critical=False)
            .add_extension(x509.BasicConstraints(ca=wanted.is_authority, path_length=None), critical=True)
        )
        if wanted.is_authority:
            builder = builder.add_extension(x509.SubjectKeyIdentifier(_identifier(own)), critical=False)
        if parent is not None and parent.subject != subject and (held := _identifier_of(parent)):
            by = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(held)
            builder = builder.add_extension(by, critical=False)
        if alternatives:
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=not wanted.name)
        certificate = builder.sign(signing, _hash(signing))
    except (ValueError, OverflowError, UnsupportedAlgorithm) as error:
        raise GoError(f"error creating certificate: {str(error)[:200]}") from None
    return _struct(certificate.public_bytes(Encoding.PEM).decode("ascii"), private_keys.pem(key))


def _identifier(key: SigningKey) -> bytes:
    """By method 1 of RFC 7093 section 2, as in Go."""
    public = key.public_key()
    if isinstance(public, rsa.RSAPublicKey):
        said = public.public_bytes(Encoding.DER, PublicFormat.PKCS1)
    elif isinstance(public, ec.EllipticCurvePublicKey):
        said = public.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    else:
        said = public.public_bytes_raw()
    return hashlib.sha256(said).digest()[:20]


def _identifier_of(certificate: x509.Certificate) -> x509.SubjectKeyIdentifier | None:
    try:
        return certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        return None


def _hash(key: SigningKey) -> hashes.SHA256 | hashes.SHA384 | hashes.SHA512 | None:
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return None
    if isinstance(key, ec.EllipticCurvePrivateKey) and key.curve.key_size > 256:
        return hashes.SHA384() if key.curve.key_size <= 384 else hashes.SHA512()
    return hashes.SHA256()


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=True,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _dns(name: object) -> x509.DNSName:
    if not isinstance(name, str):
        raise GoError(f"error processing alternate dns name: {sprint(name)} is not a string")
    if not name.isascii():
        raise GoError(f"error creating certificate: x509: {name!r} cannot be encoded as an IA5String")
    return x509.DNSName(name)


def _ip(address: object) -> x509.IPAddress:
    if not isinstance(address, str):
        raise GoError(f"error parsing ip: {sprint(address)} is not a string")
    try:
        found: IPv4Address | IPv6Address = ip_address(address)
    except ValueError:
        raise GoError(f"error parsing ip: {address}") from None
    if isinstance(found, IPv6Address):
        if found.scope_id:
            raise GoError(f"error parsing ip: {address}")
        found = found.ipv4_mapped or found
    return x509.IPAddress(found)
