"""`/v1/events` for a token with a scope: what happens within, in places that count nothing outside."""

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any
from uuid import UUID

import aiohttp
import pytest

from tests.integration.api.test_scopes import IN, OUT, Rack, made, rack
from tests.integration.engine.appliance import hardware
from tinkbox.api import event_stream
from tinkbox.engine.people.tokens import LEFT_SCOPE
from tinkbox.model.workflow import State

__all__ = ["rack"]
SOON = 60.0
QUIET = ": still here"


async def lines(rack: Rack, last: str = "", query: str = "") -> AsyncIterator[str]:
    """The lines of one connection, without empty ones."""
    headers = {"Last-Event-ID": last} if last else {}
    async with rack.session.get(f"{rack.door.url}/v1/events{query}", headers=headers) as response:
        assert response.status == 200, await response.text()
        async for line in response.content:
            if line.strip():
                yield line.decode().strip()


async def until_quiet(stream: AsyncIterator[str]) -> list[str]:
    """What comes until nothing is left to tell."""
    told = list[str]()
    async with asyncio.timeout(SOON):
        async for line in stream:
            if line == QUIET:
                break
            told.append(line)
    return told


def ids(told: list[str]) -> list[str]:
    return [each.removeprefix("id: ") for each in told if each.startswith("id: ")]


def documents(told: list[str]) -> list[dict[str, Any]]:
    return [json.loads(each.removeprefix("data: ")) for each in told if each.startswith("data: ")]


async def finished(rack: Rack, number: int) -> str:
    workflow = await made(rack.door, number)
    worker = str(hardware(number)["id"])
    offer = await rack.door.box.offer(worker)
    assert offer is not None
    await rack.door.box.report(worker, offer, State.FAILED, reason="Mine", message="of my own")
    return workflow


async def test_events_of_workflows_within_are_told_and_no_others(rack: Rack) -> None:
    await finished(rack, OUT)
    mine = await finished(rack, IN)
    await finished(rack, OUT)
    told = await until_quiet(lines(rack, query="?after=0"))
    assert {each["workflow_id"] for each in documents(told)} == {mine}
    assert documents(told)[0]["kind"] == "workflow.created"
    assert ids(told) == ["0", *(f"{mine}:{each['number']}" for each in documents(told))]


async def test_what_is_told_within_a_scope_is_the_same_whatever_happens_outside(rack: Rack) -> None:
    mine = await finished(rack, IN)
    before = await until_quiet(lines(rack, query="?after=0"))
    (now,) = ids(await until_quiet(lines(rack)))
    assert now == ids(before)[-1]
    await finished(rack, OUT)
    assert await until_quiet(lines(rack, query="?after=0")) == before
    assert ids(await until_quiet(lines(rack))) == [now]
    assert now.startswith(f"{mine}:")


async def test_events_within_resume_from_every_place_without_loss_or_repetition(rack: Rack) -> None:
    for number in (OUT, IN, OUT, IN):
        await finished(rack, number)
    whole = await until_quiet(lines(rack, query="?after=0"))
    for place, following in pairwise(ids(whole)):
        told = await until_quiet(lines(rack, last=place))
        assert told == [f"id: {place}", *whole[whole.index(f"id: {following}") :]]
    await finished(rack, OUT)
    mine = await made(rack.door, IN)
    told = await until_quiet(lines(rack, last=ids(whole)[-1]))
    assert [each["workflow_id"] for each in documents(told)] == [mine]


async def test_a_place_outside_is_answered_as_one_that_is_not_there(rack: Rack) -> None:
    theirs = await finished(rack, OUT)
    await finished(rack, IN)
    whole = await until_quiet(lines(rack, query="?after=0"))
    for place in (f"{theirs}:1", f"{theirs}:99", f"{UUID(int=9)}:1"):
        assert await until_quiet(lines(rack, last=place)) == whole, place
    for place in ("5", "x", f"{theirs}:-1", theirs):
        assert (await rack.ask("GET", f"/v1/events?after={place}"))[0] == 422, place


async def test_events_are_followed_as_they_happen_and_no_sign_of_life_comes_for_others(
    rack: Rack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "LOOK_EVERY", SOON)
    stream = lines(rack)
    async with asyncio.timeout(SOON):
        assert await anext(stream) == "id: 0"
        await finished(rack, OUT)
        mine = await made(rack.door, IN)
        # Between the two nothing came, though it looked again each time that something changed.
        assert await anext(stream) == f"id: {mine}:1"


async def test_what_is_followed_ends_when_a_machine_leaves_the_scope(rack: Rack) -> None:
    wish = {"name": "anna", "rights": ["look"], "scope": "rack=r1"}
    token = (await rack.door.done("POST", "/v1/tokens", wish))["token"]
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as session, asyncio.timeout(SOON):
        stream = lines(Rack(rack.door, session))
        assert await anext(stream) == "id: 0"
        await rack.door.done("PATCH", "/v1/hardware/machine-1/labels", {"set": {"rack": "r9"}})
        left = [line async for line in stream if line != QUIET]
    assert left[0] == "event: denied"
    assert LEFT_SCOPE in left[1]
