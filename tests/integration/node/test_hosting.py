"""The protocol of machines that host services, over HTTP, with the real rules on who is who."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from tests.integration.engine.appliance import Appliance
from tests.integration.node.services import WANTED, FakeServices
from tinkbox.door.problems import refusals_become_problems
from tinkbox.model.errors import Conflict, NotFound
from tinkbox.model.services import Phase, Standing
from tinkbox.node.handed_in import HandedIn
from tinkbox.node.hosting import MAX_OBSERVED_BODY, routes
from tinkbox.wire.ephemeral_limits import MAX_ARCHIVE_BYTES
from tinkbox.wire.messages.hosting import MAX_OBSERVED, Observed, Wanted, decode_wanted, encode
from tinkbox.wire.messages.worker import MAX_MESSAGE, MAX_OUTPUT_CHUNK, MAX_TAIL_LINES

STANDING = Standing(run="r1", phase=Phase.READY, restarts=2, tail=("up",), address="172.30.0.11", ports=(80,))
Client = TestClient[web.Request, web.Application]


@pytest.fixture
def services() -> FakeServices:
    return FakeServices()


@pytest.fixture
async def door(box: Appliance, services: FakeServices) -> AsyncIterator[Client]:
    app = web.Application(middlewares=[refusals_become_problems], client_max_size=0)
    contact, handed_in = box.machines.progress.contact, HandedIn(lambda: 0.0)
    app.add_routes(routes(services, box.machines.authenticate, contact, handed_in, poll_seconds=0.2))
    async with TestClient(TestServer(app)) as client:
        yield client


async def bearer(box: Appliance, number: int = 1) -> tuple[str, dict[str, str]]:
    """The id of machine `number`, which is pushed for it, and its headers."""
    machine = await box.machine(number)
    return machine, {"Authorization": f"Bearer {await box.session(machine)}"}


def observed(boot_id: str, *standings: Standing) -> str:
    return encode(Observed(boot_id=boot_id, standings=standings))


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/worker/services"), ("POST", "/worker/services"), ("POST", "/worker/services/r1/output?offset=0"),
     ("PUT", "/worker/services/r1/data")],
)  # fmt: skip
async def test_without_a_credential_nothing_is_told_and_nothing_believed(
    door: Client, services: FakeServices, method: str, path: str
) -> None:
    for headers in ({}, {"Authorization": "Bearer wrong"}):
        assert (await door.request(method, path, data=observed("b"), headers=headers)).status == 401
    assert services.told == []


@pytest.mark.parametrize(
    ("remote", "scheme", "private"),
    [("172.30.0.35", "http", False), ("172.30.0.35", "https", True), ("127.0.0.1", "http", True)],
)
async def test_the_engine_is_told_whether_others_can_read_what_a_host_is_given(
    box: Appliance, services: FakeServices, remote: str, scheme: str, private: bool
) -> None:
    @web.middleware
    async def moved(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        return await handler(request.clone(remote=remote, scheme=scheme))

    app = web.Application(middlewares=[refusals_become_problems, moved], client_max_size=0)
    machine, headers = await bearer(box)
    app.add_routes(routes(services, lambda *_: machine, box.machines.progress.contact, HandedIn(lambda: 0.0)))
    async with TestClient(TestServer(app)) as client:
        assert (await client.get("/worker/services?seen=old", headers=headers)).status == 200
    assert services.private is private


async def test_a_host_is_told_what_is_wanted_of_the_machine_that_its_credential_proves(
    box: Appliance, door: Client, services: FakeServices
) -> None:
    for number in (1, 2):
        machine, headers = await bearer(box, number)
        answer = await door.get("/worker/services?seen=old", headers=headers)
        assert (answer.status, decode_wanted(await answer.read())) == (200, WANTED)
        assert services.told.pop() == ("wanted", machine, "old")


async def test_what_was_seen_is_told_again_only_when_it_is_something_else(
    box: Appliance, door: Client, services: FakeServices
) -> None:
    _, headers = await bearer(box)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        waiting = group.create_task(door.get(f"/worker/services?seen={WANTED.mark}", headers=headers))
        await services.waits.wait()
        services.now = Wanted()
        services.changed.set()
        answer = await waiting
        assert (answer.status, decode_wanted(await answer.read())) == (200, Wanted())
    answer = await door.get(f"/worker/services?seen={Wanted().mark}", headers=headers)
    assert (answer.status, await answer.read()) == (204, b"")


async def test_what_a_machine_has_is_a_contact_and_reaches_the_engine(
    box: Appliance, door: Client, services: FakeServices
) -> None:
    machine, headers = await bearer(box)
    answer = await door.post("/worker/services", data=observed("boot-1", STANDING), headers=headers)
    assert (answer.status, await answer.json()) == (200, {})
    assert services.told == [("observed", machine, (STANDING,))]
    assert (await box.machines.get(machine)).last_contact == box.clock.now


async def test_a_worker_of_an_earlier_boot_is_not_believed_any_more(
    box: Appliance, door: Client, services: FakeServices
) -> None:
    _, headers = await bearer(box)
    assert (await door.post("/worker/services", data=observed("boot-1"), headers=headers)).status == 200
    services.told.clear()
    late = await door.post("/worker/services", data=observed("boot-0", STANDING), headers=headers)
    assert (late.status, services.told) == (409, [])


async def test_output_and_data_are_of_a_run_on_the_machine_that_sends_them(
    box: Appliance, door: Client, services: FakeServices
) -> None:
    machine, headers = await bearer(box)
    printed = await door.post("/worker/services/r1/output?offset=7", data=b"\x00hi\n", headers=headers)
    assert await printed.json() == {"next": 11}
    kept = await door.put("/worker/services/r1/data", data=b"tar", headers=headers)
    assert await kept.json() == {"version": 3}
    assert services.told == [("output", machine, "r1", 7, b"\x00hi\n"), ("keep_data", machine, "r1", b"tar")]


async def test_a_machine_that_hands_in_data_for_ever_has_to_wait_and_no_other_does(
    box: Appliance, door: Client
) -> None:
    _, headers = await bearer(box)
    _, others = await bearer(box, 2)

    async def hand_in(headers: dict[str, str]) -> tuple[int, str | None]:
        answer = await door.put("/worker/services/r1/data", data=io.BytesIO(b"x" * (10 << 20)), headers=headers)
        return answer.status, answer.headers.get("Retry-After")

    assert [await hand_in(headers) for _ in range(27)] == [(200, None)] * 25 + [(429, "3")] * 2
    assert await hand_in(others) == (200, None)
    assert (await door.put("/worker/services/r1/data", data=b"small", headers=headers)).status == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "", b"{", 422),
        ("POST", "", b'{"boot_id":"b","standings":[{}]}', 422),
        ("POST", "", b'{"standings":[]}', 422),
        ("POST", "", b" " * (MAX_OBSERVED_BODY + 1), 413),
        ("POST", "/r1/output", b"x", 422),
        ("POST", "/r1/output?offset=-1", b"x", 422),
        ("POST", "/r1/output?offset=0", b"x" * (MAX_OUTPUT_CHUNK + 1), 413),
        ("PUT", "/r1/data", b"x" * (MAX_ARCHIVE_BYTES + 1), 413),
    ],
)
async def test_what_does_not_fit_is_refused(
    box: Appliance, door: Client, services: FakeServices, method: str, path: str, body: bytes, status: int
) -> None:
    _, headers = await bearer(box)
    answer = await door.request(method, f"/worker/services{path}", data=io.BytesIO(body), headers=headers)
    assert answer.status == status
    assert json.loads(await answer.read())["detail"]
    assert services.told == []


async def test_as_much_as_a_host_may_have_fits_into_what_it_may_say(
    box: Appliance, door: Client, services: FakeServices
) -> None:
    _, headers = await bearer(box)
    wordy = Standing(run="r" * 32, phase=Phase.FAILED, message="m" * MAX_MESSAGE, tail=("t" * 1000,) * MAX_TAIL_LINES)
    body = observed("boot-1", *[wordy] * MAX_OBSERVED)
    assert (await door.post("/worker/services", data=io.BytesIO(body.encode()), headers=headers)).status == 200


@pytest.mark.parametrize(("refusal", "status"), [(NotFound("no such run"), 404), (Conflict("replaced"), 409)])
async def test_what_the_engine_refuses_is_refused(
    box: Appliance, door: Client, services: FakeServices, refusal: NotFound | Conflict, status: int
) -> None:
    _, headers = await bearer(box)
    services.refusal = refusal
    for method, path in (("POST", "r1/output?offset=0"), ("PUT", "r1/data")):
        answer = await door.request(method, f"/worker/services/{path}", data=b"x", headers=headers)
        assert (answer.status, (await answer.json())["detail"]) == (status, str(refusal))
