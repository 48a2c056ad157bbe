"""What an issuer says of itself, and when to ask it again."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.errors import Forbidden, Invalid, Unavailable
from tinkbox.wire.oidc import DeviceCode, Polling, check_url, discovery_url, parse_device_code, parse_discovery

ISSUER = "https://login.example.com/realms/lab"
CODE: dict[str, Any] = {
    "device_code": "secret",
    "user_code": "WDJB-MJHT",
    "verification_uri": "https://login.example.com/device",
    "expires_in": 1800,
}


def code(**more: Any) -> DeviceCode:
    return parse_device_code({**CODE, **more})


def polling(**more: Any) -> Polling:
    return Polling(code(**more), 100.0)


def test_discovery_is_below_the_issuers_path() -> None:
    assert discovery_url(ISSUER) == f"{ISSUER}/.well-known/openid-configuration"
    assert discovery_url("https://a.example/") == "https://a.example/.well-known/openid-configuration"


def test_the_document_of_another_issuer_is_refused_and_says_what_to_write() -> None:
    with pytest.raises(
        Invalid, match=r"'https://login\.example\.com/realms/lab/': write operator.oidc.issuer exactly so"
    ):
        parse_discovery({"issuer": f"{ISSUER}/"}, ISSUER)
    for said in (None, 7, [ISSUER]):
        with pytest.raises(Invalid):
            parse_discovery({"issuer": said}, ISSUER)


@pytest.mark.parametrize(
    "url",
    [
        "http://keys.example/", "ftp://keys.example/", "file:///etc/shadow", "https://", "https://a b/", "https://user@host/", "//host",
        "https://host:x/", "https://host/#a", "https://host/\n", "https://täglich.example/", "https://h/" + "a" * 3000, "http://127.0.0.1.evil.example/",
    ],
)  # fmt: skip
def test_an_address_that_is_not_https_is_refused(url: str) -> None:
    with pytest.raises(Invalid):
        check_url(url)
    with pytest.raises(Invalid, match="the issuer's jwks_uri"):
        parse_discovery({"issuer": ISSUER, "jwks_uri": url}, ISSUER)


@pytest.mark.parametrize(
    "url", ["https://host", "https://host:8443/a?b=c", "http://127.0.0.1:8080/", "http://localhost/", "http://[::1]/"]
)
def test_https_and_this_host_are_taken(url: str) -> None:
    check_url(url)


def test_a_device_code_has_what_a_person_needs() -> None:
    found = code(verification_uri_complete="https://login.example.com/device?c=WDJB-MJHT", interval=7)
    assert (found.user_code, found.url, found.interval, found.lifetime) == (
        "WDJB-MJHT",
        CODE["verification_uri"],
        7.0,
        1800.0,
    )
    assert found.complete_url.endswith("?c=WDJB-MJHT")
    assert code().complete_url == ""


@pytest.mark.parametrize("interval", [None, 0, -1, "5", True, [], float("nan")])
def test_without_an_interval_it_is_five_seconds(interval: Any) -> None:
    assert code(interval=interval).interval == 5.0


def test_an_issuer_keeps_nobody_waiting_for_days() -> None:
    assert (code(interval=10**9).interval, code(expires_in=10**9).lifetime) == (60.0, 3600.0)


@pytest.mark.parametrize("name", ["device_code", "user_code", "verification_uri"])
@pytest.mark.parametrize("value", [None, "", 7, "x" * 100_000])
def test_a_device_code_that_lacks_something_is_refused(name: str, value: Any) -> None:
    with pytest.raises(Invalid, match=name):
        code(**{name: value})


@pytest.mark.parametrize("name", ["user_code", "verification_uri", "verification_uri_complete"])
def test_what_steers_a_terminal_is_not_shown(name: str) -> None:
    with pytest.raises(Invalid, match="cannot be shown"):
        code(**{name: "\x1b]0;x\x07"})


@pytest.mark.parametrize("name", ["verification_uri", "verification_uri_complete"])
@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "http://login.example.com/", "file:///etc/passwd", "type it there"]
)
def test_a_person_is_sent_to_https_alone(name: str, url: str) -> None:
    with pytest.raises(Invalid, match=f"the issuer's {name}: expected a URL"):
        code(**{name: url})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(more=st.dictionaries(st.sampled_from([*CODE, "interval", "verification_uri_complete"]), JSON))
def test_whatever_an_issuer_answers_is_taken_or_refused(more: dict[str, Any]) -> None:
    try:
        found = code(**more)
    except Invalid:
        return
    assert 0 < found.interval <= 60
    assert 0 < found.lifetime <= 3600


@given(
    status=st.sampled_from([200, 400, 401, 404, 429, 500, 503]),
    document=st.dictionaries(st.sampled_from(["error", "error_description", "id_token"]), JSON),
)
def test_whatever_an_issuer_says_while_it_is_polled_is_understood_or_refused(
    status: int, document: dict[str, Any]
) -> None:
    asked = polling()
    try:
        if not asked.answered(status, document, 105.0):
            assert asked.next_at > 105.0
    except (Invalid, Forbidden, Unavailable):
        pass


@given(more=st.dictionaries(st.sampled_from(["issuer", "jwks_uri", "token_endpoint"]), JSON))
def test_whatever_an_issuer_says_of_itself_is_taken_or_refused(more: dict[str, Any]) -> None:
    with contextlib.suppress(Invalid):
        parse_discovery({"issuer": ISSUER, **more}, ISSUER)


def test_it_is_asked_again_at_the_interval_until_it_gives_the_token() -> None:
    asked = polling()
    assert asked.next_at == 105.0
    assert asked.answered(400, {"error": "authorization_pending"}, 106.0) == ""
    assert asked.next_at == 111.0
    assert asked.answered(200, {"id_token": "a.b.c"}, 112.0) == "a.b.c"


def test_slow_down_adds_five_seconds_for_good() -> None:
    asked = polling()
    for at, then in ((105.0, 115.0), (115.0, 130.0)):
        asked.answered(400, {"error": "slow_down"}, at)
        assert asked.next_at == then
    asked.answered(400, {"error": "authorization_pending"}, 130.0)
    assert asked.next_at == 145.0


def test_an_issuer_that_fails_is_asked_less_and_less_often() -> None:
    asked = polling()
    asked.unanswered(105.0)
    assert asked.next_at == 115.0
    asked.answered(503, {}, 115.0)
    assert asked.next_at == 135.0
    asked.answered(429, {}, 135.0)
    assert asked.next_at == 175.0
    asked.unanswered(175.0)
    assert asked.next_at == 235.0


def test_who_says_no_ends_it() -> None:
    with pytest.raises(Forbidden, match="refused at the issuer"):
        polling().answered(400, {"error": "access_denied"}, 105.0)


def test_a_code_that_is_too_old_ends_it() -> None:
    with pytest.raises(Unavailable, match="Run the command again"):
        polling().answered(400, {"error": "expired_token"}, 105.0)
    asked = polling(expires_in=12)
    assert asked.answered(400, {"error": "authorization_pending"}, 105.0) == ""
    with pytest.raises(Unavailable, match="in time"):
        asked.answered(400, {"error": "authorization_pending"}, 111.0)
    with pytest.raises(Unavailable, match="in time"):
        polling(expires_in=12).unanswered(108.0)


def test_any_other_error_is_told_in_quotes() -> None:
    with pytest.raises(Invalid, match="refuses: 'invalid_client': 'no \"such\" client'"):
        polling().answered(401, {"error": "invalid_client", "error_description": "no `such` client"}, 105.0)
    with pytest.raises(Invalid, match="refuses: HTTP 404"):
        polling().answered(404, {"error": 7}, 105.0)


@pytest.mark.parametrize(
    "document", [{}, {"id_token": ""}, {"id_token": 7}, {"access_token": "x"}, {"id_token": "x" * 70_000}]
)
def test_an_answer_without_an_id_token_names_the_scope(document: dict[str, Any]) -> None:
    with pytest.raises(Invalid, match="needs openid"):
        polling().answered(200, document, 105.0)
