"""What the matchers of rules mean, by their names in Traefik v3; where v2 takes several values they mean any of them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network
from typing import Final, TypeAlias

from tinkbox.gotemplate.errors import GoError
from tinkbox.model.errors import Invalid
from tinkbox.model.spelling import meant
from tinkbox.model.text import counted
from tinkbox.sprig.text import regexes
from tinkbox.wire.routing.rule_syntax import Call, wrong

MAX_SHOWN: Final = 60
LONGEST_HOST: Final = 253  # the longest name in DNS: what is longer is not searched

HOST_NAME: Final = re.compile(r"(?:\*\.)?[A-Za-z0-9_:-]+(?:\.[A-Za-z0-9_:-]+)*\.?|\*")
WITH_PORT: Final = re.compile(r"[^:]*:[0-9]+")
TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # RFC 9110 §5.6.2: methods and names of headers
NETWORK: Final = re.compile(r"[0-9.]+(?:/(?:[0-9]|[12][0-9]|3[0-2]))?")
BRACES: Final = re.compile(r"\{[^{}:]*[:}]")
# In an expression {2,3} repeats, and \p{Greek} and \x{e9} are characters.
NAMED_BRACES: Final = re.compile(r"(?<!\\[pPx])\{\s*[A-Za-z_][\w-]*\s*[:}]")
NO_BRACES: Final = "the braces of Traefik v2 are not honoured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a rule looks at.

    `host` is without port and in lower case, `path` is what `paths.routing_path` makes of the one that was sent,
    `headers` have lower-case names, `client` is the IPv4 address that asks.
    """

    method: str
    host: str
    path: str
    query: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    headers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    client: str = ""


Condition: TypeAlias = Callable[[Request], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Matcher:
    """`build` gives the condition for values; without `counts` it takes one, and any number of them may be written.

    It raises Invalid for values that no request can have: a rule that never matches is a mistake.
    """

    build: Callable[..., Condition]
    shape: str
    counts: frozenset[int] = frozenset()


def condition_of(call: Call) -> Condition:
    """When a matcher matches; raises Invalid when it is not honoured, and for values that are none of its."""
    matcher = MATCHERS[name_of(call)]
    count = len(call.values)
    if not count or (matcher.counts and count not in matcher.counts):
        raise wrong(
            call.column, f"{call.name} with {counted(count, 'value') if count else 'no value'}: write {matcher.shape}"
        )
    for value, column in zip(call.values, call.columns, strict=True):
        if not value:
            raise wrong(column, f"a value of {call.name} is empty: write {matcher.shape}")
    if matcher.counts:
        return _built(matcher, call.columns[0], *call.values)
    each = zip(call.columns, call.values, strict=True)
    return any_of([_built(matcher, column, value) for column, value in each])


def name_of(call: Call) -> str:
    """The matcher's name as Traefik documents it; raises Invalid when it is not honoured.

    As in Traefik it may also stand in lower case, in upper case, and with its first letter as the only capital.
    """
    name = SPELLINGS.get(call.name)
    if name is not None:
        return name
    refused = {each.casefold(): instead for each, instead in INSTEAD.items()}.get(call.name.casefold())
    if refused is not None:
        raise wrong(call.column, f"{call.name} is not honoured: {refused}")
    raise wrong(call.column, f"there is no matcher {call.name[:MAX_SHOWN]}: {meant(call.name, MATCHERS)}")


def any_of(conditions: Sequence[Condition]) -> Condition:
    """Whether one of them holds."""
    if len(conditions) == 1:
        return conditions[0]
    return lambda request: any(condition(request) for condition in conditions)


def all_of(conditions: Sequence[Condition]) -> Condition:
    """Whether each of them holds."""
    if len(conditions) == 1:
        return conditions[0]
    return lambda request: all(condition(request) for condition in conditions)


def _built(matcher: _Matcher, column: int, *values: str) -> Condition:
    try:
        return matcher.build(*values)
    except Invalid as refusal:
        raise wrong(column, str(refusal)) from None


def _host(name: str) -> Condition:
    if BRACES.search(name):
        raise Invalid(rf"{NO_BRACES}: write HostRegexp(`^[a-z]+\.example\.com$`) for {_shown(name)}")
    if WITH_PORT.fullmatch(name):
        raise Invalid(f"hosts are looked at without their port: leave it out of {_shown(name)}")
    if not HOST_NAME.fullmatch(name):
        text = "is no name of a host; a * stands alone, or for the first label as in *.example.com"
        raise Invalid(f"{_shown(name)} {text}")
    if name == "*":
        return lambda _: True
    name = _absolute(name.lower())
    if name.startswith("*"):
        return lambda request: _absolute(request.host).partition(".")[1:] == name.partition(".")[1:]
    return lambda request: _absolute(request.host) == name


def _absolute(name: str) -> str:
    """With or without a dot at its end it is the same name."""
    return name.removesuffix(".")


def _host_regexp(expression: str) -> Condition:
    if NAMED_BRACES.search(expression):
        raise Invalid(rf"{NO_BRACES}: write an expression such as `^[a-z]+\.example\.com$`, not {_shown(expression)}")
    if not expression.isascii():
        raise Invalid("names of hosts are ASCII: write them in punycode, such as xn--bcher-kva.example")
    try:
        regexes.must_match(expression, "")
    except GoError as error:
        raise Invalid(str(error)) from None
    return lambda request: len(request.host) <= LONGEST_HOST and regexes.match(expression, request.host)


def _path(path: str) -> Condition:
    _check_path(path)
    return lambda request: request.path == path


def _path_prefix(prefix: str) -> Condition:
    _check_path(prefix)
    return lambda request: request.path.startswith(prefix)


def _check_path(path: str) -> None:
    if not path.startswith("/"):
        raise Invalid(f"a path begins with /, not as {_shown(path)} does")
    if BRACES.search(path):
        raise Invalid(f"{NO_BRACES}: write a PathPrefix up to where they begin for {_shown(path)}")
    if "?" in path or "#" in path:
        raise Invalid(f"a path ends before ? and #: write && Query(`key`, `value`) behind it for {_shown(path)}")


def _method(method: str) -> Condition:
    if not TOKEN.fullmatch(method):
        raise Invalid(f"{_shown(method)} is no method; several stand as Method(`GET`) || Method(`HEAD`)")
    method = method.upper()
    return lambda request: request.method == method


def _header(key: str, value: str) -> Condition:
    if not TOKEN.fullmatch(key):
        raise Invalid(f"{_shown(key)} is no name of a header")
    key = key.lower()
    if key == "host":
        raise Invalid("the host is no header to rules: write Host(`example.com`)")
    return lambda request: value in request.headers.get(key, ())


def _query(key: str, value: str = "") -> Condition:
    if "=" in key:
        name, _, told = key[:MAX_SHOWN].partition("=")
        raise Invalid(f"key and value are two values since Traefik v3: write Query(`{name}`, `{told}`)")
    return lambda request: value in request.query.get(key, ())


def _client_ip(text: str) -> Condition:
    try:
        network = IPv4Network(text, strict=False) if NETWORK.fullmatch(text) else None
    except ValueError:
        network = None
    if network is None:
        raise Invalid(f"{_shown(text)} is no IPv4 address, and no network such as 192.168.1.0/24")
    return lambda request: _is_in(network, request.client)


def _is_in(network: IPv4Network, client: str) -> bool:
    try:
        return IPv4Address(client) in network
    except ValueError:
        return False


def _shown(value: str) -> str:
    return repr(value[:MAX_SHOWN])


MATCHERS: Final[Mapping[str, _Matcher]] = {
    "Host": _Matcher(build=_host, shape="Host(`example.com`)"),
    "HostRegexp": _Matcher(build=_host_regexp, shape=r"HostRegexp(`^[a-z]+\.example\.com$`)"),
    "Path": _Matcher(build=_path, shape="Path(`/kernel`)"),
    "PathPrefix": _Matcher(build=_path_prefix, shape="PathPrefix(`/files/`)"),
    "Method": _Matcher(build=_method, shape="Method(`GET`)"),
    "Header": _Matcher(build=_header, shape="Header(`key`, `value`)", counts=frozenset({2})),
    "Query": _Matcher(build=_query, shape="Query(`key`) or Query(`key`, `value`)", counts=frozenset({1, 2})),
    "ClientIP": _Matcher(build=_client_ip, shape="ClientIP(`192.168.1.0/24`)"),
}
HOST_MATCHERS: Final = frozenset({"Host", "HostRegexp"})
SPELLINGS: Final = {form: name for name in MATCHERS for form in (name, name.lower(), name.upper(), name.capitalize())}
LIST_VALUES: Final = "list the values, as in {0}(`key`, `one`) || {0}(`key`, `other`)"
ONLY_HTTP: Final = "it is for TCP, and only HTTP is routed: write Host(`example.com`)"
INSTEAD: Final[Mapping[str, str]] = {
    "PathRegexp": "list the paths with Path and PathPrefix",
    "HeaderRegexp": LIST_VALUES.format("Header"),
    "HeadersRegexp": LIST_VALUES.format("Header"),
    "QueryRegexp": LIST_VALUES.format("Query"),
    "Headers": "write Header(`key`, `value`)",
    "HostHeader": "write Host(`example.com`)",
    "HostSNI": ONLY_HTTP,
    "HostSNIRegexp": ONLY_HTTP,
    "ALPN": ONLY_HTTP,
}
