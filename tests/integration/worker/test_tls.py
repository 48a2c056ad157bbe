"""A worker asks its appliance over TLS, by the authority of its credential alone."""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.authority import Authority
from tests.integration.cli.serving import PROGRAM
from tests.workers import door_of
from tinkbox.client.trust import Untrusted, trusting
from tinkbox.model.errors import Invalid, Unavailable
from tinkbox.wire.messages.worker import Credential, Hello, encode
from tinkbox.worker.main import UNTRUSTED, work


class Door:
    """A node door that counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.told: list[bytes] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path)
        if request.path.startswith("/worker/attempts"):
            socket = web.WebSocketResponse()
            await socket.prepare(request)
            await socket.close()
            return socket
        if request.path.startswith("/boot"):
            return web.Response(body=request.path_qs.encode())
        if request.path == "/worker/trouble":
            self.told.append(await request.read())
        if request.path == "/refused":
            return web.json_response({"title": "no such thing", "status": 404}, status=404)
        if request.path == "/worker/session":
            return web.json_response({"worker": "w"})
        return web.Response(status=204) if request.path == "/worker/next" else web.json_response({"unix": 0})

    @asynccontextmanager
    async def at(
        self, context: ssl.SSLContext | None, authority: str, host: str = "127.0.0.1"
    ) -> AsyncIterator[Credential]:
        """Serve with this context; gives a credential for that which trusts this authority."""
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self.answer)
        server = TestServer(application)
        await server.start_server(ssl=context)
        async with server:
            url = f"https://{host}:{server.port}"
            yield Credential(server=url, registry=f"{host}:{server.port}", worker="w", token="t", authority=authority)


async def test_the_appliance_is_asked_over_tls_by_name_and_by_address(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    for host in ("127.0.0.1", "localhost"):
        door = Door()
        async with door.at(authority.server(host), authority.pem, host) as credential, door_of(credential) as client:
            await client.greet()
            assert await client.next(Hello(boot_id="b")) is None
            async with client.shell("a", "s", tty=True):
                pass
        assert door.asked == ["/worker/time", "/worker/session", "/worker/next", "/worker/attempts/a/shells/s"]


REFUSALS = {
    "another authority": "its certificate is not of the authority that this machine was given",
    "expired": "its certificate has expired, and this machine's clock shows ",
    "another name": "its certificate is not for that name or address",
    "no TLS": "it does not speak TLS",
}


@asynccontextmanager
async def impostor(kind: str, folder: Path, door: Door) -> AsyncIterator[Credential]:
    authority = Authority(folder)
    context: ssl.SSLContext | None = authority.server("127.0.0.1")
    if kind == "another authority":
        context = Authority(folder).server("127.0.0.1")
    elif kind == "expired":
        context = authority.server("127.0.0.1", lasts=timedelta(minutes=-1))
    elif kind == "another name":
        context = authority.server("127.0.0.2", "localhost")
    elif kind == "no TLS":
        context = None
    async with door.at(context, authority.pem) as credential:
        yield credential


@pytest.mark.parametrize("kind", REFUSALS)
async def test_an_impostor_hears_nothing_and_is_named(tmp_path: Path, kind: str) -> None:
    door = Door()
    async with impostor(kind, tmp_path, door) as credential, door_of(credential) as client:
        with pytest.raises(Untrusted) as refused:
            await client.next(Hello(boot_id="b"))
        with pytest.raises(Unavailable):
            async with client.shell("a", "s", tty=True):
                pass
    assert f"the appliance at {credential.server} is not trusted: {REFUSALS[kind]}" in str(refused.value)
    assert not door.asked


async def test_an_appliance_that_is_away_is_not_an_impostor(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    async with Door().at(authority.server("127.0.0.1"), authority.pem) as credential:
        pass
    async with door_of(credential) as client:
        with pytest.raises(Unavailable) as refused:
            await client.greet()
    assert not isinstance(refused.value, Untrusted)


async def test_what_the_host_trusts_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known, own = Authority(tmp_path, "one of the host's"), Authority(tmp_path)
    (tmp_path / "hosts.pem").write_text(known.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "hosts.pem"))
    async with Door().at(known.server("127.0.0.1"), own.pem) as credential, door_of(credential) as client:
        with pytest.raises(Untrusted, match="not of the authority"):
            await client.greet()


@pytest.mark.parametrize("kind", REFUSALS)
async def test_a_worker_that_meets_an_impostor_ends_and_says_why(tmp_path: Path, kind: str) -> None:
    door, file = Door(), tmp_path / "worker.json"
    async with impostor(kind, tmp_path, door) as credential:
        file.write_text(encode(credential))
        command = [*PROGRAM, "--worker", "--credential", str(file), "--data", str(tmp_path / "worker")]
        process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
        async with asyncio.timeout(60):
            _, said = await process.communicate()
    assert process.returncode == UNTRUSTED
    assert REFUSALS[kind] in said.decode()
    assert not door.asked


async def asked(credential: Credential, folder: Path, *words: str, told: bytes = b"") -> tuple[int | None, bytes, str]:
    """Status, output and errors of a worker that asks one thing only."""
    file = folder / "worker.json"
    file.write_text(encode(credential))
    process = await asyncio.create_subprocess_exec(
        *PROGRAM, "--worker", "--credential", str(file), *words,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "https_proxy": "http://127.0.0.1:1"},
    )  # fmt: skip
    async with asyncio.timeout(60):
        output, errors = await process.communicate(told)
    return process.returncode, output, errors.decode()


async def test_the_scripts_of_an_osie_ask_and_tell_over_tls(tmp_path: Path) -> None:
    authority, door = Authority(tmp_path), Door()
    async with door.at(authority.server("127.0.0.1"), authority.pem) as credential:
        status, output, _ = await asked(credential, tmp_path, "--fetch", "/boot/m/credential.cpio?https=yes")
        assert (status, output) == (0, b"/boot/m/credential.cpio?https=yes")
        status, output, _ = await asked(credential, tmp_path, "--complain", "engine", told=b"no room\xff")
        assert (status, output) == (0, b"")
        status, _, errors = await asked(credential, tmp_path, "--fetch", "/refused")
        assert (status, "no such thing" in errors) == (1, True)
        status, _, errors = await asked(credential, tmp_path, "--fetch", "refused")
        assert (status, "is no path" in errors) == (1, True)
    assert door.asked[:2] == ["/boot/m/credential.cpio", "/worker/trouble"]
    assert door.told == [b"no room\xff"]


@pytest.mark.parametrize("kind", REFUSALS)
async def test_they_tell_an_impostor_nothing(tmp_path: Path, kind: str) -> None:
    door = Door()
    async with impostor(kind, tmp_path, door) as credential:
        for words in (("--fetch", "/boot/m/credential.cpio"), ("--complain", "engine")):
            status, output, errors = await asked(credential, tmp_path, *words, told=b"secret")
            assert status
            assert output == b""
            assert REFUSALS[kind] in errors
    assert not door.asked


@pytest.mark.parametrize(
    ("server", "authority", "named", "why"),
    [
        ("https://box", "PEM", "http://box", "this credential is for HTTPS, not for 'http://box'"),
        ("http://box", "", "https://box", "nothing says by which authority to trust 'https://box'"),
        ("https://box", "", None, "nothing says by which authority to trust 'https://box'"),
    ],
)
def test_a_credential_is_never_used_in_the_other_way(
    tmp_path: Path, server: str, authority: str, named: str | None, why: str
) -> None:
    file = tmp_path / "worker.json"
    file.write_text(encode(Credential(server=server, registry="box", worker="w", token="t", authority=authority)))
    with pytest.raises(Invalid) as refused:
        work(named, file, "unix:///nowhere", tmp_path / "worker", privileged=False, debug=False)
    assert why in str(refused.value)


def test_an_authority_that_is_none_is_told_with_the_way_out() -> None:
    for pem in ("", "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n", "ü"):
        with pytest.raises(Invalid, match="tinkbox hardware credential MAC"):
            trusting(pem)
