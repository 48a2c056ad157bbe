"""URLs are taken apart and put together as net/url does."""

import pytest

from tinkbox.gotemplate.values import GoError
from tinkbox.sprig.text.urls import join, parse


@pytest.mark.parametrize(
    "url",
    [
        "http://user:p%40ss@host:8080/a/b?q=1#frag",
        "mailto:joe@example.org",
        "//host/path",
        "/only/path",
        "http://[fe80::1]:80/",
        "?query",
        "*",
    ],
)
def test_what_was_taken_apart_goes_together_again(url: str) -> None:
    assert join(parse(url)) == url


def test_the_parts_have_their_names() -> None:
    assert parse("HTTP://u:p@h:80/a%20b?x=%20#f%21") == {
        "scheme": "http",
        "host": "h:80",
        "hostname": "h",
        "path": "/a b",
        "query": "x=%20",
        "opaque": "",
        "fragment": "f!",
        "userinfo": "u:p",
    }


@pytest.mark.parametrize(
    "url",
    [
        ":x",
        "http://[::1",
        "http://h:port/",
        "http://h/%zz",
        "a:b/c:d"[2:] + "\x7f",
        "http://a b/",
        "http://h%41/",
        "1:2",
    ],
)
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(GoError, match="unable to parse url"):
        parse(url)


def test_parts_must_be_text() -> None:
    with pytest.raises(GoError, match="unable to parse host key, must be of type string, but int found"):
        join({"host": 1})


def test_a_path_cannot_be_taken_for_a_scheme() -> None:
    assert join({"path": "a:b"}) == "./a:b"
