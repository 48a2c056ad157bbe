"""Rules against an evaluator that has nothing of the one it judges.

Here rules are nested tuples, evaluated as naively as can be, and written with as much variety as the language allows.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.errors import Invalid
from tinkbox.wire.routing.rules import Request, parse_rule


@dataclass(frozen=True)
class Asked:
    method: str
    host: str
    path: str
    query: str
    header: str
    client: str


HOSTS, PATHS, METHODS = ["a.x", "b.x", "b.a.x"], ["/", "/a", "/a/b", "/b c"], ["GET", "PUT"]
QUERIES, HEADERS, CLIENTS = ["", "q", "q=1", "q=1&q=2"], ["", "one", "one,two"], ["10.0.0.1", "10.0.0.2", "10.0.1.1"]
EXPRESSIONS = ["^a", r"\.x$", "^[ab].x$", "b|c"]

LEAVES = st.one_of(
    st.tuples(st.just("Host"), st.lists(st.sampled_from([*HOSTS, "A.X", "b.x.", "*.x", "*"]), min_size=1, max_size=2)),
    st.tuples(st.just("HostRegexp"), st.lists(st.sampled_from(EXPRESSIONS), min_size=1, max_size=1)),
    st.tuples(st.just("Path"), st.lists(st.sampled_from(PATHS), min_size=1, max_size=2)),
    st.tuples(st.just("PathPrefix"), st.lists(st.sampled_from(PATHS), min_size=1, max_size=2)),
    st.tuples(st.just("Method"), st.lists(st.sampled_from([*METHODS, "put"]), min_size=1, max_size=2)),
    st.tuples(st.just("Header"), st.sampled_from([["X-Key", "one"], ["x-key", "two"], ["X-Other", "one"]])),
    st.tuples(st.just("Query"), st.sampled_from([["q"], ["q", "1"], ["q", "2"], ["Q", "1"]])),
    st.tuples(st.just("ClientIP"), st.lists(st.sampled_from(["10.0.0.1", "10.0.0.0/24", "10.0.1.9/31"]), min_size=1)),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.just("!"), inner),
        st.tuples(st.sampled_from(["&&", "||"]), st.lists(inner, min_size=2, max_size=3)),
    ),
    max_leaves=12,
)
REQUESTS = st.builds(
    Asked,
    method=st.sampled_from(METHODS),
    host=st.sampled_from(HOSTS),
    path=st.sampled_from(PATHS),
    query=st.sampled_from(QUERIES),
    header=st.sampled_from(HEADERS),
    client=st.sampled_from(CLIENTS),
)


def holds(tree: Any, asked: Asked) -> bool:
    kind, rest = tree
    if kind == "!":
        return not holds(rest, asked)
    if kind == "&&":
        return False not in [holds(part, asked) for part in rest]
    if kind == "||":
        return True in [holds(part, asked) for part in rest]
    if kind == "Header":
        return rest[0].lower() == "x-key" and rest[1] in asked.header.split(",")
    if kind == "Query":
        given = [each.split("=") for each in asked.query.split("&") if each]
        return [rest[0], *rest[1:]] in given
    return any(one_holds(kind, value, asked) for value in rest)


def one_holds(kind: str, value: str, asked: Asked) -> bool:
    if kind == "Host":
        pattern = value.lower().rstrip(".").replace(".", "[.]")
        return re.fullmatch(pattern.replace("*", ".*" if value == "*" else "[^.]*"), asked.host) is not None
    if kind == "HostRegexp":
        return re.search(value, asked.host) is not None
    if kind == "Path":
        return value == asked.path
    if kind == "PathPrefix":
        return asked.path[: len(value)] == value
    if kind == "Method":
        return value.upper() == asked.method
    bits = {"10.0.0.1": 32, "10.0.0.0/24": 24, "10.0.1.9/31": 31}[value]
    return binary(value.partition("/")[0])[:bits] == binary(asked.client)[:bits]


def binary(address: str) -> str:
    return "".join(f"{int(part):08b}" for part in address.split("."))


class Writer:
    """Writes a tree as a rule: parentheses wherever Go needs them and sometimes where not, values quoted at will."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw

    def space(self) -> str:
        return self.draw(st.sampled_from(["", "", " ", "  ", "\t", "\n"]))

    def value(self, text: str) -> str:
        if self.draw(st.booleans()):
            return f"`{text}`"
        spelled = "".join(
            self.draw(st.sampled_from([each, f"\\x{ord(each):02x}", f"\\u{ord(each):04x}", f"\\{ord(each):03o}"]))
            if each != "\\"
            else "\\\\"
            for each in text
        )
        return f'"{spelled}"'

    def tree(self, tree: Any, around: str = "") -> str:
        kind, rest = tree
        if kind == "!":
            text = "!" + self.space() + self.tree(rest, "!")
        elif kind in ("&&", "||"):
            text = (self.space() + kind + self.space()).join(self.tree(part, kind) for part in rest)
        else:
            name = self.draw(st.sampled_from([kind, kind.lower(), kind.upper(), kind.capitalize()]))
            comma = self.space() + "," + self.space()
            text = f"{name}{self.space()}({self.space()}{comma.join(map(self.value, rest))}{self.space()})"
        needed = (kind, around) in {("||", "&&"), ("||", "!"), ("&&", "!")}
        if needed or self.draw(st.integers(0, 5)) == 0:
            text = f"({self.space()}{text}{self.space()})"
        return text


@st.composite
def written(draw: Any) -> tuple[Any, str]:
    tree = draw(TREES)
    writer = Writer(draw)
    return tree, writer.space() + writer.tree(tree) + writer.space()


@given(written(), st.lists(REQUESTS, min_size=1, max_size=8))
def test_rules_match_what_an_independent_evaluator_says(rule: tuple[Any, str], requests: list[Asked]) -> None:
    tree, text = rule
    parsed = parse_rule(text)
    for asked in requests:
        query: dict[str, tuple[str, ...]] = {}
        for each in filter(None, asked.query.split("&")):
            key, _, value = each.partition("=")
            query[key] = (*query.get(key, ()), value)
        request = Request(
            method=asked.method,
            host=asked.host,
            path=asked.path,
            query=query,
            headers={"x-key": tuple(asked.header.split(","))} if asked.header else {},
            client=asked.client,
        )
        assert parsed.matches(request) is holds(tree, asked), (text, asked)


@given(written(), st.data())
def test_a_rule_that_is_cut_or_spliced_is_read_or_refused(rule: tuple[Any, str], data: st.DataObject) -> None:
    """Whatever becomes of a rule, it is a rule that can be asked, or Invalid."""
    _, text = rule
    start, end = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=2)))
    noise = data.draw(st.sampled_from(["", "(", ")", "`", '"', "!", "&&", ",", "\\", "Host", "\x00", "\ud800"]))
    with suppress(Invalid):
        parse_rule(text[:start] + noise + text[end:]).matches(Request(method="GET", host="a.x", path="/"))
