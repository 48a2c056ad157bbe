"""The issuer is asked for its keys when they are needed, seldom, and believed within limits."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from tests.integration.oidc.conftest import Box
from tests.issuer import OTHER_RSA, hang, rsa_jwk, token
from tinkbox.client.issuer import MAX_DOCUMENT, SECONDS
from tinkbox.oidc.issuer_keys import ASKED_AGAIN, FRESH, TRIED_AGAIN

DISCOVERY = "/.well-known/openid-configuration"


def unknown(box: Box) -> str:
    """A token whose key nobody knows."""
    return token({"iss": box.issuer.url}, head={"kid": "new"})


async def test_keys_are_fetched_once_for_many(box: Box) -> None:
    async with asyncio.TaskGroup() as together:
        for _ in range(8):
            together.create_task(box.ask(box.issuer.id_token(jti=str(_))))
    assert box.issuer.asked == [DISCOVERY, "/keys"]
    assert len(box.tokens.made) == 8


async def test_a_new_key_is_fetched_when_a_token_names_it(box: Box) -> None:
    assert (await box.ask(box.issuer.id_token()))[0] == 200
    box.issuer.keys = {"keys": [rsa_jwk(kid="next")]}
    box.clock.forward(ASKED_AGAIN)
    text = box.issuer.id_token()
    assert (await box.ask(text))[0] == 200  # its key is known, and not asked for again
    now = box.clock.seconds()
    claims = {"iss": box.issuer.url, "aud": "tinkbox", "iat": now, "exp": now + 60, **box.issuer.claims}
    assert (await box.ask(token(claims, head={"kid": "next"})))[0] == 200
    assert box.issuer.asked == [DISCOVERY, "/keys"] * 2


async def test_unknown_keys_do_not_have_the_issuer_asked_at_every_strangers_wish(box: Box) -> None:
    for _ in range(5):
        assert (await box.ask(unknown(box)))[0] == 401
    assert box.issuer.asked == [DISCOVERY, "/keys"]
    box.clock.forward(ASKED_AGAIN)
    for _ in range(3):
        await box.ask(unknown(box))
    assert box.issuer.asked == [DISCOVERY, "/keys"] * 2


async def test_a_key_that_was_taken_back_counts_for_an_hour_at_most(box: Box) -> None:
    assert (await box.ask(box.issuer.id_token()))[0] == 200
    box.issuer.keys = {"keys": [rsa_jwk(OTHER_RSA)]}
    box.clock.forward(FRESH)
    assert (await box.ask(box.issuer.id_token()))[0] == 401


async def test_an_issuer_that_fails_is_left_alone_for_a_moment_and_asked_again(box: Box) -> None:
    box.be_impatient()
    box.issuer.instead[DISCOVERY] = hang
    async with asyncio.TaskGroup() as together:
        asked = [together.create_task(box.refusal(box.issuer.id_token())) for _ in range(3)]
    for each in asked:
        status, detail = each.result()
        assert status == 503
        assert "gave no answer within 0.3 seconds" in detail
    assert box.issuer.asked == [DISCOVERY]
    box.issuer.instead.clear()
    box.keys._seconds = SECONDS
    box.clock.forward(TRIED_AGAIN)
    assert (await box.ask(box.issuer.id_token()))[0] == 200


async def test_keys_that_are_not_fresh_any_more_are_not_believed_while_the_issuer_is_away(box: Box) -> None:
    assert (await box.ask(box.issuer.id_token()))[0] == 200
    box.clock.forward(FRESH)
    box.be_impatient()
    box.issuer.instead[DISCOVERY] = hang
    assert (await box.ask(box.issuer.id_token()))[0] == 503


async def test_an_issuer_that_is_away_at_the_start_is_logged_once_and_asked_again_by_a_log_in(
    box: Box, caplog: pytest.LogCaptureFixture
) -> None:
    box.issuer.instead[DISCOVERY] = failing
    await box.logins.look_ahead()
    (told,) = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert told.startswith(f"the issuer {box.issuer.url} does not tell its keys: ")
    box.issuer.instead.clear()
    box.clock.forward(TRIED_AGAIN)
    assert (await box.ask(box.issuer.id_token()))[0] == 200


async def test_keys_that_were_fetched_at_the_start_are_not_fetched_again_by_a_log_in(box: Box) -> None:
    await box.logins.look_ahead()
    assert (await box.ask(box.issuer.id_token()))[0] == 200
    assert box.issuer.asked == [DISCOVERY, "/keys"]


async def elsewhere(_: web.Request) -> web.Response:
    raise web.HTTPFound("http://169.254.169.254/latest/meta-data/")


async def huge(request: web.Request) -> web.StreamResponse:
    """A hundred megabytes, which nobody is to read."""
    answer = web.StreamResponse(headers={"Content-Type": "application/json"})
    await answer.prepare(request)
    sent = 0
    try:
        while sent < 100 << 20:
            await answer.write(b" " * 65536)
            sent += 65536
    finally:
        request.app.logger.debug("sent %d", sent)
        assert sent < 64 * MAX_DOCUMENT
    return answer


async def page(_: web.Request) -> web.Response:
    return web.Response(text="<html>log in</html>")


async def deep(_: web.Request) -> web.Response:
    return web.Response(text='{"keys":' * 30_000 + "1")


async def failing(_: web.Request) -> web.Response:
    raise web.HTTPInternalServerError


def says(document: dict[str, Any]) -> Callable[[web.Request], Any]:
    async def answer(_: web.Request) -> web.Response:
        return web.json_response(document)

    return answer


@pytest.mark.parametrize("path", [DISCOVERY, "/keys"])
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (elsewhere, "redirects to 'http://169.254.169.254/latest/meta-data/', and is not followed"),
        (huge, "sends more than 256 KiB"),
        (page, "answers no JSON object"),
        (deep, "answers no JSON object"),
        (failing, "answers HTTP 500"),
        (hang, "gave no answer"),
    ],
)
async def test_an_issuer_that_answers_wrongly_lets_nobody_in_and_is_told(
    box: Box, path: str, answer: Callable[[web.Request], Any], why: str
) -> None:
    if answer is hang:
        box.be_impatient()
    box.issuer.instead[path] = answer
    status, detail = await box.refusal(box.issuer.id_token())
    assert (status, box.tokens.made) == (503, {})
    assert why in detail
    assert detail.startswith(f"the issuer {box.issuer.url} does not tell its keys: ")


@pytest.mark.parametrize(
    ("discovery", "why"),
    [
        ({"issuer": "https://evil.example"}, "calls the issuer 'https://evil.example'"),
        ({"jwks_uri": "http://evil.example/keys"}, "the issuer's jwks_uri: expected a URL that begins with https://"),
        ({"jwks_uri": None}, "has no jwks_uri"),
        ({"jwks_uri": 7}, "jwks_uri is no text"),
    ],
)
async def test_a_discovery_document_of_another_issuer_lets_nobody_in(
    box: Box, discovery: dict[str, Any], why: str
) -> None:
    box.issuer.discovery = discovery
    status, detail = await box.refusal(box.issuer.id_token())
    assert (status, box.tokens.made) == (503, {})
    assert why in detail


@pytest.mark.parametrize(
    "keys", [{"keys": []}, {"keys": [{"kty": "oct", "k": "AAAA"}]}, {}, {"keys": [rsa_jwk()] * 200}]
)
async def test_an_issuer_without_usable_keys_lets_nobody_in(box: Box, keys: dict[str, Any]) -> None:
    box.issuer.keys = keys
    assert (await box.ask(box.issuer.id_token()))[0] == 503


async def test_a_client_that_goes_away_while_the_issuer_is_asked_leaves_others_their_turn(box: Box) -> None:
    reached = asyncio.Event()

    async def slow(_: web.Request) -> web.Response:
        reached.set()
        return await hang(_)

    box.issuer.instead[DISCOVERY] = slow
    async with asyncio.TaskGroup() as group:
        gone = group.create_task(box.logins.log_in(box.issuer.id_token()))
        await reached.wait()
        gone.cancel()
    box.issuer.instead.clear()
    assert (await box.ask(box.issuer.id_token()))[0] == 200
