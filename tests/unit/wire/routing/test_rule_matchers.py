"""What each matcher of a rule means, and what it refuses; the cases are those of Traefik's documentation and tests."""

import pytest

from tinkbox.model.errors import Invalid
from tinkbox.wire.routing.rule_matchers import Request, condition_of, name_of
from tinkbox.wire.routing.rule_syntax import Call, parse_expression
from tinkbox.wire.routing.rules import parse_rule


def called(text: str) -> Call:
    expression = parse_expression(text)
    assert isinstance(expression, Call)
    return expression


def refusal_of(text: str) -> str:
    with pytest.raises(Invalid) as refusal:
        condition_of(called(text))
    return str(refusal.value)


def asks(**changes: object) -> Request:
    return Request(**{"method": "GET", "host": "example.com", "path": "/", **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "matching", "others"),
    [
        ("Host(`example.com`)", ["example.com", "example.com."], ["example.org", "a.example.com", "example.co", ""]),
        ("Host(`example.com.`)", ["example.com", "example.com."], ["example.org."]),
        ("Host(`EXAMPLE.com`)", ["example.com"], ["example.org"]),
        ("Host(`xn--9t9h.com`)", ["xn--9t9h.com"], ["example.com"]),
        ("Host(`127.0.0.1`)", ["127.0.0.1"], ["127.0.0.2", "127.0.0.10"]),
        ("Host(`10::10`)", ["10::10"], ["10::1"]),
        ("Host(`my_host`)", ["my_host"], ["myhost"]),
        (
            "Host(`*.example.com`)",
            ["test.example.com", "other.example.com", "test.example.com."],
            ["example.com", "test.otherexample.com", "a.b.example.com", "*.example.org", ""],
        ),
        ("Host(`*.Example.com.`)", ["test.example.com"], ["test.example.org"]),
        ("Host(`*`)", ["example.com", "localhost", ""], []),
        ("Host(`a.example`, `b.example`)", ["a.example", "b.example"], ["c.example"]),
        (r"HostRegexp(`^.+\.example\.com$`)", ["a.example.com", "a.b.example.com"], ["example.com", "a.example.com.x"]),
        (r"HostRegexp(`^example\.(com|org)$`)", ["example.com", "example.org"], ["example.net", "www.example.com"]),
        (r"HostRegexp(`(?i)^EXAMPLE\.com$`)", ["example.com"], ["example.org"]),
        (r"HostRegexp(`^[A-Z]+\.com$`)", [], ["example.com"]),
        ("HostRegexp(`ampl`)", ["example.com"], ["exam.com"]),
        (r"HostRegexp(`^a$`, `^b{2,3}$`)", ["a", "bb", "bbb"], ["b", "aa"]),
        (r"HostRegexp(`^\p{Latin}+\x{2e}z$`)", ["ab.z"], ["1.z", "ab-z"]),
        ("HostRegexp(`a$`)", ["a" * 253], ["a" * 254]),
    ],
)
def test_hosts(rule: str, matching: list[str], others: list[str]) -> None:
    matches = condition_of(called(rule))
    assert [host for host in matching + others if matches(asks(host=host))] == matching


@pytest.mark.parametrize(
    ("rule", "matching", "others"),
    [
        ("Path(`/products`)", ["/products"], ["/products/", "/products/shoes", "/product", "/"]),
        ("Path(`/`)", ["/"], ["//", "/a"]),
        ("Path(`/a`, `/b`)", ["/a", "/b"], ["/c", "/ab"]),
        ("Path(`/foo bar`)", ["/foo bar"], ["/foo%20bar"]),
        ("Path(`/a%2Fb`)", ["/a%2Fb"], ["/a/b"]),
        ("Path(`/Kernel`)", ["/Kernel"], ["/kernel"]),
        (
            "PathPrefix(`/products`)",
            ["/products", "/products/", "/products/shoes", "/products-for-sale"],
            ["/product", "/Products", "/a/products"],
        ),
        ("PathPrefix(`/css`, `/js`)", ["/css/main.css", "/js"], ["/html"]),
    ],
)
def test_paths(rule: str, matching: list[str], others: list[str]) -> None:
    matches = condition_of(called(rule))
    assert [path for path in matching + others if matches(asks(path=path))] == matching


@pytest.mark.parametrize(
    ("rule", "matching", "others"),
    [
        ("Method(`OPTIONS`)", ["OPTIONS"], ["GET", "options"]),
        ("Method(`get`)", ["GET"], ["POST", "get"]),
        ("Method(`GET`, `HEAD`)", ["GET", "HEAD"], ["PUT"]),
    ],
)
def test_methods(rule: str, matching: list[str], others: list[str]) -> None:
    matches = condition_of(called(rule))
    assert [method for method in matching + others if matches(asks(method=method))] == matching


@pytest.mark.parametrize("key", ["Content-Type", "content-type", "CONTENT-TYPE"])
def test_a_header_matches_with_any_of_its_values_whatever_the_case_of_its_name(key: str) -> None:
    matches = condition_of(called(f"Header(`{key}`, `application/yaml`)"))
    assert matches(asks(headers={"content-type": ("application/yaml",)}))
    assert matches(asks(headers={"content-type": ("text/plain", "application/yaml")}))
    assert not matches(asks(headers={"content-type": ("application/YAML",)}))
    assert not matches(asks(headers={"content-type": ("application/yaml; charset=utf-8",)}))
    assert not matches(asks(headers={"accept": ("application/yaml",)}))
    assert not matches(asks())


def test_a_query_matches_with_any_of_its_values() -> None:
    matches = condition_of(called("Query(`mobile`, `true`)"))
    assert matches(asks(query={"mobile": ("true",)}))
    assert matches(asks(query={"mobile": ("no", "true")}))
    assert not matches(asks(query={"mobile": ("TRUE",)}))
    assert not matches(asks(query={"Mobile": ("true",)}))
    assert not matches(asks(query={"mobile": ("",)}))
    assert not matches(asks())


def test_a_query_without_value_matches_the_parameter_without_value() -> None:
    matches = condition_of(called("Query(`mobile`)"))
    assert matches(asks(query={"mobile": ("",)}))
    assert matches(asks(query={"mobile": ("true", "")}))
    assert not matches(asks(query={"mobile": ("true",)}))
    assert not matches(asks(query={"other": ("",)}))


@pytest.mark.parametrize(
    ("rule", "matching", "others"),
    [
        ("ClientIP(`10.76.105.11`)", ["10.76.105.11"], ["10.76.105.1", "", "nobody", "::1"]),
        ("ClientIP(`192.168.1.0/24`)", ["192.168.1.1", "192.168.1.255"], ["192.168.2.1", "1"]),
        ("ClientIP(`192.168.1.77/24`)", ["192.168.1.1"], ["192.168.2.1"]),
        ("ClientIP(`0.0.0.0/0`)", ["1.2.3.4"], ["::1"]),
        ("ClientIP(`10.0.0.1`, `10.0.1.0/30`)", ["10.0.0.1", "10.0.1.3"], ["10.0.1.4"]),
    ],
)
def test_client_addresses(rule: str, matching: list[str], others: list[str]) -> None:
    matches = condition_of(called(rule))
    assert [client for client in matching + others if matches(asks(client=client))] == matching


def test_a_query_or_header_is_nothing_but_that() -> None:
    request = asks(query={"a": ("1",)}, headers={"b": ("2",)})
    assert not condition_of(called("Header(`a`, `1`)"))(request)
    assert not condition_of(called("Query(`b`, `2`)"))(request)


@pytest.mark.parametrize("name", ["PathPrefix", "pathprefix", "PATHPREFIX", "Pathprefix"])
def test_names_are_spelled_in_traefiks_four_ways(name: str) -> None:
    assert name_of(called(f"{name}(`/`)")) == "PathPrefix"
    assert condition_of(called(f"{name}(`/a`)"))(asks(path="/ab"))


@pytest.mark.parametrize("name", ["pathPrefix", "PAthPrefix"])
def test_any_other_spelling_is_refused_with_the_right_one(name: str) -> None:
    assert refusal_of(f"{name}(`/`)") == f"column 1: there is no matcher {name}: did you mean PathPrefix?"


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("PathRegexp(`^/a`)", "PathRegexp is not honoured: list the paths with Path and PathPrefix"),
        ("pathregexp(`^/a`)", "pathregexp is not honoured: list the paths with Path and PathPrefix"),
        (
            "HeaderRegexp(`a`, `b`)",
            "HeaderRegexp is not honoured: list the values, as in Header(`key`, `one`) || Header(",
        ),
        ("HeadersRegexp(`a`, `b`)", "HeadersRegexp is not honoured: list the values, as in Header(`key`, `one`)"),
        ("QueryRegexp(`a`, `b`)", "QueryRegexp is not honoured: list the values, as in Query(`key`, `one`) || Query("),
        ("Headers(`a`, `b`)", "Headers is not honoured: write Header(`key`, `value`)"),
        ("HostHeader(`a`)", "HostHeader is not honoured: write Host(`example.com`)"),
        ("HostSNI(`*`)", "HostSNI is not honoured: it is for TCP, and only HTTP is routed: write Host("),
        ("HostSNIRegexp(`a`)", "HostSNIRegexp is not honoured: it is for TCP"),
        ("ALPN(`h2`)", "ALPN is not honoured: it is for TCP"),
        ("Pth(`/`)", "there is no matcher Pth: did you mean Path?"),
        (
            "Zzz(`/`)",
            "there is no matcher Zzz: known here: Host, HostRegexp, Path, PathPrefix, Method, Header, Query, Cl",
        ),
    ],
)
def test_what_is_not_honoured_is_refused_by_its_name_with_what_to_write_instead(rule: str, told: str) -> None:
    assert refusal_of(rule).startswith(f"column 1: {told}")


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("Host()", "Host with no value: write Host(`example.com`)"),
        ("HostRegexp()", "HostRegexp with no value: write HostRegexp("),
        ("Path()", "Path with no value: write Path(`/kernel`)"),
        ("PathPrefix()", "PathPrefix with no value: write PathPrefix(`/files/`)"),
        ("Method()", "Method with no value: write Method(`GET`)"),
        ("ClientIP()", "ClientIP with no value: write ClientIP(`192.168.1.0/24`)"),
        ("Header()", "Header with no value: write Header(`key`, `value`)"),
        ("Header(`a`)", "Header with 1 value: write Header(`key`, `value`)"),
        ("Header(`a`, `b`, `c`)", "Header with 3 values: write Header(`key`, `value`)"),
        ("Query()", "Query with no value: write Query(`key`) or Query(`key`, `value`)"),
        ("Query(`a`, `b`, `c`)", "Query with 3 values: write Query(`key`) or Query(`key`, `value`)"),
    ],
)
def test_wrong_numbers_of_values_are_refused(rule: str, told: str) -> None:
    assert refusal_of(rule).startswith(f"column 1: {told}")


@pytest.mark.parametrize(
    ("rule", "column", "told"),
    [
        ("Host(``)", 6, "a value of Host is empty"),
        ("Path(`/a`, ``)", 12, "a value of Path is empty"),
        ("Header(`a`, ``)", 13, "a value of Header is empty"),
        ("Query(`a`, ``)", 12, "a value of Query is empty"),
        ("Host(`a`, `🦭.com`)", 11, "'🦭.com' is no name of a host"),
        ("Host(`http://a`)", 6, "'http://a' is no name of a host"),
        ("Host(`a,b`)", 6, "'a,b' is no name of a host"),
        ("Host(`a b`)", 6, "'a b' is no name of a host"),
        ("Host(`.`)", 6, "'.' is no name of a host"),
        ("Host(`a..b`)", 6, "'a..b' is no name of a host"),
        ("Host(`a.*.b`)", 6, "a * stands alone, or for the first label"),
        ("Host(`*a.b`)", 6, "a * stands alone, or for the first label"),
        ("Host(`a:8080`)", 6, "hosts are looked at without their port: leave it out of 'a:8080'"),
        ("Host(`{sub:[a-z]+}.a`)", 6, "the braces of Traefik v2 are not honoured: write HostRegexp("),
        ("Host(`{sub}.a`)", 6, "the braces of Traefik v2 are not honoured"),
        ("HostRegexp(`(a`)", 12, "error parsing regexp: missing ): (a"),
        (r"HostRegexp(`\C`)", 12, "error parsing regexp: invalid escape sequence"),
        ("HostRegexp(`a`, `🦭`)", 17, "names of hosts are ASCII: write them in punycode"),
        ("HostRegexp(`{sub:[a-z]+}.a`)", 12, "the braces of Traefik v2 are not honoured: write an expression"),
        ("HostRegexp(`{sub}.a`)", 12, "the braces of Traefik v2 are not honoured"),
        ("HostRegexp(`a.{sub-domain : .*}`)", 12, "the braces of Traefik v2 are not honoured"),
        ("Path(`css`)", 6, "a path begins with /, not as 'css' does"),
        ("PathPrefix(`css`)", 12, "a path begins with /, not as 'css' does"),
        ("Path(`/a/{id}`)", 6, "the braces of Traefik v2 are not honoured: write a PathPrefix"),
        ("PathPrefix(`/a/{id:[0-9]+}`)", 12, "the braces of Traefik v2 are not honoured: write a PathPrefix"),
        ("Path(`/a?b=c`)", 6, "a path ends before ? and #"),
        ("PathPrefix(`/a#b`)", 12, "a path ends before ? and #"),
        ("Method(`GET`, `PUT,POST`)", 15, "'PUT,POST' is no method"),
        ("Method(`GET PUT`)", 8, "'GET PUT' is no method"),
        ("Header(`Content Type`, `a`)", 8, "'Content Type' is no name of a header"),
        ("Header(`hOST`, `a`)", 8, "the host is no header to rules: write Host("),
        ("Query(`a=b`)", 7, "write Query(`a`, `b`)"),
        ("Query(`a=b`, `c=d`)", 7, "write Query(`a`, `b`)"),
        ("ClientIP(`1`)", 10, "'1' is no IPv4 address"),
        ("ClientIP(`::1`)", 10, "'::1' is no IPv4 address"),
        ("ClientIP(`fe80::/10`)", 10, "'fe80::/10' is no IPv4 address"),
        ("ClientIP(`10.0.0.1`, `10.0.0.0/33`)", 22, "'10.0.0.0/33' is no IPv4 address"),
        ("ClientIP(`10.0.0.0/255.0.0.0`)", 10, "is no IPv4 address"),
        ("ClientIP(`10.0.0.1/`)", 10, "is no IPv4 address"),
        ("ClientIP(`10.0.0.01`)", 10, "is no IPv4 address"),
        ("ClientIP(`١٠.0.0.1`)", 10, "is no IPv4 address"),
    ],
)
def test_values_that_no_request_has_are_refused_where_they_stand(rule: str, column: int, told: str) -> None:
    refusal = refusal_of(rule)
    assert refusal.startswith(f"column {column}: ")
    assert told in refusal


def test_a_refusal_quotes_no_more_than_a_line_of_a_value() -> None:
    for value in ("x" * 5000, "/" + "{" * 5000 + "}"):
        for name in ("Host", "Path", "Method", "ClientIP"):
            with pytest.raises(Invalid) as refusal:
                parse_rule(f"{name}(`{value} `)")
            assert len(str(refusal.value)) < 250
