"""A door that is encrypted, in the appliance's event loop: what it serves, whom it turns away, and what strangers can take of it."""

import asyncio
import io
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from tests.authority import Authority
from tests.unit.door.our_loop import in_our_loop
from tests.workers import door_of
from tinkbox.cli.nouns.login import trusted_authority
from tinkbox.client.operator.box_certificates import is_surely_unknown, shown_authority, verify
from tinkbox.client.operator.other_doors import speaks_tls
from tinkbox.client.trust import Untrusted
from tinkbox.door.answers.file_answers import FileAnswer
from tinkbox.door.connections.connections import Admission, ConnectionRoom, Connections, watch_heads
from tinkbox.door.connections.encryption import (
    HANDSHAKE_SECONDS,
    HUNG_UP,
    SHARE,
    Encryption,
    HandshakeTurns,
    RefusedHandshakes,
)
from tinkbox.door.connections.reading_pace import ReadingPace
from tinkbox.model.errors import Invalid
from tinkbox.model.limits import NODE_CONNECTIONS, Ledger, Room
from tinkbox.model.vitals import HandshakeTrouble
from tinkbox.wire.messages.worker import Credential

LARGE = 32 << 20
HERE = "127.0.0.1"
NOW = datetime(2026, 11, 30, tzinfo=UTC)


@dataclass
class Door:
    port: int
    ledger: Ledger
    refused: RefusedHandshakes
    authority: Authority

    def trusting(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self.authority.pem)

    @property
    def url(self) -> str:
        return f"https://{HERE}:{self.port}"


@asynccontextmanager
async def door(
    tmp_path: Path, *, head: float = 60.0, each: int = 4, more: Sequence[web.RouteDef] = ()
) -> AsyncIterator[Door]:
    authority = Authority(tmp_path)
    file = tmp_path / "file"
    file.write_bytes(bytes(range(256)) * (LARGE // 256))

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(text=f"{request.scheme} {request.remote}")

    async def size(request: web.Request) -> web.StreamResponse:
        count = 0
        async for chunk in request.content.iter_any():
            count += len(chunk)
        return web.Response(text=str(count))

    async def send_file(_: web.Request) -> web.StreamResponse:
        return FileAnswer(file)

    async def echo(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            await socket.send_bytes(message.data)
        return socket

    application = web.Application(middlewares=[watch_heads], client_max_size=0)
    application.add_routes(
        [web.get("/", answer), web.post("/size", size), web.get("/file", send_file), web.get("/echo", echo), *more]
    )
    runner = web.AppRunner(application, access_log=None, keepalive_timeout=60)
    await runner.setup()
    assert runner.server is not None
    ledger = Ledger(replace(NODE_CONNECTIONS, each=each, all=8, reserved=0.0), lambda: 0.0)
    refused = RefusedHandshakes(lambda: NOW)
    with ExitStack() as stack:
        listening = stack.enter_context(socket.socket())
        listening.bind((HERE, 0))
        listening.listen()
        listening.setblocking(False)
        port = listening.getsockname()[1]
        encryption = Encryption(
            context=authority.server(HERE),
            turns=HandshakeTurns(lambda _: False, asyncio.get_running_loop().time),
            refused=refused,
            seconds=head,
        )
        admission = Admission(
            room=ConnectionRoom(Room(ledger=ledger, known=lambda _: False)),
            host_at=str,
            head_seconds=head,
            answer_seconds=60,
            pace=ReadingPace(),
            encryption=encryption,
            address=f"https://{HERE}:{port}",
        )
        async with asyncio.TaskGroup() as group:
            accepting = group.create_task(Connections(listening, runner.server, admission).accept())
            async with asyncio.timeout(60):
                yield Door(port, ledger, refused, authority)
            accepting.cancel()
        await runner.cleanup()


async def all_given_back(made: Door) -> None:
    while made.ledger.used:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0)


async def refused_once(made: Door) -> str:
    while not made.refused.all():  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0)
    return made.refused.all()[0].words


@in_our_loop
async def test_a_host_of_which_one_handshake_came_through_and_another_did_not_has_both_told(tmp_path: Path) -> None:
    async with door(tmp_path) as made, aiohttp.ClientSession() as http:
        context = made.trusting()
        async with http.get(made.url, ssl=context) as answer:
            assert answer.status == 200
        _, stranger = await asyncio.open_connection(HERE, made.port)
        stranger.write(b"\x16")
        stranger.close()
        await refused_once(made)
        assert [each.came_through for each in made.refused.all()] == [NOW]


@in_our_loop
async def test_requests_bodies_files_and_web_sockets_go_through_it(tmp_path: Path) -> None:
    async with (
        door(tmp_path) as made,
        aiohttp.ClientSession(made.url, connector=aiohttp.TCPConnector(ssl=made.trusting())) as client,
    ):
        async with client.get("/") as response:
            assert await response.text() == f"https {HERE}"
        async with client.post("/size", data=io.BytesIO(b"x" * LARGE)) as response:
            assert await response.text() == str(LARGE)
        async with client.get("/file") as response:
            assert await response.read() == bytes(range(256)) * (LARGE // 256)
        async with client.get("/file", headers={"Range": "bytes=255-257"}) as response:
            assert (response.status, await response.read()) == (206, b"\xff\x00\x01")
        async with client.ws_connect("/echo") as talk:
            await talk.send_bytes(b"y" * 100_000)
            assert (await talk.receive_bytes()) == b"y" * 100_000
        assert made.ledger.used
    assert not made.refused.all()


def fetched_slowly(made: Door, path: str) -> bytes:
    """What is there, by a reader of little room."""
    with socket.socket() as plain:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 10)
        plain.connect((HERE, made.port))
        with made.trusting().wrap_socket(plain, server_hostname=HERE) as reader:
            reader.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            pieces = []
            while piece := reader.recv(1 << 10):
                pieces.append(piece)
            return b"".join(pieces).partition(b"\r\n\r\n")[2]


@in_our_loop
async def test_a_reader_that_pauses_again_and_again_gets_the_whole_file(tmp_path: Path) -> None:
    async with door(tmp_path) as made:
        assert await asyncio.to_thread(fetched_slowly, made, "/file") == bytes(range(256)) * (LARGE // 256)


@in_our_loop
async def test_a_connection_is_given_back_when_its_client_has_gone(tmp_path: Path) -> None:
    async with door(tmp_path) as made:
        connector = aiohttp.TCPConnector(ssl=made.trusting())
        async with aiohttp.ClientSession(made.url, connector=connector) as client, client.get("/") as response:
            await response.read()
        await all_given_back(made)


@in_our_loop
async def test_plain_http_is_told_to_write_https(tmp_path: Path) -> None:
    async with door(tmp_path) as made:
        async with aiohttp.ClientSession() as client, client.get(f"http://{HERE}:{made.port}/") as response:
            assert response.status == 400
            assert (await response.json(content_type=None))["detail"] == (
                f"this door speaks HTTPS alone: write https://{HERE}:{made.port}"
            )
        await all_given_back(made)


@in_our_loop
async def test_a_file_whose_client_is_gone_is_written_no_further(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with door(tmp_path) as made:
        await asyncio.to_thread(reset_in_a_download, made)
        await all_given_back(made)
    assert [each.getMessage() for each in caplog.records if each.name == "asyncio"] == []


def reset_in_a_download(made: Door) -> None:
    with (
        socket.create_connection((HERE, made.port)) as plain,
        made.trusting().wrap_socket(plain, server_hostname=HERE) as reader,
    ):
        reader.sendall(b"GET /file HTTP/1.1\r\nHost: x\r\n\r\n")
        reader.recv(1 << 10)
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def shakes_hands(made: Door, context: ssl.SSLContext) -> None:
    with socket.create_connection((HERE, made.port)) as plain, context.wrap_socket(plain, server_hostname=HERE):
        pass


@in_our_loop
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_who_does_not_trust_the_authority_is_noted_with_the_reason(
    tmp_path: Path, version: ssl.TLSVersion
) -> None:
    other = ssl.create_default_context()
    other.minimum_version = other.maximum_version = version
    async with door(tmp_path) as made:
        with pytest.raises(ssl.SSLCertVerificationError):
            await asyncio.to_thread(shakes_hands, made, other)
        assert await refused_once(made) == "TLSV1_ALERT_UNKNOWN_CA"
        assert made.refused.all()[0].host == HERE
        await all_given_back(made)


@in_our_loop
async def test_who_hangs_up_instead_of_refusing_a_certificate_is_noted_as_well(tmp_path: Path) -> None:
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context())
    async with door(tmp_path) as made, aiohttp.ClientSession(made.url, connector=connector) as client:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await client.get("/")
        assert await refused_once(made) == HUNG_UP


@in_our_loop
async def test_a_worker_that_distrusts_the_door_has_it_told_why(tmp_path: Path) -> None:
    """asyncio hangs up before OpenSSL's alert is sent.  A box with a new data folder calls its authority as before."""
    async with door(tmp_path) as made:
        credential = Credential(
            server=made.url,
            registry=f"{HERE}:{made.port}",
            worker="w",
            token="t",
            authority=Authority(tmp_path).pem,
        )
        async with door_of(credential) as client:
            with pytest.raises(Untrusted):
                await client.greet()
        async with asyncio.timeout(20):
            while not made.refused.all() or made.refused.all()[-1].words == HUNG_UP:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0)
        (refused,) = made.refused.all()
        assert (refused.words, refused.why) == ("TLSV1_ALERT_UNKNOWN_CA", HandshakeTrouble.AUTHORITY)
        await all_given_back(made)


@in_our_loop
async def test_who_hangs_up_or_sends_rubbish_in_the_handshake_gives_the_connection_back(tmp_path: Path) -> None:
    async with door(tmp_path) as made:
        for sent in (b"\x16", b"\x16\x03\x01\x00\x05", b"\x16" + b"\xff" * 600, b""):
            with socket.create_connection((HERE, made.port)) as connection:
                connection.sendall(sent)
                await asyncio.sleep(0)
            await all_given_back(made)


@in_our_loop
async def test_a_handshake_that_is_never_finished_ends_at_its_deadline(tmp_path: Path) -> None:
    async with door(tmp_path, head=0.2) as made:
        loop = asyncio.get_running_loop()
        for sent in (b"", b"\x16", b"\x16\x03\x01\x02\x00\x01"):
            connection = socket.socket()
            connection.setblocking(False)
            with connection:
                await loop.sock_connect(connection, (HERE, made.port))
                await loop.sock_sendall(connection, sent)
                assert await loop.sock_recv(connection, 100) == b""
        await all_given_back(made)


@in_our_loop
async def test_connections_in_a_handshake_count_for_their_host(tmp_path: Path) -> None:
    async with door(tmp_path, each=2) as made:
        loop = asyncio.get_running_loop()
        with ExitStack() as stack:
            for _ in range(3):
                connection = stack.enter_context(socket.socket())
                connection.setblocking(False)
                await loop.sock_connect(connection, (HERE, made.port))
                await loop.sock_sendall(connection, b"\x16\x03\x01")
            with suppress(ConnectionResetError):
                assert await loop.sock_recv(connection, 1) == b""


def test_handshakes_of_unknown_hosts_wait_for_their_share_and_known_ones_for_nothing() -> None:
    time = 10.0
    turns = HandshakeTurns(lambda host: host == "known", lambda: time)
    each = HANDSHAKE_SECONDS / SHARE
    assert [round(turns.next("other"), 6) for _ in range(3)] == [0.0, round(each, 6), round(2 * each, 6)]
    assert turns.next("known") == 0.0
    time = 20.0
    assert turns.next("other") == 0.0


@in_our_loop
async def test_a_log_in_that_only_looks_at_the_certificate_is_no_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)

    def look(url: str) -> None:
        with pytest.raises(Invalid):  # nobody can be asked here
            trusted_authority(url, None, None)
        shown = shown_authority(url, 10)
        assert is_surely_unknown(shown)
        verify(url, shown, 10)
        assert speaks_tls(url)

    async with door(tmp_path) as made:
        for _ in range(5):
            await asyncio.to_thread(look, made.url)
        await all_given_back(made)
        assert made.refused.all() == []


def test_an_authority_of_this_host_is_known_in_its_file_and_in_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pem, file = Authority(tmp_path).pem, tmp_path / "authority.pem"
    file.write_text(pem)
    folder = tmp_path / "certs"
    folder.mkdir()
    monkeypatch.setenv("SSL_CERT_FILE", "/dev/null")
    monkeypatch.setenv("SSL_CERT_DIR", str(folder))
    assert is_surely_unknown(pem)
    (folder / "0a1b2c3d.0").write_text(f"# a comment\n{pem}")
    assert not is_surely_unknown(pem)
    (folder / "0a1b2c3d.0").unlink()
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    assert not is_surely_unknown(pem)
