"""Events and output as streams: nothing lost, nothing twice, an end when there is one."""

import asyncio
import json
from collections.abc import AsyncIterator
from uuid import UUID

import aiohttp
import pytest

from tests.integration.api.door import Door
from tests.integration.api.resuming import Resuming
from tests.integration.engine.appliance import Appliance
from tinkbox.model.workflow import State
from tinkbox.store import output

SOON = 60.0


async def events(door: Door, after: int | None = None) -> AsyncIterator[tuple[int, str]]:
    """Number and kind of each event of one connection; the kind is empty for the number it begins from."""
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    async with door.local.get("http://tinkbox/v1/events", headers=headers) as response:
        assert response.content_type == "text/event-stream"
        fields: dict[str, str] = {}
        async for line in response.content:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                fields[name] = value
            elif "id" in fields:
                if "data" in fields:
                    assert json.loads(fields["data"])["kind"] == fields["event"]
                yield int(fields["id"]), fields.get("event", "")
                fields = {}


async def take(stream: AsyncIterator[tuple[int, str]], count: int) -> list[tuple[int, str]]:
    async with asyncio.timeout(SOON):
        return [await anext(stream) for _ in range(count)]


async def test_only_what_happens_from_now_on_is_told_without_a_last_event_id(door: Door) -> None:
    worker = await door.box.machine(1)
    await door.box.workflow()
    stream = events(door)
    assert await take(stream, 1) == [(1, "")]
    await door.box.finish(worker)
    told = await take(stream, 6)
    assert [kind for _, kind in told] == [
        "workflow.started", "action.started", "action.succeeded", "action.started", "action.succeeded",
        "workflow.succeeded",
    ]  # fmt: skip
    assert [number for number, _ in told] == list(range(2, 8))


async def test_events_resume_where_they_were_cut_off_without_loss_or_repetition(door: Door) -> None:
    worker = await door.box.machine(1)
    for _ in range(3):
        await door.box.workflow()
        await door.box.finish(worker)
    whole = (await take(events(door, 0), 22))[1:]
    assert [number for number, _ in whole] == list(range(1, 22))
    told: list[tuple[int, str]] = []
    last = 0
    for count in (1, 2, 5, 13):
        begun, *new = await take(events(door, last), count + 1)
        assert begun == (last, "")
        told += new
        last = told[-1][0]
    assert told == whole


async def test_who_was_cut_off_before_the_first_event_loses_none(door: Door) -> None:
    await door.box.machine(1)
    ((begun, _),) = await take(events(door), 1)
    await door.box.workflow()
    assert await take(events(door, begun), 2) == [(begun, ""), (1, "workflow.created")]


async def test_each_event_is_told_once_however_they_come(door: Door) -> None:
    await door.box.machine(1)
    stream = events(door)
    await take(stream, 1)
    for number in range(1, 16):
        await door.box.workflow()
        assert await take(stream, 1) == [(number, "workflow.created")]


async def test_numbers_that_went_with_a_deleted_workflow_repeat_nothing(door: Door) -> None:
    await door.box.machine(1)
    for _ in range(3):
        await door.box.workflows.delete(await door.box.workflow())
    await door.box.workflow()
    stream = events(door, 0)
    assert await take(stream, 2) == [(0, ""), (4, "workflow.created")]
    await door.box.workflow()
    assert await take(stream, 1) == [(5, "workflow.created")]


async def test_who_goes_on_from_a_place_that_is_not_there_begins_anew_and_sees_it(door: Door) -> None:
    """The store was put back to an earlier day: what comes is not swallowed until its numbers have caught up."""
    await door.box.machine(1)
    workflow_id = await door.box.workflow()
    stream = events(door, 999_999)
    assert await take(stream, 2) == [(0, ""), (1, "workflow.created")]
    await door.box.workflow()
    assert await take(stream, 1) == [(2, "workflow.created")]
    path = f"/v1/workflows/{workflow_id}/events?after="
    assert await door.done("GET", f"{path}99") == await door.done("GET", f"{path}0") != []


async def test_the_place_of_an_event_that_went_with_its_workflow_is_one_to_go_on_from(door: Door) -> None:
    await door.box.machine(1)
    await door.box.workflow()
    ((newest, _),) = await take(events(door), 1)
    gone = await door.box.workflow()
    await door.box.workflows.delete(gone)
    assert await take(events(door, newest + 1), 1) == [(newest + 1, "")]


async def test_events_behind_a_number_are_asked_for_in_the_query_too(door: Door) -> None:
    await door.box.machine(1)
    await door.box.workflow()
    for query, begun in (("?after=0", b"id: 0\n"), ("?after=1", b"id: 1\n"), ("?after=2", b"id: 0\n")):
        async with door.local.get(f"http://tinkbox/v1/events{query}") as response, asyncio.timeout(SOON):
            assert await response.content.readline() == begun, query
    assert (await door.ask("GET", "/v1/events?after=-1"))[0] == 422


async def test_several_listeners_each_get_everything(door: Door) -> None:
    await door.box.machine(1)
    streams = [events(door, 0) for _ in range(3)]
    for stream in streams:
        await take(stream, 1)
    await door.box.workflow()
    for stream in streams:
        assert await take(stream, 1) == [(1, "workflow.created")]


@pytest.mark.parametrize("header", ["-1", "x", "9" * 40, "1.5"])
async def test_an_event_id_that_is_none_is_refused_as_in_the_query(door: Door, header: str) -> None:
    headers = {"Last-Event-ID": header}
    async with door.local.get("http://tinkbox/v1/events", headers=headers) as response, asyncio.timeout(SOON):
        assert (response.status, (await response.json())["detail"].partition(",")[0]) == (
            422,
            "Last-Event-ID is the number of an event",
        )


async def test_an_empty_event_id_is_as_good_as_none(door: Door) -> None:
    await door.box.machine(1)
    await door.box.workflow()
    headers = {"Last-Event-ID": ""}
    async with door.local.get("http://tinkbox/v1/events", headers=headers) as response, asyncio.timeout(SOON):
        assert await response.content.readline() == b"id: 1\n"


async def test_a_listener_that_goes_away_disturbs_nobody(door: Door) -> None:
    await door.box.machine(1)
    stays = events(door)
    await take(stays, 1)
    async with aiohttp.ClientSession(connector=aiohttp.UnixConnector(door.path)) as session:
        response = await session.get("http://tinkbox/v1/events")
        await response.content.readline()
        response.close()
    await door.box.workflow()
    assert await take(stays, 1) == [(1, "workflow.created")]


class Reader:
    """What a follower of a workflow's output has read so far."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response
        self.text = b""

    async def until(self, ending: bytes) -> bytes:
        async with asyncio.timeout(SOON):
            while not self.text.endswith(ending):
                chunk = await self.response.content.readany()
                assert chunk, f"the stream ended after {self.text!r}"
                self.text += chunk
        return self.text

    async def rest(self) -> bytes:
        async with asyncio.timeout(SOON):
            return self.text + await self.response.content.read()


async def say(box: Appliance, worker: str, attempt: str, offset: int, text: bytes) -> int:
    return await box.attempts.output(worker, attempt, offset, text)


async def test_output_is_followed_until_the_workflow_is_over(door: Door) -> None:
    worker = await door.box.machine(1)
    workflow_id = await door.box.workflow()
    async with door.local.get(f"http://tinkbox/v1/workflows/{workflow_id}/logs?follow=1") as response:
        reader = Reader(response)
        offer = await door.box.offer(worker)
        assert offer is not None
        offset = await say(door.box, worker, offer.attempt, 0, b"10 %\r")
        await reader.until(b"==> hello world / hello_world <==\n10 %\r")
        await say(door.box, worker, offer.attempt, offset, b"20 %\r\xff\n")
        await reader.until(b"20 %\r\xff\n")
        await door.box.report(worker, offer)
        offer = await door.box.offer(worker)
        assert offer is not None
        await say(door.box, worker, offer.attempt, 0, b"last words")
        await door.box.report(worker, offer, State.FAILED)
        assert await reader.rest() == (
            b"==> hello world / hello_world <==\n10 %\r20 %\r\xff\n==> hello world / second <==\nlast words"
        )


async def test_without_following_it_is_what_there_is_now(door: Door) -> None:
    worker = await door.box.machine(1)
    workflow_id = await door.box.workflow()
    for query in ("", "?follow=0", "?follow=false"):
        async with door.local.get(f"http://tinkbox/v1/workflows/{workflow_id}/logs{query}") as response:
            assert await Reader(response).rest() == b""
    offer = await door.box.offer(worker)
    assert offer is not None
    await say(door.box, worker, offer.attempt, 0, b"x")
    async with door.local.get(f"http://tinkbox/v1/workflows/{workflow_id}/logs") as response:
        assert await Reader(response).rest() == b"==> hello world / hello_world <==\nx"


async def test_each_attempt_has_a_line_of_its_own(door: Door) -> None:
    worker = await door.box.machine(1)
    workflow_id = await door.box.workflow()
    for said in (b"one\n", b"two\n"):
        offer = await door.box.offer(worker)
        assert offer is not None
        await say(door.box, worker, offer.attempt, 0, said)
        await door.box.report(worker, offer, State.FAILED)
        await door.box.workflows.retry(workflow_id)
    async with door.local.get(f"http://tinkbox/v1/workflows/{workflow_id}/logs") as response:
        assert await Reader(response).rest() == (
            b"==> hello world / hello_world <==\none\n==> hello world / hello_world, attempt 2 <==\ntwo\n"
        )


def resuming(door: Door, workflow_id: str) -> Resuming:
    return Resuming(door, f"http://tinkbox/v1/workflows/{workflow_id}/logs", "attempt")


async def test_output_resumes_at_every_piece_without_loss_or_repetition(door: Door) -> None:
    worker = await door.box.machine(1)
    workflow_id = await door.box.workflow()
    reader = resuming(door, workflow_id)
    assert await reader.read()
    whole: dict[str, bytes] = {}
    for number in range(3):
        offer = await door.box.offer(worker)
        assert offer is not None
        whole[offer.attempt] = b""
        for line in range(4):
            chunk = f"attempt {number} \xff line {line}\r".encode("latin-1")
            await say(door.box, worker, offer.attempt, len(whole[offer.attempt]), chunk)
            whole[offer.attempt] += chunk
            if line % 2:
                assert not await reader.read(follow=True, pieces=1)
        await door.box.report(worker, offer, State.FAILED)
        if number < 2:
            await door.box.workflows.retry(workflow_id)
    for _ in range(20):
        ended = await reader.read(follow=True, pieces=2)
        if ended:
            break
    assert ended
    assert reader.text() == whole
    assert [(each["task"], each["action"], each["number"]) for each in reader.pieces if not each["start"]] == [
        ("hello world", "hello_world", number) for number in (1, 2, 3)
    ]
    read = len(reader.pieces)
    assert await reader.read()
    assert len(reader.pieces) == read


async def test_what_a_former_attempt_sent_while_the_reader_was_away_is_not_lost(door: Door) -> None:
    worker = await door.box.machine(1)
    workflow_id = await door.box.workflow()
    reader = resuming(door, workflow_id)
    first = await door.box.offer(worker)
    assert first is not None
    await say(door.box, worker, first.attempt, 0, b"begun, ")
    await reader.read(follow=True, pieces=1)
    await say(door.box, worker, first.attempt, 7, b"ended")
    await door.box.report(worker, first, State.FAILED)
    await door.box.workflows.retry(workflow_id)
    second = await door.box.offer(worker)
    assert second is not None
    await say(door.box, worker, second.attempt, 0, b"again")
    await reader.read(follow=True, pieces=2)
    assert reader.text() == {first.attempt: b"begun, ended", second.attempt: b"again"}


async def test_a_reader_is_told_what_was_dropped_while_it_was_away(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "HEAD", 1000)
    monkeypatch.setattr(output, "TAIL", 1000)
    monkeypatch.setattr(output, "BLOCK", 0)
    worker = await door.box.machine(1)
    workflow_id = await door.box.workflow()
    offer = await door.box.offer(worker)
    assert offer is not None
    reader = resuming(door, workflow_id)
    for offset in range(0, 5000, 500):
        await say(door.box, worker, offer.attempt, offset, f"from {offset:<495}".encode())
        if offset == 500:
            await reader.read(follow=True, pieces=2)
    await reader.read()
    assert [(each["start"], each["missing"]) for each in reader.pieces] == [(0, 0), (500, 0), (4000, 3000), (4500, 0)]


@pytest.mark.parametrize("place", ["x", "1.x", "-1", ".", "9" * 40, "٣"])
async def test_a_place_that_is_none_is_the_beginning(door: Door, place: str) -> None:
    worker = await door.box.machine(1)
    reader = resuming(door, await door.box.workflow())
    offer = await door.box.offer(worker)
    assert offer is not None
    await say(door.box, worker, offer.attempt, 0, b"hello")
    reader.place = place
    await reader.read()
    assert reader.text() == {offer.attempt: b"hello"}


async def test_a_workflow_that_is_deleted_meanwhile_ends_its_output(door: Door) -> None:
    await door.box.machine(1)
    workflow_id = await door.box.workflow()
    async with door.local.get(f"http://tinkbox/v1/workflows/{workflow_id}/logs?follow=1") as response:
        assert response.status == 200
        await door.done("DELETE", f"/v1/workflows/{workflow_id}")
        assert await Reader(response).rest() == b""


async def test_output_of_an_unknown_workflow_is_404(door: Door) -> None:
    status, problem = await door.ask("GET", f"/v1/workflows/{UUID(int=9)}/logs?follow=1")
    assert (status, problem["type"]) == (404, "/problems/notfound")


async def test_what_was_not_kept_of_the_output_is_told(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "HEAD", 1000)
    monkeypatch.setattr(output, "TAIL", 1000)
    monkeypatch.setattr(output, "BLOCK", 0)
    worker = await door.box.machine(1)
    workflow_id = await door.box.workflow()
    offer = await door.box.offer(worker)
    assert offer is not None
    for offset in range(0, 5000, 500):
        await say(door.box, worker, offer.attempt, offset, f"from {offset:<495}".encode())
    async with door.local.get(f"http://tinkbox/v1/workflows/{workflow_id}/logs") as response:
        text = await Reader(response).rest()
    assert " ".join(text.decode().split()) == (
        "==> hello world / hello_world <== from 0 from 500 [3000 bytes were not kept] from 4000 from 4500"
    )


async def test_who_follows_what_is_not_printed_yet_gets_the_headers_at_once(door: Door) -> None:
    await door.box.machine(1)
    workflow_id = await door.box.workflow()
    path = f"http://tinkbox/v1/workflows/{workflow_id}/logs?follow=1"
    async with asyncio.timeout(SOON), door.local.get(path) as response:
        assert (response.status, response.headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
