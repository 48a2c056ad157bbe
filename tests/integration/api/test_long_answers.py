"""What is the longer the more there is takes little of the event loop at a time, however many ask for it."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from tests.integration.api.door import TOKEN, Door
from tests.integration.engine.appliance import HELLO, hardware, mac
from tests.loop_turns import AtOnce, turns
from tinkbox.api.routes.workflows import workflows
from tinkbox.engine.machines.machines import Machines, MachineStatus
from tinkbox.engine.turns import SLICE, Queue
from tinkbox.model.documents.hardware import parse_hardware

# Of what is asked without a key, what does not grow with machines and workflows, and what is streamed line by line.
SHORT = {
    "/healthz", "/openapi.json", "/v1/audit/export", "/v1/authority", "/v1/images", "/v1/images/descriptor", "/v1/images/referrers", "/v1/images/room", "/v1/login", "/v1/metadata/defaults", "/v1/osie", "/v1/services/logs", "/v1/system-images",
    "/v1/template-catalogue",
}  # fmt: skip


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Who had a turn, in their order."""
    people, turn = list[str](), Queue.turn

    @asynccontextmanager
    async def noted(self: Queue, who: str) -> AsyncIterator[None]:
        async with turn(self, who):
            people.append(who)
            yield

    monkeypatch.setattr(Queue, "turn", noted)
    return people


async def test_every_list_is_made_in_a_turn(door: Door, taken: list[str]) -> None:
    listed = {each.path for each in door.routes if each.method == "GET" and "{" not in each.path}
    assert listed >= SHORT
    without = set()
    for path in sorted(listed - {"/v1/events", "/v1/audit/watch"}):
        taken.clear()
        async with door.local.get(f"http://tinkbox{path}") as answer:
            await answer.read()
        if not taken:
            without.add(path)
    assert without == SHORT


async def test_what_a_list_of_workflows_keeps_to_the_end_is_counted(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is streamed, so that nothing else bounds how many there are that nobody reads."""
    counted = list[int]()

    @contextmanager
    def noted(_: web.Request, size: int) -> Iterator[None]:
        counted.append(size)
        yield
        counted.append(-size)

    monkeypatch.setattr(workflows, "unread", noted)
    await door.done("POST", "/v1/hardware", hardware(1))
    await door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO})
    for _ in range(3):
        await door.done("POST", "/v1/workflows", {"template": "hello", "hardware": {"device_1": mac(1)}})
    assert len(await door.done("GET", "/v1/workflows")) == 3
    assert counted == [24, -24]


async def test_events_that_may_be_many_are_read_in_a_turn(door: Door, taken: list[str]) -> None:
    async with door.local.get("http://tinkbox/v1/events", headers={"Last-Event-ID": "0"}) as answer:
        await answer.content.readline()
        await answer.content.readuntil(b"still here")
    assert len(taken) == 1


async def test_one_is_made_at_a_time_whoever_asks_and_wherever(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    made = AtOnce()

    async def slow(_: Machines, *__: object) -> list[MachineStatus]:
        await made.work()
        return []

    monkeypatch.setattr(Machines, "all", slow)
    monkeypatch.setattr(Machines, "listed", slow)
    tokens = [TOKEN, "look-token"]
    async with aiohttp.ClientSession() as remote, asyncio.TaskGroup() as asking:
        for path in ("/v1/status", "/v1/hardware", "/metrics"):
            asking.create_task(
                door.done("GET", path) if path != "/metrics" else _read(door.local, f"http://tinkbox{path}")
            )
            for token in tokens:
                asking.create_task(_read(remote, f"{door.url}{path}", token))
    assert made.seen == [1] * 9


async def _read(session: aiohttp.ClientSession, url: str, token: str = "") -> None:
    async with session.get(url, headers={"Authorization": f"Bearer {token}"} if token else {}) as answer:
        assert answer.status == 200
        await answer.read()


@pytest.mark.parametrize("path", ["/v1/status", "/v1/hardware?sort=name", "/v1/export"])
async def test_between_slices_others_have_their_turn(door: Door, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await door.box.machines.push(*(parse_hardware(json.dumps(hardware(each))) for each in range(3 * SLICE)))
    dumps = json.dumps
    async with turns() as encoded:

        def noted(*given: Any, **named: Any) -> str:
            encoded.note()
            return dumps(*given, **named)

        monkeypatch.setattr(json, "dumps", noted)
        async with door.local.get(f"http://tinkbox{path}") as answer:
            told = await answer.json()
    assert len(told if isinstance(told, list) else told.get("machines", told.get("items"))) == 3 * SLICE
    assert sum(encoded.each) >= 3 * SLICE
    assert max(encoded.each) <= SLICE + 1


async def test_who_went_away_waits_no_longer(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else those who ask and go would have more made than their connections allow."""
    asked, gone, go_on, turn = asyncio.Event(), asyncio.Event(), asyncio.Event(), Queue.turn

    @asynccontextmanager
    async def busy(self: Queue, who: str) -> AsyncIterator[None]:
        asked.set()
        try:
            await go_on.wait()
        finally:
            gone.set()
        async with turn(self, who):
            yield

    monkeypatch.setattr(Queue, "turn", busy)
    _, writer = await asyncio.open_unix_connection(door.path)
    writer.write(b"GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n")
    async with asyncio.timeout(60):
        await asked.wait()
        writer.close()
        await gone.wait()


async def test_a_load_ends_when_the_client_is_gone(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, gone = asyncio.Event(), asyncio.Event()

    async def endless(*_: object, **named: object) -> None:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            gone.set()

    monkeypatch.setattr(door.images, "load", endless)
    _, writer = await asyncio.open_unix_connection(door.path)
    writer.write(b"POST /v1/images HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx")
    async with asyncio.timeout(60):
        await asked.wait()
        writer.close()
        await gone.wait()
