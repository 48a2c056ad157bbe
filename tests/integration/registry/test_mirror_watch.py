"""Whether a mirror answers, found out from real registries, by pulls and by looks."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from tests.integration.catalogue.mirror import certificate_for
from tests.integration.registry.serving import Clock, Registry, free_port, serving, until
from tinkbox.model.images.mirrors import Mirror, MirrorFault, MirrorTrouble
from tinkbox.registry.mirrors import watch
from tinkbox.registry.mirrors.upstream_client import UpstreamClient

NOTHING = "quay.io/tools/wipe"
REGISTRY = {"Docker-Distribution-API-Version": "registry/2.0"}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "BELIEVED_AFTER", 0.05)
    monkeypatch.setattr(watch, "LOOKS_AGAIN", 0.05)


@asynccontextmanager
async def watched(folder: Path, mirror: Mirror) -> AsyncIterator[Registry]:
    """An appliance whose mirror of quay.io that is, and who looks at it."""
    async with serving(folder, Clock(), mirrors={"quay.io": mirror}) as here, asyncio.TaskGroup() as group:
        watching = group.create_task(here.upstreams.watch())
        yield here
        watching.cancel()


async def trouble(
    here: Registry, enough: Callable[[MirrorTrouble], bool] = lambda found: found.looked
) -> MirrorTrouble:
    """What is told of the mirror, once that is enough."""
    async with asyncio.timeout(60):
        await until(lambda: any(map(enough, here.upstreams.troubles())))
    (found,) = here.upstreams.troubles()
    return found


async def pull(here: Registry) -> int:
    return (await here.http.get(f"/v2/{NOTHING}/manifests/v1")).status


@asynccontextmanager
async def answering(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A server in the place of a registry; the URL."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls).start()
    try:
        yield f"http{'s' if tls else ''}://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


async def test_a_mirror_that_is_shut_is_told_without_a_pull_and_is_well_again_when_it_is_back(tmp_path: Path) -> None:
    port = free_port()
    async with watched(tmp_path / "here", Mirror(url=f"http://127.0.0.1:{port}")) as here:
        found = await trouble(here)
        assert (found.host, found.url, found.fault) == ("quay.io", f"http://127.0.0.1:{port}", MirrorFault.REFUSED)
        assert found.pulled_at is None
        assert await pull(here) == 424
        found = await trouble(here, lambda found: found.looked and found.pulled_at is not None)
        assert found.since <= found.at
        async with serving(tmp_path / "upstream", port=port):
            assert await pull(here) == 404
            await until(lambda: not here.upstreams.troubles())


async def test_a_mirror_that_answers_is_no_trouble_and_what_it_lacks_is_none(tmp_path: Path) -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        return web.Response(status=404)  # also of /v2/ itself, as a folder of files has it

    async with answering(answer) as url, watched(tmp_path, Mirror(url=url)) as here:
        await until(lambda: "/v2/" in asked)
        assert await pull(here) == 404
        assert here.upstreams.troubles() == []


async def test_a_registry_that_denies_one_image_or_wants_a_login_is_no_trouble(tmp_path: Path) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(status=403 if "manifests" in request.path else 401)

    async with answering(answer) as url, watched(tmp_path, Mirror(url=url)) as here:
        assert await pull(here) == 424
        assert here.upstreams.troubles() == []


async def test_a_mirror_that_fails_pulls_alone_is_told_until_one_succeeds(tmp_path: Path) -> None:
    status = [503]

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(status=200 if request.path == "/v2/" else status[0])

    async with answering(answer) as url, watched(tmp_path, Mirror(url=url)) as here:
        for wrong, fault in ((503, MirrorFault.ANSWER), (429, MirrorFault.LIMIT)):
            status[0] = wrong
            assert await pull(here) == 424
            (found,) = here.upstreams.troubles()
            assert (found.fault, found.looked, found.pulled_at) == (fault, False, found.at)
            status[0] = 404
            assert await pull(here) == 404
            assert here.upstreams.troubles() == []


async def test_a_name_without_an_address_is_told(tmp_path: Path) -> None:
    async with watched(tmp_path, Mirror(url="https://mirror.invalid")) as here:
        found = await trouble(here)
    assert found.fault is MirrorFault.NAME
    assert found.why.startswith("mirror.invalid cannot be asked for https://mirror.invalid/v2/: ")


async def test_a_certificate_of_nobody_is_told(tmp_path: Path) -> None:
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(certificate_for(tmp_path, "127.0.0.1"))

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response()

    async with answering(answer, own) as url, watched(tmp_path / "here", Mirror(url=url)) as here:
        assert (await trouble(here)).fault is MirrorFault.CERTIFICATE


async def test_a_port_that_speaks_no_tls_is_told_as_that(tmp_path: Path) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response()

    async with answering(answer) as url, watched(tmp_path, Mirror(url=url.replace("http:", "https:"))) as here:
        found = await trouble(here)
    assert found.fault is MirrorFault.NO_TLS


@pytest.mark.parametrize("alert", [40, 70], ids=["handshake failure", "protocol version"])
async def test_a_handshake_that_is_refused_is_no_matter_of_the_certificate(alert: int) -> None:
    async def refuse(theirs: asyncio.StreamReader, ours: asyncio.StreamWriter) -> None:
        await theirs.read(1)
        ours.write(bytes([21, 3, 3, 0, 2, 2, alert]))  # RFC 8446, section 6
        await theirs.read()
        ours.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    mirror = Mirror(url=f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    async with server, UpstreamClient(mirror, lambda: 0.0) as client:
        with pytest.raises(watch.UpstreamFailed) as refusal:
            await client.look()
    assert refusal.value.fault is MirrorFault.OTHER_TLS


async def test_a_certificate_of_another_name_says_so(tmp_path: Path) -> None:
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate = certificate_for(tmp_path, "other.example")
    theirs.load_cert_chain(certificate)

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response()

    ours = ssl.create_default_context(cafile=str(certificate))
    async with answering(answer, theirs) as url, UpstreamClient(Mirror(url=url), lambda: 0.0, ours) as client:
        with pytest.raises(watch.UpstreamFailed, match=r"not valid for '127\.0\.0\.1'") as refusal:
            await client.look()
    assert refusal.value.fault is MirrorFault.CERTIFICATE


def _page() -> web.Response:
    return web.Response(text="<html>Hello</html>", content_type="text/html")


async def _pages(_: web.Request) -> web.StreamResponse:
    return _page()


async def _documents(_: web.Request) -> web.StreamResponse:
    return web.json_response({"hello": "world"})


async def _login_page(request: web.Request) -> web.StreamResponse:
    return _page() if request.path == "/login" else web.Response(status=302, headers={"Location": "/login"})


@pytest.mark.parametrize(
    ("handler", "told"), [(_pages, "text/html"), (_documents, "application/json"), (_login_page, "text/html")]
)
async def test_a_web_server_that_answers_everything_is_told_as_no_registry(
    tmp_path: Path, handler: Handler, told: str
) -> None:
    async with answering(handler) as url, watched(tmp_path, Mirror(url=url)) as here:
        found = await trouble(here)
        assert (found.fault, found.pulled_at) == (MirrorFault.NO_REGISTRY, None)
        assert f"answers, but not as a registry ({told}): " in found.why
        assert await pull(here) == 424
        found = await trouble(here, lambda found: found.looked and found.pulled_at is not None)
        assert found.fault is MirrorFault.NO_REGISTRY


async def test_a_pull_that_gets_a_page_counts_though_the_registry_answers_itself(tmp_path: Path) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(headers=REGISTRY) if request.path == "/v2/" else _page()

    async with answering(answer) as url, watched(tmp_path, Mirror(url=url)) as here:
        assert await pull(here) == 424
        (found,) = here.upstreams.troubles()
    assert (found.fault, found.looked, found.pulled_at) == (MirrorFault.NO_REGISTRY, False, found.at)


async def test_a_manifest_of_an_old_kind_says_nothing_of_the_registry(tmp_path: Path) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response({"schemaVersion": 1} if "manifests" in request.path else {}, headers=REGISTRY)

    async with answering(answer) as url, watched(tmp_path, Mirror(url=url)) as here:
        assert await pull(here) == 424
        assert here.upstreams.troubles() == []


@pytest.mark.parametrize("status", [401, 403, 404, 429, 503])
async def test_a_registry_that_leaves_out_the_header_is_none_the_worse(status: int) -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        return _page() if request.path == "/v2/" else web.Response(status=status)  # a list of files, say

    async with answering(answer) as url, UpstreamClient(Mirror(url=f"{url}/quay"), lambda: 0.0) as client:
        await client.look()
    assert asked == ["/v2/", "/v2/quay/tinkbox/looks-whether-this-is-a-registry/manifests/latest"]


async def test_a_registry_with_the_header_is_asked_for_nothing_more() -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        return web.Response(text="true", content_type="text/html", headers=REGISTRY)  # as quay.io does

    async with answering(answer) as url, UpstreamClient(Mirror(url=url), lambda: 0.0) as client:
        await client.look()
    assert asked == ["/v2/"]


@pytest.mark.parametrize("scheme", ["Basic", "Bearer"])
async def test_a_login_that_is_not_taken_is_told_and_one_that_is_read_anew_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setattr(watch, "LOOKS_EVERY", 0.05)
    password = tmp_path / "password"
    password.write_text("wrong\n")
    right = "Basic dGlua2JveDpyaWdodA=="  # tinkbox:right

    async def answer(request: web.Request) -> web.StreamResponse:
        given = request.headers.get("Authorization", "")
        if request.path == "/token":
            return web.json_response({"token": "t"} if given == right else {}, status=200 if given == right else 401)
        if given == (right if scheme == "Basic" else "Bearer t"):
            return web.json_response({}, headers=REGISTRY)
        realm = f'Bearer realm="http://{request.host}/token",service="s"'
        return web.Response(status=401, headers={"WWW-Authenticate": "Basic" if scheme == "Basic" else realm})

    async with answering(answer) as url:
        mirror = Mirror(url=url, username="tinkbox", password_file=str(password))
        async with watched(tmp_path / "here", mirror) as here:
            assert (await trouble(here)).fault is MirrorFault.LOGIN
            password.unlink()
            found = await trouble(here, lambda found: "cannot be read" in found.why)
            assert found.fault is MirrorFault.LOGIN
            password.write_text("right\n")
            await until(lambda: not here.upstreams.troubles())


async def test_one_that_takes_connections_and_says_nothing_is_silent() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        mirror = Mirror(url=f"http://127.0.0.1:{deaf.getsockname()[1]}")
        async with UpstreamClient(mirror, lambda: 0.0, silence=0.05) as client:
            with pytest.raises(watch.UpstreamFailed) as refusal:
                await client.look()
    assert refusal.value.fault is MirrorFault.SILENT


async def test_without_mirrors_nothing_is_looked_at(tmp_path: Path) -> None:
    async with serving(tmp_path) as here:
        assert here.upstreams.troubles() == []
