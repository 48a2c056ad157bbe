"""The worker's client of the node door, against the real routes over a fake engine."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.integration.node.services import WANTED, FakeServices
from tests.workers import door_of, opening
from tinkbox.client.node import NodeDoor, SessionOver
from tinkbox.door.problems import refusals_become_problems
from tinkbox.model.actions.action import Action
from tinkbox.model.boot import Stage
from tinkbox.model.breakpoint import Armed, Kind, Verb
from tinkbox.model.disks.disks import Disk, Refused
from tinkbox.model.errors import Conflict, Denied, Forbidden, Invalid, NotFound, TooMany, Unavailable
from tinkbox.model.inventory import Inventory
from tinkbox.model.journal import Entry, Seen
from tinkbox.model.journal import Standing as JournalStanding
from tinkbox.model.services import Phase, Standing
from tinkbox.model.sightings import Fact
from tinkbox.model.workflow import Outcome, PlannedAction, State
from tinkbox.node import discovery, routes, sessions
from tinkbox.node import hosting as services
from tinkbox.node.handed_in import HandedIn
from tinkbox.wire.messages.breakpoints import Asked, Held, Orders, Resumed
from tinkbox.wire.messages.disks import Looked
from tinkbox.wire.messages.hosting import Observed
from tinkbox.wire.messages.inventory import Accepted, Told
from tinkbox.wire.messages.journal import Answer, History, decode_history
from tinkbox.wire.messages.journal import encode as encode_history
from tinkbox.wire.messages.session import Opening
from tinkbox.wire.messages.worker import Credential, Hello, Leaving, Offer, Order, Pulled, Report

ACTION = PlannedAction(
    index=0, task="t", worker="w", address="08:00:27:00:00:01", spec=Action(name="a", image="i", timeout=60)
)
OFFER = Offer(workflow_id="f", attempt="attempt-1", remaining=12.5, action=ACTION)
REPORT = Report(workflow_id="f", boot_id="b", outcome=Outcome(state=State.SUCCESS, exit_code=0))
ASKS = replace(REPORT, next=Hello(boot_id="b"))


class FakeReading:
    size = len(b"archive")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"arch"
        yield b"ive"


@dataclass
class FakeAttempts:
    """Has one offer for worker `w`; `refusal` is raised by everything instead."""

    refusal: Exception | None = None
    offered: Offer | None = OFFER
    refused: Refused | None = None
    told: list[tuple[object, ...]] = field(default_factory=list)

    def _tell(self, *words: object) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.told.append(words)

    async def offer(self, worker: str, hello: Hello, *, private: bool) -> Offer | None:
        self._tell("offer", worker, hello)
        return self.offered

    async def is_due(self, worker: str, hello: Hello) -> bool | None:
        return True if self.offered else None

    async def leave(self, worker: str, token: str, leaving: Leaving) -> None:
        self._tell("leave", worker, token, leaving)

    async def wait(self, worker: str, timeout: float) -> None:
        """Here time passes at once."""

    def must_show(self, worker: str) -> bool:
        return False

    async def report(self, worker: str, token: str, report: Report, *, private: bool) -> Offer | None:
        self._tell("report", worker, token, report)
        return self.offered if report.next else None

    async def may_wipe(self, worker: str, token: str, looked: Looked) -> Refused | None:
        self._tell("may_wipe", worker, token, looked)
        return self.refused

    def engine_is_away(self, worker: str, seconds: float) -> None:
        if seconds:
            self.told.append(("engine_is_away", worker, seconds))

    async def pulled(self, worker: str, token: str, pulled: Pulled) -> str:
        self._tell("pulled", worker, token, pulled)
        return f"sha256:{2:064x}"

    async def output(self, worker: str, token: str, offset: int, chunk: bytes) -> int:
        self._tell("output", worker, token, offset, chunk)
        return offset + len(chunk)

    async def data(self, worker: str, token: str) -> "FakeReading":
        self._tell("data", worker, token)
        return FakeReading()

    async def keep_data(self, worker: str, token: str, archive: bytes) -> int:
        self._tell("keep_data", worker, token, archive)
        return 1


@dataclass
class FakeBreakpoints:
    """Wants one thing of every attempt; `refusal` is raised by everything instead."""

    refusal: Exception | None = None
    wanted: Orders = field(default_factory=Orders)
    told: list[tuple[object, ...]] = field(default_factory=list)

    def _tell(self, *words: object) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.told.append(words)

    async def held(self, worker: str, token: str, held: Held) -> None:
        self._tell("held", worker, token, held)

    async def resumed(self, worker: str, token: str, resumed: Resumed) -> None:
        self._tell("resumed", worker, token, resumed)

    async def asked(self, worker: str, token: str, asked: Asked) -> None:
        self._tell("asked", worker, token, asked)

    async def orders(self, worker: str, token: str) -> Orders:
        self._tell("orders", worker, token)
        return self.wanted


class FakeHistories:
    """Knows the journal of every worker but those that were in the boot `lost`."""

    async def told(self, worker: str, told: History) -> Answer | None:
        return None if told.boot_id == "lost" else Answer(standing=JournalStanding.DISCARDED, seen=told.seen)


class FakeSessions:
    """Takes one boot ticket, and refuses what was exchanged already."""

    async def exchange(self, ticket: str, wanted: Opening, address: str) -> str:
        if ticket == "used":
            raise Forbidden("it was exchanged already")
        if ticket != "secret":
            raise Denied("this is no boot ticket")
        return "w"


class NobodyLooks:
    """Keeps nothing of what is seen of machines."""

    def saw_address(self, address: str, stage: Stage, detail: str = "", **facts: Fact) -> None: ...


def authenticate(token: str, instance: str, address: str) -> str:
    if token != opening("secret").secret or instance != opening("secret").instance:
        raise Denied("this is no credential of a machine known here")
    return "w"


@asynccontextmanager
async def door_to(
    attempts: FakeAttempts,
    breakpoints: FakeBreakpoints | None = None,
    token: str = "secret",
    hosted: FakeServices | None = None,
) -> AsyncIterator[NodeDoor]:
    application = web.Application(middlewares=[refusals_become_problems])
    known = breakpoints or FakeBreakpoints(refusal=attempts.refusal)
    noon = datetime(2026, 11, 21, tzinfo=UTC)
    handed_in = HandedIn(lambda: 0.0)
    application.add_routes(
        routes.routes(attempts, known, FakeHistories(), authenticate, lambda: noon, NobodyLooks(), handed_in)
    )
    hosted = hosted or FakeServices()
    application.add_routes(sessions.routes(FakeSessions()))
    application.add_routes(
        services.routes(hosted, authenticate, lambda _, boot: hosted.told.append(("contact", boot)), handed_in)
    )
    async with TestServer(application) as server:
        credential = Credential(server=str(server.make_url("")).rstrip("/"), registry="r", worker="w", token=token)
        async with door_of(credential) as door:
            yield door


async def test_boot_ticket_that_is_none_is_told_to_the_log_with_its_senders_address(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with door_to(FakeAttempts(), token="another appliance's") as door:
        for _ in range(3):
            with pytest.raises(Denied, match="no boot ticket"):
                await door.next(Hello(boot_id="b", version="1"))
    told = [each.message for each in caplog.records if each.name.endswith("refused_tokens")]
    assert told == [
        f"127.0.0.1 showed the node door a boot ticket that is not valid; refused so far: {times}" for times in (1, 2)
    ]


async def test_every_message_arrives_as_it_was_sent() -> None:
    attempts = FakeAttempts()
    async with door_to(attempts) as door:
        assert await door.next(Hello(boot_id="b", version="1")) == OFFER
        assert await door.output("attempt-1", 3, b"chunk") == 8
        assert await door.data("attempt-1") == b"archive"
        await door.keep_data("attempt-1", b"new archive")
        await door.leaving("attempt-1", Leaving(workflow_id="f", boot_id="b"))
        assert await door.report("attempt-1", REPORT) is None
        assert await door.report("attempt-1", ASKS) == OFFER
    assert attempts.told == [
        ("offer", "w", Hello(boot_id="b", version="1")),
        ("output", "w", "attempt-1", 3, b"chunk"),
        ("data", "w", "attempt-1"),
        ("keep_data", "w", "attempt-1", b"new archive"),
        ("leave", "w", "attempt-1", Leaving(workflow_id="f", boot_id="b")),
        ("report", "w", "attempt-1", REPORT),
        ("report", "w", "attempt-1", ASKS),
    ]


async def test_data_that_has_to_wait_is_refused_as_something_that_passes() -> None:
    async with door_to(FakeAttempts()) as door:
        for _ in range(25):
            await door.keep_data("attempt-1", b"x" * (10 << 20))
        with pytest.raises(TooMany, match="has to hand this in again"):
            await door.keep_data("attempt-1", b"x" * (10 << 20))
        assert issubclass(TooMany, Unavailable), "which the worker waits for"


async def test_a_history_is_told_and_a_verdict_on_it_is_waited_for() -> None:
    seen = Seen(store="s", position=2, attempt="a2")
    outcome = Outcome(state=State.SUCCESS, exit_code=0)
    entry = Entry(
        position=1,
        attempt="a1",
        workflow_id=str(UUID(int=1)),
        index=0,
        task="t",
        action="n",
        outcome=outcome,
        over=True,
    )
    async with door_to(FakeAttempts()) as door:
        told = History(boot_id="b", seen=seen, entries=(entry,))
        assert await door.history(told) == Answer(standing=JournalStanding.DISCARDED, seen=seen)
        assert decode_history(encode_history(told)) == told
        with pytest.raises(Invalid):
            await door.history(History(boot_id="b", seen=seen, entries=(entry,) * 201))


class FakeDiscovery:
    """Accepts at once when it has somebody to accept."""

    def __init__(self, accepted: Accepted | None = None) -> None:
        self.told_of: list[tuple[str, Told]] = []
        self._accepted = accepted

    async def told(self, holder: str, told: Told) -> None:
        self.told_of.append((holder, told))

    async def accepted(self, holder: str) -> Accepted | None:
        return self._accepted

    async def wait(self, timeout: float) -> None:
        """Here time passes at once."""


@pytest.mark.parametrize("accepted", [None, Accepted(worker="w")])
async def test_what_a_machine_tells_of_itself_arrives_and_so_does_its_acceptance(accepted: Accepted | None) -> None:
    what = Inventory(architecture="x86_64", processor="ü", processors=1, memory=1, firmware="bios")
    fake = FakeDiscovery(accepted)
    application = web.Application(middlewares=[refusals_become_problems])
    application.add_routes(discovery.routes(fake, authenticate, lambda: 0.0, poll_seconds=0.1))
    application.add_routes(sessions.routes(FakeSessions()))
    async with TestServer(application) as server:
        credential = Credential(server=str(server.make_url("")).rstrip("/"), registry="r", worker="m", token="secret")
        async with door_of(credential) as door:
            await door.tell_inventory(Told(boot_id="b", inventory=what))
            assert await door.accepted() == accepted
    assert fake.told_of == [("w", Told(boot_id="b", inventory=what))]


async def test_the_answer_about_disks_comes_back() -> None:
    looked = Looked(workflow_id="f", boot_id="b", disks=(Disk(path="/dev/sda", name="ü"),))
    refused = Refused(reason="DiskNotEmpty", message="photos")
    for answer in (refused, None):
        attempts = FakeAttempts(refused=answer)
        async with door_to(attempts) as door:
            assert await door.may_wipe("attempt-1", looked) == answer
        assert attempts.told == [("may_wipe", "w", "attempt-1", looked)]


async def test_no_work_is_none() -> None:
    async with door_to(FakeAttempts(offered=None)) as door:
        assert await door.next(Hello(boot_id="b")) is None


async def test_orders_are_waited_for_and_those_that_were_seen_are_none() -> None:
    wanted = Orders(stop=Order(state=State.CANCELED, message="by the operator"), armed=Armed(before=True))
    async with door_to(FakeAttempts(), FakeBreakpoints(wanted=wanted)) as door:
        assert await door.orders("attempt-1", "") == wanted
        assert await door.orders("attempt-1", Orders().mark) == wanted
        assert await door.orders("attempt-1", wanted.mark) is None


async def test_what_is_said_about_a_hold_arrives_as_it_was_sent() -> None:
    known = {"workflow_id": "f", "boot_id": "b", "sequence": 3}
    outcome = Outcome(state=State.FAILED, exit_code=7, tail=("last",))
    held = Held(kind=Kind.FAILURE, outcome=outcome, container=False, in_place=False, **known)
    resumed, asked = Resumed(**known), Asked(verb=Verb.RETRY, why="ü", fresh=True, shell="s1", **known)
    breakpoints = FakeBreakpoints()
    async with door_to(FakeAttempts(), breakpoints) as door:
        await door.held("attempt-1", held)
        await door.resumed("attempt-1", resumed)
        await door.verdict("attempt-1", asked)
    assert breakpoints.told == [
        ("held", "w", "attempt-1", held), ("resumed", "w", "attempt-1", resumed), ("asked", "w", "attempt-1", asked),
    ]  # fmt: skip


async def test_what_is_said_about_services_arrives_as_it_was_sent() -> None:
    standing = Standing(run="r1", phase=Phase.RESTARTING, exit_code=1, tail=("ü",), ports=(80,))
    hosted = FakeServices()
    hosted.changed.set()
    async with door_to(FakeAttempts(), hosted=hosted) as door:
        assert await door.wanted_services("") == WANTED
        assert await door.wanted_services(WANTED.mark) is None
        hosted.told.clear()
        await door.observed_services(Observed(boot_id="b", standings=(standing,)))
        assert await door.service_output("r1", 3, b"chunk") == 8
        await door.keep_service_data("r1", b"archive")
    assert hosted.told == [
        ("contact", "b"),
        ("observed", "w", (standing,)),
        ("output", "w", "r1", 3, b"chunk"),
        ("keep_data", "w", "r1", b"archive"),
    ]


async def test_a_refusal_about_a_service_comes_back_as_itself() -> None:
    async with door_to(FakeAttempts(), hosted=FakeServices(refusal=NotFound("no such run"))) as door:
        for asking in (door.wanted_services(""), door.service_output("r1", 0, b"x"), door.keep_service_data("r1", b"")):
            with pytest.raises(NotFound, match="no such run"):
                await asking


@pytest.mark.parametrize("refusal", [Conflict("too late"), NotFound("no such attempt")])
async def test_a_refusal_comes_back_as_itself(refusal: Exception) -> None:
    async with door_to(FakeAttempts(refusal=refusal)) as door:
        with pytest.raises(type(refusal), match=str(refusal)):
            await door.report("attempt-1", REPORT)
        with pytest.raises(type(refusal), match=str(refusal)):
            await door.orders("attempt-1", "")
        with pytest.raises(type(refusal), match=str(refusal)):
            await door.leaving("attempt-1", Leaving(workflow_id="f", boot_id="b"))


async def test_a_wrong_credential_is_denied() -> None:
    async with door_to(FakeAttempts(), token="guessed") as door:
        with pytest.raises(Denied):
            await door.next(Hello(boot_id="b"))


async def test_an_appliance_that_is_away_is_unavailable() -> None:
    credential = Credential(server="http://127.0.0.1:1", registry="r", worker="w", token="t")
    async with door_of(credential) as door:
        with pytest.raises(Unavailable, match="does not answer"):
            await door.next(Hello(boot_id="b"))


async def test_an_appliance_that_never_answers_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent(FakeAttempts):
        async def offer(self, worker: str, hello: Hello, *, private: bool) -> Offer | None:
            await asyncio.Event().wait()
            return None

    monkeypatch.setattr("tinkbox.client.node.POLL_TIMEOUT_SECONDS", 0.05)
    async with asyncio.timeout(60), door_to(Silent()) as door:
        with pytest.raises(Unavailable, match="TimeoutError"):
            await door.next(Hello(boot_id="b"))


async def test_what_an_image_is_pinned_to_is_the_appliances_word() -> None:
    attempts = FakeAttempts()
    async with door_to(attempts) as door:
        pulled = Pulled(workflow_id="w", boot_id="b", digest=f"sha256:{1:064x}")
        assert await door.pulled("a1", pulled) == f"sha256:{2:064x}"
        with pytest.raises(Invalid, match="digest"):
            await door.pulled("a1", replace(pulled, digest="latest"))
    assert attempts.told == [("pulled", "w", "a1", pulled)]


@dataclass
class Appliance:
    """Answers for work; forgets its sessions when it is told to."""

    sessions: set[str] = field(default_factory=set)
    exchanged: list[str] = field(default_factory=list)
    refuses: Exception | None = None
    knows_sessions: bool = True

    @asynccontextmanager
    async def door(self) -> AsyncIterator[NodeDoor]:
        application = web.Application(middlewares=[refusals_become_problems])
        if self.knows_sessions:
            application.add_routes(sessions.routes(self))
        application.router.add_post("/worker/next", self.next)
        async with TestServer(application) as server:
            credential = Credential(server=str(server.make_url("")).rstrip("/"), registry="r", worker="w", token="t")
            async with door_of(credential) as door:
                yield door

    async def exchange(self, ticket: str, wanted: Opening, address: str) -> str:
        if self.refuses is not None:
            raise self.refuses
        self.exchanged.append(ticket)
        self.sessions.add(wanted.secret)
        return "w"

    async def next(self, request: web.Request) -> web.Response:
        if self.refuses is not None:
            raise self.refuses
        if request.headers["Authorization"].split()[1] not in self.sessions:
            raise Denied("this is no session")
        return web.Response(status=204)


async def test_a_ticket_is_exchanged_first_and_again_where_the_appliance_forgot_the_session() -> None:
    appliance = Appliance()
    async with appliance.door() as door:
        for _ in range(2):
            assert await door.next(Hello(boot_id="b")) is None
        assert appliance.exchanged == ["t"]
        appliance.sessions.clear()
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(door.next(Hello(boot_id="b")))
        assert appliance.exchanged == ["t", "t"]


async def test_a_worker_whose_ticket_or_session_is_another_s_is_told_that_it_is_over() -> None:
    for exchanged in (False, True):
        appliance = Appliance()
        async with appliance.door() as door:
            if exchanged:
                await door.next(Hello(boot_id="b"))
            appliance.refuses = Forbidden("another works here")
            with pytest.raises(SessionOver, match="another works here"):
                await door.next(Hello(boot_id="b"))


async def test_an_appliance_of_before_sessions_is_unavailable_and_says_what_to_do() -> None:
    async with Appliance(knows_sessions=False).door() as door:
        with pytest.raises(Unavailable, match="of an earlier release"):
            await door.next(Hello(boot_id="b"))
