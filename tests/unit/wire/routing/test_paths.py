"""Paths as rules see them, and what prefixes make of them."""

from urllib.parse import unquote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tinkbox.wire.routing.paths import AddPrefix, StripPrefix, routing_path


@pytest.mark.parametrize(
    ("sent", "seen"),
    [
        ("/kernel", "/kernel"),
        ("/foo%20bar", "/foo bar"),
        ("/a%2fb%2Fc", "/a%2Fb%2Fc"),
        (
            "/%3A%3F%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D%25",
            "/%3A%3F%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D%25",
        ),
        ("/%41%7e%2D", "/A~-"),
        ("/b%C3%BCcher", "/bücher"),
        ("/bücher", "/bücher"),
        ("/%ff", "/\udcff"),
        ("/%2541", "/%2541"),
        ("/%zz%4", "/%zz%4"),
        ("", ""),
    ],
)
def test_rules_see_a_path_decoded_but_for_what_would_change_its_meaning(sent: str, seen: str) -> None:
    assert routing_path(sent) == seen


@given(st.text())
def test_what_rules_see_of_a_path_they_see_again(path: str) -> None:
    assert routing_path(routing_path(path)) == routing_path(path)


@pytest.mark.parametrize(
    ("prefixes", "path", "rest", "stripped"),
    [
        (["/api"], "/api/x", "/x", "/api"),
        (["/api"], "/api", "", "/api"),
        (["/api"], "/api/", "/", "/api"),
        (["/api"], "/apix", "/x", "/api"),
        (["/api/"], "/api/x", "/x", "/api/"),
        (["/api/"], "/api", "/api", ""),
        (["/b"], "/a/b", "/a/b", ""),
        (["/a", "/a/b"], "/a/b/c", "/b/c", "/a"),
        (["/a/b", "/a"], "/a/b/c", "/c", "/a/b"),
        (["/x", "/a"], "/a/b", "/b", "/a"),
        (["/"], "/a/b", "/a/b", "/"),
        (["/a b"], "/a%20b/c%20d", "/c%20d", "/a b"),
        (["/a%2Fb"], "/a%2fb/c", "/c", "/a%2Fb"),
        (["/a/b"], "/a%2Fb/c", "/a%2Fb/c", ""),
        (["/ü"], "/%c3%bc/x", "/x", "/ü"),
        (["/ü"], "/%c3", "/%c3", ""),
        (["/a"], "", "", ""),
    ],
)
def test_the_first_prefix_that_a_path_begins_with_is_stripped(
    prefixes: list[str], path: str, rest: str, stripped: str
) -> None:
    assert StripPrefix(prefixes=tuple(prefixes)).applied(path) == (rest, stripped)


@given(
    prefix=st.text(min_size=1).map(lambda text: f"/{text}"), rest=st.sampled_from(["", "/x", "/%20y"]), data=st.data()
)
def test_a_prefix_is_found_however_it_is_encoded(prefix: str, rest: str, data: st.DataObject) -> None:
    seen = routing_path(prefix)
    encoded = "".join(
        f"%{each:02x}" if data.draw(st.booleans()) and each not in b"%/:?#[]@!$&'()*+,;=" else chr(each)
        for each in seen.encode("utf-8", "surrogatepass")
        if each < 0x80
    )
    ascii_prefix = "".join(each for each in seen if ord(each) < 0x80)
    # What is left of it may happen to spell an encoded character.
    assume(routing_path(ascii_prefix) == ascii_prefix)
    assert StripPrefix(prefixes=(ascii_prefix,)).applied(encoded + rest) == (rest, ascii_prefix)


@pytest.mark.parametrize(
    ("prefix", "path", "expected"),
    [
        ("/foo", "/bar", "/foo/bar"),
        ("/foo/", "/bar", "/foo//bar"),
        ("foo", "/bar", "/foo/bar"),
        ("/foo", "", "/foo"),
        ("/a b/ü", "/c%20d", "/a%20b/%C3%BC/c%20d"),
        ("/a%20b?c#d", "/x", "/a%20b%3Fc%23d/x"),
    ],
)
def test_a_prefix_is_added_as_it_may_stand_in_a_request(prefix: str, path: str, expected: str) -> None:
    assert AddPrefix(prefix=prefix).applied(path) == (expected, "")


@given(st.text(min_size=1))
def test_an_added_prefix_never_breaks_the_request_line(prefix: str) -> None:
    path, _ = AddPrefix(prefix=f"/{prefix}").applied("/x")
    assert path.isascii()
    assert path.isprintable()
    assert " " not in path
    assert unquote(path, errors="replace").endswith("/x")
