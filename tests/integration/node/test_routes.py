"""The worker protocol over HTTP, with the real engine behind it."""

import asyncio
import io
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
from aiohttp import ClientResponse, ClientSession, web
from aiohttp.test_utils import TestClient, TestServer

from tests.integration.engine.appliance import Appliance, mac
from tests.integration.engine.flows import THROUGH
from tinkbox.door.problems import refusals_become_problems
from tinkbox.engine.workflows.breakpoints import Change
from tinkbox.model.actions.progress import Progress
from tinkbox.model.actions.progress import Told as ToldProgress
from tinkbox.model.boot import Stage
from tinkbox.model.breakpoint import Armed, Kind, Verb, Verdict
from tinkbox.model.disks.disks import Content, Disk, Refused
from tinkbox.model.reasons import Reason
from tinkbox.model.sightings import Fact
from tinkbox.model.workflow import Outcome, State
from tinkbox.node.handed_in import HandedIn
from tinkbox.node.progress import routes as progress_routes
from tinkbox.node.routes import routes
from tinkbox.wire.ephemeral_data import Entry
from tinkbox.wire.ephemeral_data import encode as encode_data
from tinkbox.wire.messages import breakpoints as holds
from tinkbox.wire.messages import disks, progress
from tinkbox.wire.messages.breakpoints import Asked, Held, Orders, Resumed, Ruling, decode_orders
from tinkbox.wire.messages.disks import Looked
from tinkbox.wire.messages.progress import Telling
from tinkbox.wire.messages.worker import (
    MAX_OUTPUT_CHUNK,
    Hello,
    Leaving,
    Offer,
    Order,
    Report,
    decode_offer,
    encode,
)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
HELLO = encode(Hello(boot_id="boot-1"))
WIPE = """\
version: "0.1"
name: wipe
tasks:
  - {name: install, worker: "{{.device_1}}", actions: [{name: write, image: x, wipes: [/dev/sda]}]}
"""
ASKS = """\
version: "0.1"
name: asks
tasks:
  - name: install
    worker: "{{.device_1}}"
    actions: [FIRST{name: ask, image: x, environment: {DB: {{ secret "db" }}}}]
"""
ABLE = Hello(boot_id="boot-1", secrets=True)
Client = TestClient[web.Request, web.Application]


class Told:
    """What machines told of themselves."""

    def __init__(self) -> None:
        self.all: list[tuple[str, Stage, str, dict[str, Fact]]] = []

    def osie_has_trouble(self, address: str, part: str, why: str) -> None:
        self.all.append((address, Stage.OSIE_TROUBLE, why, {"part": part}))

    def saw_address(self, address: str, stage: Stage, detail: str = "", **facts: Fact) -> None:
        self.all.append((address, stage, detail, facts))


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
async def door(box: Appliance, told: Told) -> AsyncIterator[Client]:
    app = web.Application(middlewares=[refusals_become_problems], client_max_size=0)
    door = (box.attempts, box.breakpoints, box.lost_histories, box.machines.authenticate, box.clock, told)
    app.add_routes(routes(*door, HandedIn(lambda: 0.0), poll_seconds=0.2))
    app.add_routes(progress_routes(box.running_progress, box.machines.authenticate))
    async with TestClient(TestServer(app)) as client:
        yield client


async def bearer(box: Appliance, number: int = 1) -> dict[str, str]:
    """The headers of machine `number`, which is pushed for it."""
    worker = await box.machine(number)
    return {"Authorization": f"Bearer {await box.session(worker)}"}


async def offered(box: Appliance, door: Client, headers: dict[str, str]) -> Offer:
    await box.workflow()
    answer = await door.post("/worker/next", data=HELLO, headers=headers)
    assert answer.status == 200
    return decode_offer(await answer.read())


def held(offer: Offer, kind: Kind = Kind.BEFORE, sequence: int = 1) -> str:
    return holds.encode(Held(workflow_id=offer.workflow_id, boot_id="boot-1", sequence=sequence, kind=kind))


def resumed(offer: Offer) -> str:
    return holds.encode(Resumed(workflow_id=offer.workflow_id, boot_id="boot-1", sequence=1))


def asked(offer: Offer, verb: Verb) -> str:
    return holds.encode(Asked(workflow_id=offer.workflow_id, boot_id="boot-1", sequence=1, verb=verb))


def report(offer: Offer, state: State = State.SUCCESS) -> str:
    return encode(Report(workflow_id=offer.workflow_id, boot_id="boot-1", outcome=Outcome(state=state)))


def as_if(remote: str, scheme: str) -> Callable[[web.Request, Handler], Awaitable[web.StreamResponse]]:
    """A middleware for which every request comes from another host, and by this scheme."""

    @web.middleware
    async def moved(request: web.Request, handler: Handler) -> web.StreamResponse:
        return await handler(request.clone(remote=remote, scheme=scheme))

    return moved


@pytest.mark.parametrize(("scheme", "handed_out"), [("http", False), ("https", True)])
@pytest.mark.parametrize("way", ["next", "report"])
async def test_a_secret_is_handed_out_over_tls_alone(
    box: Appliance, told: Told, scheme: str, handed_out: bool, way: str
) -> None:
    app = web.Application(middlewares=[refusals_become_problems, as_if("172.30.0.35", scheme)], client_max_size=0)

    def here(secret: str, instance: str, _: str) -> str:
        return box.machines.authenticate(secret, instance, "127.0.0.1")

    door = (box.attempts, box.breakpoints, box.lost_histories, here, box.clock, told)
    app.add_routes(routes(*door, HandedIn(lambda: 0.0), poll_seconds=0.2))
    await box.secrets.set("db", b"correct-horse", "ann")
    headers = await bearer(box)
    first = "" if way == "next" else "{name: first, image: x}, "
    workflow = await box.workflow(ASKS.replace("FIRST", first))
    async with TestClient(TestServer(app)) as client:
        answer = await client.post("/worker/next", data=encode(ABLE), headers=headers)
        if way == "report":
            offer = decode_offer(await answer.read())
            done = Report(workflow_id=workflow, boot_id="boot-1", outcome=Outcome(state=State.SUCCESS), next=ABLE)
            answer = await client.post(f"/worker/attempts/{offer.attempt}/report", data=encode(done), headers=headers)
        said = await answer.read()
    assert (b64encode(b"correct-horse") in said) is handed_out
    outcome = (await box.workflows.get(workflow)).actions[-1].outcome
    assert (outcome.reason if outcome else "") == ("" if handed_out else Reason.NOT_ENCRYPTED)


async def test_the_clock_is_told_to_everybody(box: Appliance, door: Client) -> None:
    answer = await (await door.get("/worker/time")).json()
    assert answer == {"now": "2026-11-21T03:00:00+00:00", "unix": box.clock().timestamp()}


async def test_a_machine_may_tell_what_its_own_clock_shows(box: Appliance, door: Client, told: Told) -> None:
    off = int(box.clock().timestamp()) - 86_400
    assert (await door.get(f"/worker/time?was={off}")).status == 200
    assert told.all == [("127.0.0.1", Stage.CLOCK, "-86400 s", {"offset": -86_400})]


@pytest.mark.parametrize("was", ["", "soon", "-1", "1e3", "9" * 13, "٣"])
async def test_what_is_no_time_is_not_noted(door: Client, told: Told, was: str) -> None:
    assert (await door.get("/worker/time", params={"was": was})).status == 200
    assert not told.all


async def test_an_osie_tells_what_keeps_its_worker_from_starting(door: Client, told: Told) -> None:
    for part in ("engine", "", "x" * 21, "../x", "Engine"):
        answer = await door.post("/worker/trouble", params={"part": part}, data=b"no \x1b[2J space\nleft" + b"!" * 999)
        assert answer.status == 200
    assert (await door.post("/worker/trouble?part=engine", data=b" \n")).status == 200
    (found,) = told.all
    assert found[:2] == ("127.0.0.1", Stage.OSIE_TROUBLE)
    assert found[2].startswith("no  [2J space left!!")
    assert len(found[2]) == 300
    assert (await door.post("/worker/trouble?part=engine", data=b"x" * 100_000)).status == 413


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic dG9rZW4=", "Bearer \udcff"])
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/worker/next"), ("POST", "/worker/history"), ("POST", "/worker/attempts/x/report"), ("POST", "/worker/attempts/x/output?offset=0"),
     ("GET", "/worker/attempts/x/data"), ("PUT", "/worker/attempts/x/data"),
     ("GET", "/worker/attempts/x/orders"), ("POST", "/worker/attempts/x/leaving"),
     ("POST", "/worker/attempts/x/held"), ("POST", "/worker/attempts/x/resumed"), ("POST", "/worker/attempts/x/verdict")],
)  # fmt: skip
async def test_a_wrong_or_missing_credential_is_a_401(door: Client, method: str, path: str, header: str | None) -> None:
    answer = await door.request(method, path, headers={} if header is None else {"Authorization": header})
    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"


@asynccontextmanager
async def poll_waits(
    box: Appliance, door: Client, headers: dict[str, str]
) -> AsyncIterator[asyncio.Task[ClientResponse]]:
    """A question for work that waits, and that looking now and then does not help."""
    waits = asyncio.Event()
    wakeups_wait = box.wakeups.wait

    async def wait(name: str, timeout: float) -> None:
        waits.set()
        await wakeups_wait(name, 600)

    box.wakeups.wait = wait  # type: ignore[method-assign]
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        waiting = group.create_task(door.post("/worker/next", data=HELLO, headers=headers))
        await waits.wait()
        yield waiting
    box.wakeups.wait = wakeups_wait  # type: ignore[method-assign]


async def test_work_that_is_created_meanwhile_is_offered_at_once_to_a_worker_that_asks_again(
    box: Appliance, door: Client
) -> None:
    headers = await bearer(box)
    async with poll_waits(box, door, headers) as waiting:
        await box.workflow()
        assert (await waiting).status == 204
    assert (await door.post("/worker/next", data=HELLO, headers=headers)).status == 200


async def test_a_machine_that_was_switched_off_while_it_asked_loses_nothing(box: Appliance, door: Client) -> None:
    headers = await bearer(box)
    async with poll_waits(box, door, headers) as waiting:
        workflow = await box.workflow()
        await waiting  # which nobody reads
    before = await box.workflows.get(workflow)
    assert (before.state, before.actions[0].attempt) == (State.PENDING, "")
    headers = {"Authorization": f"Bearer {await box.session(await box.machine(1), 'boot-2')}"}
    again = await door.post("/worker/next", data=encode(Hello(boot_id="boot-2")), headers=headers)
    assert again.status == 200
    assert decode_offer(await again.read()).workflow_id == workflow
    assert (await box.workflows.get(workflow)).state is State.RUNNING


async def test_without_work_the_answer_is_empty_after_a_while(box: Appliance, door: Client) -> None:
    answer = await door.post("/worker/next", data=HELLO, headers=await bearer(box))
    assert (answer.status, await answer.read()) == (204, b"")


async def test_a_machine_that_is_about_to_go_away_is_answered_at_once(box: Appliance) -> None:
    app = web.Application(middlewares=[refusals_become_problems])
    door = (box.attempts, box.breakpoints, box.lost_histories, box.machines.authenticate, box.clock, Told())
    app.add_routes(routes(*door, HandedIn(lambda: 0.0), poll_seconds=600))
    headers = await bearer(box)
    await box.workflow()
    async with TestClient(TestServer(app)) as door, asyncio.timeout(60):
        hello = encode(Hello(boot_id="boot-1", finishing=True))
        assert (await door.post("/worker/next", data=hello, headers=headers)).status == 204
        assert (await door.post("/worker/next", data=HELLO, headers=headers)).status == 200


async def test_one_machine_gets_nothing_of_anothers(box: Appliance, door: Client) -> None:
    offer = await offered(box, door, await bearer(box, 1))
    stranger = await bearer(box, 2)
    path = f"/worker/attempts/{offer.attempt}"
    for method, rest, body in (
        ("POST", "/report", report(offer)),
        ("POST", "/output?offset=0", "x"),
        ("GET", "/data", None),
        ("PUT", "/data", "x"),
        ("GET", "/orders", None),
        ("POST", "/held", held(offer)),
        ("POST", "/resumed", resumed(offer)),
        ("POST", "/verdict", asked(offer, Verb.FAIL)),
        ("POST", "/leaving", encode(Leaving(workflow_id=offer.workflow_id, boot_id="boot-1"))),
    ):
        answer = await door.request(method, path + rest, data=body, headers=stranger)
        assert answer.status == 404, (method, rest)
    assert (await door.post("/worker/next", data=HELLO, headers=stranger)).status == 204


async def test_the_same_report_twice_is_fine_and_another_is_stale(box: Appliance, door: Client) -> None:
    headers = await bearer(box)
    offer = await offered(box, door, headers)
    path = f"/worker/attempts/{offer.attempt}/report"
    for _ in range(2):
        assert (await door.post(path, data=report(offer), headers=headers)).status == 200
    stale = await door.post(path, data=report(offer, State.FAILED), headers=headers)
    assert stale.status == 409


async def test_output_and_data_travel(box: Appliance, door: Client) -> None:
    headers = await bearer(box)
    offer = await offered(box, door, headers)
    path, archive = f"/worker/attempts/{offer.attempt}", encode_data([Entry(path="f", content=b"bytes")])
    answer = await door.post(f"{path}/output?offset=0", data=b"\x00hi\n", headers=headers)
    assert await answer.json() == {"next": 4}
    assert await (await door.put(f"{path}/data", data=archive, headers=headers)).json() == {"version": 1}
    assert await (await door.get(f"{path}/data", headers=headers)).read() == archive
    assert (await door.put(f"{path}/data", data=b"no archive", headers=headers)).status == 422


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("output?offset=-1", b"x", 422),
        ("output?offset=9999999999999999999", b"x", 422),
        ("output", b"x", 422),
        ("output?offset=0", b"x" * (256 * 1024 + 1), 413),
        ("leaving", b"{}", 422),
        ("leaving", b" " * (1024 * 1024 + 1), 413),
        ("held", b"{}", 422),
        ("held", b" " * (1024 * 1024 + 1), 413),
        ("resumed", b"{}", 422),
        ("verdict", b"{}", 422),
        ("report", b"{", 422),
        ("report", b"{}", 422),
        ("report", b" " * (1024 * 1024 + 1), 413),
    ],
)
async def test_what_does_not_fit_is_refused(box: Appliance, door: Client, path: str, body: bytes, status: int) -> None:
    headers = await bearer(box)
    offer = await offered(box, door, headers)
    answer = await door.post(f"/worker/attempts/{offer.attempt}/{path}", data=io.BytesIO(body), headers=headers)
    assert answer.status == status
    assert json.loads(await answer.read())["detail"]


async def test_half_a_character_in_a_greeting_is_stored_as_text_and_stops_nothing(box: Appliance, door: Client) -> None:
    headers = {"Authorization": f"Bearer {await box.session(await box.machine(1), boot_id='?')}"}
    await box.workflow()
    answer = await door.post("/worker/next", data=r'{"boot_id":"\ud800"}', headers=headers)
    assert answer.status == 200
    await box.machines.progress.save()


async def test_too_much_data_is_refused_however_it_is_announced(box: Appliance, door: Client) -> None:
    headers = await bearer(box)
    offer = await offered(box, door, headers)

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(13):
            yield b"x" * (1 << 20)

    for body in (io.BytesIO(b"x" * (13 << 20)), endless()):
        answer = await door.put(f"/worker/attempts/{offer.attempt}/data", data=body, headers=headers)
        assert answer.status == 413


async def test_a_body_that_does_not_say_its_size_is_bounded_all_the_same(box: Appliance, door: Client) -> None:
    headers = await bearer(box)
    offer = await offered(box, door, headers)

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(5):
            yield b"x" * (MAX_OUTPUT_CHUNK // 4)

    path = f"/worker/attempts/{offer.attempt}/output?offset=0"
    assert (await door.post(path, data=pieces(), headers=headers)).status == 413
    answer = await door.post(path, data=b"x" * MAX_OUTPUT_CHUNK, headers=headers)
    assert await answer.json() == {"next": MAX_OUTPUT_CHUNK}


async def test_output_goes_where_the_worker_says(box: Appliance, door: Client) -> None:
    headers = await bearer(box)
    offer = await offered(box, door, headers)
    for offset, chunk, wanted in ((0, b"hello", 5), (3, b"lo world", 11), (99, b"gap", 11)):
        path = f"/worker/attempts/{offer.attempt}/output?offset={offset}"
        assert await (await door.post(path, data=chunk, headers=headers)).json() == {"next": wanted}
    (output,) = await box.workflows.output(offer.workflow_id, {})
    assert b"".join(piece.chunk for piece in output.pieces) == b"hello world"


async def test_a_credential_counts_as_a_bearer_token_only(box: Appliance, door: Client) -> None:
    (token,) = [value.partition(" ")[2] for value in (await bearer(box)).values()]
    for header in (token, f"Basic {token}", f"Token {token}"):
        answer = await door.post("/worker/next", data=HELLO, headers={"Authorization": header})
        assert answer.status == 401
    assert (await door.post("/worker/next", data=HELLO, headers={"Authorization": f"bearer {token}"})).status == 204


async def test_the_operators_routes_do_not_exist_here(door: Client) -> None:
    assert (await door.get("/v1/workflows")).status == 404


async def test_a_machine_that_is_forgotten_meanwhile_is_turned_away(box: Appliance, door: Client) -> None:
    headers = await bearer(box)
    await box.machines.delete(mac(1))
    assert (await door.post("/worker/next", data=HELLO, headers=headers)).status == 401


async def test_orders_are_told_and_then_only_what_is_new(box: Appliance, door: Client) -> None:
    headers = await bearer(box)
    offer = await offered(box, door, headers)
    path = f"/worker/attempts/{offer.attempt}/orders"
    for query in ("", "?seen=", "?seen=other"):
        answer = await door.get(path + query, headers=headers)
        assert (answer.status, decode_orders(await answer.read())) == (200, Orders())
    answer = await door.get(f"{path}?seen={Orders().mark}", headers=headers)
    assert (answer.status, await answer.read()) == (204, b"")


async def test_with_its_question_a_worker_tells_that_its_engine_is_away_and_that_it_is_back(
    box: Appliance, door: Client
) -> None:
    headers = await bearer(box)
    offer = await offered(box, door, headers)
    worker, path = box.machines.known.holder(mac(1)), f"/worker/attempts/{offer.attempt}/orders"
    since = box.machines.progress.engine_away_since
    for away, told in (("9", 9), ("10", 9), ("900", 900)):
        await door.get(f"{path}?engine_away={away}", headers=headers)
        assert since(worker) == box.clock() - timedelta(seconds=told)
    for back in ("", "0", "-1", "\u0663", "9" * 7):
        await door.get(f"{path}?engine_away=5", headers=headers)
        await door.get(path, params={"engine_away": back}, headers=headers)
        assert since(worker) is None
    await door.get(f"{path}?engine_away=5", headers=headers)
    record = box.machines.known.get(worker)
    assert record is not None
    # What else the worker asks meanwhile, as for its services, says nothing of its engine; another boot has another one.
    box.machines.progress.contact(worker, record.boot_id)
    assert since(worker) is not None
    box.machines.known.note(replace(record, boot_id="the boot before"))
    box.machines.progress.contact(worker, record.boot_id)
    assert since(worker) is None


async def test_an_order_to_stop_reaches_its_worker_at_once(box: Appliance, door: Client) -> None:
    headers = await bearer(box)
    offer = await offered(box, door, headers)
    seen = Orders().mark
    waits = asyncio.Event()
    wakeups_wait = box.wakeups.wait

    async def wait(name: str, timeout: float) -> None:
        waits.set()
        await wakeups_wait(name, 600)  # so that looking now and then does not help

    box.wakeups.wait = wait  # type: ignore[method-assign]
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        waiting = group.create_task(door.get(f"/worker/attempts/{offer.attempt}/orders?seen={seen}", headers=headers))
        await waits.wait()
        await box.workflows.cancel(offer.workflow_id)
        answer = await waiting
        assert answer.status == 200
        orders = decode_orders(await answer.read())
    assert orders == Orders(stop=Order(state=State.CANCELED, message="the workflow was canceled"))


async def test_leaving_is_said_before_the_machine_goes_and_again_when_its_answer_is_lost(
    box: Appliance, door: Client
) -> None:
    headers = await bearer(box)
    await box.workflow(THROUGH)
    offer = decode_offer(await (await door.post("/worker/next", data=HELLO, headers=headers)).read())
    leaving = encode(Leaving(workflow_id=offer.workflow_id, boot_id="boot-1"))
    for _ in range(2):
        answer = await door.post(f"/worker/attempts/{offer.attempt}/leaving", data=leaving, headers=headers)
        assert (answer.status, await answer.json()) == (200, {})
    again = decode_offer(await (await door.post("/worker/next", data=HELLO, headers=headers)).read())
    assert (again.attempt, again.left) == (offer.attempt, True)
    assert (
        await door.post(f"/worker/attempts/{offer.attempt}/report", data=report(offer), headers=headers)
    ).status == 409


async def test_nothing_is_begun_for_a_worker_that_hung_up(box: Appliance) -> None:
    headers = await bearer(box)
    waits, gone, asked_again = asyncio.Event(), asyncio.Event(), asyncio.Event()
    is_due = box.attempts.is_due

    async def wait(name: str, timeout: float) -> None:
        waits.set()
        await gone.wait()

    async def noting(worker: str, hello: Hello) -> bool | None:
        asked_again.set()
        return await is_due(worker, hello)

    box.wakeups.wait = wait  # type: ignore[method-assign]
    app = web.Application(middlewares=[refusals_become_problems])
    app.add_routes(
        routes(
            box.attempts,
            box.breakpoints,
            box.lost_histories,
            box.machines.authenticate,
            box.clock,
            Told(),
            HandedIn(lambda: 0.0),
        )
    )
    # As the appliance has it: a handler outlives its client, which the test server of aiohttp does not let it.
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0]
    async with asyncio.timeout(60), ClientSession() as client, asyncio.TaskGroup() as group:
        asking = group.create_task(client.post(f"http://{host}:{port}/worker/next", data=HELLO, headers=headers))
        await waits.wait()
        asking.cancel()
        await box.workflow()
        box.attempts.is_due = noting  # type: ignore[method-assign]
        assert runner.server is not None
        while any(each.transport for each in runner.server.connections):  # noqa: ASYNC110  nothing rings when one is gone
            await asyncio.sleep(0)
        gone.set()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asked_again.wait(), 0.2)
    await runner.cleanup()


async def test_a_hold_travels_from_its_beginning_over_its_verdict_to_its_end(box: Appliance, door: Client) -> None:
    headers = await bearer(box)
    offer = await offered(box, door, headers)
    path = f"/worker/attempts/{offer.attempt}"
    await box.breakpoints.arm(offer.workflow_id, Change(before=("hello_world",)), "anna")
    for _ in range(2):
        assert (await door.post(f"{path}/held", data=held(offer), headers=headers)).status == 200
    verdict = Verdict(verb=Verb.CONTINUE, who="anna")
    await box.breakpoints.resolve(offer.workflow_id, verdict)
    orders = decode_orders(await (await door.get(f"{path}/orders", headers=headers)).read())
    assert orders == Orders(armed=Armed(before=True), ruling=Ruling(sequence=1, verdict=verdict), hold=1)
    for _ in range(2):
        assert (await door.post(f"{path}/resumed", data=resumed(offer), headers=headers)).status == 200
    assert (await door.post(f"{path}/report", data=report(offer), headers=headers)).status == 200


async def test_a_verdict_from_inside_the_container_is_taken_or_says_who_was_first(box: Appliance, door: Client) -> None:
    headers = await bearer(box)
    offer = await offered(box, door, headers)
    await box.breakpoints.arm(offer.workflow_id, Change(on_failure=True), "anna")
    path = f"/worker/attempts/{offer.attempt}"
    await door.post(f"{path}/held", data=held(offer), headers=headers)
    for _ in range(2):
        assert (await door.post(f"{path}/verdict", data=asked(offer, Verb.SKIP), headers=headers)).status == 200
    late = await door.post(f"{path}/verdict", data=asked(offer, Verb.FAIL), headers=headers)
    assert (late.status, (await late.json())["detail"]) == (409, "the container decided already: skip")


async def test_progress_is_told_and_shown(box: Appliance, door: Client) -> None:
    headers = await bearer(box)
    offer = await offered(box, door, headers)
    path = f"/worker/attempts/{offer.attempt}/progress"
    told = Telling(
        workflow_id=offer.workflow_id, boot_id="boot-1", progress=ToldProgress(done=1, total=4, unit="bytes")
    )
    answer = await door.post(path, data=progress.encode(told), headers=headers)
    assert (answer.status, await answer.json()) == (200, {})
    (flow,) = await box.workflows.all()
    assert box.running_progress.of(flow.current()) == Progress(done=1, total=4, unit="bytes")
    for body, shows, status in ((b"[]", headers, 422), (b"x" * 5_000, headers, 413), (b"{}", {}, 401)):
        assert (await door.post(path, data=body, headers=shows)).status == status
    assert (
        await door.post("/worker/attempts/none/progress", data=progress.encode(told), headers=headers)
    ).status == 404
    await door.post(f"/worker/attempts/{offer.attempt}/report", data=report(offer), headers=headers)
    assert (await door.post(path, data=progress.encode(told), headers=headers)).status == 409


async def test_disks_are_asked_about_before_they_are_wiped_and_told_of_at_the_end(box: Appliance, door: Client) -> None:
    headers = await bearer(box)
    await box.workflow(WIPE)
    offer = decode_offer(await (await door.post("/worker/next", data=HELLO, headers=headers)).read())
    assert offer.action.spec.wipes == ("/dev/sda",)
    path, empty = f"/worker/attempts/{offer.attempt}", Disk(path="/dev/sda", name="WD-1")
    full = replace(empty, contents=(Content(kind="ext4"),))

    async def ask(disk: Disk) -> Refused | None:
        looked = Looked(workflow_id=offer.workflow_id, boot_id="boot-1", disks=(disk,))
        answer = await door.post(f"{path}/disks", data=disks.encode(looked), headers=headers)
        assert answer.status == 200
        return disks.decode_answer(await answer.read())

    refused = await ask(full)
    assert refused is not None
    assert refused.reason == "DiskNotEmpty"
    assert await ask(empty) is None
    told = Report(workflow_id=offer.workflow_id, boot_id="boot-1", outcome=Outcome(state=State.FAILED), disks=(full,))
    assert (await door.post(f"{path}/report", data=encode(told), headers=headers)).status == 200
    known = await box.store.read(lambda tables: tables.disks.get(offer.action.worker, "WD-1", offer.workflow_id))
    assert known.ours == full.contents
    assert (await door.post(f"{path}/disks", data=b"[]", headers=headers)).status == 422
    assert (await door.post(f"{path}/disks", data=b"{}")).status == 401
