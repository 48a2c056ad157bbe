"""How people compare the certificate of an authority: by its SHA-256, as browsers and `openssl x509 -fingerprint` show it."""

import hashlib
import re
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.model.text import quoted

_ALGORITHM: Final = "SHA256"
_BYTES: Final = 32
_HEX: Final = re.compile(r"[0-9A-Fa-f]{2}(:?[0-9A-Fa-f]{2}){31}")


def fingerprint(certificate: bytes) -> str:
    """The SHA-256 of a certificate in DER, as `SHA256:` and 32 bytes in hex with colons between."""
    return f"{_ALGORITHM}:{hashlib.sha256(certificate).digest().hex(':').upper()}"


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
