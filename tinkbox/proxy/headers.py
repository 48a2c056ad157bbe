"""Which headers pass through the proxy, and which it sets itself (RFC 9110 §7.6, RFC 7239).

Whatever says how one connection is used is left out, both ways, and so is all that a client says about the way that its
request has come: that is said anew.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from tinkbox.model.errors import Invalid

Headers = list[tuple[str, str]]

_OF_A_CONNECTION: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authentication-info",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
# Host and length are told apart from the rest; Proxy would become HTTP_PROXY in the environment of a CGI program.
_OURS: Final = _OF_A_CONNECTION | {"content-length", "expect", "forwarded", "host", "proxy", "x-real-ip"}
_OUR_PREFIX: Final = "x-forwarded-"
_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
# Control characters, and what stands for bytes that are no UTF-8.
_UNFIT: Final = re.compile("[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")


def to_service(headers: Iterable[tuple[str, str]], options: Sequence[str]) -> Headers:
    """What of a client's headers its service gets; `options` are the values of its Connection headers.

    Raises Invalid for a header that could not be passed on as it is.
    """
    dropped = _OURS | tokens(options)
    passed = []
    for name, value in headers:
        key = name.lower()
        if key in dropped or key.startswith(_OUR_PREFIX):
            continue
        # Programs that get headers as variables cannot tell X_Real_Ip from X-Real-Ip.
        if "_" in key and ((dashed := key.replace("_", "-")) in _OURS or dashed.startswith(_OUR_PREFIX)):
            continue
        passed.append((name, _fit(name, value)))
    return passed


def to_client(headers: Iterable[tuple[str, str]], options: Sequence[str]) -> Headers:
    """What of a service's headers its client gets; otherwise as `to_service`."""
    dropped = _OF_A_CONNECTION | tokens(options) - {"content-length"}
    return [(name, _fit(name, value)) for name, value in headers if name.lower() not in dropped]


def origin(client: str, host: str, port: int, prefix: str, scheme: str) -> Headers:
    """How a request reached us: from the address `client`, for `host` as the client wrote it, at our `port`, by `http` or `https`.

    `prefix` is what was taken off the path.
    """
    told = [("X-Forwarded-For", client), ("X-Forwarded-Proto", scheme), ("X-Forwarded-Port", str(port))]
    named = ""
    if host:
        told.append(("X-Forwarded-Host", host))
        named = f';host="{host}"'
    if prefix:
        told.append(("X-Forwarded-Prefix", prefix))
    return [*told, ("X-Real-Ip", client), ("Forwarded", f"for={client}{named};proto={scheme}")]


def tokens(values: Sequence[str]) -> frozenset[str]:
    """What a header lists, in all of its lines, in lower case."""
    return frozenset(token.strip().lower() for value in values for token in value.split(","))


def _fit(name: str, value: str) -> str:
    if not _NAME.fullmatch(name) or _UNFIT.search(value):
        raise Invalid(f"the header {name[:40]!a} has characters that no header may have")
    return value
