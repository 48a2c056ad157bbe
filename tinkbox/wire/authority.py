"""How people compare the certificate of an authority: by its SHA-256, as browsers and `openssl x509 -fingerprint` show it."""

import hashlib
import re
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.model.text import quoted

# How the name of each box's own authority begins; eight digits in hex follow.
NAME: Final = "tinkbox "
_OWN: Final = re.compile(rf"{NAME}[0-9a-f]{{8}}")
_ALGORITHM: Final = "SHA256"
_BYTES: Final = 32
_HEX: Final = re.compile(r"[0-9A-Fa-f]{2}(:?[0-9A-Fa-f]{2}){31}")


def fingerprint(certificate: bytes) -> str:
    """The SHA-256 of a certificate in DER, as `SHA256:` and 32 bytes in hex with colons between."""
    return f"{_ALGORITHM}:{hashlib.sha256(certificate).digest().hex(':').upper()}"


def is_boxs_own(name: str) -> bool:
    """Whether an authority is called as those are that a box makes; it proves nothing."""
    return _OWN.fullmatch(name) is not None


def read_fingerprint(text: str) -> str:
    """A fingerprint as people copy it, written as `fingerprint` does.

    The name of the algorithm may be missing, or stand as OpenSSL writes it, `sha256 Fingerprint=`; colons may be missing.
    Raises Invalid for anything else.
    """
    found = text.strip().rpartition("=")[2]
    if found[: len(_ALGORITHM) + 1].upper() == f"{_ALGORITHM}:":
        found = found[len(_ALGORITHM) + 1 :]
    if not _HEX.fullmatch(found):
        raise Invalid(
            f"{quoted(text[:200])} is no fingerprint: write {_ALGORITHM}: and {_BYTES} bytes in hex, as "
            "`tinkbox authority` prints them on the box"
        )
    return f"{_ALGORITHM}:{bytes.fromhex(found.replace(':', '')).hex(':').upper()}"
