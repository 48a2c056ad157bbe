"""A certificate authority of a test's own, and certificates of it."""

import ssl
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


def _key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@dataclass
class Authority:
    """One that is made anew for each test; `pem` is its certificate."""

    folder: Path
    name: str = "the appliance"
    key: rsa.RSAPrivateKey = field(default_factory=_key)

    def __post_init__(self) -> None:
        self._subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, self.name)])
        made = as_authority(self._certificate(self._subject, self.key, timedelta(days=3650)), self.key).sign(
            self.key, hashes.SHA256()
        )
        self.pem = made.public_bytes(serialization.Encoding.PEM).decode()

    def server(self, *names: str, lasts: timedelta = timedelta(days=397)) -> ssl.SSLContext:
        """The context of a server with a certificate for these names and addresses, which `lasts` from now on."""
        key, subject = _key(), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a node door")])
        made = self._certificate(subject, key, lasts).add_extension(
            x509.SubjectAlternativeName([_general(each) for each in names]), critical=False
        )
        path = self.folder / f"{id(key)}.pem"
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + made.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
            + self.pem.encode()  # which a box shows as well
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    def _certificate(self, subject: x509.Name, key: rsa.RSAPrivateKey, lasts: timedelta) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(EPOCH)
            .not_valid_after(datetime.now(UTC) + lasts)
            .add_extension(signed_by(self.key), critical=False)
        )


def as_authority(
    builder: x509.CertificateBuilder,
    key: PrivateKey,
    *,
    basic: x509.BasicConstraints | None = None,
    has_basic: bool = True,
    signs: bool = True,
) -> x509.CertificateBuilder:
    """With what RFC 5280 §4.2 wants of an authority: Python 3.13 looks by default (`VERIFY_X509_STRICT`).

    `basic` are other basic constraints, not `has_basic`: none; one that `signs` no certificates may still sign lists of revoked ones.
    """
    if has_basic:
        builder = builder.add_extension(basic or x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return (
        builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.KeyUsage(
                key_cert_sign=signs, crl_sign=True, digital_signature=False, content_commitment=False, key_encipherment=False,
                data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
            ),
            critical=True,
        )
    )  # fmt: skip


def signed_by(key: PrivateKey) -> x509.AuthorityKeyIdentifier:
    """What names the key that a certificate is signed by, without which Python 3.13 takes none."""
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(IPv4Address(name))
    except ValueError:
        return x509.DNSName(name)
