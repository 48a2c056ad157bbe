"""The authority and what it signed, in the folder `tls` of the data folder.

`authority.key` is written before `authority.pem`, and both before `server.pem`, which holds a key, its certificate and the
authority's.  So a start that ended in between leaves a key that nobody has trusted yet, and what is missing of an
authority that a `server.pem` speaks of was lost.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from tinkbox.certificates.issuing import BITS, Authority, encoded_key, may_sign, new_key, self_signed
from tinkbox.folder_sync import sync_folder
from tinkbox.model.command_lines import CREDENTIAL_FIRST, PROGRAM, SEALED_ANEW
from tinkbox.model.errors import Unavailable
from tinkbox.wire.authority import fingerprint

FOLDER: Final = "tls"
FORGET: Final = "authority --forget"  # of the command line
_MEANS: Final = "everybody logs in again, with its --fingerprint, and machines that boot by HTTPS are enrolled anew (docs/operating.md)"
_NEW: Final = f"has the next start make a new authority: {_MEANS}"
_OWNER_ONLY: Final = 0o600


@dataclass(frozen=True, slots=True)
class Leaf:
    """What a door shows: a key, its certificate, and the authority's."""

    key: rsa.RSAPrivateKey
    certificate: x509.Certificate
    authority: x509.Certificate


class KeptFiles:
    """See the module.  `authority_key`: where else than in the folder the authority's key is, such as a credential of systemd.

    `known` is the fingerprint of the authority that the box had so far, empty: none, and `program` begins a command to it.
    Every method raises Unavailable for what cannot be read or written.
    """

    def __init__(self, data: Path, authority_key: Path | None = None, known: str = "", program: str = PROGRAM) -> None:
        self._known, self._program = known, program
        self._folder = data / FOLDER
        self._key = authority_key or self._folder / "authority.key"
        self._has_key_elsewhere = authority_key is not None
        self._certificate = self._folder / "authority.pem"
        self.server = self._folder / "server.pem"

    def authority(self) -> Authority | None:
        """The authority that is there; None: none was ever used.

        Raises Unavailable where one was, and is lost, damaged or another: the machines and people who trust it would refuse that.
        """
        found = self._found()
        if self._known:
            self._refuse_other(found)
        return found

    def _refuse_other(self, found: Authority | None) -> None:
        if found is None:
            raise Unavailable(
                f"{self._folder} has no authority, and this box had {self._known}: put {self._key} back from a backup. {CREDENTIAL_FIRST} If there is "
                f"neither, `{self._program} {FORGET}` {_NEW}"
            )
        shown = _fingerprint(found)
        if shown != self._known:
            back = SEALED_ANEW if self._has_key_elsewhere else "put the key of that one back from a backup"
            raise Unavailable(
                f"{self._key} is that of the authority {shown}, and this box had {self._known}: `rm -f {self._made_of_key()}`, and {back}. Or `{self._program} {FORGET}` "
                f"has the next start go on with the one that is there: {_MEANS}"
            )

    def _found(self) -> Authority | None:
        written = _read(self._certificate)
        key = self._stored_key()
        leaf = self.leaf()
        if written is None and key is None:
            if leaf is None:
                return None
            raise Unavailable(f"{self._key} and {self._certificate} are lost: {self._remedy()}")
        if key is None:
            raise Unavailable(f"{self._key} is lost, the key of the authority in {self._certificate}: {self._remedy()}")
        if written is None:
            if leaf is None:
                return self_signed(key)
            certificate = leaf.authority
        else:
            try:
                certificate = x509.load_pem_x509_certificate(written)
            except ValueError:
                raise Unavailable(f"{self._certificate} holds no certificate: {self._remedy()}") from None
        try:
            is_its_key = encoded_key(certificate.public_key()) == encoded_key(key.public_key())
            signs = may_sign(certificate)
        except (ValueError, UnsupportedAlgorithm):
            raise Unavailable(f"{self._certificate} holds no certificate: {self._remedy()}") from None
        if not is_its_key:
            raise Unavailable(
                f"{self._key} is not the key of the authority in {self._certificate}. If that key is the right one, as from a "
                f"backup, type `rm -f {self._made_of_key()}`: both follow from it. If not, {self._key_remedy()}"
            )
        if not signs:
            raise Unavailable(f"{self._certificate} is no certificate of an authority: {self._remedy()}")
        return Authority(key, certificate)

    def make_authority(self) -> Authority:
        """A new one."""
        self._make_folder()
        key = new_key()
        self._write(self._key, _pem_of(key))
        return self.keep_authority(self_signed(key))

    def keep_authority(self, authority: Authority) -> Authority:
        """Write the authority's certificate where it is missing."""
        self._make_folder()
        if _read(self._certificate) is None:
            self._write(self._certificate, authority.certificate.public_bytes(Encoding.PEM))
        return authority

    def leaf(self) -> Leaf | None:
        """What the doors show; None where it is missing or damaged, for it is made anew at no cost."""
        written = _read(self.server)
        if written is None:
            return None
        try:
            key = load_pem_private_key(written, None)
            certificate, authority = x509.load_pem_x509_certificates(written)
            public = encoded_key(certificate.public_key())
        except (ValueError, TypeError, UnsupportedAlgorithm):
            return None
        if not isinstance(key, rsa.RSAPrivateKey) or encoded_key(key.public_key()) != public:
            return None
        return Leaf(key, certificate, authority)

    def keep_leaf(self, leaf: Leaf) -> None:
        """Key and certificates are one file, so that no power cut leaves halves of two."""
        chain = [each.public_bytes(Encoding.PEM) for each in (leaf.certificate, leaf.authority)]
        self._write(self.server, b"".join([_pem_of(leaf.key), *chain]))

    def _stored_key(self) -> rsa.RSAPrivateKey | None:
        written = _read(self._key)
        if written is None:
            if self._has_key_elsewhere:
                raise Unavailable(f"the authority's key {self._key} is not there: see LoadCredential in the unit")
            return None
        try:
            key = load_pem_private_key(written, None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise Unavailable(
                f"{self._key} holds no private key in PEM without a passphrase: {self._key_remedy()}"
            ) from None
        if not isinstance(key, rsa.RSAPrivateKey) or key.key_size < BITS:
            raise Unavailable(
                f"{self._key} is no RSA key of {BITS} bits or more, and firmware takes nothing else: {self._key_remedy()}"
            )
        return key

    def _remedy(self) -> str:
        return (
            f"put it back from a backup of {self._folder}. {CREDENTIAL_FIRST} If there is neither, `rm -r {self._folder}`, and "
            f"`{self._program} {FORGET}` {_NEW}"
        )

    def _key_remedy(self) -> str:
        return SEALED_ANEW if self._has_key_elsewhere else self._remedy()

    def _made_of_key(self) -> str:
        """The files that follow from the authority's key, as they are typed."""
        return f"{self._certificate} {self.server}"

    def _make_folder(self) -> None:
        def make() -> None:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            sync_folder(self._folder.parent)

        _usable(self._folder, make)

    def _write(self, path: Path, content: bytes) -> None:
        fresh = path.with_name(f"{path.name}.new")

        def write() -> None:
            fresh.unlink(missing_ok=True)  # of a start that ended in between
            with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
            sync_folder(path.parent)

        _usable(path, write)


def _fingerprint(authority: Authority) -> str:
    return fingerprint(authority.certificate.public_bytes(Encoding.DER))


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unavailable(f"cannot read {path}: {error.strerror}: see `ls -ld {path} {path.parent}`") from None


def _usable(path: Path, write: Callable[[], None]) -> None:
    try:
        write()
    except OSError as error:
        raise Unavailable(
            f"cannot write {path}: {error.strerror}: see `ls -ld {path.parent}` and `df -i {path.parent}`"
        ) from None


def _pem_of(key: rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
