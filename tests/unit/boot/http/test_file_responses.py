"""A file as it is sent to a real client, whole and in parts."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import ClientPayloadError, web
from aiohttp.test_utils import TestClient, TestServer

from tinkbox.boot.http.file_responses import Delivery

CONTENT = bytes(range(256)) * 40
Door = TestClient[web.Request, web.Application]


class Told:
    """Counts the deliveries: the server hears of one when the client has it already."""

    def __init__(self) -> None:
        self.times = 0
        self._again = asyncio.Event()

    def __call__(self) -> None:
        self.times += 1
        self._again.set()

    async def once_more(self) -> None:
        await asyncio.wait_for(self._again.wait(), 60)
        self._again.clear()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "vmlinuz").write_bytes(CONTENT)
    return tmp_path / "vmlinuz"


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
async def door(path: Path, told: Told) -> AsyncIterator[Door]:
    async def answer(_: web.Request) -> web.StreamResponse:
        return Delivery(path, "application/octet-stream", told)

    application = web.Application()
    application.router.add_get("/", answer)
    async with TestClient(TestServer(application)) as client:
        yield client


async def test_a_file_comes_whole_and_is_told(door: Door, told: Told) -> None:
    answer = await door.get("/")
    assert (answer.status, await answer.read()) == (200, CONTENT)
    assert answer.headers["Content-Length"] == "10240"
    assert answer.headers["Content-Type"] == "application/octet-stream"
    await told.once_more()
    assert told.times == 1


async def test_one_connection_serves_one_after_the_other(door: Door, told: Told) -> None:
    for _ in range(3):
        assert await (await door.get("/")).read() == CONTENT
        await told.once_more()


async def test_a_file_is_described_alike_whether_it_is_sent_whole_in_part_or_not_at_all(door: Door) -> None:
    whole = await door.get("/")
    others = [await door.head("/"), await door.get("/", headers={"Range": "bytes=0-9"})]
    for name in ("ETag", "Last-Modified", "Accept-Ranges", "Content-Type"):
        assert {each.headers[name] for each in others} == {whole.headers[name]}, name


async def test_who_has_it_already_is_not_sent_it_again(door: Door, told: Told) -> None:
    first = await door.get("/")
    await told.once_more()
    again = await door.get("/", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status, await again.read()) == (304, b"")
    assert told.times == 1


@pytest.mark.parametrize(("part", "status", "times"), [("0-9", 206, 0), ("10000-", 206, 1), ("-10240", 206, 1)])
async def test_a_part_is_told_when_it_is_the_last(door: Door, told: Told, part: str, status: int, times: int) -> None:
    answer = await door.get("/", headers={"Range": f"bytes={part}"})
    assert answer.status == status
    await answer.read()
    await door.head("/")  # whatever was to be told is, when the next request is answered
    assert told.times == times


async def test_an_empty_file_is_a_file(door: Door, path: Path, told: Told) -> None:
    path.write_bytes(b"")
    answer = await door.get("/")
    assert (answer.status, await answer.read(), answer.headers["Content-Length"]) == (200, b"", "0")
    await told.once_more()


async def test_a_file_that_went_away_is_not_found(door: Door, path: Path, told: Told) -> None:
    path.unlink()
    assert (await door.get("/")).status == 404
    assert told.times == 0


async def test_who_hangs_up_has_not_got_it(door: Door, path: Path, told: Told) -> None:
    with path.open("wb") as file:
        file.truncate(256 << 20)
    answer = await door.get("/")
    await answer.content.readexactly(1 << 20)
    answer.close()
    path.unlink()
    path.write_bytes(CONTENT)
    await (await door.get("/")).read()
    await told.once_more()
    assert told.times == 1


async def test_a_file_that_becomes_shorter_while_it_is_sent_ends_the_connection(
    door: Door, path: Path, told: Told
) -> None:
    with path.open("wb") as file:
        file.truncate(256 << 20)
    answer = await door.get("/")
    path.write_bytes(CONTENT)
    with pytest.raises(ClientPayloadError):
        await asyncio.wait_for(answer.read(), 60)
    assert told.times == 0
