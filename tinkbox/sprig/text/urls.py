"""Sprig's urlParse and urlJoin, which take URLs apart and together as Go's net/url does."""

import ipaddress
import re
import urllib.parse
from collections.abc import Mapping

from tinkbox.gotemplate.values import GoError, from_bytes, kind, quote, to_bytes
from tinkbox.sprig.arguments import Function, typed
from tinkbox.sprig.bounds import bound_text

# What stands unescaped in each part of a URL, beside letters, digits and `-._~`.
IN_PATH = "$&+,/:;=@"
IN_USER = "$&+,;="
IN_HOST = "!$&'()*+,;=:[]<>\""
IN_FRAGMENT = "$&+,/:;=?@!()*"
PARTS = ("scheme", "host", "hostname", "path", "query", "opaque", "fragment", "userinfo")
JOINED = ("scheme", "host", "path", "query", "opaque", "fragment", "userinfo")
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
PERCENT = re.compile(r"%(?:[0-9A-Fa-f]{2})?")
PORT = re.compile(r"(?::[0-9]*)?")
USERINFO = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
HOST_CHARACTERS = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:\[\]<>\"%\x80-\U0010ffff]*")


def parse(url: str) -> dict[str, object]:
    """Take a URL apart into PARTS, all text, empty where there is none. Raises GoError for what is no URL."""
    whole, _, fragment = url.partition("#")
    try:
        parts = _parsed(whole)
        parts["fragment"] = _unescaped(fragment)
    except GoError as error:
        raise GoError(f"unable to parse url: parse {quote(url)}: {error}") from None
    return {name: parts.get(name, "") for name in PARTS}


def _parsed(url: str) -> dict[str, str]:
    if CONTROL.search(url):
        raise GoError("net/url: invalid control character in URL")
    if url == "*":
        return {"path": "*"}
    if url.startswith(":"):
        raise GoError("missing protocol scheme")
    match = SCHEME.match(url)
    scheme, rest = (match[1].lower(), match[2]) if match else ("", url)
    rest, _, query = rest.partition("?")
    parts = {"scheme": scheme, "query": query}
    if not rest.startswith("/"):
        if scheme:
            return {**parts, "opaque": rest}
        if ":" in rest.partition("/")[0]:
            raise GoError("first path segment in URL cannot contain colon")
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        parts |= _authority(scheme, authority)
        rest = slash + path
    return {**parts, "path": _unescaped(rest)}


def _authority(scheme: str, authority: str) -> dict[str, str]:
    userinfo, separator, host = authority.rpartition("@")
    host = _host(scheme, host)
    return {"host": host, "hostname": _hostname(host), "userinfo": _userinfo(userinfo) if separator else ""}


def _userinfo(text: str) -> str:
    """Normalise a user with an optional password."""
    if not USERINFO.fullmatch(text):
        raise GoError("net/url: invalid userinfo")
    user, colon, password = text.partition(":")
    return _escaped(_unescaped(user), IN_USER) + colon + _escaped(_unescaped(password), IN_USER)


def _host(scheme: str, host: str) -> str:
    if "[" in host:
        return _literal(host)
    # Databases are given as lists of hosts with ports; only web addresses have exactly one.
    colon = host.find(":") if scheme in ("http", "https") else host.rfind(":")
    if colon >= 0:
        _check_port(host[colon:])
    return _unescaped_host(host)


def _literal(host: str) -> str:
    """Read an IPv6 address in brackets, with its zone and port."""
    if host.rfind("[") > 0:
        raise GoError("invalid IP-literal")
    address, bracket, port = host[1:].rpartition("]")
    if not bracket:
        raise GoError("missing ']' in host")
    _check_port(port)
    plain, percent, zone = address.partition("%25")
    shown = _unescaped_host(plain) + (_unescaped(percent + zone) if percent else "")
    try:
        ipaddress.IPv6Address(shown)
    except ValueError as error:
        raise GoError(f"invalid host: {error}") from None
    return f"[{shown}]{port}"


def _check_port(port: str) -> None:
    if not PORT.fullmatch(port):
        raise GoError(f"invalid port {quote(port)} after host")


def _unescaped_host(host: str) -> str:
    """Undo escapes, which in a host can only stand for bytes beyond ASCII."""
    for escape in PERCENT.findall(host):
        if escape != "%25" and escape[1:2] in set("01234567"):
            raise GoError(f"invalid URL escape {quote(escape)}")
    good = HOST_CHARACTERS.match(host)
    if good and good.end() < len(host):
        raise GoError(f"invalid character {quote(host[good.end()])} in host name")
    return _unescaped(host)


def _hostname(host: str) -> str:
    before, colon, port = host.rpartition(":")
    name = before if colon and PORT.fullmatch(colon + port) else host
    return name[1:-1] if name.startswith("[") and name.endswith("]") else name


def _unescaped(text: str) -> str:
    for match in PERCENT.finditer(text):
        if match[0] == "%":
            raise GoError(f"invalid URL escape {quote(text[match.start() : match.start() + 3])}")
    return from_bytes(urllib.parse.unquote_to_bytes(to_bytes(text)))


def _escaped(text: str, safe: str) -> str:
    bound_text(len(text))
    return urllib.parse.quote_from_bytes(to_bytes(text), safe=safe)


def join(parts: Mapping[str, object]) -> str:
    """Put a URL together from JOINED, of which each may be missing. Raises GoError for parts that are no text."""
    texts = {name: _part(parts, name) for name in JOINED}
    prefix = f"{texts['scheme']}:" if texts["scheme"] else ""
    query = f"?{texts['query']}" if texts["query"] else ""
    fragment = f"#{_escaped(texts['fragment'], IN_FRAGMENT)}" if texts["fragment"] else ""
    user = _user(texts["userinfo"])
    if texts["opaque"]:
        return f"{prefix}{texts['opaque']}{query}{fragment}"
    host, path = texts["host"], texts["path"]
    if host or user or (path and texts["scheme"]):
        prefix += f"//{user}{_escaped(host, IN_HOST)}"
    shown = "*" if path == "*" else _escaped(path, IN_PATH)
    if shown and not shown.startswith("/") and host:
        shown = f"/{shown}"
    if not prefix and ":" in shown.partition("/")[0]:
        shown = f"./{shown}"
    return f"{prefix}{shown}{query}{fragment}"


def _part(parts: Mapping[str, object], name: str) -> str:
    value = parts.get(name, "")
    if not isinstance(value, str):
        raise GoError(f"unable to parse {name} key, must be of type string, but {kind(value)} found")
    return value


def _user(userinfo: str) -> str:
    """Check what comes before the host, by reading it as a part of a URL."""
    if not userinfo:
        return ""
    try:
        read = _parsed(f"proto://{userinfo}@host".partition("#")[0])
    except GoError as error:
        raise GoError(f"unable to parse userinfo in dict: {error}") from None
    return f"{read['userinfo']}@" if read.get("userinfo") else ""


FUNCTIONS: Mapping[str, Function] = {"urlParse": typed(parse, "string"), "urlJoin": typed(join, "map")}
