"""The operator's own certificate, as an authority that people's computers trust already has signed it."""

import os
import ssl
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from shlex import quote
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from tinkbox.certificates.chains import Chain, ends_soon
from tinkbox.certificates.contexts import Contexts, server_contexts, show
from tinkbox.certificates.issuing import called, covers, encoded_key, is_authority, names_of
from tinkbox.host_users import user_name
from tinkbox.model.errors import Unavailable
from tinkbox.trusted_authorities import trusted_certificates
from tinkbox.wire.authority import fingerprint

_PRIVATE: Final = b"PRIVATE KEY-----"  # how the first line of a key in PEM ends, of whatever kind (RFC 7468 §10)
_DER: Final = b"\x30\x82"  # what a certificate in DER begins with (X.690): a sequence of 256 octets and more
# So many names of a certificate are told.
_TOLD: Final = 3

Change = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remarks:
    """What is to be said of a certificate, each a sentence with the way out: what is wrong, and what is no error yet."""

    wrong: Sequence[str] = ()
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class OwnCertificate:
    """A certificate with its key, and the `change` of the files that it was read from."""

    contexts: Contexts
    names: frozenset[str]
    begins: datetime
    ends: datetime
    path: Path
    key: Path
    change: Change
    chain: Chain
    holds_key: bool  # the file of the certificate

    def is_for(self, host: str) -> bool:
        return covers(self.names, host)

    def authority(self, now: datetime) -> str:
        """The fingerprint of the last certificate to which the chain leads, by which `tinkbox login` has it compared."""
        return fingerprint(self.chain.end(now).public_bytes(Encoding.DER))

    def problem(self, now: datetime) -> str:
        """Why every client refuses it now, for a person; empty: none is known to."""
        if now < self.begins:
            return (
                f"tls.certificate: {self.path} is not valid before {self.begins:%Y-%m-%d %H:%M} UTC, and here it is {now:%Y-%m-%d %H:%M}: "
                "set this host's clock right (`date -u`), or have one made that is valid now"
            )
        if now >= self.ends:
            return f"tls.certificate: {self.path} expired on {self.ends:%Y-%m-%d}: renew it, and it is read again by itself"
        return self.chain.refusal(now)

    def warnings(self, now: datetime) -> list[str]:
        """What will be wrong with it soon, what some clients refuse, and keys that others may read, each for a person, while it is valid."""
        found = self.chain.warnings(now)
        if ends_soon(self.begins, self.ends, now):
            found.append(
                f"tls.certificate: {self.path} expires on {self.ends:%Y-%m-%d %H:%M} UTC: renew it, and it is read again by itself"
            )
        if close := _open_to_others(self.key):
            found.append(
                f"tls.key: every user of this host may read {self.key}, and who has it can pass for the box: close it with {close}"
            )
        if self.holds_key and self.path != self.key and (close := _open_to_others(self.path)):
            found.append(
                f"tls.certificate: every user of this host may read {self.path}, which holds a private key, and who has it can pass for the box: take "
                f"the key out, or close the file with {close}"
            )
        return found


def read_own(certificate: Path, key: Path) -> OwnCertificate:
    """Read a chain, the server's certificate first, and its key, both in PEM.

    Raises Unavailable, with the remedy, for what cannot be shown to anybody.
    """
    change = change_of(certificate, key)
    content = _read(certificate, "tls.certificate")
    chain = _chain(certificate, content)
    public = _public_key_of(key)
    matching = [at for at, each in enumerate(chain) if _encoded_key_of(each, certificate) == public]
    if not matching:
        raise Unavailable(
            f"tls.key: {key} is not the key of the certificate in {certificate}: name the two that were made together"
        )
    if matching[0] != 0:
        raise Unavailable(_misplaced(chain, matching[0], certificate, key))
    names = names_of(chain[0])
    if not names:
        raise Unavailable(_nameless(chain, certificate, key))
    contexts = server_contexts()
    try:
        show(contexts, certificate, key)
    except (ssl.SSLError, OSError) as error:
        raise Unavailable(
            f"tls.certificate: {certificate} with {key} cannot be used: {error}: have another one made"
        ) from None
    leaf = chain[0]
    return OwnCertificate(
        contexts, names, leaf.not_valid_before_utc, leaf.not_valid_after_utc, certificate, key, change,
        Chain(certificate, chain, trusted_certificates()), _PRIVATE in content,
    )  # fmt: skip


def _open_to_others(key: Path) -> str:
    """What closes a file with a key that every user of this host may read; empty: none may, or it is gone."""
    try:
        there = key.resolve(strict=True)
        found = there.stat()
        is_open = found.st_mode & stat.S_IROTH and all(each.stat().st_mode & stat.S_IXOTH for each in there.parents)
    except OSError:
        return ""
    if not is_open:
        return ""
    me, path = user_name(os.geteuid()), quote(str(key))
    by_group = found.st_mode & stat.S_IRGRP and found.st_gid in (os.getegid(), *os.getgroups())
    is_ours = found.st_uid == os.geteuid() or by_group or os.geteuid() == 0
    return f"`chmod o= {path}`" if is_ours else f"`chown {me} {path} && chmod 600 {path}`"


def _misplaced(chain: Sequence[x509.Certificate], at: int, certificate: Path, key: Path) -> str:
    """What to say of a key that is not the first certificate's of a chain, but another one's."""
    first, fitting = called(chain[0]), called(chain[at])
    if not is_authority(chain[at]):
        return (
            f"tls.certificate: {certificate} begins with {first}, and {key} is the key of certificate {at + 1} in it, {fitting}: "
            "put that one first, and those that signed it behind it"
        )
    return (
        f"tls.key: {key} is the key of certificate {at + 1} in {certificate}, {fitting}, which is an authority's: "
        f"{_servers_key(chain)}"
    )


def _nameless(chain: Sequence[x509.Certificate], certificate: Path, key: Path) -> str:
    """What to say of a chain whose first certificate, which the key is of, is for no host."""
    if is_authority(chain[0]) and not all(map(is_authority, chain)):
        return (
            f"tls.certificate: {certificate} begins with {called(chain[0])}, which is an authority's, and {key} is the key of that: "
            f"{_servers_key(chain)}"
        )
    return (
        f"tls.certificate: {certificate} names no host in its subjectAltName, and its common name counts for no browser, nor for Go and this box "
        "(RFC 9525): have one made for the box's names"
    )


def _servers_key(chain: Sequence[x509.Certificate]) -> str:
    """What to do where the key is an authority's, of a chain in whatever order."""
    servers = next((each for each in chain if not is_authority(each)), chain[0])
    first = "" if servers is chain[0] else ", and put that certificate first"
    return f"name the key of the server's certificate, {called(servers)}, in tls.key{first}"


def foreign_names(own: tuple[Path, Path] | None, names: Sequence[str], host: str) -> str:
    """What to say of a certificate that has none of the box's `names`, nor one that begins with its `host` name; empty: it has.

    Raises Unavailable as `read_own` does.
    """
    if own is None:
        return ""
    found = read_own(*own)
    label = host.lower().partition(".")[0]
    if any(map(found.is_for, names)) or any(each.partition(".")[0] == label for each in found.names):
        return ""
    return (
        f"tls.certificate: {found.path} is for {', '.join(sorted(found.names)[:_TOLD])}, by none of which this box is known here: whoever asks "
        "by another name is shown that of the box's authority. If people do ask by such a name, add it to tls.names; else have a "
        "certificate made for the name by which they ask"
    )


def change_of(certificate: Path, key: Path) -> Change:
    """What differs once another file is in the place of either, or in what a link there leads to.

    Raises Unavailable for files that are not there.
    """
    return tuple(_change(path, setting) for path, setting in ((certificate, "tls.certificate"), (key, "tls.key")))


def _change(path: Path, setting: str) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise Unavailable(_unreadable(path, setting, error)) from None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _read(path: Path, setting: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Unavailable(_unreadable(path, setting, error)) from None


def _unreadable(path: Path, setting: str, error: OSError) -> str:
    readable = f"`namei -l {path}` shows whose it is; the user {user_name(os.geteuid())}, as which the appliance runs, has to read it"
    return f"{setting}: cannot read {path}: {error.strerror}: {readable}"


def _chain(path: Path, content: bytes) -> list[x509.Certificate]:
    try:
        chain = x509.load_pem_x509_certificates(content)
    except ValueError:
        is_der = content.startswith(_DER)
        way = f"make PEM of it with `openssl x509 -inform der -in {path} -out certificate.pem`, and " if is_der else ""
        raise Unavailable(
            f"tls.certificate: {path} holds no certificate in PEM: {way}name the file with the chain"
        ) from None
    for place, each in enumerate(chain, 1):
        _refuse_repeated_extension(each, place, path)
    return chain


def _refuse_repeated_extension(certificate: x509.Certificate, place: int, path: Path) -> None:
    """OpenSSL takes such a certificate, and Go does not (RFC 5280 §4.2); which of the two extensions would count, nothing says."""
    try:
        with suppress(ValueError):  # nobody can read them
            _ = certificate.extensions
    except x509.DuplicateExtension as error:
        raise Unavailable(
            f"tls.certificate: in {path} certificate {place} has the extension {error.oid.dotted_string} twice, which no certificate may: have another "
            "one made"
        ) from None


def _encoded_key_of(certificate: x509.Certificate, path: Path) -> bytes:
    try:
        return encoded_key(certificate.public_key())
    except (ValueError, UnsupportedAlgorithm) as error:
        raise Unavailable(
            f"tls.certificate: {path} has a certificate with a key that cannot be read ({error}): have another one made"
        ) from None


def _public_key_of(path: Path) -> bytes:
    try:
        key = load_pem_private_key(_read(path, "tls.key"), None)
    except TypeError:
        raise Unavailable(
            f"tls.key: {path} has a passphrase, which nobody is there to type: `openssl pkey -in {path} -out FILE` writes "
            "one without"
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise Unavailable(f"tls.key: {path} holds no private key in PEM: name the file with the key") from None
    if not isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey):
        raise Unavailable(
            f"tls.key: {path} is no key of RSA, an elliptic curve or Ed25519, and browsers take no other: have a certificate "
            "made for another key"
        )
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
