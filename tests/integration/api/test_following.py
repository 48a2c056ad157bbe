"""How many events, outputs and shells a person may follow at once."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import aiohttp
import pytest

from tests.integration.api.door import TOKEN, Door
from tests.integration.engine.held import hold
from tinkbox.model.limits import STREAMS


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as made:
        yield made


async def follow(stack: AsyncExitStack, door: Door, path: str, token: str = "look-token") -> aiohttp.ClientResponse:
    """An answer that goes on until the stack ends."""
    session = await stack.enter_async_context(aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}))
    return await stack.enter_async_context(session.get(door.url + path))


async def test_a_person_follows_no_more_than_their_share_and_is_told_so(door: Door, stack: AsyncExitStack) -> None:
    for _ in range(STREAMS.each):
        assert (await follow(stack, door, "/v1/events")).status == 200
    refused = await follow(stack, door, "/v1/events")
    assert (refused.status, refused.content_type) == (429, "application/problem+json")
    assert "Retry-After" in refused.headers
    assert "too many streams at once: 32 for one person" in (await refused.json(content_type=None))["detail"]


async def test_events_and_output_count_together_and_a_look_at_output_does_not(
    door: Door, stack: AsyncExitStack
) -> None:
    await door.box.machine(1)
    logs = f"/v1/workflows/{await door.box.workflow()}/logs"
    for path in ["/v1/events", f"{logs}?follow=1"] * (STREAMS.each // 2):
        assert (await follow(stack, door, path)).status == 200
    assert (await follow(stack, door, f"{logs}?follow=1")).status == 429
    assert (await follow(stack, door, logs)).status == 200
    assert (await follow(stack, door, "/v1/workflows")).status == 200


async def test_others_follow_while_one_person_has_all_of_their_share(door: Door, stack: AsyncExitStack) -> None:
    for _ in range(STREAMS.each + 1):
        last = await follow(stack, door, "/v1/events")
    assert last.status == 429
    assert (await follow(stack, door, "/v1/events", TOKEN)).status == 200


async def test_the_unix_socket_follows_when_people_took_all_they_may(door: Door, stack: AsyncExitStack) -> None:
    for number in range(STREAMS.for_strangers):
        assert door.streams.take(f"person {number}")
    assert (await follow(stack, door, "/v1/events")).status == 429
    answer = await stack.enter_async_context(door.local.get("http://tinkbox/v1/events"))
    assert answer.status == 200


async def test_who_goes_away_makes_room(door: Door) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(STREAMS.each):
            await follow(stack, door, "/v1/events")
        assert door.streams.used == STREAMS.each
    async with AsyncExitStack() as stack:
        # The appliance notices with the next thing that it writes.
        while (await follow(stack, door, "/v1/events")).status == 429:
            pass


async def test_a_shell_beyond_the_share_is_refused_and_its_ticket_stays_good(door: Door) -> None:
    offer = await hold(door.box, await door.box.machine(1))
    opened = await door.done("POST", f"/v1/workflows/{offer.workflow_id}/shells", {"tty": True})
    (listed,) = await door.shells.listed(offer.workflow_id)
    who = listed.session.who
    assert door.streams.take(who, STREAMS.each)
    url = f"{door.url}/v1/shells/{opened['id']}/attach?ticket={opened['ticket']}"
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(url)
        assert refused.value.status == 429
        door.streams.give_back(who, STREAMS.each)
        async with session.ws_connect(url):
            assert door.streams.held_by(who) == 1
