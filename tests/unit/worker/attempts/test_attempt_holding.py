"""An attempt at its breakpoints: what is announced, what each verdict leads to, and a worker that is killed there."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.worker.actions import ACTION, HOOKED, IMAGE, OFFER, bound, machine, tells, with_spec
from tests.unit.worker.fakes import FakeDoor, FakeRuntime, Faults, Killed
from tests.unit.worker.programs import Program
from tinkbox.model.breakpoint import Armed, Kind, Verb, Verdict
from tinkbox.model.reasons import Reason
from tinkbox.model.workflow import Outcome, State
from tinkbox.runtime import ContainerFailed
from tinkbox.wire.messages.breakpoints import Orders, Ruling
from tinkbox.wire.messages.worker import Offer, Order
from tinkbox.worker.attempts.attempt import AttemptRun
from tinkbox.worker.host.inotify import Watch

ON_FAILURE = replace(OFFER, armed=Armed(on_failure=True))
FAILS = {"exit_code": 7}


def verdict(verb: Verb, **more: object) -> Verdict:
    return Verdict(verb=verb, who="anna", **more)


async def held(
    offer: Offer, program: Program, folder: Path, *verdicts: Verdict, armed: Armed | None = None, **others: Program
) -> tuple[Outcome | None, FakeRuntime, FakeDoor]:
    """Run an offer and give the verdicts as it is held, one after the other."""
    runtime = FakeRuntime({IMAGE: program} | {f"{IMAGE} {word}": other for word, other in others.items()})
    door = FakeDoor()
    attempt = AttemptRun(machine(runtime, door, folder), offer)

    async def decide() -> None:
        for number, each in enumerate(verdicts, 1):
            await door.is_held.wait()
            door.is_held.clear()
            assert number in door.holds
            door.order_now(Orders(armed=armed or offer.armed, ruling=Ruling(sequence=number, verdict=each)))

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        deciding = group.create_task(decide())
        outcome = await attempt.outcome()
        assert deciding.done(), "it was not held as often as expected"
    await attempt.clean_up()
    assert runtime.containers == {}
    return outcome, runtime, door


async def test_a_failure_is_held_with_all_there_is_to_know(tmp_path: Path) -> None:
    program = Program(output=b"one\ntwo\n", work=tells("DiskNotFound", "no /dev/sda"), **FAILS)
    outcome, _, door = await held(ON_FAILURE, program, tmp_path, verdict(Verb.FAIL))
    (announced,) = door.holds.values()
    assert (announced.workflow_id, announced.boot_id, announced.sequence) == ("w1", "boot-1", 1)
    assert (announced.kind, announced.container, announced.in_place) == (Kind.FAILURE, True, True)
    expected = Outcome(
        state=State.FAILED, exit_code=7, reason="DiskNotFound", message="no /dev/sda", tail=("one", "two")
    )
    assert announced.outcome == expected
    assert outcome == replace(expected, message="no /dev/sda; anna let it fail")


async def test_without_a_breakpoint_nothing_is_held(tmp_path: Path) -> None:
    outcome, _, door = await held(OFFER, Program(**FAILS), tmp_path)
    assert (outcome and outcome.exit_code, door.holds) == (7, {})
    outcome, _, door = await held(replace(ON_FAILURE, attempt="a2"), Program(), tmp_path)
    assert (outcome and outcome.state, door.holds) == (State.SUCCESS, {})


async def test_what_is_let_pass_counts_as_success_and_keeps_how_it_ended(tmp_path: Path) -> None:
    program = Program(work=tells("DiskNotFound", "no /dev/sda"), **FAILS)
    outcome, _, door = await held(ON_FAILURE, program, tmp_path, verdict(Verb.CONTINUE, why="written by hand"))
    assert outcome is not None
    assert (outcome.state, outcome.exit_code, outcome.reason) == (State.SUCCESS, 7, "DiskNotFound")
    assert outcome.message == "anna let it count as success (written by hand); it had ended so: no /dev/sda"
    assert "keep_data" in door.faults.calls or "data" in door.faults.calls


async def test_a_retry_in_place_runs_once_more_in_the_same_container(tmp_path: Path) -> None:
    program = Program(output=b"again\n", exit_codes=[7, 0], work=lambda spec: None)
    outcome, runtime, door = await held(ON_FAILURE, program, tmp_path, verdict(Verb.RETRY))
    assert outcome == Outcome(state=State.SUCCESS, exit_code=0, tail=("again",))
    assert (len(runtime.ever), runtime.starts(), door.resumptions) == (1, 1, [1])
    assert door.printed == {"a1": b"again\nagain\n"}


async def test_what_it_said_before_a_retry_is_not_said_again(tmp_path: Path) -> None:
    runs = []

    def work(spec) -> None:
        runs.append(bound(spec, "/dev/reason").read_text())
        tells("DiskNotFound", "first")(spec) if len(runs) == 1 else None

    outcome, _, _ = await held(
        ON_FAILURE, Program(exit_codes=[7, 8], work=work), tmp_path, verdict(Verb.RETRY), verdict(Verb.FAIL)
    )
    assert outcome is not None
    assert (outcome.exit_code, outcome.reason, runs) == (8, "NonZeroExit", ["", ""])


async def test_a_retry_takes_another_command_and_environment(tmp_path: Path) -> None:
    again = verdict(Verb.RETRY, command=("other", "-v"), environment={"SIZE": "9"})
    outcome, _, _ = await held(ON_FAILURE, Program(**FAILS), tmp_path, again, other=Program(output=b"other\n"))
    assert outcome == Outcome(state=State.SUCCESS, exit_code=0, tail=("other",))


async def test_a_fresh_retry_is_the_end_of_this_attempt_with_its_own_outcome(tmp_path: Path) -> None:
    outcome, runtime, door = await held(ON_FAILURE, Program(**FAILS), tmp_path, verdict(Verb.RETRY, fresh=True))
    assert outcome is not None
    assert (outcome.state, outcome.exit_code, door.resumptions, runtime.starts()) == (State.FAILED, 7, [], 1)


async def test_it_can_be_held_again_and_again(tmp_path: Path) -> None:
    program = Program(exit_codes=[7, 8, 9])
    verdicts = [verdict(Verb.RETRY), verdict(Verb.RETRY), verdict(Verb.FAIL)]
    outcome, _, door = await held(ON_FAILURE, program, tmp_path, *verdicts)
    assert outcome is not None
    assert outcome.exit_code == 9
    assert [each.outcome and each.outcome.exit_code for each in door.holds.values()] == [7, 8, 9]
    assert list(door.holds) == [1, 2, 3]


async def test_held_before_it_begins_it_runs_when_it_may(tmp_path: Path) -> None:
    offer = replace(OFFER, armed=Armed(before=True))
    outcome, runtime, door = await held(offer, Program(), tmp_path, verdict(Verb.CONTINUE))
    assert outcome == Outcome(state=State.SUCCESS, exit_code=0)
    assert (door.holds[1].kind, door.holds[1].outcome, door.resumptions) == (Kind.BEFORE, None, [1])
    assert runtime.starts() == 1


@pytest.mark.parametrize(
    ("verb", "state", "reason"),
    [(Verb.SKIP, State.SUCCESS, ""), (Verb.FAIL, State.FAILED, "FailedAtBreakpoint")],
)
async def test_held_before_it_begins_it_need_not_run(tmp_path: Path, verb: Verb, state: State, reason: str) -> None:
    ran = []
    offer = replace(OFFER, armed=Armed(before=True))
    outcome, _, _ = await held(offer, Program(work=ran.append), tmp_path, verdict(verb))
    assert outcome is not None
    assert (outcome.state, outcome.reason, outcome.exit_code, ran) == (state, reason, None, [])


async def test_a_success_is_held_after_it(tmp_path: Path) -> None:
    offer = replace(OFFER, armed=Armed(after=True))
    outcome, _, door = await held(offer, Program(), tmp_path, verdict(Verb.CONTINUE))
    assert outcome == Outcome(state=State.SUCCESS, exit_code=0)
    assert (door.holds[1].kind, door.holds[1].outcome) == (Kind.AFTER, outcome)
    offer = replace(offer, attempt="a2")
    outcome, _, _ = await held(offer, Program(), tmp_path, verdict(Verb.FAIL, why="wrong disk"))
    assert outcome is not None
    assert (outcome.state, outcome.reason) == (State.FAILED, "FailedAtBreakpoint")
    assert "wrong disk" in outcome.message


async def test_data_that_a_person_takes_away_while_it_is_held_is_gone(tmp_path: Path) -> None:
    runtime = FakeRuntime({IMAGE: Program(work=lambda spec: (bound(spec, "/workflow") / "file").touch())})
    door = FakeDoor()
    place = machine(runtime, door, tmp_path)
    attempt = AttemptRun(place, replace(OFFER, armed=Armed(after=True), no_data=True))

    async def decide() -> None:
        await door.is_held.wait()
        assert door.archive
        (place.folder.data.folder("w1") / "file").unlink()
        door.order_now(Orders(armed=Armed(after=True), ruling=Ruling(sequence=1, verdict=verdict(Verb.CONTINUE))))

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        group.create_task(decide())
        await attempt.outcome()
    assert door.archive == b""


async def test_the_hook_runs_after_the_verdict_and_only_when_it_fails(tmp_path: Path) -> None:
    offer = replace(ON_FAILURE, action=HOOKED)
    _, runtime, _ = await held(offer, Program(**FAILS), tmp_path, verdict(Verb.FAIL), repair=Program())
    assert runtime.starts("on-failure") == 1
    offer = replace(offer, attempt="a2")
    _, runtime, _ = await held(offer, Program(**FAILS), tmp_path, verdict(Verb.CONTINUE), repair=Program())
    assert runtime.starts("on-failure") == 0


async def test_an_image_that_is_missing_is_held_without_a_container(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    offer = replace(ON_FAILURE, action=with_spec(ACTION, image="missing:v1"))
    outcome, _, door = await held(offer, Program(), tmp_path, verdict(Verb.RETRY, fresh=True))
    assert (door.holds[1].container, door.holds[1].in_place) == (False, False)
    assert outcome is not None
    assert outcome.reason == "ImageNotFound"
    assert "No such file" not in caplog.text


@pytest.mark.parametrize("ignores", [[], ["15"]])
async def test_what_took_too_long_is_stopped_and_held(
    tmp_path: Path, ignores: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinkbox.worker.attempts.action_process.GRACE", 0.1)
    offer = replace(ON_FAILURE, remaining=0.05)
    outcome, _, door = await held(offer, Program(lasts=True, ignores=ignores), tmp_path, verdict(Verb.FAIL))
    assert outcome is not None
    assert (outcome.state, outcome.reason) == (State.TIMEOUT, "Timeout")
    assert (door.holds[1].kind, door.holds[1].container, door.holds[1].in_place) == (Kind.FAILURE, True, True)


@pytest.mark.parametrize(
    ("offer", "armed", "holds"),
    [(OFFER, Armed(on_failure=True), 1), (ON_FAILURE, Armed(), 0)],
    ids=["armed", "cleared"],
)
async def test_what_is_armed_when_it_ends_counts(tmp_path: Path, offer: Offer, armed: Armed, holds: int) -> None:
    runtime, door = FakeRuntime({IMAGE: Program(lasts=True)}), FakeDoor()
    attempt = AttemptRun(machine(runtime, door, tmp_path), offer)
    control = tmp_path / "holds" / "a1" / "control"
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        running = group.create_task(attempt.outcome())
        with Watch(tmp_path) as watch:
            while not runtime.starts():
                await watch.changed(0.01)
            door.order_now(Orders(armed=armed))
            while (control / "policy").read_text().split() != ["on-failure"] * holds:
                await watch.changed(0.01)
        (control / "command").write_text("1 signal 9\n")
        if holds:
            await door.is_held.wait()
            door.order_now(Orders(armed=armed, ruling=Ruling(sequence=1, verdict=verdict(Verb.FAIL))))
        outcome = await running
    assert len(door.holds) == holds
    assert outcome is not None
    assert outcome.signal == "SIGKILL"


@pytest.mark.parametrize("helper", [True, False])
async def test_an_order_to_stop_ends_a_hold(tmp_path: Path, helper: bool) -> None:
    runtime, door = FakeRuntime({IMAGE: Program(output=b"last words\n", **FAILS)}), FakeDoor()
    offer = replace(ON_FAILURE, action=with_spec(ACTION, helper=helper))
    attempt = AttemptRun(machine(runtime, door, tmp_path), offer)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        running = group.create_task(attempt.outcome())
        await door.is_held.wait()
        ruling = Ruling(sequence=1, verdict=verdict(Verb.ABORT))
        door.order_now(Orders(ruling=ruling, stop=Order(state=State.CANCELED, message="by anna")))
        outcome = await running
    assert outcome is not None
    assert (outcome.state, outcome.reason, outcome.tail) == (State.CANCELED, "Canceled", ("last words",))


@pytest.mark.parametrize("verb", [Verb.FAIL, Verb.CONTINUE])
async def test_a_last_line_that_comes_only_with_the_end_of_a_hold_is_told_of_the_end(
    tmp_path: Path, verb: Verb
) -> None:
    runtime, door = FakeRuntime({IMAGE: Program(output=b"one\nlast words", **FAILS)}), FakeDoor()
    runtime.untold = len(b"last words")
    attempt = AttemptRun(machine(runtime, door, tmp_path), ON_FAILURE)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        running = group.create_task(attempt.outcome())
        await door.is_held.wait()
        assert door.holds[1].outcome is not None
        assert door.holds[1].outcome.tail == ("one",)
        door.order_now(Orders(armed=ON_FAILURE.armed, ruling=Ruling(sequence=1, verdict=verdict(verb))))
        outcome = await running
    assert outcome is not None
    assert (outcome.tail, door.printed["a1"]) == (("one", "last words"), b"one\nlast words")


async def test_a_machine_without_debugging_has_no_helper_and_holds_nothing(tmp_path: Path) -> None:
    runtime, door = FakeRuntime({IMAGE: Program(**FAILS)}), FakeDoor()
    outcome = await AttemptRun(machine(runtime, door, tmp_path, debug=False), ON_FAILURE).outcome()
    assert outcome is not None
    assert (outcome.exit_code, door.holds) == (7, {})
    (container,) = runtime.ever
    assert container.spec.entrypoint == ()
    assert not any(target.startswith("/tinkbox") for target in container.spec.mounts)


@pytest.mark.parametrize(("verb", "state", "hooks"), [(Verb.FAIL, State.FAILED, 1), (Verb.CONTINUE, State.SUCCESS, 0)])
async def test_without_a_helper_a_copy_is_held_until_the_verdict(
    tmp_path: Path, verb: Verb, state: State, hooks: int
) -> None:
    offer = replace(ON_FAILURE, action=with_spec(HOOKED, helper=False))
    outcome, runtime, door = await held(offer, Program(output=b"once\n", **FAILS), tmp_path, verdict(verb))
    assert (door.holds[1].container, door.holds[1].in_place) == (True, False)
    assert outcome is not None
    assert (outcome.state, outcome.exit_code, outcome.tail) == (state, 7, ("once",))
    assert door.printed["a1"].count(b"once") == 1 + hooks
    roles = [each.spec.labels["tinkbox.role"] for each in runtime.removed]
    assert roles[0] == "hold"
    assert (runtime.starts("action"), runtime.starts("on-failure")) == (1, hooks)


async def test_that_nobody_can_look_into_it_is_told_of_the_hold_and_not_of_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*words: object) -> None:
        raise ContainerFailed(Reason.COMMIT_FAILED, "no space")

    monkeypatch.setattr(FakeRuntime, "commit", full)
    offer = replace(ON_FAILURE, action=with_spec(ACTION, helper=False))
    outcome, _, door = await held(
        offer, Program(work=tells("Broken", "it broke"), **FAILS), tmp_path, verdict(Verb.FAIL)
    )
    assert (door.holds[1].container, door.holds[1].outcome and door.holds[1].outcome.message) == (
        False, "it broke; nobody can look into it: no space",
    )  # fmt: skip
    assert outcome is not None
    assert outcome.message == "it broke; anna let it fail"


async def restarted(
    folder: Path, offer: Offer, program: Program, verdicts: Sequence[Verdict], at: int, *, after: bool
) -> tuple[Outcome | None, FakeRuntime, FakeDoor]:
    """Kill the worker at its call number `at` of the appliance, and let another one go on."""
    runtime, door = FakeRuntime({IMAGE: program}), FakeDoor(faults=Faults(Killed(), at, after))
    for number, each in enumerate(verdicts, 1):
        door.order_now(Orders(armed=offer.armed, ruling=Ruling(sequence=number, verdict=each)))
    answers = list(door.answers)
    outcome: list[Outcome | None] = []
    while not outcome:
        door.answers = list(answers)
        attempt = AttemptRun(machine(runtime, door, folder), offer)
        try:
            async with asyncio.timeout(60):
                outcome = [await attempt.outcome()]
        except* Killed:
            pass
    return outcome[0], runtime, door


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", range(8))
async def test_a_worker_that_is_killed_anywhere_goes_on_and_retries_once(tmp_path: Path, at: int, after: bool) -> None:
    program = Program(exit_codes=[7, 0])
    outcome, runtime, door = await restarted(tmp_path, ON_FAILURE, program, [verdict(Verb.RETRY)], at, after=after)
    assert outcome is not None
    assert (outcome.state, outcome.exit_code) == (State.SUCCESS, 0)
    assert (program.exit_codes, runtime.starts()) == ([], 1)
    assert set(door.holds) == {1}
