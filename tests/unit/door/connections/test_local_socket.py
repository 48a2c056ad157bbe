"""A door's unix socket whose file goes while it is listened on."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NoReturn

import pytest

from tinkbox.door.connections.local_socket import LocalSocket
from tinkbox.model.errors import Unavailable


def binding(path: Path) -> Callable[[], socket.socket]:
    def bind() -> socket.socket:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            path.unlink(missing_ok=True)
            made.bind(str(path))
        except OSError as error:
            made.close()
            raise Unavailable(f"cannot listen: {error.strerror}") from None
        made.listen(8)
        made.setblocking(False)
        return made

    return bind


async def accept(listening: socket.socket) -> NoReturn:
    """Answers whoever comes."""
    loop = asyncio.get_running_loop()
    while True:
        connection, _ = await loop.sock_accept(listening)
        await loop.sock_sendall(connection, b"here")
        connection.close()


@asynccontextmanager
async def served(path: Path) -> AsyncIterator[LocalSocket]:
    local = LocalSocket(path, binding(path), every=0.01)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        serving = group.create_task(local.serve(accept))
        yield local
        serving.cancel()
    local.close()


def asked(path: Path) -> bytes:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(60)
        asking.connect(str(path))
        return asking.recv(4)


async def answers(path: Path) -> None:
    """Until somebody answers there."""
    while True:
        try:
            assert await asyncio.to_thread(asked, path) == b"here"
        except OSError:
            await asyncio.to_thread(int)
        else:
            return


async def test_a_file_that_is_deleted_or_replaced_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "s"
    async with served(path):
        await answers(path)
        path.unlink()
        await answers(path)
        (tmp_path / "other").touch()
        (tmp_path / "other").rename(path)
        await answers(path)


async def test_what_cannot_be_made_anew_is_told_until_it_can(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "s"
    async with served(path) as local:
        path.unlink()
        path.mkdir()
        while not local.problem:
            await asyncio.to_thread(int)
        assert local.problem == "cannot listen: Is a directory"
        path.rmdir()
        await answers(path)
        assert local.problem == ""
    said = [each.getMessage() for each in caplog.records if "s is gone" in each.getMessage()]
    assert said == [f"{path} is gone, and cannot be made anew: cannot listen: Is a directory"], "once"
