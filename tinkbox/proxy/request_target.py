"""What a client asks for, read so that rules and a service cannot see different things in it.

What a service might take for another path than the one that its route was found by is refused.
"""

import re
from dataclasses import dataclass
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.wire.routing.labels import Route
from tinkbox.wire.routing.paths import routing_path

_ORIGIN_FORM: Final = re.compile(r"/[!-\"$-~]*")  # RFC 9112 §3.2.1: visible ASCII, and no fragment
_NO_ENCODING: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
# A control character, a slash or a backslash, which some decode before they look for segments.
_TREACHEROUS: Final = re.compile(r"\\|%(?:[01][0-9A-Fa-f]|7[Ff]|2[Ff]|5[Cc])")
_HOST: Final = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]{0,252}[A-Za-z0-9])?)\.?(?::[0-9]{1,5})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A request target: `raw_path` and `raw_query` byte for byte, `path` as rules see it."""

    raw_path: str
    raw_query: str
    path: str


def read_target(text: str) -> Target:
    """Raises Invalid for what is no path of this server, and for a path that can be understood in two ways."""
    if not _ORIGIN_FORM.fullmatch(text):
        raise Invalid("the request line names no path of this server: write /path, percent-encoded as in RFC 3986")
    raw_path, _, raw_query = text.partition("?")
    path = raw_path
    if "%" in raw_path or "\\" in raw_path:
        if _NO_ENCODING.search(raw_path):
            raise Invalid("the path has a percent sign that encodes nothing: write %25 for it")
        if _TREACHEROUS.search(raw_path):
            raise Invalid("the path has a backslash, or encodes a slash, a backslash or a control character")
        path = routing_path(raw_path)
        if not _is_text(path):
            raise Invalid("the path is not UTF-8")
    _refuse_dots(path)
    return Target(raw_path=raw_path, raw_query=raw_query, path=path)


def rewritten(target: Target, route: Route) -> tuple[str, str]:
    """The raw path that the route's service gets to see, and what was taken off its beginning.

    Raises Invalid when what is left of the path leads out of it.
    """
    raw_path, stripped = route.rewritten(target.raw_path)
    _refuse_dots(routing_path(raw_path) if "%" in raw_path else raw_path)
    return raw_path or "/", stripped


def read_host(text: str) -> str:
    """The host of a Host header, in lower case, without port and final dot; empty when it names none."""
    host = _HOST.fullmatch(text)
    return host[1].lower() if host else ""


def _refuse_dots(path: str) -> None:
    # Some servers cut off what follows a semicolon before they look at a segment.
    if "/." in path and any(segment.partition(";")[0] in (".", "..") for segment in path.split("/")):
        raise Invalid("the path has a . or .. segment: write the path that is meant")


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
