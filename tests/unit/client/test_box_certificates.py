"""A box is trusted by one authority, over each kind of connection."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tinkbox.certificates import Certificates, Door
from tinkbox.client.operator import Operator
from tinkbox.client.operator.box_certificates import distrusted, fingerprint_of, shown_authority, verify
from tinkbox.client.operator.lasting_connection import LastingConnection
from tinkbox.client.operator.quick_connection import QuickConnection, answer_of
from tinkbox.client.refusals import Unreachable, Untrusted
from tinkbox.model.errors import Unavailable
from tinkbox.wire.messages.shell import Channel, Frame

FRAME = Frame(Channel.STDIN, b"typed")


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates.open(tmp_path, ["127.0.0.1"], None, datetime.now(UTC))


@pytest.fixture
def stranger(tmp_path: Path) -> Certificates:
    (tmp_path / "other").mkdir()
    return Certificates.open(tmp_path / "other", ["127.0.0.1"], None, datetime.now(UTC))


@asynccontextmanager
async def box(certificates: Certificates, heard: list[web.Request]) -> AsyncIterator[str]:
    """The URL of a door with these certificates, that notes what it hears."""

    async def answer(request: web.Request) -> web.StreamResponse:
        heard.append(request)
        if request.path == "/v1/events":
            return web.Response(body=b'id: 7\ndata: {"kind": "x"}\n\n', content_type="text/event-stream")
        if request.path == "/shell":
            socket = web.WebSocketResponse()
            await socket.prepare(request)
            async for message in socket:
                await socket.send_bytes(message.data)
            return socket
        return web.json_response([])

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    async with asyncio.timeout(30):
        server = TestServer(application, scheme="https")
        await server.start_server(ssl=certificates.server_context(Door.OPERATOR))
        try:
            yield f"https://127.0.0.1:{server.port}"
        finally:
            await server.close()


async def test_questions_streams_and_shells_go_to_the_box_that_is_trusted(certificates: Certificates) -> None:
    heard: list[web.Request] = []
    async with box(certificates, heard) as url:
        connection = LastingConnection(url=url, token="secret", authority=certificates.authority_pem)
        async with Operator(connection) as operator:
            assert await operator.hardware.all() == []
            assert await anext(operator.events()) == (7, {"kind": "x"})
            async with connection.shell("/shell", tty=True) as shell:
                await shell.send_frame(FRAME)
                assert await shell.receive_frame() == FRAME

        async def ask() -> object:
            quick = QuickConnection(url=url, token="secret", authority=certificates.authority_pem)
            async with Operator(quick) as operator:
                return await operator.hardware.all()

        assert await asyncio.to_thread(lambda: answer_of(ask())) == []
    assert {each.headers["Authorization"] for each in heard} == {"Bearer secret"}


async def test_box_of_another_authority_hears_nothing(
    certificates: Certificates, stranger: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The connection waits for another look at what is shown, and that server is of this thread.
    monkeypatch.setattr("tinkbox.client.operator.connection.LOOK_SECONDS", 0.1)
    heard: list[web.Request] = []
    async with box(stranger, heard) as url:
        connection = LastingConnection(url=url, token="secret", authority=certificates.authority_pem)
        async with Operator(connection) as operator:
            with pytest.raises(Unreachable, match="does not lead to the authority that it has to"):
                await operator.hardware.all()
            with pytest.raises(Unavailable, match="the connection of the shell is broken"):
                async with connection.shell("/shell", tty=True):
                    pass
    assert heard == []


async def test_shown_authority_is_the_end_of_the_chain(certificates: Certificates) -> None:
    async with box(certificates, []) as url:
        shown = await asyncio.to_thread(shown_authority, url, 10)
        await asyncio.to_thread(verify, url, shown, 10)
    assert fingerprint_of(shown) == certificates.fingerprint


def test_damaged_authority_is_told() -> None:
    with pytest.raises(Unavailable, match="keeps of this box is damaged: `tinkbox logout` forgets it"):
        verify("https://127.0.0.1:1", "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n", 1)


@pytest.mark.parametrize("code", [62, 26])
async def test_certificate_whose_key_the_other_end_lacks_is_no_mistake_of_names_or_purposes(
    certificates: Certificates, code: int
) -> None:
    """As the public certificate of the authority itself, which has no names and is for no server."""

    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    error = ssl.SSLCertVerificationError()
    error.verify_code, error.verify_message = code, "Hostname mismatch"
    kept = certificates.authority_pem
    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        told = await asyncio.to_thread(distrusted, url, url, kept, error, 10)
    assert told.startswith(
        f"{url} shows a certificate that does not lead to the authority that it has to, so somebody may be"
    )
    assert f"\nhas to lead to: {fingerprint_of(kept)}\nNo handshake comes to an end" in told


def test_refusal_in_lines_is_one_line_where_there_is_room_for_one() -> None:
    refusal = Untrusted(
        "another. Nothing was sent.\naccepted: A\nnow:      B\nIf that is it:\n`tinkbox login` keeps it"
    )
    assert str(refusal) == "another. Nothing was sent. accepted: A; now: B; If that is it: `tinkbox login` keeps it"
    assert refusal.lines[1:3] == ["accepted: A", "now:      B"]
