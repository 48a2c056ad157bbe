"""Which headers pass, and which are set."""

import pytest

from tinkbox.model.errors import Invalid
from tinkbox.proxy.headers import origin, to_client, to_service

OF_A_CONNECTION = [
    "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "TE", "Trailer",
    "Transfer-Encoding", "Upgrade",
]  # fmt: skip


@pytest.mark.parametrize("name", OF_A_CONNECTION)
@pytest.mark.parametrize("spell", [str, str.lower, str.upper])
def test_headers_of_a_connection_pass_in_neither_direction(name: str, spell: type[str]) -> None:
    sent = [(spell(name), "x"), ("X-Kept", "1")]
    assert to_service(sent, []) == [("X-Kept", "1")]
    assert to_client(sent, []) == [("X-Kept", "1")]


def test_nor_do_those_that_a_connection_header_names() -> None:
    sent = [("X-A", "1"), ("x-b", "2"), ("X-C", "3")]
    assert to_service(sent, ["close, x-a", " X-B "]) == [("X-C", "3")]
    assert to_client(sent, ["close, x-a", " X-B "]) == [("X-C", "3")]


@pytest.mark.parametrize(
    "name",
    ["Host", "Content-Length", "Expect", "Forwarded", "X-Real-Ip", "X-Forwarded-For", "X-Forwarded-Whatever", "Proxy",
     "x_forwarded_for", "X-Forwarded_For", "X_Real_IP", "Content_Length", "Transfer_Encoding"],
)  # fmt: skip
def test_what_the_proxy_says_itself_no_client_says(name: str) -> None:
    assert to_service([(name, "x"), ("X-Kept", "1")], []) == [("X-Kept", "1")]


def test_everything_else_passes_in_its_order_as_often_as_it_was_said() -> None:
    sent = [
        ("Cookie", "a"),
        ("X-A", ""),
        ("cookie", "b"),
        ("Authorization", "c"),
        ("X_Own", "ü\t!"),
        ("Content-Type", "d"),
    ]
    assert to_service(sent, []) == sent
    assert to_client([*sent, ("Content-Length", "3")], ["content-length"]) == [*sent, ("Content-Length", "3")]


@pytest.mark.parametrize(
    ("name", "value"),
    [("X", "a\rb"), ("X", "a\nb"), ("X", "a\x00b"), ("X", "a\x7f"), ("X", "\udce4"), ("X y", "a"), ("", "a"), ("X\n", "a"),
     ("Ü", "a"), ("X:", "a")],
)  # fmt: skip
def test_what_could_not_be_passed_on_as_it_is_is_refused(name: str, value: str) -> None:
    with pytest.raises(Invalid):
        to_service([(name, value)], [])
    with pytest.raises(Invalid):
        to_client([(name, value)], [])


def test_where_a_request_came_from_is_told_in_every_usual_way() -> None:
    assert dict(origin("10.0.0.5", "w1.example:8080", 8080, "/api", "https")) == {
        "X-Forwarded-For": "10.0.0.5",
        "X-Forwarded-Proto": "https",
        "X-Forwarded-Host": "w1.example:8080",
        "X-Forwarded-Port": "8080",
        "X-Forwarded-Prefix": "/api",
        "X-Real-Ip": "10.0.0.5",
        "Forwarded": 'for=10.0.0.5;host="w1.example:8080";proto=https',
    }
    assert {"X-Forwarded-Host", "X-Forwarded-Prefix"}.isdisjoint(dict(origin("10.0.0.5", "", 80, "", "http")))
    assert dict(origin("10.0.0.5", "", 80, "", "http"))["Forwarded"] == "for=10.0.0.5;proto=http"
