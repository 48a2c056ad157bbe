"""Sprig's functions for passwords: bcrypt, for htpasswd too, and those that are derived from a master password.

Only this file knows bcrypt.  Both are slow by design.
"""

import hashlib
import hmac
from collections.abc import Mapping
from typing import Final

import bcrypt

from tinkbox.gotemplate.values import to_bytes
from tinkbox.sprig.arguments import Function, typed
from tinkbox.sprig.surroundings import Surroundings

COST: Final = 10  # bcrypt.DefaultCost of golang.org/x/crypto
MAX_PASSWORD: Final = 72
BCRYPT_TAKES: Final = 60  # milliseconds
SCRYPT_TAKES: Final = 150
# bcrypt's own base64 of a salt
_BCRYPT_ALPHABET: Final = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
# What Master Password's algorithm 0 makes passwords of: https://github.com/Lyndir/MasterPassword
_SCOPE: Final = b"com.lyndir.masterpassword"
_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "maximum": ("anoxxxxxxxxxxxxxxxxx", "axxxxxxxxxxxxxxxxxno"),
    "long": (
        *("CvcvnoCvcvCvcv", "CvcvCvcvnoCvcv", "CvcvCvcvCvcvno"),
        *("CvccnoCvcvCvcv", "CvccCvcvnoCvcv", "CvccCvcvCvcvno"),
        *("CvcvnoCvccCvcv", "CvcvCvccnoCvcv", "CvcvCvccCvcvno"),
        *("CvcvnoCvcvCvcc", "CvcvCvcvnoCvcc", "CvcvCvcvCvccno"),
        *("CvccnoCvccCvcv", "CvccCvccnoCvcv", "CvccCvccCvcvno"),
        *("CvcvnoCvccCvcc", "CvcvCvccnoCvcc", "CvcvCvccCvccno"),
        *("CvccnoCvcvCvcc", "CvccCvcvnoCvcc", "CvccCvcvCvccno"),
    ),
    "medium": ("CvcnoCvc", "CvcCvcno"),
    "short": ("Cvcn",),
    "basic": ("aaanaaan", "aannaaan", "aaannaaa"),
    "pin": ("nnnn",),
}
_CONSONANTS: Final = "BCDFGHJKLMNPQRSTVWXYZ"
_LETTERS: Final = f"AEIOUaeiou{_CONSONANTS}{_CONSONANTS.lower()}"
_CLASSES: Final[Mapping[str, str]] = {
    "V": "AEIOU",
    "C": _CONSONANTS,
    "v": "aeiou",
    "c": _CONSONANTS.lower(),
    "a": _LETTERS,
    "n": "0123456789",
    "o": "@&%?,=[]_:-+*$#!'^~;()/.",
    "x": f"{_LETTERS}0123456789!@#$%^&*()",
}


def functions(around: Surroundings) -> Mapping[str, Function]:
    """The functions by name, with a rendering's source of chance and what it may still take."""

    def hashed(password: str) -> str:
        """Hash a password by bcrypt; of one that is too long give a text that says so, as Sprig does."""
        secret = to_bytes(password)
        if len(secret) > MAX_PASSWORD:
            return f"failed to encrypt string with bcrypt: bcrypt: password length exceeds {MAX_PASSWORD} bytes"
        around.pay(BCRYPT_TAKES)
        return bcrypt.hashpw(secret, f"$2a${COST}${_salt(around.chance(16))}".encode()).decode()

    def htpasswd(user: str, password: str) -> str:
        """A line of a file of htpasswd."""
        return f"invalid username: {user}" if ":" in user else f"{user}:{hashed(password)}"

    def derive(counter: int, kind: str, password: str, user: str, site: str) -> str:
        """The password of Master Password for a site; of a kind that is none a text that says so."""
        if kind not in _KINDS:
            return f"cannot find password template {kind}"
        around.pay(SCRYPT_TAKES)
        salt = _SCOPE + _measured(user)
        key = hashlib.scrypt(to_bytes(password), salt=salt, n=32768, r=8, p=2, maxmem=1 << 26, dklen=64)
        said = _SCOPE + _measured(site) + counter.to_bytes(4, "big")
        seed = hmac.digest(key, said, "sha256")
        form = _KINDS[kind][seed[0] % len(_KINDS[kind])]
        return "".join(
            _CLASSES[each][number % len(_CLASSES[each])] for each, number in zip(form, seed[1:], strict=False)
        )

    return {
        "bcrypt": typed(hashed, "string"),
        "htpasswd": typed(htpasswd, "string", "string"),
        "derivePassword": typed(derive, "uint32", "string", "string", "string", "string"),
    }


def _measured(text: str) -> bytes:
    data = to_bytes(text)
    return len(data).to_bytes(4, "big") + data


def _salt(chance: bytes) -> str:
    """16 bytes in 22 letters."""
    number = int.from_bytes(chance, "big") << 4
    return "".join(_BCRYPT_ALPHABET[number >> shift & 63] for shift in range(126, -1, -6))
