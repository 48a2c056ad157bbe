"""The registry over plain HTTP where it is encrypted as well: pulling needs nothing, and nobody is asked for a token that all could read."""

import io
from collections.abc import AsyncIterator

import pytest
from aiohttp import ClientResponse, ClientSession, encode_basic_auth, web

from tests.integration.registry.serving import PEOPLE, Registry
from tinkbox.door.problems import refusals_become_problems
from tinkbox.door.requests.refused_tokens import RefusedTokens
from tinkbox.registry.protocol import routes as protocol
from tinkbox.registry.protocol.push_tokens import PushTokens
from tinkbox.registry.protocol.pushers import Pushers

ENCRYPTED = "https://192.0.2.1:8443"


@pytest.fixture
async def plain(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ClientSession]:
    """Who asks from another host."""
    monkeypatch.setattr(protocol, "_is_of_this_host", lambda _: False)
    application = web.Application(middlewares=[refusals_become_problems])
    pushers = Pushers(PEOPLE, PushTokens(b"key", lambda: 0.0))
    application.add_routes(
        protocol.routes(registry.store, registry.upstreams, pushers, RefusedTokens(), encrypted_at=ENCRYPTED)
    )
    runner = web.AppRunner(application, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with ClientSession(f"http://127.0.0.1:{runner.addresses[0][1]}") as http:
        yield http
    await runner.cleanup()


async def _refused(answer: ClientResponse) -> str:
    assert answer.status == 403
    assert "WWW-Authenticate" not in answer.headers
    told = await answer.text()
    assert f"push to {ENCRYPTED}" in told
    assert f"http://127.0.0.1:{answer.url.port}/authority.pem" in told, (
        "who does not trust it cannot fetch it encrypted"
    )
    assert "`tinkbox authority`" in told
    return told


async def test_pulling_is_asked_for_no_token(registry: Registry, plain: ClientSession) -> None:
    digest = await registry.push_image("hello", "v1")
    blob = await registry.push_blob(b"x")
    for path in ("/v2/", f"/v2/hello/manifests/{digest}", "/v2/hello/manifests/v1", f"/v2/hello/blobs/{blob}"):
        for method in ("GET", "HEAD"):
            async with plain.request(method, path) as answer:
                assert answer.status == 200, (method, path)
                assert "WWW-Authenticate" not in answer.headers
    # Clients that fetched a token to pull with, as they do encrypted, may show it.
    async with plain.get("/v2/", headers={"Authorization": "Bearer anonymous"}) as answer:
        assert answer.status == 200


async def test_a_push_is_sent_to_the_encrypted_door_before_it_shows_a_token(plain: ClientSession) -> None:
    for method, path in (
        ("POST", "/v2/hello/blobs/uploads/"),
        ("PUT", "/v2/hello/manifests/v1"),
        ("DELETE", "/v2/hello/manifests/v1"),
    ):
        async with plain.request(method, path, data=io.BytesIO(b"{}")) as answer:
            assert "revoke" not in await _refused(answer)


async def test_a_token_that_was_shown_in_plain_is_to_be_revoked(plain: ClientSession, token: str) -> None:
    headers = {"Authorization": encode_basic_auth("me", token)}
    for method, path in (("GET", "/v2/token"), ("GET", "/v2/"), ("POST", "/v2/hello/blobs/uploads/")):
        async with plain.request(method, path, headers=headers) as answer:
            assert "tinkbox token revoke" in await _refused(answer)
