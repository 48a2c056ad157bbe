"""`reboot: true`: the machine goes away by intention, which is said before the container starts."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from tests.unit.worker.actions import ACTION, IMAGE, OFFER, machine, with_spec
from tests.unit.worker.fakes import AWAY, FakeDoor, FakeRuntime, Faults, Killed
from tests.unit.worker.programs import Program
from tinkbox.model.errors import Conflict, Invalid, NotFound, Refusal
from tinkbox.model.workflow import Outcome, State
from tinkbox.runtime import ContainerSpec
from tinkbox.wire.messages.worker import Order
from tinkbox.worker.attempts.attempt import AttemptRun
from tinkbox.worker.main import serve

pytestmark = pytest.mark.usefixtures("with_and_without_helper")

REBOOT = replace(OFFER, action=with_spec(ACTION, reboot=True))
CANCEL = Order(state=State.CANCELED, message="canceled by the operator")


def rebooting(folder: Path) -> Callable[[ContainerSpec], None]:
    def work(spec: ContainerSpec) -> None:
        (folder / "reboot").touch()

    return work


async def test_the_appliance_knows_that_the_machine_leaves_before_the_container_starts(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def work(spec: ContainerSpec) -> None:
        seen.append(list(door.left))
        rebooting(tmp_path)(spec)

    runtime, door = FakeRuntime({IMAGE: Program(output=b"bye\n", work=work)}), FakeDoor([REBOOT])
    await serve(machine(runtime, door, tmp_path), door)
    assert seen == [["a1"]]
    assert door.reports == {}
    assert door.printed == {"a1": b"bye\n"}
    assert [container.starts for container in runtime.containers.values()] == [1]


async def test_an_action_that_is_no_reboot_says_nothing_of_leaving(tmp_path: Path) -> None:
    runtime, door = FakeRuntime({IMAGE: Program()}), FakeDoor()
    await AttemptRun(machine(runtime, door, tmp_path), OFFER).outcome()
    assert door.left == []


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("where", "error"),
    [("engine", Killed()), ("appliance", Killed()), ("engine", AWAY[0]), ("appliance", AWAY[1])],
)
async def test_whatever_fails_at_any_call_the_machine_leaves_once_and_nothing_is_started_twice(
    where: str, after: bool, error: Exception, tmp_path: Path
) -> None:
    async def leave(folder: Path, faults: Faults) -> tuple[FakeRuntime, FakeDoor]:
        program = Program(output=b"bye\n", work=rebooting(folder))
        runtime, door = FakeRuntime({IMAGE: program}), FakeDoor([REBOOT])
        (runtime if where == "engine" else door).faults = faults
        for _ in count():
            try:
                async with asyncio.timeout(60):
                    await serve(machine(runtime, door, folder), door)
                return runtime, door
            except (Killed, BaseExceptionGroup):
                continue
        raise AssertionError

    runtime, door = await leave(tmp_path / "undisturbed", Faults())
    for at in range(len((runtime if where == "engine" else door).faults.calls)):
        runtime, door = await leave(tmp_path / str(at), Faults(error, at, after))
        assert (runtime.starts(), door.left, door.reports) == (1, ["a1"], {})


@pytest.mark.parametrize("code", [0, 143, 137])
async def test_without_a_wish_for_a_reboot_the_machine_is_waited_for_until_an_order_comes(
    code: int, tmp_path: Path
) -> None:
    runtime, door = FakeRuntime({IMAGE: Program(exit_code=code)}), FakeDoor()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        run = group.create_task(AttemptRun(machine(runtime, door, tmp_path), REBOOT).outcome())
        for _ in range(200):
            await asyncio.sleep(0)
        assert [each.ended.is_set() for each in runtime.containers.values()] == [True]
        assert not run.done()
        door.order_now(CANCEL)
    outcome = run.result()
    assert outcome is not None
    assert (outcome.state, outcome.reason, outcome.message) == (State.CANCELED, "Canceled", CANCEL.message)


@pytest.mark.parametrize(("code", "reason"), [(3, "NonZeroExit"), (139, "Signal")])
async def test_an_action_that_fails_to_make_the_machine_leave_fails(code: int, reason: str, tmp_path: Path) -> None:
    runtime, door = FakeRuntime({IMAGE: Program(exit_code=code)}), FakeDoor()
    outcome = await AttemptRun(machine(runtime, door, tmp_path), REBOOT).outcome()
    assert outcome is not None
    assert (outcome.state, outcome.reason, outcome.exit_code) == (State.FAILED, reason, code)


async def test_one_that_hangs_is_stopped_when_its_time_is_up(tmp_path: Path) -> None:
    runtime, door = FakeRuntime({IMAGE: Program(lasts=True)}), FakeDoor()
    outcome = await AttemptRun(machine(runtime, door, tmp_path), replace(REBOOT, remaining=0.05)).outcome()
    assert outcome is not None
    assert (outcome.state, outcome.reason) == (State.TIMEOUT, "Timeout")


@pytest.mark.parametrize("refusal", [Conflict("canceled meanwhile"), NotFound("deleted"), Invalid("what?")])
async def test_a_machine_that_must_not_leave_any_more_starts_nothing(refusal: Refusal, tmp_path: Path) -> None:
    runtime, door = FakeRuntime({IMAGE: Program()}), FakeDoor()

    async def refused(*words: object) -> None:
        raise refusal

    door.leaving = refused  # type: ignore[method-assign,assignment]
    outcome = await AttemptRun(machine(runtime, door, tmp_path), REBOOT).outcome()
    assert outcome is not None
    assert outcome.state is State.CANCELED
    assert str(refusal) in outcome.message
    assert (runtime.starts(), runtime.containers) == (0, {})


@pytest.mark.parametrize("remaining", [0, 60])
@pytest.mark.parametrize("noted", [True, False])
async def test_after_leaving_was_said_nothing_new_is_made(remaining: float, noted: bool, tmp_path: Path) -> None:
    runtime, door = FakeRuntime({IMAGE: Program()}), FakeDoor()
    place = machine(runtime, door, tmp_path)
    place.folder.notes.begin("a1")
    if noted:
        place.folder.notes.keep_start("a1", "action")
    door.order_now(None, CANCEL)
    async with asyncio.timeout(60):
        outcome = await AttemptRun(place, replace(REBOOT, left=True, remaining=remaining)).outcome()
    assert outcome == Outcome(state=State.CANCELED, reason="Canceled", message=CANCEL.message)
    assert "create" not in runtime.faults.calls


async def test_an_acknowledged_report_comes_before_a_reboot_though_the_worker_was_killed(tmp_path: Path) -> None:
    program = Program(work=rebooting(tmp_path))
    runtime, door = FakeRuntime({IMAGE: program}), FakeDoor([OFFER, replace(OFFER, attempt="a2")], Faults(Killed(), 2))
    for _ in range(5):
        try:
            await serve(machine(runtime, door, tmp_path), door)
            break
        except (Killed, BaseExceptionGroup):
            continue
    assert list(door.reports) == ["a1"]
    assert runtime.starts() == 1
