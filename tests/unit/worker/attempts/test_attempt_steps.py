"""Which steps of the table an attempt takes, where the appliance refuses it, or its container fails, while it is held."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.worker.actions import HOOKED, IMAGE, OFFER, machine
from tests.unit.worker.fakes import FakeDoor, FakeRuntime
from tests.unit.worker.programs import Program
from tinkbox.model.breakpoint import Armed, Verb, Verdict
from tinkbox.model.errors import Conflict, NotFound, Refusal
from tinkbox.model.reasons import Reason
from tinkbox.model.workflow import Outcome, State
from tinkbox.runtime import ContainerFailed, Ended
from tinkbox.wire.messages.breakpoints import Orders, Ruling
from tinkbox.wire.messages.worker import Order
from tinkbox.worker.attempts import attempt as running
from tinkbox.worker.attempts.attempt import AttemptRun
from tinkbox.worker.transitions import AttemptEvent, AttemptState, advance

ON_FAILURE = replace(OFFER, armed=Armed(on_failure=True))
HELD = ["RUNNING", "HELD"]
STOPPED = ["STOPPING", "KEEPING", "HOOK", "ENDED"]


@pytest.fixture
def states(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The states that an attempt goes through, as they come."""
    seen: list[str] = []

    def noted(state: AttemptState, event: AttemptEvent) -> AttemptState:
        seen.append(advance(state, event).value)
        return AttemptState(seen[-1])

    monkeypatch.setattr(running, "advance", noted)
    return seen


def refusing(error: Exception) -> Callable[..., object]:
    async def refused(*words: object) -> None:
        raise error

    return refused


def ruling(verb: Verb, armed: Armed = ON_FAILURE.armed) -> Orders:
    return Orders(armed=armed, ruling=Ruling(sequence=1, verdict=Verdict(verb=verb, who="anna")))


async def held(
    folder: Path, door: FakeDoor, spoil: Callable[[FakeRuntime], None], *orders: Orders, action: object = OFFER.action
) -> Outcome | None:
    """How a failing action ends that is held, when `spoil` is called then, and these orders come hold by hold."""
    runtime = FakeRuntime({IMAGE: Program(exit_code=7), f"{IMAGE} repair": Program()})
    attempt = AttemptRun(machine(runtime, door, folder), replace(ON_FAILURE, action=action))
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        run = group.create_task(attempt.outcome())
        for each in orders:
            await door.is_held.wait()
            door.is_held.clear()
            spoil(runtime)
            door.order_now(each)
    return run.result()


@pytest.mark.parametrize("error", [NotFound("deleted"), Conflict("it is over")])
async def test_an_attempt_whose_hold_is_not_wanted_is_stopped(
    tmp_path: Path, states: list[str], error: Refusal
) -> None:
    door = FakeDoor()
    door.held = refusing(error)  # type: ignore[method-assign,assignment]
    outcome = await held(tmp_path, door, lambda runtime: None)
    assert outcome
    assert (outcome.state, states) == (State.CANCELED, [*HELD, *STOPPED])
    assert str(error) in outcome.message


@pytest.mark.parametrize("error", [NotFound("deleted"), Conflict("it is over")])
async def test_an_attempt_whose_resumption_is_not_wanted_is_stopped_and_does_not_run(
    tmp_path: Path, states: list[str], error: Refusal
) -> None:
    door = FakeDoor()
    door.resumed = refusing(error)  # type: ignore[method-assign,assignment]
    outcome = await held(tmp_path, door, lambda runtime: None, ruling(Verb.RETRY))
    assert outcome
    assert (outcome.state, states) == (State.CANCELED, [*HELD, "RESUMING", *STOPPED])


@pytest.mark.parametrize("error", [NotFound("deleted"), Conflict("it is over")])
async def test_an_attempt_whose_data_is_not_wanted_after_the_verdict_is_stopped(
    tmp_path: Path, states: list[str], error: Refusal
) -> None:
    door = FakeDoor()

    def spoil(runtime: FakeRuntime) -> None:
        door.data = refusing(error)  # type: ignore[method-assign,assignment]

    outcome = await held(tmp_path, door, spoil, ruling(Verb.CONTINUE))
    assert outcome
    assert (outcome.state, states) == (State.CANCELED, [*HELD, "CLOSING", *STOPPED])


def does_not_start_again(runtime: FakeRuntime) -> None:
    """Its container ended while it was held, and the engine refuses to start it."""
    runtime.start = refusing(ContainerFailed(Reason.START_FAILED, "no console"))  # type: ignore[method-assign,assignment]
    for each in runtime.containers.values():
        each.result = Ended(exit_code=137)
        each.ended.set()


async def test_what_cannot_be_resumed_fails_and_its_hook_runs(tmp_path: Path, states: list[str]) -> None:
    outcome = await held(tmp_path, FakeDoor(), does_not_start_again, ruling(Verb.RETRY, armed=Armed()), action=HOOKED)
    assert outcome
    assert (outcome.state, outcome.reason) == (State.FAILED, "StartFailed")
    assert "on-failure did not run: no console" in outcome.message
    assert states == [*HELD, "RESUMING", "KEEPING", "HOOK", "ENDED"]


async def test_what_cannot_be_resumed_is_held_again_where_that_is_armed(tmp_path: Path, states: list[str]) -> None:
    cancel = Orders(armed=ON_FAILURE.armed, stop=Order(state=State.CANCELED, message="by anna"))
    outcome = await held(tmp_path, FakeDoor(), does_not_start_again, ruling(Verb.RETRY), cancel)
    assert outcome
    assert outcome.state is State.CANCELED
    assert states[:4] == [*HELD, "RESUMING", "HELD"]
    assert states[-4:] == STOPPED
