"""Files that are sent to a client which takes nothing of them."""

import asyncio
import errno
import logging
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.test_utils import TestServer

from tinkbox.boot.http.file_responses import Delivery
from tinkbox.door.answers.file_answers import FileAnswer

PATIENCE_MS = 200  # the kernel's own is a quarter of an hour


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with (tmp_path / "initramfs").open("wb") as file:
        file.truncate(256 << 20)
    return tmp_path / "initramfs"


async def end_of(answer: Callable[[], web.FileResponse], headers: str) -> None:
    """Ask with a small window, take nothing, and wait until the server is through with the connection."""
    serving: asyncio.Future[asyncio.Task[None]] = asyncio.get_running_loop().create_future()

    async def handler(request: web.Request) -> web.StreamResponse:
        connection = request.get_extra_info("socket")
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, PATIENCE_MS)
        serving.set_result(request.task)
        return answer()

    application = web.Application()
    application.router.add_get("/", handler)
    async with TestServer(application) as server, asyncio.timeout(60):
        with socket.socket() as client:
            client.setblocking(False)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(client, ("127.0.0.1", server.port))
            await loop.sock_sendall(client, f"GET / HTTP/1.1\r\nHost: x\r\n{headers}\r\n".encode())
            await asyncio.wait([await serving])


@pytest.mark.parametrize("headers", ["", "Range: bytes=100-\r\n"])
async def test_a_client_that_takes_nothing_ends_its_boot_file_without_a_traceback(
    path: Path, headers: str, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[None] = []
    await end_of(lambda: Delivery(path, "application/octet-stream", lambda: told.append(None)), headers)
    assert [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR] == []
    assert told == []


async def test_a_client_that_takes_nothing_ends_any_other_file_likewise(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await end_of(lambda: FileAnswer(path), "")
    assert [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR] == []


@pytest.mark.parametrize(
    ("number", "ordinary"),
    [(errno.EHOSTUNREACH, True), (errno.ENETUNREACH, True), (errno.EIO, False), (errno.EMFILE, False)],
)
async def test_a_client_out_of_reach_is_no_error_and_a_broken_disk_is_one(
    path: Path, caplog: pytest.LogCaptureFixture, number: int, ordinary: bool
) -> None:
    class Breaking(FileAnswer):
        async def send(self, _: web.BaseRequest) -> AbstractStreamWriter | None:
            raise OSError(number, "broken")

    await end_of(lambda: Breaking(path), "")
    assert ("Unhandled exception" not in caplog.text) is ordinary
