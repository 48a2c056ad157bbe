"""URLs at which a service is to be reached: those of `urls` (proposal 0015), and of the boot script that it supplies."""

import re
from typing import Final

from tinkbox.gotemplate.printing.quoting import can_backquote, quote
from tinkbox.model.errors import Invalid
from tinkbox.wire.routing.paths import routing_path
from tinkbox.wire.routing.rules import Rule, parse_rule

BOOT_PATH: Final = "/auto.ipxe"  # what `boots.auto.ipxe` alone stands for (proposal 0013)
MAX_SHOWN: Final = 80

URL: Final = re.compile(r"(?P<scheme>[^:/?#]*)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?P<rest>.*)", re.DOTALL)
HOST: Final = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?")
PATH: Final = re.compile(r"/(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*")  # RFC 3986 §3.3


def rule_of(url: str) -> Rule:
    """The rule for the requests that a URL means: its host, and its path; a `/` at the end means all below as well.

    `https` and `http` mean the same, as the node door speaks plain HTTP.  Raises Invalid for a URL with a port, a query,
    a fragment or a user, as none of them tells one route from another.
    """
    host, path = _taken_apart(url)
    matcher = "PathPrefix" if path.endswith("/") else "Path"
    return parse_rule(f"Host({_literal(host)}) && {matcher}({_literal(routing_path(path))})")


def boot_script(value: str) -> tuple[str, str]:
    """The path of a boot script and the host in lower case, empty for a path alone; no value is BOOT_PATH.

    Raises Invalid for what is neither a path nor a URL that `rule_of` takes.
    """
    if not value:
        return BOOT_PATH, ""
    if "://" not in value:
        return boot_path(value), ""
    host, path = _taken_apart(value)
    return boot_path(path), host.lower().removesuffix(".")


def boot_path(path: str) -> str:
    """The same path; raises Invalid when it is none, or that of a folder."""
    if not PATH.fullmatch(path) or path.endswith("/"):
        raise Invalid(f"expected the path of a boot script such as {BOOT_PATH}, not {path[:MAX_SHOWN]!r}")
    return path


def _taken_apart(url: str) -> tuple[str, str]:
    parts = URL.fullmatch(url)
    if parts is None or parts["scheme"].lower() not in ("http", "https"):
        raise Invalid(f"expected http://HOST/PATH, not {url[:MAX_SHOWN]!r}")
    host, _, port = parts["authority"].partition(":")
    if "@" in parts["authority"]:
        raise Invalid("nobody signs in at a route: leave out what stands before the @")
    if port or parts["authority"].endswith(":"):
        raise Invalid(f"routes are at the node door, whatever its port: leave out :{port[:MAX_SHOWN]}")
    if not HOST.fullmatch(host):
        raise Invalid(f"{host[:MAX_SHOWN]!r} is no name of a host")
    if parts["rest"]:
        raise Invalid(f"a route ends with its path: leave out {parts['rest'][:MAX_SHOWN]!r}")
    path = parts["path"] or "/"
    if not PATH.fullmatch(path):
        raise Invalid(f"{path[:MAX_SHOWN]!r} is no path of a URL: percent-encode what may not stand in one")
    return host, path


def _literal(value: str) -> str:
    return f"`{value}`" if can_backquote(value) else quote(value)
