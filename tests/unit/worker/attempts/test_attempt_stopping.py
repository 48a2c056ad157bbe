"""Orders of the appliance, deadlines, and an engine that is away just then."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.worker.actions import ACTION, HOOKED, IMAGE, OFFER, REGISTRY, bound, machine, tells, with_spec
from tests.unit.worker.fakes import AWAY, FakeDoor, FakeRuntime, Faults, Killed, lives_until_finished
from tests.unit.worker.programs import Program
from tinkbox.model.errors import Conflict, NotFound, Refusal, Unavailable
from tinkbox.model.workflow import Outcome, State
from tinkbox.runtime import ContainerSpec
from tinkbox.wire.ephemeral_data import decode
from tinkbox.wire.messages.worker import Offer, Order
from tinkbox.worker.attempts.attempt import AttemptRun
from tinkbox.worker.attempts.order_listener import OrderListener
from tinkbox.worker.main import serve

pytestmark = pytest.mark.usefixtures("with_and_without_helper")

CANCEL = Order(state=State.CANCELED, message="canceled by the operator")
LATE = Order(state=State.TIMEOUT, message="the workflow took longer than its 600 seconds")


def then(door: FakeDoor, *orders: Order | Refusal | None) -> Callable[[ContainerSpec], None]:
    """The work of a program during which orders come, and which says something and leaves data behind."""

    def work(spec: ContainerSpec) -> None:
        tells("Halfway", "wrote half")(spec)
        (bound(spec, "/workflow") / "half").write_text("1")
        door.order_now(*orders)

    return work


async def ordered(
    folder: Path, *orders: Order | Refusal | None, offer: Offer = OFFER, hook: Program | None = None
) -> tuple[Outcome, FakeRuntime, FakeDoor]:
    """The outcome of an action that runs for ever until these orders come."""
    door = FakeDoor()
    runtime = FakeRuntime(
        {IMAGE: Program(output=b"half\n", lasts=True, work=then(door, *orders))}
        | {f"{IMAGE} {word}": hook or Program() for word in ("hurry", "repair")}
    )
    async with asyncio.timeout(60):
        outcome = await AttemptRun(machine(runtime, door, folder), offer).outcome()
    assert outcome is not None
    assert all(each.ended.is_set() for each in runtime.containers.values())
    return outcome, runtime, door


async def test_a_canceled_action_is_stopped_and_keeps_its_words_output_and_data(tmp_path: Path) -> None:
    outcome, runtime, door = await ordered(tmp_path, None, CANCEL, offer=replace(OFFER, action=HOOKED))
    assert outcome == Outcome(
        state=State.CANCELED, reason="Canceled", tail=("half",),
        message="canceled by the operator; the action said: Halfway: wrote half",
    )  # fmt: skip
    assert runtime.faults.calls.count("stop") == 1
    assert door.printed == {"a1": b"half\n"}
    assert [entry.path for entry in decode(door.archive)] == ["half"]
    assert (runtime.starts("on-failure"), runtime.starts("on-timeout")) == (0, 0)


async def test_a_workflow_that_is_late_stops_its_action_which_may_clean_up(tmp_path: Path) -> None:
    outcome, runtime, _ = await ordered(tmp_path, LATE, offer=replace(OFFER, action=HOOKED))
    assert (outcome.state, outcome.reason) == (State.TIMEOUT, "Timeout")
    assert outcome.message == f"{LATE.message}; the action said: Halfway: wrote half"
    assert (runtime.starts("on-failure"), runtime.starts("on-timeout")) == (0, 1)


@pytest.mark.parametrize("error", [NotFound("deleted"), Conflict("over")])
async def test_an_attempt_that_the_appliance_does_not_want_any_more_is_stopped(error: Refusal, tmp_path: Path) -> None:
    outcome, runtime, _ = await ordered(tmp_path, error)
    assert outcome.state is State.CANCELED
    assert str(error) in outcome.message
    assert runtime.faults.calls.count("stop") == 1


async def test_an_appliance_that_was_away_still_gives_its_order(tmp_path: Path) -> None:
    outcome, _, _ = await ordered(tmp_path, Unavailable("away"), Unavailable("away"), CANCEL)
    assert outcome.state is State.CANCELED


@pytest.mark.parametrize("answers", [False, True])
async def test_a_pull_that_takes_too_long_says_what_was_waited_for(tmp_path: Path, *, answers: bool) -> None:
    runtime = FakeRuntime({})
    runtime.pulls.clear()
    runtime.layers = answers
    offer = replace(OFFER, remaining=0.05, action=with_spec(ACTION, image="quay.io/x:v1"))
    outcome = await AttemptRun(machine(runtime, FakeDoor(), tmp_path), offer).outcome()
    assert outcome is not None
    assert (outcome.state, outcome.reason) == (State.TIMEOUT, "Timeout")
    how = "which was under way" if answers else "no answer for 0 seconds"
    assert outcome.message.endswith(f"waiting for: pulling {REGISTRY}/quay.io/x:v1 from {REGISTRY}, {how}")


async def test_a_workflow_that_takes_too_long_in_a_pull_says_so_as_well(tmp_path: Path) -> None:
    runtime, door = FakeRuntime({IMAGE: Program()}), FakeDoor()
    runtime.pulls.clear()
    door.order_now(Order(state=State.TIMEOUT, message="the workflow took longer than 60 seconds"))
    outcome = await AttemptRun(machine(runtime, door, tmp_path), OFFER).outcome()
    assert outcome is not None
    assert outcome.message.startswith(f"the workflow took longer than 60 seconds, waiting for: pulling {IMAGE} from")


async def test_an_order_ends_the_wait_for_an_image(tmp_path: Path) -> None:
    runtime, door = FakeRuntime({IMAGE: Program()}), FakeDoor()
    runtime.pulls.clear()
    door.order_now(CANCEL)
    async with asyncio.timeout(60):
        outcome = await AttemptRun(machine(runtime, door, tmp_path), OFFER).outcome()
    assert outcome == Outcome(state=State.CANCELED, reason="Canceled", message="canceled by the operator")
    assert runtime.containers == {}
    assert "keep_data" not in door.faults.calls


async def test_a_cancellation_ends_a_hook_and_the_failure_before_it_stays_the_reason(tmp_path: Path) -> None:
    door = FakeDoor()
    hanging = Program(output=b"repairing\n", lasts=True, work=lambda spec: door.order_now(CANCEL))
    runtime = FakeRuntime({IMAGE: Program(exit_code=3), f"{IMAGE} repair": hanging})
    async with asyncio.timeout(60):
        outcome = await AttemptRun(machine(runtime, door, tmp_path), replace(OFFER, action=HOOKED)).outcome()
    assert outcome is not None
    assert (outcome.state, outcome.reason) == (State.FAILED, "NonZeroExit")
    assert outcome.message.endswith("on-failure was stopped: canceled by the operator")
    assert door.printed == {"a1": b"repairing\n"}
    assert all(each.ended.is_set() for each in runtime.containers.values())


async def test_an_order_that_comes_when_all_is_done_changes_nothing(tmp_path: Path) -> None:
    door = FakeDoor()
    runtime = FakeRuntime({IMAGE: Program(work=then(door, CANCEL))})
    outcome = await AttemptRun(machine(runtime, door, tmp_path), OFFER).outcome()
    assert outcome is not None
    assert outcome.state is State.SUCCESS
    assert "stop" not in runtime.faults.calls


async def test_a_container_that_was_made_and_not_started_never_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinkbox.runtime.seeing_through.SECONDS", 0.01)

    class Slow(FakeRuntime):
        async def start(self, container_id: str) -> None:
            door.order_now(CANCEL)
            await asyncio.Event().wait()

    door = FakeDoor()
    runtime = Slow({IMAGE: Program()})
    async with asyncio.timeout(60):
        outcome = await AttemptRun(machine(runtime, door, tmp_path), OFFER).outcome()
    assert outcome is not None
    assert outcome.state is State.CANCELED
    assert (len(runtime.removed), runtime.containers, runtime.starts()) == (1, {}, 0)


async def test_a_canceled_action_stays_canceled_and_without_hooks_in_the_workers_next_life(tmp_path: Path) -> None:
    runtime, door = FakeRuntime({IMAGE: Program(lasts=True), f"{IMAGE} repair": Program()}), FakeDoor()
    place = machine(runtime, door, tmp_path)
    runtime.faults = Faults(Killed(), 5)
    with pytest.raises(BaseExceptionGroup):
        await AttemptRun(place, replace(OFFER, action=HOOKED)).outcome()
    place.folder.notes.keep_stop("a1", CANCEL)
    outcome = await AttemptRun(place, replace(OFFER, action=HOOKED)).outcome()
    assert outcome == Outcome(state=State.CANCELED, reason="Canceled", message=CANCEL.message)
    assert (runtime.starts(), runtime.starts("on-failure"), runtime.starts("on-timeout")) == (1, 0, 0)


async def test_an_action_that_ended_in_time_is_no_timeout_however_late_it_is_seen(tmp_path: Path) -> None:
    for exit_code, state in ((0, State.SUCCESS), (3, State.FAILED)):
        folder = tmp_path / str(exit_code)
        runtime, door = FakeRuntime({IMAGE: Program(exit_code=exit_code, output=b"x\n")}, Faults()), FakeDoor()
        runtime.faults = Faults(Killed(), 5)
        with pytest.raises(BaseExceptionGroup):
            await AttemptRun(machine(runtime, door, folder), OFFER).outcome()
        assert [each.ended.is_set() for each in runtime.containers.values()] == [True]
        outcome = await AttemptRun(machine(runtime, door, folder), replace(OFFER, remaining=0)).outcome()
        assert outcome is not None
        assert (outcome.state, outcome.exit_code, outcome.tail) == (state, exit_code, ("x",))


async def test_a_timeout_with_an_engine_that_is_gone_is_told_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinkbox.worker.attempts.action_process.ENGINE_SECONDS", 0.05)
    runtime, door = FakeRuntime({IMAGE: Program()}), FakeDoor()

    def goes(spec: ContainerSpec) -> None:
        runtime.away = True

    runtime.programs[IMAGE] = Program(lasts=True, work=goes)
    offer = replace(OFFER, remaining=0.05, action=HOOKED)
    async with asyncio.timeout(60):
        attempt = AttemptRun(machine(runtime, door, tmp_path), offer)
        outcome = await attempt.outcome()
        assert outcome is not None
        assert (outcome.state, outcome.reason) == (State.TIMEOUT, "EngineGone")
        assert "whether its container still runs is not known" in outcome.message
        assert runtime.starts("on-timeout") == 0
        runtime.away = False
        await attempt.clean_up()
    assert runtime.containers == {}


def late_when_quiet(leashes: list[OrderListener], calls: Callable[[], int]) -> Callable[[ContainerSpec], None]:
    """The work of a program whose time is up once nobody has called anybody for a while, however slow this host is."""

    def work(spec: ContainerSpec) -> None:
        loop, listener = asyncio.get_running_loop(), leashes[-1]

        def look(before: int, quiet: int) -> None:
            if listener._limit is None or listener._limit.expired():
                return
            if quiet == 300:
                listener._limit.reschedule(loop.time())
            else:
                loop.call_soon(look, calls(), quiet + 1 if calls() == before else 0)

        loop.call_soon(look, -1, 0)

    return work


async def served(
    folder: Path, where: str, faults: Faults, leashes: list[OrderListener] | None = None
) -> tuple[Outcome, FakeRuntime, FakeDoor, int]:
    """An action that takes too long, with a fault; a killed worker is started again.

    With `leashes` its time is up when it was quiet for a while, without them soon.
    """
    remaining = 0.02 if leashes is None else 60.0
    door = FakeDoor([replace(OFFER, action=with_spec(ACTION, on_timeout=("hurry",)), remaining=remaining)])
    program = Program(output=b"one\n", lasts=True)
    runtime = FakeRuntime({IMAGE: program, f"{IMAGE} hurry": Program(output=b"hurried\n")})
    if leashes is not None:
        program.work = late_when_quiet(leashes, lambda: len(runtime.faults.calls) + len(door.faults.calls))
    (runtime if where == "engine" else door).faults = faults
    lives = await lives_until_finished(lambda: serve(machine(runtime, door, folder), door))
    return door.reports["a1"].outcome, runtime, door, lives


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("where", ["engine", "appliance"])
async def test_a_worker_killed_at_any_call_of_a_timeout_reports_a_timeout(
    where: str, after: bool, tmp_path: Path
) -> None:
    undisturbed, runtime, door, _ = await served(tmp_path / "undisturbed", where, Faults())
    calls = len((runtime if where == "engine" else door).faults.calls)
    assert calls >= 5
    for at in range(calls):
        outcome, runtime, door, _ = await served(tmp_path / str(at), where, Faults(Killed(), at, after))
        assert (outcome.state, outcome.reason) == (State.TIMEOUT, undisturbed.reason)
        assert runtime.starts() <= 1
        assert runtime.starts("on-timeout") == 1 or runtime.starts() == 0
        assert door.printed["a1"].endswith(b"hurried\n")
        assert runtime.containers == {}


@pytest.mark.parametrize(("where", "error"), [("engine", AWAY[0]), ("appliance", AWAY[1])])
async def test_an_engine_or_appliance_away_at_any_call_of_a_timeout_changes_nothing(
    where: str, error: Exception, tmp_path: Path, leashes: list[OrderListener]
) -> None:
    undisturbed, runtime, door, _ = await served(tmp_path / "undisturbed", where, Faults(), leashes)
    for at in range(len((runtime if where == "engine" else door).faults.calls)):
        outcome, runtime, door, lives = await served(tmp_path / str(at), where, Faults(error, at, True), leashes)
        assert (lives, outcome) == (1, undisturbed)
        assert (runtime.starts(), runtime.starts("on-timeout")) == (1, 1)
        assert door.printed["a1"] == b"one\nhurried\n"


@pytest.mark.parametrize("why", ["a worker before began it", "its offer came long ago", "it came now"])
async def test_orders_are_asked_for_at_once_unless_the_offer_is_new(
    why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinkbox.worker.attempts.order_listener.FIRST_PAUSE", 1000.0)
    new = why == "it came now"
    runtime, door = FakeRuntime({IMAGE: Program(lasts=not new)}), FakeDoor()
    place, now = machine(runtime, door, tmp_path), asyncio.get_running_loop().time()
    if why == "a worker before began it":
        place.folder.notes.begin(OFFER.attempt)
    door.order_now(CANCEL)
    async with asyncio.timeout(60):
        outcome = await AttemptRun(place, OFFER, now - 2000.0 if "long ago" in why else now).outcome()
    assert outcome is not None
    assert outcome.state is (State.SUCCESS if new else State.CANCELED)
    assert bool(door.answers) is new
