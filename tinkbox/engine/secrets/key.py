"""The key by which secrets are kept: outside the database, so that a copy of that tells nothing.

It is text of at least 256 bits by chance, in a file of the data folder, or from systemd (systemd.exec(5), LoadCredential).
What encrypts and what marks are two keys made of it (RFC 5869 with one block).
"""

import hashlib
import hmac
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from tinkbox.model.command_lines import CREDENTIAL_FIRST, SEALED_ANEW
from tinkbox.model.errors import Unavailable
from tinkbox.private_files import LEAST_SECRET

KEY_FILE: Final = "secrets.key"  # in the data folder
CREDENTIAL: Final = "tinkbox-secrets-key"  # in systemd's $CREDENTIALS_DIRECTORY
_NONCE: Final = 12  # bytes (NIST SP 800-38D, section 8.2.2: random ones, each sealed value has its own)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySource:
    """Where the key is: `stored` gives what there is, empty for none, `made` makes one where there is none.

    Both raise Unavailable.  `place` says where, for people, and `put_back` what they do where it is not the right one.
    """

    place: str
    stored: Callable[[], str]
    made: Callable[[], str]
    put_back: str = "put that key back"


def _not_kept() -> str:
    raise Unavailable("there is no place for the key of secrets")


NO_KEY: Final = KeySource(place="nowhere", stored=str, made=_not_kept)


class SecretKey:
    """The appliance's key for secrets, read when it is first needed."""

    def __init__(self, source: KeySource) -> None:
        self._source = source
        self._text = ""
        self._chance = os.urandom(32)

    @property
    def place(self) -> str:
        return self._source.place

    def make(self) -> None:
        """Make it where there is none; raises Unavailable."""
        self._text = self._source.made()

    def marking(self) -> bytes:
        """What the marks of workflows are made by; by chance where there is no key, so that none is true once there is one."""
        try:
            return self._derived(b"tinkbox secrets: marks")
        except Unavailable:
            return self._chance

    def seal(self, name: str, value: bytes) -> bytes:
        """A value encrypted (AES-256-GCM), which opens under its own name alone; raises Unavailable without a key."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # it takes its time, and few commands need it

        nonce = os.urandom(_NONCE)
        return nonce + AESGCM(self._sealing()).encrypt(nonce, value, name.encode())

    def open(self, name: str, sealed: bytes) -> bytes:
        """The opposite; raises Unavailable without a key, and where it is not the one that sealed the value."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        try:
            return AESGCM(self._sealing()).decrypt(sealed[:_NONCE], sealed[_NONCE:], name.encode())
        except (InvalidTag, ValueError):
            self._text = ""  # a file that was put back is looked at again
            raise Unavailable(
                f'the secret "{name}" cannot be read: {self.place} is not the key by which it was kept. '
                f"{self._source.put_back[0].upper()}{self._source.put_back[1:]}, or set the secret anew: `tinkbox secret set {name}`"
            ) from None

    def problem(self, name: str, sealed: bytes) -> str:
        """Why a value that was sealed cannot be read by the key as it is stored now, empty: it can."""
        try:
            SecretKey(self._source).open(name, sealed)
        except Unavailable as error:
            return str(error)
        return ""

    def lost(self) -> str:
        """How the key as it is stored now differs from the one in memory, after `place`; empty: it does not."""
        try:
            text = self._source.stored()
        except Unavailable:
            return "is empty, damaged, or closed to tinkbox"
        if not text:
            return "is missing"
        return "" if text == self._text else "holds another key"

    def _sealing(self) -> bytes:
        return self._derived(b"tinkbox secrets: values")

    def _derived(self, purpose: bytes) -> bytes:
        text = self._text = self._text or self._source.stored()
        if not text:
            raise Unavailable(
                f"secrets cannot be read: their key, {self.place}, is missing. Put it back from a backup. {CREDENTIAL_FIRST} When there is neither, "
                "delete the secrets and set them anew (`tinkbox secret list`)"
            )
        extracted = hmac.digest(b"tinkbox", text.encode(), hashlib.sha256)
        return hmac.digest(extracted, purpose + b"\x01", hashlib.sha256)


def key_source(data: Path, credentials: str, kept_secret: Callable[[Path], str]) -> KeySource:
    """The key's place: systemd's folder of `credentials` where that has one, else the data folder, where `kept_secret` makes it."""
    given = Path(credentials) / CREDENTIAL if credentials else None
    if given is not None and given.exists():
        read = partial(_read, given, SEALED_ANEW)
        return KeySource(place=str(given), stored=read, made=read, put_back=SEALED_ANEW)
    path = data / KEY_FILE
    stored = partial(
        _read,
        path,
        f"put the key back from a backup. {CREDENTIAL_FIRST} When there is neither, delete this file and the secrets, and set them anew (`tinkbox secret list`)",
    )

    def made() -> str:
        return stored() or kept_secret(path)

    return KeySource(place=str(path), stored=stored, made=made)


def _read(path: Path, way: str) -> str:
    """The key in a file; empty when there is none.  Raises Unavailable with the way out."""
    try:
        text = path.read_text("ascii").strip()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise Unavailable(f"cannot read the key of secrets, {path}: {error}: {way}") from None
    if len(text) < LEAST_SECRET:
        raise Unavailable(
            f"{path} is no key of secrets: it has {len(text)} characters, at least {LEAST_SECRET} are needed: {way}"
        )
    return text
