"""Sprig's base64 and base32. What cannot be decoded gives a text that says so, as in Sprig, instead of an error."""

import base64
import re
from collections.abc import Mapping

from tinkbox.gotemplate.values import GoError, from_bytes, to_bytes
from tinkbox.sprig.arguments import Function, typed

NEWLINES = b"\r\n"
BASE64 = re.compile(rb"[A-Za-z0-9+/]*")
BASE32 = re.compile(rb"[A-Z2-7]*")


def b64enc(text: str) -> str:
    return base64.b64encode(to_bytes(text)).decode("ascii")


def b32enc(text: str) -> str:
    return base64.b32encode(to_bytes(text)).decode("ascii")


def b64dec(text: str) -> str:
    try:
        return from_bytes(base64_bytes(text))
    except GoError as error:
        return str(error)


def base64_bytes(text: str) -> bytes:
    """Decode base64 as Go's StdEncoding does. Raises GoError for what is none."""
    data = to_bytes(text)
    wrong = _wrong_base64(data)
    if wrong is not None:
        raise GoError(f"illegal base64 data at input byte {wrong}")
    return base64.b64decode(data.translate(None, NEWLINES))


def _wrong_base64(data: bytes) -> int | None:
    """Find the byte that Go complains of; None if all is well."""
    symbols = data.translate(None, NEWLINES)
    # Where each byte that is no newline stands in the data.
    places = [index for index, byte in enumerate(data) if byte not in NEWLINES]
    good = len(_prefix(BASE64, symbols))
    filled = good % 4
    if good == len(symbols):
        return len(data) - filled if filled else None
    padding = symbols[good:]
    if padding[:1] != b"=" or filled < 2:
        return places[good]
    if filled == 2 and len(padding) == 1:
        return len(data)
    if filled == 2 and padding[1:2] != b"=":
        return places[good + 1] - 1
    end = good + 4 - filled
    return places[end] if end < len(symbols) else None


def b32dec(text: str) -> str:
    data = to_bytes(text).translate(None, NEWLINES)
    wrong = _wrong_base32(data)
    if wrong is not None:
        return f"illegal base32 data at input byte {wrong}"
    symbols = _prefix(BASE32, data)
    return from_bytes(base64.b32decode(symbols + b"=" * (-len(symbols) % 8)))


def _wrong_base32(data: bytes) -> int | None:
    """Find the byte that Go complains of, newlines not counted; None if all is well."""
    good = len(_prefix(BASE32, data))
    filled = good % 8
    if good == len(data):
        return good - filled if filled else None
    after = data[good + 1 :]
    if data[good : good + 1] != b"=" or filled < 2 or len(after) >= 8:
        return good
    missing = 7 - filled
    if len(after) < missing:
        return len(data)
    for index, byte in enumerate(after[:missing]):
        if byte != ord("="):
            return good + index
    return good if filled in (3, 6) else None


def _prefix(alphabet: re.Pattern[bytes], data: bytes) -> bytes:
    match = alphabet.match(data)
    return match[0] if match else b""


FUNCTIONS: Mapping[str, Function] = {
    "b64enc": typed(b64enc, "string"),
    "b64dec": typed(b64dec, "string"),
    "b32enc": typed(b32enc, "string"),
    "b32dec": typed(b32dec, "string"),
}
