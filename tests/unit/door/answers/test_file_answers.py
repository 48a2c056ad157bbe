"""Which part of a file a client gets, and when it gets all of it (RFC 9110 §13.1.5 and §14.2)."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from tinkbox.door.answers.file_answers import FileAnswer

CONTENT = bytes(range(256)) * 40
Door = TestClient[web.Request, web.Application]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "initramfs").write_bytes(CONTENT)
    return tmp_path / "initramfs"


@pytest.fixture
async def door(path: Path) -> AsyncIterator[Door]:
    async def answer(_: web.Request) -> web.StreamResponse:
        return FileAnswer(path)

    application = web.Application()
    application.router.add_get("/", answer)
    async with TestClient(TestServer(application)) as client:
        yield client


@pytest.mark.parametrize("validator", ["ETag", "Last-Modified"])
async def test_a_file_is_resumed_as_long_as_it_is_the_same(door: Door, path: Path, validator: str) -> None:
    known = (await door.head("/")).headers[validator]
    resuming = {"Range": "bytes=10000-", "If-Range": known}
    answer = await door.get("/", headers=resuming)
    assert (answer.status, await answer.read()) == (206, CONTENT[10000:])
    replaced = path.stat().st_mtime_ns + 10**10
    path.write_bytes(CONTENT[::-1])
    os.utime(path, ns=(replaced, replaced))
    answer = await door.get("/", headers=resuming)
    assert (answer.status, await answer.read()) == (200, CONTENT[::-1])
    assert "Content-Range" not in answer.headers


async def test_an_older_file_in_its_place_is_another_file(door: Door, path: Path) -> None:
    known = (await door.head("/")).headers["Last-Modified"]
    os.utime(path, (10**9, 10**9))
    answer = await door.get("/", headers={"Range": "bytes=10000-", "If-Range": known})
    assert (answer.status, await answer.read()) == (200, CONTENT)


@pytest.mark.parametrize("validator", ["W/{}", "{}, {}", "*", "yesterday", ""])
async def test_if_range_matches_one_strong_entity_tag_alone(door: Door, validator: str) -> None:
    known = (await door.head("/")).headers["ETag"]
    answer = await door.get("/", headers={"Range": "bytes=0-9", "If-Range": validator.format(known, known)})
    assert (answer.status, await answer.read()) == (200, CONTENT)


@pytest.mark.parametrize(
    "malformed",
    ["bytes=9-0", "bytes=a-b", "bytes=-", "bytes=", "bytes", "", "lines=0-9", "bytes=0-9 10-19"],
)
async def test_a_malformed_range_is_ignored(door: Door, malformed: str) -> None:
    answer = await door.get("/", headers={"Range": malformed})
    assert (answer.status, await answer.read()) == (200, CONTENT)


async def test_several_ranges_are_answered_by_the_whole_file(door: Door) -> None:
    answer = await door.get("/", headers={"Range": "bytes=0-9,20-29"})
    assert (answer.status, await answer.read()) == (200, CONTENT)
    assert answer.headers["Accept-Ranges"] == "bytes"


async def test_a_head_is_of_the_whole_file(door: Door) -> None:
    answer = await door.head("/", headers={"Range": "bytes=0-9"})
    assert (answer.status, answer.headers["Content-Length"]) == (200, str(len(CONTENT)))


@pytest.mark.parametrize(
    ("part", "content"),
    [("0-9", CONTENT[:10]), ("10230-", CONTENT[-10:]), ("-10", CONTENT[-10:]), ("10230-99999", CONTENT[-10:])],
)
async def test_one_range_is_sent(door: Door, part: str, content: bytes) -> None:
    answer = await door.get("/", headers={"Range": f"bytes={part}"})
    assert (answer.status, await answer.read()) == (206, content)


@pytest.mark.parametrize("behind", [f"bytes={len(CONTENT)}-", f"bytes={len(CONTENT)}-99999", "bytes=-0", "bytes=-00"])
async def test_one_range_behind_the_end_is_refused(door: Door, behind: str) -> None:
    answer = await door.get("/", headers={"Range": behind})
    assert (answer.status, answer.headers["Content-Range"]) == (416, f"bytes */{len(CONTENT)}")
    assert answer.content_type == "application/problem+json"
    refusal = await answer.json(content_type=None)
    assert (refusal["type"], refusal["status"]) == ("/problems/requested-range-not-satisfiable", 416)
    assert (await door.get("/", headers={"Range": "bytes=0-1"})).status == 206  # on the same connection
