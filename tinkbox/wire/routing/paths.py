"""Paths of requests: as they are sent, as rules see them, and what a service gets to see of them."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from tinkbox.gotemplate.types.kinds import from_bytes, to_bytes

UNIT: Final = re.compile(r"%[0-9A-Fa-f]{2}|.", re.DOTALL)
# RFC 3986 §2.2, and the percent sign: decoded, they would make another path of it.
RESERVED: Final = frozenset(b":/?#[]@!$&'()*+,;=%")
# What may stand in a path as it is; of the rest `quote` makes percent-encodings.
PLAIN: Final = "/:@!$&'()*+,;=%"


def routing_path(path: str) -> str:
    """The path of a request line as rules see it: decoded, but for what would then mean something else.

    `/a%20b%2fc` is `/a b%2Fc`.  Bytes that are no UTF-8 become surrogates, as in Go's strings here.
    """
    return from_bytes(b"".join(map(_decoded, UNIT.findall(path))))


def _decoded(unit: str) -> bytes:
    if len(unit) == 1:
        return to_bytes(unit)
    code = int(unit[1:], 16)
    return unit.upper().encode() if code in RESERVED else bytes([code])


@dataclass(frozen=True, slots=True, kw_only=True)
class StripPrefix:
    """Takes the first of `prefixes` that a path begins with off it."""

    prefixes: tuple[str, ...]

    def applied(self, path: str) -> tuple[str, str]:
        """The rest of a path, which may be empty, and the prefix that was taken off."""
        for prefix in self.prefixes:
            end = _end_of(prefix, path)
            if end is not None:
                rest = path[end:]
                return (rest if not rest or rest.startswith("/") else f"/{rest}"), prefix
        return path, ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPrefix:
    """Puts `prefix` before a path."""

    prefix: str

    def applied(self, path: str) -> tuple[str, str]:
        """The longer path; nothing was taken off."""
        added = quote(to_bytes(self.prefix), safe=PLAIN) + path
        return (added if added.startswith("/") else f"/{added}"), ""


Rewrite = StripPrefix | AddPrefix


def _end_of(prefix: str, path: str) -> int | None:
    """How many characters of a path spell a prefix, percent-encoded or not; None when it does not begin with it."""
    left, end = to_bytes(prefix), 0
    for unit in UNIT.finditer(path):
        if not left:
            break
        piece = _decoded(unit[0])
        if not left.startswith(piece):
            return None
        left, end = left[len(piece) :], unit.end()
    return None if left else end
