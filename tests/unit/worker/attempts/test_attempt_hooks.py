"""2020's on-failure and on-timeout: a second container after the action's."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.worker.actions import HOOKED, IMAGE, OFFER, machine, tells, with_spec
from tests.unit.worker.attempts.test_attempt import run
from tests.unit.worker.fakes import FakeDoor, FakeRuntime
from tests.unit.worker.programs import Program
from tinkbox.model.workflow import State
from tinkbox.wire.messages.worker import Order
from tinkbox.worker.attempts.attempt import AttemptRun

pytestmark = pytest.mark.usefixtures("with_and_without_helper")

CANCEL = Order(state=State.CANCELED, message="canceled by the operator")


async def test_on_failure_runs_after_a_failure_and_its_words_are_not_the_actions(tmp_path: Path) -> None:
    repair = Program(output=b"repaired\n", exit_code=9, work=tells("Other", "other"))
    outcome, runtime, door = await run(
        Program(output=b"broken\n", exit_code=3), tmp_path, replace(OFFER, action=HOOKED), repair=repair
    )
    assert (outcome.reason, outcome.exit_code, outcome.tail) == ("NonZeroExit", 3, ("broken",))
    assert outcome.message.endswith("broken; on-failure ended with exit code 9")
    assert door.printed == {"a1": b"broken\nrepaired\n"}
    assert (runtime.starts(), runtime.starts("on-failure"), runtime.starts("on-timeout")) == (1, 1, 0)


async def test_a_hook_that_ends_well_is_not_worth_a_word(tmp_path: Path) -> None:
    outcome, _, _ = await run(Program(exit_code=3), tmp_path, replace(OFFER, action=HOOKED), repair=Program())
    assert outcome.message == "the action ended with exit code 3"


async def test_on_timeout_runs_after_a_timeout(tmp_path: Path) -> None:
    offer = replace(OFFER, remaining=0.05, action=HOOKED)
    outcome, runtime, door = await run(Program(lasts=True), tmp_path, offer, hurry=Program(output=b"hurried\n"))
    assert outcome.state is State.TIMEOUT
    assert (runtime.starts("on-failure"), runtime.starts("on-timeout")) == (0, 1)
    assert door.printed == {"a1": b"hurried\n"}


async def test_on_failure_stands_in_for_a_missing_on_timeout(tmp_path: Path) -> None:
    offer = replace(OFFER, remaining=0.05, action=with_spec(HOOKED, on_timeout=()))
    _, runtime, _ = await run(Program(lasts=True), tmp_path, offer, repair=Program())
    assert runtime.starts("on-failure") == 1


async def test_a_hook_that_fails_to_start_is_told_and_left_behind(tmp_path: Path) -> None:
    failing = replace(OFFER, action=HOOKED)
    outcome, _, _ = await run(Program(exit_code=3), tmp_path, failing, repair=Program(error="no such file"))
    assert outcome.reason == "NonZeroExit"
    assert outcome.message.endswith("on-failure did not run: no such file")


async def test_a_hook_that_hangs_is_stopped_and_its_output_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinkbox.worker.attempts.action_process.MAX_HOOK_SECONDS", 0.05)
    hanging = Program(lasts=True, output=b"half\n")
    runtime, door = FakeRuntime({IMAGE: Program(exit_code=3), f"{IMAGE} repair": hanging}), FakeDoor()
    outcome = await AttemptRun(machine(runtime, door, tmp_path), replace(OFFER, action=HOOKED)).outcome()
    assert outcome is not None
    assert outcome.message.endswith("on-failure was stopped: it did not end within 0 seconds")
    assert door.printed == {"a1": b"half\n"}
    assert all(container.ended.is_set() for container in runtime.containers.values())


async def test_without_its_image_a_hook_has_no_more_to_say_than_the_action(tmp_path: Path) -> None:
    offer = replace(OFFER, action=HOOKED)
    outcome = await AttemptRun(machine(FakeRuntime({}), FakeDoor(), tmp_path), offer).outcome()
    assert outcome is not None
    assert "on-failure" not in outcome.message


async def test_a_failure_of_an_attempt_that_was_canceled_meanwhile_runs_no_hook(tmp_path: Path) -> None:
    runtime, door = FakeRuntime({IMAGE: Program(), f"{IMAGE} repair": Program()}), FakeDoor()
    runtime.programs[IMAGE] = Program(exit_code=3, work=lambda spec: door.order_now(CANCEL))
    keep_data = door.data

    async def slow(attempt: str) -> bytes:
        for _ in range(50):
            await asyncio.sleep(0)
        return await keep_data(attempt)

    door.data = slow  # type: ignore[method-assign]
    outcome = await AttemptRun(machine(runtime, door, tmp_path), replace(OFFER, action=HOOKED)).outcome()
    assert outcome is not None
    assert (outcome.state, outcome.message) == (State.FAILED, "the action ended with exit code 3")
    assert runtime.faults.calls.count("create") == 1
