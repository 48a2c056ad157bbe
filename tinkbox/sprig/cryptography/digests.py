"""Sprig's checksums, as text."""

import hashlib
import zlib
from collections.abc import Mapping

from tinkbox.gotemplate.values import to_bytes
from tinkbox.sprig.arguments import Function, typed


def sha1sum(text: str) -> str:
    return hashlib.sha1(to_bytes(text), usedforsecurity=False).hexdigest()


def sha256sum(text: str) -> str:
    return hashlib.sha256(to_bytes(text)).hexdigest()


def sha512sum(text: str) -> str:
    return hashlib.sha512(to_bytes(text)).hexdigest()


def adler32sum(text: str) -> str:
    return str(zlib.adler32(to_bytes(text)))


FUNCTIONS: Mapping[str, Function] = {
    "sha1sum": typed(sha1sum, "string"),
    "sha256sum": typed(sha256sum, "string"),
    "sha512sum": typed(sha512sum, "string"),
    "adler32sum": typed(adler32sum, "string"),
}
