"""How workers tell of their machines' firmware, over HTTP with the real engine behind it."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from tests.integration.engine.appliance import AUTHORITY, Appliance
from tinkbox.door.problems import refusals_become_problems
from tinkbox.node.enrolment import TELLS, routes
from tinkbox.wire.efi_signature_lists import authority_fingerprint
from tinkbox.wire.messages.enrolment import Enrolled, encode
from tinkbox.wire.messages.session import INSTANCE

PATH = "/worker/enrolment"
ENROLLED = encode(Enrolled(authority=authority_fingerprint(AUTHORITY)))
Client = TestClient[web.Request, web.Application]


@pytest.fixture
async def door(box: Appliance) -> AsyncIterator[Client]:
    application = web.Application(middlewares=[refusals_become_problems])
    application.add_routes(routes(box.machines.enrolments, box.machines.authenticate, box.clock.steady))
    async with TestClient(TestServer(application)) as client:
        yield client


async def shown(box: Appliance, worker: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {await box.session(worker)}", INSTANCE: ""}


async def test_a_worker_tells_for_its_own_machine_alone(box: Appliance, door: Client) -> None:
    one, two = await box.machine(1), await box.machine(2)
    answer = await door.post(PATH, data=ENROLLED, headers=await shown(box, one))
    assert answer.status == 200
    assert (box.machines.enrolments.has(one), box.machines.enrolments.has(two)) == (True, False)


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer nobody"}])
async def test_without_a_session_nothing_is_taken(box: Appliance, door: Client, headers: dict[str, str]) -> None:
    worker = await box.machine(1)
    assert (await door.post(PATH, data=ENROLLED, headers=headers)).status == 401
    assert not box.machines.enrolments.has(worker)


async def test_another_authority_and_nonsense_are_refused(box: Appliance, door: Client) -> None:
    headers = await shown(box, await box.machine(1))
    other = encode(Enrolled(authority="SHA256:" + ":".join(["CD"] * 32)))
    assert (await door.post(PATH, data=other, headers=headers)).status == 409
    assert (await door.post(PATH, data="[]", headers=headers)).status == 422
    assert (await door.post(PATH, data=b"x" * 9_999, headers=headers)).status == 413


async def test_one_that_tells_again_and_again_is_told_to_wait(box: Appliance, door: Client) -> None:
    headers = await shown(box, await box.machine(1))
    for _ in range(TELLS.burst):
        assert (await door.post(PATH, data=ENROLLED, headers=headers)).status == 200
    assert (await door.post(PATH, data=ENROLLED, headers=headers)).status == 429
    box.clock.forward(8)
    assert (await door.post(PATH, data=ENROLLED, headers=headers)).status == 200
