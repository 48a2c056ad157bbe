"""The operator's client against a door that records what it is asked."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.unit.client.recording_door import RecordingDoor, served
from tinkbox.client.operator import Operator, Unreachable, lasting_connection, quick_connection
from tinkbox.client.operator.lasting_connection import LastingConnection
from tinkbox.client.refusals import Unanswered
from tinkbox.model.errors import Denied, NotFound, Unavailable


@asynccontextmanager
async def operator_of(door: RecordingDoor, folder: Path, token: str = "") -> AsyncIterator[Operator]:
    async with served(door, folder) as socket, Operator(LastingConnection(socket=socket, token=token)) as operator:
        yield operator


@pytest.mark.parametrize(
    ("key", "sent"),
    [
        ("08:00:27:00:00:01", "08:00:27:00:00:01"),
        ("a/b?c#d", "a%2Fb%3Fc%23d"),
        ("täglich 100%", "t%C3%A4glich%20100%25"),
    ],
)
async def test_a_key_of_any_letters_stays_one_part_of_the_path(tmp_path: Path, key: str, sent: str) -> None:
    door = RecordingDoor()
    async with operator_of(door, tmp_path) as operator:
        await operator.hardware.get(key)
        assert door.asked == [("GET", f"/v1/hardware/{sent}", b"")]


async def test_the_token_is_shown_when_there_is_one(tmp_path: Path) -> None:
    door = RecordingDoor(answer=b"[]")
    async with operator_of(door, tmp_path, token="secret") as operator:
        await operator.hardware.all()
        assert door.headers["Authorization"] == "Bearer secret"
    async with operator_of(door, tmp_path) as operator:
        await operator.hardware.all()
        assert "Authorization" not in door.headers


async def test_what_is_sent_is_json_or_the_bytes_as_given(tmp_path: Path) -> None:
    door = RecordingDoor()
    (tmp_path / "archive").write_bytes(b"\x00archive")
    async with operator_of(door, tmp_path) as operator:
        await operator.hardware.push(b"not even json")
        await operator.templates.update("x", None, "text")
        await operator.workflows.create("t", {"device_1": "08:00:27:00:00:01"})
        door.answer = b'{"loaded": ["a:v1"]}'
        assert await operator.images.load(tmp_path / "archive") == ["a:v1"]
        await operator.images.delete("a&b=c:v1")
    assert [body for _, _, body in door.asked[:1]] == [b"not even json"]
    assert json.loads(door.asked[1][2]) == {"name": None, "data": "text"}
    assert json.loads(door.asked[2][2]) == {"template": "t", "hardware": {"device_1": "08:00:27:00:00:01"}}
    assert door.asked[3] == ("POST", "/v1/images", b"\x00archive")
    assert door.asked[4][1] == "/v1/images?reference=a%26b%3Dc:v1"


async def test_what_is_asked_about_breakpoints(tmp_path: Path) -> None:
    door = RecordingDoor()
    one = "/v1/workflows/w%2F1/breakpoints"
    async with operator_of(door, tmp_path) as operator:
        await operator.breakpoints.get("w/1")
        await operator.breakpoints.arm("w/1", {"on_failure": True})
        await operator.breakpoints.clear("w/1", {})
        await operator.breakpoints.decide("w/1", {"verb": "fail"})
        await operator.breakpoints.extend("w/1", 60, "why")
        await operator.workflows.create("t", {}, {"on_failure": True})
        await operator.workflows.create_from("kind: Workflow", {"after": ["a"]})
        door.answer = b"[]"
        await operator.breakpoints.all()
    assert [(method, path, json.loads(body or b"null")) for method, path, body in door.asked] == [
        ("GET", one, None),
        ("POST", f"{one}/arm", {"on_failure": True}),
        ("POST", f"{one}/clear", {}),
        ("POST", f"{one}/verdict", {"verb": "fail"}),
        ("POST", f"{one}/extend", {"seconds": 60, "why": "why"}),
        ("POST", "/v1/workflows", {"template": "t", "hardware": {}, "breakpoints": {"on_failure": True}}),
        ("POST", "/v1/workflows", {"documents": "kind: Workflow", "breakpoints": {"after": ["a"]}}),
        ("GET", "/v1/breakpoints", None),
    ]


async def test_events_come_with_the_number_to_go_on_from(tmp_path: Path) -> None:
    door = RecordingDoor(
        answer=b'id: 4\n\n: still here\n\nid: 5\nevent: a\ndata: {"kind": "a: b"}\n\nid: 6\ndata: {"cut'
    )
    async with operator_of(door, tmp_path) as operator:
        assert [each async for each in operator.events()] == [(4, None), (5, {"kind": "a: b"})]
        assert "Last-Event-ID" not in door.headers
        assert [number async for number, _ in operator.events(5)] == [4, 5]
        assert door.headers["Last-Event-ID"] == "5"


class CutUp(LastingConnection):
    """Gets what the appliance streams cut at a byte."""

    def __init__(self, stream: bytes, cut: int) -> None:
        super().__init__(url="http://nobody")
        self._pieces = (stream[:cut], stream[cut:])

    async def stream(self, path: str, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


async def test_events_may_be_cut_anywhere_on_their_way() -> None:
    stream = 'id: 5\nevent: a\ndata: {"kind": "täglich"}\n\n: still here\n\nid: 6\ndata: {}\n\n'.encode()
    for cut in range(len(stream)):
        operator = Operator(LastingConnection(url="http://nobody"))
        operator.connection = CutUp(stream, cut)
        assert [each async for each in operator.events()] == [(5, {"kind": "täglich"}), (6, {})], cut


@pytest.mark.parametrize("answer", [b"<html>", b"null", b"7", b"\xff"])
async def test_an_answer_that_is_no_document_is_told(tmp_path: Path, answer: bytes) -> None:
    door = RecordingDoor(answer=answer)
    async with operator_of(door, tmp_path) as operator:
        for question in (operator.hardware.all(), operator.hardware.get("x")):
            with pytest.raises(Unavailable, match="is that an appliance of this version"):
                await question


async def test_an_answer_without_what_is_asked_of_it_is_told(tmp_path: Path) -> None:
    door = RecordingDoor(answer=b'{"metadata": {}}')
    async with operator_of(door, tmp_path) as operator:
        answer = await operator.hardware.get("x")
        with pytest.raises(Unavailable, match="answered without 'id': is that an appliance of this version"):
            answer["metadata"]["id"]


@pytest.mark.parametrize("status", [200, 404])
async def test_an_answer_without_an_end_is_not_read_to_it(
    tmp_path: Path, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (quick_connection, lasting_connection):
        monkeypatch.setattr(module, "MOST_ANSWERED", 1000)
    door = RecordingDoor(answer=b"[" + b" " * 2000, status=status)
    async with operator_of(door, tmp_path) as operator:
        with pytest.raises(
            Unavailable, match=r"answered /v1/hardware with more than 64 MiB.*ask for one by its id"
        ) as refusal:
            await operator.hardware.all()
        assert "of this version" not in str(refusal.value)


async def test_nobody_there_is_told_with_the_place_and_the_remedy(tmp_path: Path) -> None:
    async with Operator(LastingConnection(socket=tmp_path / "nobody")) as operator:
        with pytest.raises(Unreachable, match="is `tinkbox serve` running") as refusal:
            await operator.hardware.all()
        assert str(refusal.value).startswith(f"no appliance answers at {tmp_path}/nobody (No such file or directory): ")
        assert "`systemctl start tinkbox`" in str(refusal.value)
    with pytest.raises(Unreachable) as refusal:
        async with Operator(LastingConnection(url="http://127.0.0.1:1")) as operator:
            await operator.hardware.all()
    assert "systemctl" not in str(refusal.value), "that host is another one"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up its rights")
async def test_whoever_may_not_use_the_door_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    async with Operator(LastingConnection(socket=tmp_path / "data/operator.sock")) as operator:
        os.seteuid(65534)
        try:
            with pytest.raises(
                Unreachable, match=r"no right to use .*/operator\.sock: run as the user of the appliance"
            ):
                await operator.hardware.all()
        finally:
            os.seteuid(0)


async def test_a_stream_that_is_cut_off_is_told_after_what_came(tmp_path: Path) -> None:
    door = RecordingDoor(answer=b'id: 3\ndata: {"output": ""}\n\nid: 4\ndata: {"outp', broken=True)
    async with operator_of(door, tmp_path) as operator:
        stream = operator.workflows.output("x", follow=True)
        assert await anext(stream) == ("3", {"output": ""})
        with pytest.raises(Unreachable):
            await anext(stream)


async def test_output_ends_only_when_the_appliance_says_so(tmp_path: Path) -> None:
    door = RecordingDoor(answer=b'id: 0\n\nid: 5.2\nevent: output\ndata: {"output": "eA=="}\n\n')
    async with operator_of(door, tmp_path) as operator:
        read = []

        async def read_on() -> None:
            async for each in operator.workflows.output("a/b", follow=False):
                read.append(each)

        with pytest.raises(Unreachable, match="ended the connection in the middle of its answer"):
            await read_on()
        door.answer += b"event: end\ndata: {}\n\n"
        assert [each async for each in operator.workflows.output("a/b", "5.2", follow=True)] == read
    assert read == [("0", None), ("5.2", {"output": "eA=="})]
    assert [path for _, path, _ in door.asked] == [f"/v1/workflows/a%2Fb/logs?follow={number}" for number in (0, 1)]
    assert (door.headers["Last-Event-ID"], door.headers["Accept"]) == ("5.2", "text/event-stream")


async def test_what_is_followed_with_a_token_that_ends_says_so(tmp_path: Path) -> None:
    denied = b'event: denied\ndata: {"detail": "the token was revoked: what was under way with it has ended"}\n\n'
    door = RecordingDoor(answer=b"id: 0\n\n" + denied)
    async with operator_of(door, tmp_path) as operator:
        stream = operator.workflows.output("a", follow=True)
        assert await anext(stream) == ("0", None)
        with pytest.raises(Denied, match=r"^the token was revoked"):
            await anext(stream)


@pytest.mark.parametrize("asked", ["stream", "list"])
async def test_an_answer_that_is_cut_off_is_told_in_plain_words(tmp_path: Path, asked: str) -> None:
    """A stopped appliance ends its answers in their middle."""

    async def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\nid: 4\n\n\r\n")
        await writer.drain()
        writer.close()

    socket = tmp_path / "s"
    server = await asyncio.start_unix_server(begin, socket)
    told = (
        f"^{socket} ended the connection in the middle of its answer: was the appliance stopped, or restarted\\? "
        "`systemctl status tinkbox` tells. If it runs, its log has the reason$"
    )
    async with server, Operator(LastingConnection(socket=socket)) as operator:
        seen: list[int] = []

        async def look() -> None:
            if asked == "list":
                await operator.workflows.found({})
            async for number, _ in operator.events():
                seen.append(number)

        with pytest.raises(Unreachable, match=told):
            await look()
        assert seen == ([4] if asked == "stream" else [])


@pytest.mark.parametrize("begun", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"])
async def test_a_change_whose_answer_does_not_come_may_be_made_all_the_same(tmp_path: Path, begun: bytes) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(begun)
        writer.close()

    async with Operator(LastingConnection(socket=tmp_path / "s")) as operator:
        server = await asyncio.start_unix_server(hang_up, tmp_path / "s")
        async with server:
            with pytest.raises(Unanswered, match=r"/s did not answer POST /v1/workflows/x/cancel .*may be done all"):
                await operator.workflows.cancel("x")
            with pytest.raises(Unreachable):
                await operator.workflows.get("x")
            with pytest.raises(Unreachable):  # a POST that changes nothing
                await operator.images.absent(["sha256:x"])
        (tmp_path / "s").unlink(missing_ok=True)
        with pytest.raises(Unreachable):
            await operator.workflows.cancel("x")


async def test_a_workflow_is_canceled_and_retried(tmp_path: Path) -> None:
    door = RecordingDoor()
    async with operator_of(door, tmp_path) as operator:
        await operator.workflows.cancel("a b")
        await operator.workflows.retry("a b", "os/disk")
    assert [(method, path) for method, path, _ in door.asked] == [
        ("POST", "/v1/workflows/a%20b/cancel"), ("POST", "/v1/workflows/a%20b/retry"),
    ]  # fmt: skip
    assert json.loads(door.asked[1][2]) == {"from": "os/disk"}


async def test_refusals_come_back_from_documents_and_streams(tmp_path: Path) -> None:
    door = RecordingDoor(answer=b'{"detail": "no such workflow"}', status=404)
    async with operator_of(door, tmp_path) as operator:
        with pytest.raises(NotFound, match="no such workflow"):
            await operator.workflows.get("x")
        with pytest.raises(NotFound, match="no such workflow"):
            await anext(operator.workflows.output("x", follow=False))
        door.status = 401
        with pytest.raises(Denied):
            await operator.status()
