"""Which requests a rule picks out, and what several rules of one router mean together."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.errors import Invalid
from tinkbox.wire.routing.rules import MAX_RULE, MAX_SEARCHES, Request, parse_rule, united


def get(host: str, path: str) -> Request:
    return Request(method="GET", host=host, path=path)


def answered(rule: str) -> set[str]:
    """The requests, of three hosts and two paths, that a rule matches."""
    asked = itertools.product(("com", "org", "eu"), ("/css", "/js"))
    return {f"{host}{path}" for host, path in asked if parse_rule(rule).matches(get(f"example.{host}", path))}


ALL = {"com/css", "com/js", "org/css", "org/js", "eu/css", "eu/js"}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("Host(`example.com`) && PathPrefix(`/css`)", {"com/css"}),
        ("Host(`example.com`) || Host(`example.org`)", ALL - {"eu/css", "eu/js"}),
        ('Host("example.com") || (Host("example.org") && Path("/css"))', {"com/css", "com/js", "org/css"}),
        ('Host("example.com") || Host("example.org") && Path("/css")', {"com/css", "com/js", "org/css"}),
        ('(Host("example.com") || Host("example.org")) && Path("/css")', {"com/css", "org/css"}),
        (
            '(Host("example.com") && Path("/js")) || ((Host("example.org")) && Path("/css"))',
            {"com/js", "org/css"},
        ),
        ('PATHPREFIX("/css")', {"com/css", "org/css", "eu/css"}),
        ('!Host("example.com")', ALL - {"com/css", "com/js"}),
        ('!(Host("example.com") || Host("example.org"))', {"eu/css", "eu/js"}),
        ('!(Host("example.com") && Path("/css"))', ALL - {"com/css"}),
        ('!(Host("example.com") && !Path("/css"))', ALL - {"com/js"}),
        ('!Host("example.com") || !Path("/css")', ALL - {"com/css"}),
        ('!(!(Host("example.com") && Pathprefix("/css")))', {"com/css"}),
        ('!Host("example.com") && Pathprefix("/css")', {"org/css", "eu/css"}),
    ],
)
def test_rules_of_traefiks_own_tests_match_what_they_match_there(rule: str, expected: set[str]) -> None:
    assert answered(rule) == expected


def test_rules_are_values_that_compare_by_their_text() -> None:
    rule = parse_rule(" Host(`a`) && !Path(`/b`) ")
    assert rule == parse_rule("Host(`a`) && !Path(`/b`)")
    assert hash(rule) == hash(parse_rule("Host(`a`) && !Path(`/b`)"))
    assert rule != parse_rule("Host(`a`) && !Path( `/b` )")
    assert rule.text == "Host(`a`) && !Path(`/b`)"
    assert repr(rule) == "Rule(text='Host(`a`) && !Path(`/b`)')"
    assert rule.matchers == {"Host", "Path"}
    with pytest.raises(AttributeError):
        rule.text = "Host(`b`)"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("Host(`a`)", True),
        ("PATH(`/a`) || !(Method(`GET`) && HOSTREGEXP(`a`))", True),
        ("Path(`/a`) && Header(`X-Host`, `a`)", False),
    ],
)
def test_a_rule_tells_whether_it_depends_on_the_host(rule: str, expected: bool) -> None:
    assert parse_rule(rule).names_host is expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "column 1: the rule is empty"),
        ("Host(`a`) && Path(`b`)", "column 19: a path begins with /"),
        ("!(Host(`a`) || Pth(`/b`))", "column 16: there is no matcher Pth: did you mean Path?"),
        ("Host(`a`", "column 5: no parenthesis ends"),
    ],
)
def test_what_is_wrong_is_told_with_its_column(text: str, told: str) -> None:
    with pytest.raises(Invalid, match="^" + re.escape(told)):
        parse_rule(text)


def test_the_length_of_a_rule_is_bounded() -> None:
    longest = f"Path(`/{'a' * (MAX_RULE - 9)}`)"
    assert len(longest) == MAX_RULE
    assert parse_rule(longest).matches(get("", f"/{'a' * (MAX_RULE - 9)}"))
    with pytest.raises(Invalid, match=f"at most {MAX_RULE} characters"):
        parse_rule(f"{longest} ")
    with pytest.raises(Invalid, match="at most"):
        parse_rule("(" * 100_000)


def test_the_number_of_searches_in_a_rule_is_bounded() -> None:
    most = ", ".join(["`a`"] * (MAX_SEARCHES - 1))
    assert parse_rule(f"HostRegexp({most}) || HostRegexp(`b`)").matches(get("b", "/"))
    with pytest.raises(Invalid, match=r"^column 82: at most 8 values of HostRegexp"):
        parse_rule(f"HostRegexp({most}) || HostRegexp(`b`) && !(Hostregexp(`c`))")


def test_a_search_takes_no_longer_for_what_would_make_others_backtrack() -> None:
    rule = parse_rule("HostRegexp(`^(a+)+$`)")
    assert not rule.matches(get("a" * 252 + "!", "/"))  # for which those would take years


def test_a_long_rule_is_read_and_matched() -> None:
    rule = parse_rule(" || ".join(f"Path(`/{number}`)" for number in range(900)))
    assert rule.matches(get("a", "/899"))
    assert not rule.matches(get("a", "/900"))


def combined(*texts: str) -> str:
    return united([parse_rule(text) for text in texts]).text


def test_the_rules_of_one_router_are_its_hosts_and_any_of_the_rest() -> None:
    host, other, kernel, initrd = "Host(`a`)", "Host(`b`)", "Path(`/kernel`)", "Path(`/initrd`)"
    assert combined(host) == host
    assert combined(kernel, initrd) == f"{kernel} || {initrd}"
    assert combined(host, other) == f"{host} || {other}"
    assert combined(kernel, host) == f"{host} && {kernel}"
    assert combined(host, kernel, initrd, kernel) == f"{host} && ({kernel} || {initrd})"
    assert combined(host, kernel, other, initrd) == f"({host} || {other}) && ({kernel} || {initrd})"


def test_a_rule_with_host_and_path_of_its_own_is_another_way_to_match() -> None:
    whole = "Host(`c`) && Path(`/c`)"
    assert combined(whole) == whole
    assert combined("Host(`a`)", whole) == f"Host(`a`) || {whole}"
    assert combined(whole, "Path(`/a`)") == f"Path(`/a`) || {whole}"
    assert combined("Host(`a`)", whole, "Path(`/a`)") == f"Host(`a`) && Path(`/a`) || {whole}"
    rule = united([parse_rule(text) for text in ("Host(`a`)", whole, "Path(`/a`)")])
    assert [rule.matches(get(*asked)) for asked in (("a", "/a"), ("c", "/c"), ("a", "/c"), ("c", "/a"))] == [
        True,
        True,
        False,
        False,
    ]
    assert rule.matchers == {"Host", "Path"}


RULES = st.lists(
    st.sampled_from(
        [
            "Host(`a`)",
            "HostRegexp(`^[bc]$`)",
            "!Host(`a`)",
            "Host(`a`) || Host(`b`)",
            "Path(`/a`)",
            "Path(`/a`) || Method(`PUT`)",
            "!Path(`/b`) && Method(`GET`)",
            "Host(`c`) && Path(`/b`)",
            "Host(`b`) || Path(`/a`)",
        ]
    ),
    min_size=1,
    max_size=5,
)


@given(RULES)
def test_the_text_of_united_rules_says_what_they_match(texts: list[str]) -> None:
    rule = united([parse_rule(text) for text in texts])
    again = parse_rule(rule.text)
    assert again.matchers == rule.matchers
    for method, host, path in itertools.product(("GET", "PUT"), "abcd", ("/a", "/b")):
        request = Request(method=method, host=host, path=path)
        assert again.matches(request) is rule.matches(request)
