"""The URLs of services, and of the boot scripts that they supply."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.errors import Invalid
from tinkbox.wire.routing.paths import routing_path
from tinkbox.wire.routing.rules import Request
from tinkbox.wire.routing.service_urls import boot_path, boot_script, rule_of


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("http://w.tinkbox.internal/kernel", "Host(`w.tinkbox.internal`) && Path(`/kernel`)"),
        ("https://w.tinkbox.internal/kernel", "Host(`w.tinkbox.internal`) && Path(`/kernel`)"),
        ("HTTPS://W.tinkbox.internal./kernel", "Host(`W.tinkbox.internal.`) && Path(`/kernel`)"),
        ("http://w/files/", "Host(`w`) && PathPrefix(`/files/`)"),
        ("http://w", "Host(`w`) && PathPrefix(`/`)"),
        ("http://w/", "Host(`w`) && PathPrefix(`/`)"),
        ("http://10.0.0.1/a%20b", "Host(`10.0.0.1`) && Path(`/a b`)"),
        ("http://w/a%2fb", "Host(`w`) && Path(`/a%2Fb`)"),
        ("http://w/a%60b", 'Host(`w`) && Path("/a`b")'),
        ("http://w/a%0Ab", 'Host(`w`) && Path("/a\\nb")'),
    ],
)
def test_a_url_means_its_host_and_its_path_and_all_below_a_slash_at_its_end(url: str, rule: str) -> None:
    assert rule_of(url).text == rule


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("", "expected http://HOST/PATH"),
        ("w/kernel", "expected http://HOST/PATH, not 'w/kernel'"),
        ("/kernel", "expected http://HOST/PATH"),
        ("ftp://w/kernel", "expected http://HOST/PATH"),
        ("http:///kernel", "'' is no name of a host"),
        ("http://w:8080/kernel", "leave out :8080"),
        ("http://w:80/kernel", "leave out :80"),
        ("http://w:/kernel", "whatever its port"),
        ("http://u:p@w/kernel", "nobody signs in at a route"),
        ("http://u@w/kernel", "nobody signs in at a route"),
        ("http://*.w/kernel", "'*.w' is no name of a host"),
        ("http://a b/kernel", "'a b' is no name of a host"),
        ("http://[::1]/kernel", "whatever its port"),
        ("http://w/kernel?a=b", "leave out '?a=b'"),
        ("http://w?a=b", "leave out '?a=b'"),
        ("http://w/kernel#a", "leave out '#a'"),
        ("http://w/a b", "'/a b' is no path of a URL"),
        ("http://w/{id}", "'/{id}' is no path of a URL"),
        ("http://w/%zz", "'/%zz' is no path of a URL"),
        ("http://w/a\n", "is no path of a URL"),
        ("http://w/%7Bid%7D", "the braces of Traefik v2 are not honoured"),
    ],
)
def test_what_tells_no_route_apart_is_refused(url: str, told: str) -> None:
    with pytest.raises(Invalid) as refusal:
        rule_of(url)
    assert told in str(refusal.value)


@given(st.text(alphabet="abcABC019._~!$&'()*+,;=:@-/", min_size=1), st.text())
def test_the_rule_of_a_url_matches_its_request_and_no_other_host(path: str, host: str) -> None:
    rule = rule_of(f"http://w.example/{path}")
    seen = routing_path(f"/{path}")
    assert rule.matches(Request(method="GET", host="w.example", path=seen))
    assert not rule.matches(Request(method="GET", host=f"x{host}", path=seen))
    assert rule.matches(Request(method="PUT", host="w.example", path=f"{seen}z")) is path.endswith("/")


@given(st.text())
def test_no_text_is_more_than_refused_as_a_url(text: str) -> None:
    for url in (text, f"http://{text}", f"http://w/{text}"):
        try:
            assert rule_of(url).names_host
            boot_script(url)
        except Invalid:
            continue


@pytest.mark.parametrize(
    ("value", "path", "host"),
    [
        ("", "/auto.ipxe", ""),
        ("/auto.ipxe", "/auto.ipxe", ""),
        ("/boot/x.ipxe", "/boot/x.ipxe", ""),
        ("http://W.example/ipxe-script.ipxe", "/ipxe-script.ipxe", "w.example"),
        ("https://w.example./a.ipxe", "/a.ipxe", "w.example"),
    ],
)
def test_a_boot_script_is_named_by_nothing_a_path_or_a_url(value: str, path: str, host: str) -> None:
    assert boot_script(value) == (path, host)


@pytest.mark.parametrize(
    "value",
    [
        "true",
        "auto.ipxe",
        "/",
        "/boot/",
        "http://w",
        "http://w/",
        "/a b",
        "/a?b",
        "/${net0/mac}",
        "/a\nshell",
        "ftp://w/a",
        "http://w:80/a",
    ],
)
def test_what_is_no_boot_script_is_refused(value: str) -> None:
    with pytest.raises(Invalid):
        boot_script(value)


def test_a_boot_path_is_a_path() -> None:
    assert boot_path("/auto.ipxe") == "/auto.ipxe"
    for text in ("", "auto.ipxe", "/", "http://w/auto.ipxe "):
        with pytest.raises(Invalid, match=r"expected the path of a boot script such as /auto\.ipxe"):
            boot_path(text)
