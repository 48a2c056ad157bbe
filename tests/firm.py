"""A firm's authorities, as an operator's certificate comes from: a root, one in between, and what that signed for a server."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import AuthorityInformationAccessOID, NameOID

from tests.authority import PrivateKey, as_authority, signed_by
from tinkbox.certificates.issuing import new_key
from tinkbox.wire.authority import fingerprint


class Firm:
    """`leaf` is for `localhost`, signed by `between`, which `root` signed; each has its key.

    All begin a day before `now`, and end `lasts` after that.  With `issuer_at` the servers' say that their signer's is at that URL.
    """

    def __init__(
        self,
        folder: Path,
        now: datetime | None = None,
        lasts: timedelta = timedelta(days=90),
        issuer_at: str = "",
    ) -> None:
        self.folder = folder
        self._begins = (now or datetime.now(UTC)).replace(microsecond=0) - timedelta(days=1)
        self._lasts, self._issuer_at = lasts, issuer_at
        self.root_key, self.between_key, self.leaf_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
        self.root = self._signed("Firm Root", self.root_key, "Firm Root", self.root_key)
        self.between = self._signed("Firm R10", self.between_key, "Firm Root", self.root_key)
        self.leaf = self._signed("box", self.leaf_key, "Firm R10", self.between_key)

    def files(
        self, chain: Sequence[x509.Certificate], key: ec.EllipticCurvePrivateKey | None = None
    ) -> tuple[Path, Path]:
        """What `tls.certificate` and `tls.key` name, written with these certificates and a key, the leaf's by default."""
        paths = self.folder / "chain.pem", self.folder / "key.pem"
        contents = b"".join(map(pem, chain)), _key_pem(key or self.leaf_key)
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
        return paths

    def self_signed(self) -> x509.Certificate:
        """A server's certificate of the leaf's key that no authority signed."""
        return self._signed("box", self.leaf_key, "box", self.leaf_key)

    def of_root(self) -> x509.Certificate:
        """A server's certificate of the leaf's key that the root signed."""
        return self._signed("box", self.leaf_key, "Firm Root", self.root_key)

    def other_between(self, begins: timedelta, ends: timedelta, *purposes: x509.ObjectIdentifier) -> x509.Certificate:
        """The one in between once more, which begins and ends so long after the others begin, for these purposes alone."""
        return self._signed("Firm R10", self.between_key, "Firm Root", self.root_key, (begins, ends), purposes)

    def other_root(self, begins: timedelta, ends: timedelta) -> x509.Certificate:
        """The root once more, which begins and ends so long after the others begin."""
        return self._signed("Firm Root", self.root_key, "Firm Root", self.root_key, (begins, ends))

    def leaf_for(self, *purposes: x509.ObjectIdentifier) -> x509.Certificate:
        """The leaf once more, for these purposes alone."""
        return self._signed("box", self.leaf_key, "Firm R10", self.between_key, None, purposes)

    def strange_leaf(self, *strange: x509.ExtensionType) -> x509.Certificate:
        """The leaf once more, with these critical extensions."""
        return self._signed("box", self.leaf_key, "Firm R10", self.between_key, strange=strange)

    def leaf_as_of(self, authority: x509.Certificate, host: str = "localhost") -> x509.Certificate:
        """The leaf, which says that this authority signed it, and is signed with another key of its kind."""
        key_id = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
        told = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(key_id)
        other = new_key() if isinstance(authority.public_key(), rsa.RSAPublicKey) else self.between_key
        return self._signed("box", self.leaf_key, authority.subject, other, signer=told, host=host)

    def namesake(self, authority: x509.Certificate) -> x509.Certificate:
        """An authority with the name of another one, and the key of the one in between, which it signed itself with."""
        return self._signed(authority.subject, self.between_key, authority.subject, self.between_key)

    def leaf_of(self, authority: x509.Certificate) -> x509.Certificate:
        """The leaf of an authority of this name with the key of the one in between."""
        return self._signed("box", self.leaf_key, authority.subject, self.between_key)

    def odd_between(
        self,
        *,
        basic: x509.BasicConstraints | None = None,
        has_basic: bool = True,
        signs: bool = True,
        constraints: x509.NameConstraints | None = None,
        strange: Sequence[x509.ExtensionType] = (),
    ) -> x509.Certificate:
        """The one in between once more, with other basic constraints or none, key usage, name constraints or critical extensions."""
        return self._signed(
            "Firm R10", self.between_key, "Firm Root", self.root_key,
            basic=basic, has_basic=has_basic, signs=signs, constraints=constraints, strange=strange,
        )  # fmt: skip

    def odd_root(
        self,
        *,
        basic: x509.BasicConstraints | None = None,
        has_basic: bool = True,
        constraints: x509.NameConstraints | None = None,
        strange: Sequence[x509.ExtensionType] = (),
    ) -> x509.Certificate:
        """The root once more, in the same way."""
        return self._signed(
            "Firm Root", self.root_key, "Firm Root", self.root_key,
            basic=basic, has_basic=has_basic, constraints=constraints, strange=strange,
        )  # fmt: skip

    def above(self, path_length: int) -> x509.Certificate:
        """An authority above the one in between, which the root signed."""
        basic = x509.BasicConstraints(ca=True, path_length=path_length)
        return self._signed("Firm Above", self.leaf_key, "Firm Root", self.root_key, basic=basic)

    def between_of(self, above: x509.Certificate) -> x509.Certificate:
        """The one in between once more, signed by the one above it."""
        return self._signed("Firm R10", self.between_key, above.subject, self.leaf_key)

    def sibling(self) -> x509.Certificate:
        """Another one in between that the root signed, which signed none."""
        return self._signed("Firm R11", ec.generate_private_key(ec.SECP256R1()), "Firm Root", self.root_key)

    def _signed(
        self,
        name: str | x509.Name,
        key: ec.EllipticCurvePrivateKey,
        issuer: str | x509.Name,
        by: PrivateKey,
        life: tuple[timedelta, timedelta] | None = None,
        purposes: Sequence[x509.ObjectIdentifier] = (),
        signer: x509.AuthorityKeyIdentifier | None = None,
        host: str = "localhost",
        basic: x509.BasicConstraints | None = None,
        has_basic: bool = True,
        signs: bool = True,
        constraints: x509.NameConstraints | None = None,
        strange: Sequence[x509.ExtensionType] = (),
    ) -> x509.Certificate:
        serial, (begins, ends) = x509.random_serial_number(), life or (timedelta(), self._lasts)
        made = x509.CertificateBuilder(
            _name(issuer), _name(name), key.public_key(), serial, self._begins + begins, self._begins + ends
        ).add_extension(signer or signed_by(by), critical=False)
        if purposes:
            made = made.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        if name == "box":
            made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
            if self._issuer_at:
                made = made.add_extension(_issuer_at(self._issuer_at), critical=False)
        else:
            made = as_authority(made, key, basic=basic, has_basic=has_basic, signs=signs)
        if constraints is not None:
            made = made.add_extension(constraints, critical=True)
        for each in strange:
            made = made.add_extension(each, critical=True)
        return made.sign(by, hashes.SHA256())


def pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.PEM)


def with_extension_twice(certificate: x509.Certificate, by: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    """A certificate whose critical extensions 1.2.3.4.5 and 1.2.3.4.6 are both called the first, signed anew by the one of its signer."""
    content = certificate.tbs_certificate_bytes.replace(b"\x06\x04\x2a\x03\x04\x06", b"\x06\x04\x2a\x03\x04\x05")
    signature = by.sign(content, ec.ECDSA(hashes.SHA256()))
    kind = bytes.fromhex("300a06082a8648ce3d040302")  # ecdsa-with-SHA256
    body = content + kind + bytes([3, len(signature) + 1, 0]) + signature
    return x509.load_der_x509_certificate(b"\x30\x82" + len(body).to_bytes(2) + body)


def fingerprint_of(certificate: x509.Certificate) -> str:
    return fingerprint(certificate.public_bytes(Encoding.DER))


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _issuer_at(url: str) -> x509.AuthorityInformationAccess:
    place = x509.UniformResourceIdentifier(url)
    return x509.AuthorityInformationAccess([x509.AccessDescription(AuthorityInformationAccessOID.CA_ISSUERS, place)])


def _name(text: str | x509.Name) -> x509.Name:
    return text if isinstance(text, x509.Name) else x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
