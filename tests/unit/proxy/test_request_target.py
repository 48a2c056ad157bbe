"""Targets and hosts: what is unambiguous passes byte for byte, everything else is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.errors import Invalid
from tinkbox.proxy.request_target import read_host, read_target, rewritten
from tinkbox.wire.routing.labels import Route, read_labels
from tinkbox.wire.routing.paths import routing_path


def route(*labels: tuple[str, str]) -> Route:
    (found,) = read_labels((("traefik.http.routers.all.rule", "PathPrefix(`/`)"), *labels)).routes
    return found


def stripping(prefix: str) -> Route:
    return route(
        ("traefik.http.routers.all.middlewares", "cut"),
        ("traefik.http.middlewares.cut.stripprefix.prefixes", prefix),
    )


@pytest.mark.parametrize(
    ("text", "path", "query", "seen"),
    [
        ("/", "/", "", "/"),
        ("/a/b.c", "/a/b.c", "", "/a/b.c"),
        ("/a?b=c", "/a", "b=c", "/a"),
        ("/a?b=c?d", "/a", "b=c?d", "/a"),
        ("/a?b=/../%2e%2e/%zz\\", "/a", "b=/../%2e%2e/%zz\\", "/a"),
        ("/a%20b", "/a%20b", "", "/a b"),
        ("/%6Bernel", "/%6Bernel", "", "/kernel"),
        ("/%C3%A4", "/%C3%A4", "", "/ä"),
        ("/a%3Fb%23c", "/a%3Fb%23c", "", "/a%3Fb%23c"),
        ("//a//b/", "//a//b/", "", "//a//b/"),
        ("/...", "/...", "", "/..."),
        ("/.hidden/..x/x..", "/.hidden/..x/x..", "", "/.hidden/..x/x.."),
        ("/a;b=c", "/a;b=c", "", "/a;b=c"),
        ("/[a]{b}|c", "/[a]{b}|c", "", "/[a]{b}|c"),
    ],
)
def test_a_target_is_split_and_kept_as_it_is(text: str, path: str, query: str, seen: str) -> None:
    target = read_target(text)
    assert (target.raw_path, target.raw_query, target.path) == (path, query, seen)


@pytest.mark.parametrize(
    "text",
    ["", "*", "x", "http://a/b", "host:80", "/a b", "/a#b", "/a?b#c", "/ä", "/a\tb", "/a\x00", "/a\x7f", "/a\udcff",
     "/a\\b", "/%5Cb", "/%5cb", "/%2F", "/%2f", "/%00", "/%0a", "/%1f", "/%7f", "/%", "/%4", "/%zz", "/%ff", "/%c0%ae",
     "/.", "/..", "/a/.", "/a/..", "/./a", "/../a", "/a/./b", "/a/../b", "/%2e", "/a/%2E%2e/b", "/a/..;x/b", "/.;/b"],
)  # fmt: skip
def test_a_target_that_can_be_understood_in_two_ways_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        read_target(text)


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7F), max_size=40).map(lambda text: f"/{text}"))
def test_what_passes_is_seen_by_rules_as_any_server_sees_it(text: str) -> None:
    """Decoding a path, before it is split or after, and taking dots out of it, gives the same path again."""
    try:
        target = read_target(text)
    except Invalid:
        return
    assert f"{target.raw_path}?{target.raw_query}".removesuffix("?") == text.removesuffix("?")
    assert target.path == routing_path(target.raw_path)
    segments = target.raw_path.split("/")
    assert [routing_path(segment) for segment in segments] == target.path.split("/")
    assert not {".", ".."} & {routing_path(segment).partition(";")[0] for segment in segments}


def test_a_service_sees_the_rest_of_a_path_as_it_was_sent() -> None:
    assert rewritten(read_target("/api/a%20b"), stripping("/api")) == ("/a%20b", "/api")
    assert rewritten(read_target("/%61pi/a%20b"), stripping("/api")) == ("/a%20b", "/api")
    assert rewritten(read_target("/api"), stripping("/api")) == ("/", "/api")
    assert rewritten(read_target("/other"), stripping("/api")) == ("/other", "")
    assert rewritten(read_target("/a"), route()) == ("/a", "")


@pytest.mark.parametrize("text", ["/api../x", "/api%2e%2e/x", "/api..", "/api./x", "/api..;/x"])
def test_what_is_left_of_a_path_does_not_lead_out_of_it(text: str) -> None:
    with pytest.raises(Invalid):
        rewritten(read_target(text), stripping("/api"))


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("a.b", "a.b"),
        ("A.B", "a.b"),
        ("a.b.", "a.b"),
        ("a.b:80", "a.b"),
        ("a.b.:8080", "a.b"),
        ("10.0.0.1", "10.0.0.1"),
        ("a_b-c", "a_b-c"),
        ("x", "x"),
        *((text, "") for text in ("", " ", ".", ":80", "a:b", "a:80:80", "a/b", "a b", "a@b", "a\tb", "[::1]", "ä", 'a"b',
                                  "a:", "a..:x", "-a", "a" * 300, "a\n", "a,b")),
    ],
)  # fmt: skip
def test_a_host_is_read_without_what_does_not_name_it(text: str, host: str) -> None:
    assert read_host(text) == host
