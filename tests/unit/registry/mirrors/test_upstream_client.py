"""What another registry may answer that is no manifest and no blob."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from tinkbox.model.images.mirrors import Mirror, MirrorFault
from tinkbox.registry.manifests.manifests import MAX_MANIFEST
from tinkbox.registry.mirrors.upstream_client import MAX_TOLD, UpstreamClient, UpstreamFailed

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def asking(
    handler: Handler, mirror: str = "", silence: float = 30.0, login: tuple[str, str] = ("", "")
) -> AsyncIterator[UpstreamClient]:
    """A client of one on loopback that answers everything so; `mirror` may have another scheme.  `login`: a user, a password's file."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = mirror or f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        asked = Mirror(url=url, username=login[0], password_file=login[1])
        async with UpstreamClient(asked, lambda: 0.0, silence=silence) as client:
            yield client
    finally:
        await runner.cleanup()


async def failure(handler: Handler, silence: float = 30.0) -> UpstreamFailed:
    async with asking(handler, silence=silence) as client:
        with pytest.raises(UpstreamFailed) as refusal:
            await client.manifest("tools/wipe", "v1")
    return refusal.value


async def refused(handler: Handler, silence: float = 30.0) -> str:
    return str(await failure(handler, silence))


async def test_one_that_says_nothing_is_not_waited_for_for_ever() -> None:
    over = asyncio.Event()

    async def silent(request: web.Request) -> web.StreamResponse:
        await over.wait()
        return web.Response()

    assert "said nothing for 0.05 seconds: manifest tools/wipe, v1" in await refused(silent, silence=0.05)
    over.set()


async def test_a_manifest_without_an_end_is_refused() -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        return web.Response(body=b"x" * (MAX_MANIFEST + 1))

    assert f"sends more than the {MAX_MANIFEST} bytes" in await refused(endless)


async def test_an_error_is_told_in_one_short_line() -> None:
    async def told(request: web.Request) -> web.StreamResponse:
        message = "first\nsecond \x1b[31m" + "x" * MAX_TOLD
        return web.json_response({"errors": [{"code": "X", "message": message}]}, status=500)

    text = await refused(told)
    assert "answers HTTP 500 for tools/wipe, manifests/v1" in text
    assert text.isprintable()
    assert len(text) < 400


@pytest.mark.parametrize(
    ("location", "told"),
    [
        ("ftp://127.0.0.1/x", "which is no URL of HTTP"),
        ("http://a:b@127.0.0.1/x", "which is no URL of HTTP"),
    ],
)
async def test_a_redirect_that_leads_nowhere_is_refused(location: str, told: str) -> None:
    async def moved(request: web.Request) -> web.StreamResponse:
        return web.Response(status=307, headers={"Location": location})

    assert told in await refused(moved)


def test_a_redirect_never_leaves_https() -> None:
    client = UpstreamClient(Mirror(url="https://quay.io"), lambda: 0.0)
    with pytest.raises(UpstreamFailed, match=r"redirects from HTTPS to http://cdn\.quay\.io"):
        client._moved("https://quay.io/v2/x/blobs/y", "http://cdn.quay.io/y")
    assert client._moved("https://quay.io/v2/x", "/y") == "https://quay.io/y"


@pytest.mark.parametrize(
    ("challenge", "told"),
    [
        ('Bearer realm="file:///etc/passwd"', "names no place to fetch a token from: 'file:///etc/passwd'"),
        ("Bearer", "names no place to fetch a token from: ''"),
        ('Negotiate realm="x"', "give registry.mirrors a username and a password_file"),
        ("", "give registry.mirrors a username and a password_file"),
    ],
)
async def test_a_challenge_that_nobody_can_answer_is_told(challenge: str, told: str) -> None:
    async def guarded(request: web.Request) -> web.StreamResponse:
        return web.Response(status=401, headers={"WWW-Authenticate": challenge} if challenge else {})

    assert told in await refused(guarded)
    assert (await failure(guarded)).fault is (MirrorFault.ANSWER if "Bearer" in challenge else MirrorFault.LOGIN)


@pytest.mark.parametrize("answer", ["[]", "{}", '{"token": 1}', '{"token": "a\\nb"}', "x"])
async def test_what_is_no_token_is_refused(answer: str) -> None:
    async def guarded(request: web.Request) -> web.StreamResponse:
        if request.path == "/token":
            return web.Response(text=answer)
        realm = f'Bearer realm="http://{request.host}/token",service=x'
        return web.Response(status=401, headers={"WWW-Authenticate": realm})

    assert "gives no token for" in await refused(guarded)
    assert (await failure(guarded)).fault is MirrorFault.ANSWER


async def test_a_login_that_does_not_help_is_asked_for_once() -> None:
    asked: list[str] = []

    async def guarded(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        if request.path == "/token":
            return web.json_response({"access_token": "t"})
        realm = f'Bearer realm="http://{request.host}/token"'
        return web.Response(status=401, headers={"WWW-Authenticate": realm})

    assert "and registry.mirrors has no user for it" in await refused(guarded)
    assert asked == ["/v2/tools/wipe/manifests/v1", "/token", "/v2/tools/wipe/manifests/v1"]


async def test_the_login_goes_to_no_place_that_the_target_of_a_redirect_names(tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text("secret\n")
    asked: list[tuple[str, str]] = []

    async def moving(request: web.Request) -> web.StreamResponse:
        asked.append((request.path, request.headers.get("Authorization", "")))
        port = request.host.partition(":")[2]
        if request.host.startswith("127.0.0.1:"):
            return web.Response(status=307, headers={"Location": f"http://localhost:{port}/elsewhere"})
        realm = f'Bearer realm="http://localhost:{port}/token"'
        return web.Response(status=401, headers={"WWW-Authenticate": realm})

    async with asking(moving, login=("anna", str(password))) as client:
        with pytest.raises(
            UpstreamFailed, match=r"redirects to localhost:\d+, which wants a login; that .* is for 127\.0"
        ):
            await client.manifest("tools/wipe", "v1")
    assert asked == [("/v2/tools/wipe/manifests/v1", ""), ("/elsewhere", "")]
