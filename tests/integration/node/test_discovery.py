"""How machines tell what they are, and wait to be accepted, over HTTP with the real engine behind it."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from tests.integration.engine.appliance import Appliance, mac
from tests.integration.engine.discovery.test_discovery import pxe, standing, what
from tests.workers import door_of
from tinkbox.door.problems import refusals_become_problems
from tinkbox.model.boot import Stage
from tinkbox.model.discovery import Standing
from tinkbox.model.hardware import Interface
from tinkbox.model.sightings import Fact
from tinkbox.node.discovery import routes
from tinkbox.node.handed_in import HandedIn
from tinkbox.node.routes import routes as worker_routes
from tinkbox.node.sessions import routes as session_routes
from tinkbox.runtime import retrying
from tinkbox.wire.messages.inventory import MAX_INVENTORY, Told, decode_accepted, encode_message
from tinkbox.wire.messages.worker import Credential
from tinkbox.worker.discovery import tell as worker_tells

Client = TestClient[web.Request, web.Application]
TOLD = encode_message(Told(boot_id="boot-1", inventory=what(7)))


class Monotonic:
    """Goes on by `pace` whenever it is looked at."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.pace = 0.0

    def __call__(self) -> float:
        self.now += self.pace
        return self.now


class Unseen:
    """Keeps nothing of what is seen of machines."""

    def saw_address(self, address: str, stage: Stage, detail: str = "", **facts: Fact) -> None: ...


@pytest.fixture
def monotonic() -> Monotonic:
    return Monotonic()


@pytest.fixture
async def door(box: Appliance, monotonic: Monotonic) -> AsyncIterator[Client]:
    app = web.Application(middlewares=[refusals_become_problems], client_max_size=0)
    app.add_routes(routes(box.discovery, box.machines.sessions.authenticate, monotonic, poll_seconds=0.2))
    app.add_routes(session_routes(box.machines.sessions))
    app.add_routes(
        worker_routes(
            box.attempts,
            box.breakpoints,
            box.lost_histories,
            box.machines.authenticate,
            box.clock,
            Unseen(),
            HandedIn(monotonic),
            0.2,
        )
    )
    async with TestClient(TestServer(app)) as client:
        yield client


async def guest(box: Appliance, number: int = 7) -> dict[str, str]:
    """The headers of a machine that nobody knows, and that was let in."""
    return await headers_of(box, ticket(box, number))


def ticket(box: Appliance, number: int = 7) -> str:
    """The boot ticket of a machine that nobody knows, and that was let in."""
    assert box.discovery.plan(pxe(number), Interface(mac=mac(number)), "eth1")
    return box.discovery.credential(mac(number), "s", "r", "127.0.0.1").token


async def headers_of(box: Appliance, boot_ticket: str) -> dict[str, str]:
    """The headers of the worker that exchanges a boot ticket."""
    return {"Authorization": f"Bearer {await box.exchange(boot_ticket)}"}


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer wrong", "Basic dG9rZW4="])
@pytest.mark.parametrize(("method", "path"), [("POST", "/worker/inventory"), ("GET", "/worker/acceptance")])
async def test_a_wrong_or_missing_credential_is_a_401(door: Client, method: str, path: str, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    answer = await door.request(method, path, headers=headers, data=TOLD if method == "POST" else None)
    assert answer.status == 401


async def acceptance(door: Client, headers: dict[str, str]) -> bytes:
    """Ask until there is an answer: nobody is kept waiting for longer than a moment here."""
    while (answer := await door.get("/worker/acceptance", headers=headers)).status == 204:
        pass
    return await answer.read()


async def test_a_machine_tells_waits_and_is_accepted_while_it_waits(box: Appliance, door: Client) -> None:
    headers = await guest(box)
    assert (await door.post("/worker/inventory", data=TOLD, headers=headers)).status == 200
    assert (await door.get("/worker/acceptance", headers=headers)).status == 204
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        waiting = group.create_task(acceptance(door, headers))
        await asyncio.sleep(0.02)
        enrolled = await box.discovery.accept(mac(7))
    accepted = decode_accepted(waiting.result())
    assert (
        accepted.worker
        == enrolled.hardware.id
        == box.machines.authenticate(headers["Authorization"].split()[1], "", "127.0.0.1")
    )


async def test_with_a_discovery_credential_nothing_else_can_be_done(box: Appliance, door: Client) -> None:
    headers = await guest(box)
    await door.post("/worker/inventory", data=TOLD, headers=headers)
    for route in worker_routes(
        box.attempts,
        box.breakpoints,
        box.lost_histories,
        box.machines.authenticate,
        box.clock,
        Unseen(),
        HandedIn(Monotonic()),
    ):
        if route.path not in ("/worker/time", "/worker/trouble"):
            path = route.path.replace("{token}", "x") + "?offset=0"
            assert (await door.request(route.method, path, headers=headers, data=b"{}")).status == 401, path


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b'{"boot_id": "x"}', b'{"inventory": []}', TOLD.replace('"size":', '"size":-').encode(),
     TOLD.replace('"disks":[', '"disks":[7,').encode(), b"\xff" * 100, b"[" * 10_000],
)  # fmt: skip
async def test_nonsense_is_a_422_and_changes_nothing(box: Appliance, door: Client, body: bytes) -> None:
    headers = await guest(box)
    assert (await door.post("/worker/inventory", data=body, headers=headers)).status == 422
    assert standing(box.discovery) == {mac(7): Standing.BOOTING}


async def test_too_much_is_a_413(box: Appliance, door: Client) -> None:
    answer = await door.post("/worker/inventory", data=b" " * (MAX_INVENTORY + 1), headers=await guest(box))
    assert answer.status == 413


async def tell(door: Client, headers: dict[str, str], data: str | bytes = TOLD) -> int:
    return (await door.post("/worker/inventory", data=data, headers=headers)).status


async def test_a_machine_that_tells_without_end_is_told_to_wait(box: Appliance, door: Client) -> None:
    headers = await guest(box)
    assert [await tell(door, headers) for _ in range(50)] == [200] * 8 + [429] * 42
    answer = await door.post("/worker/inventory", data=TOLD, headers=headers)
    assert (answer.headers["Retry-After"], (await answer.json())["type"]) == ("8", "/problems/toomany")
    assert "too often" in (await answer.json())["detail"]


async def test_a_flood_of_one_machine_keeps_nobody_else_from_telling_and_grows_nothing(
    box: Appliance, door: Client
) -> None:
    known = {"Authorization": f"Bearer {await box.session(await box.machine(1))}"}
    flooding = await guest(box)
    for headers in (flooding, known):
        async with asyncio.TaskGroup() as group:
            told = [group.create_task(tell(door, headers)) for _ in range(200)]
        assert Counter(each.result() for each in told) == {200: 8, 429: 192}
    await box.machines.progress.save()
    assert len([each for each in await box.machines.timeline.of(mac(7)) if each.stage is Stage.INVENTORY]) == 8
    assert await tell(door, await guest(box, 8), encode_message(Told(boot_id="boot-8", inventory=what(8)))) == 200
    assert {each.mac for each in box.discovery.all()} == {mac(7), mac(8)}


async def test_who_waits_a_little_is_heard_again(box: Appliance, door: Client, monotonic: Monotonic) -> None:
    headers = await guest(box)
    for _ in range(20):
        await tell(door, headers)
    monotonic.now += 7.9
    assert await tell(door, headers) == 429
    monotonic.now += 0.1
    assert [await tell(door, headers), await tell(door, headers)] == [200, 429]
    monotonic.now += 3600
    assert [await tell(door, headers) for _ in range(9)] == [200] * 8 + [429], "who waits long saves nothing up"


async def test_an_honest_worker_beside_a_flood_of_its_own_machine_gets_through(
    box: Appliance, door: Client, monotonic: Monotonic, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_ticket = ticket(box)
    headers = await headers_of(box, own_ticket)
    for _ in range(20):
        await tell(door, headers)
    monkeypatch.setattr(retrying, "FIRST_WAIT", 0.01)
    monotonic.pace = 3.0
    credential = Credential(
        server=str(door.make_url("")).rstrip("/"),
        registry="r",
        worker=mac(7),
        token=own_ticket,
    )
    async with door_of(credential, instance="2-process") as own:
        await worker_tells(own, "boot-2", lambda: what(7))
    (waiting,) = box.discovery.all()
    assert waiting.boot_id == "boot-2"


async def test_nothing_is_read_of_whoever_is_not_to_be_heard(box: Appliance, door: Client) -> None:
    headers, too_much = await guest(box), b" " * (MAX_INVENTORY + 1)
    assert await tell(door, {"Authorization": "Bearer invented"}, too_much) == 401
    assert [await tell(door, headers, too_much) for _ in range(9)] == [413] * 8 + [429]


async def test_hostile_text_is_kept_bounded_and_without_control_characters(box: Appliance, door: Client) -> None:
    message = json.loads(TOLD)
    message["inventory"] |= {"serial": "\x1b[31m" + "s" * 5_000, "product": "a\n\x00\u202eb", "disks": []}
    message["inventory"]["cards"] = [{"name": "e", "mac": "no mac", "link": True}] * 3
    headers = await guest(box)
    assert (await door.post("/worker/inventory", data=json.dumps(message).encode(), headers=headers)).status == 200
    (waiting,) = box.discovery.all()
    assert waiting.inventory
    assert waiting.inventory.serial == "[31m" + "s" * 124
    assert waiting.inventory.product == "a b"
    assert waiting.inventory.cards == ()


async def test_a_restarted_worker_asks_again_and_goes_on(box: Appliance, door: Client) -> None:
    headers = await guest(box)
    assert (await door.post("/worker/inventory", data=TOLD, headers=headers)).status == 200
    enrolled = await box.discovery.accept(mac(7))
    assert (await door.post("/worker/inventory", data=TOLD, headers=headers)).status == 200
    for _ in range(2):
        accepted = decode_accepted(await (await door.get("/worker/acceptance", headers=headers)).read())
        assert accepted.worker == enrolled.hardware.id
