from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.worker.actions import ACTION, HOOKED, IMAGE, OFFER, REGISTRY, bound, machine, tells
from tests.unit.worker.fakes import AWAY, FakeDoor, FakeRuntime, Faults, Program
from tinkbox.model.workflow import Outcome, State
from tinkbox.runtime import ContainerFailed, ContainerSpec, Ended
from tinkbox.wire.bundle import Entry, decode, encode
from tinkbox.wire.worker import Offer
from tinkbox.worker.attempt import AttemptRun


async def run(
    program: Program, folder: Path, offer: Offer = OFFER, **others: Program
) -> tuple[Outcome, FakeRuntime, FakeDoor]:
    """The outcome of an offer, cleaned up; `others` are the programs of other first words of a command."""
    runtime = FakeRuntime({IMAGE: program} | {f"{IMAGE} {word}": other for word, other in others.items()})
    door = FakeDoor()
    attempt = AttemptRun(machine(runtime, door, folder), offer)
    outcome = await attempt.outcome()
    await attempt.clean_up()
    assert runtime.containers == {}
    return outcome, runtime, door


async def test_an_action_runs_as_its_template_says(tmp_path: Path) -> None:
    action = replace(ACTION, command=("sh", "-c", "x"), volumes=("/dev:/dev", "/lib:/lib:ro"), pid="host")
    outcome, runtime, door = await run(Program(output=b"one\ntwo\n"), tmp_path, replace(OFFER, action=action))
    assert outcome == Outcome(state=State.SUCCESS, exit_code=0, tail=("one", "two"))
    assert door.printed == {"a1": b"one\ntwo\n"}
    (spec,) = [each.spec for each in runtime.removed]
    assert (spec.image, spec.command, spec.pid, spec.privileged) == (IMAGE, ("sh", "-c", "x"), "host", True)
    assert spec.binds[:2] == ("/dev:/dev", "/lib:/lib:ro")
    assert spec.labels == {"tinkbox.attempt": "a1", "tinkbox.role": "action"}
    assert spec.environment == {
        "SIZE": "8",
        "TINKBOX_WORKFLOW": "w1",
        "TINKBOX_ACTION": "write",
        "TINKBOX_ATTEMPT": "a1",
        "TINKBOX_SERVER": f"http://{REGISTRY}",
    }


async def test_an_image_with_a_registry_of_its_own_comes_from_there(tmp_path: Path) -> None:
    runtime = FakeRuntime({"quay.example/tools/write:v1": Program()})
    offer = replace(OFFER, action=replace(ACTION, image="quay.example/tools/write:v1"))
    outcome = await AttemptRun(machine(runtime, FakeDoor(), tmp_path), offer).outcome()
    assert outcome.state is State.SUCCESS


@pytest.mark.parametrize(
    ("program", "exit_code", "reason", "message"),
    [
        (Program(exit_code=3), 3, "NonZeroExit", "the action ended with exit code 3"),
        (Program(exit_code=139), 139, "Signal", "the action was ended by signal 11"),
        (Program(exit_code=255), 255, "NonZeroExit", "the action ended with exit code 255"),
        (Program(exit_code=137, out_of_memory=True), 137, "OutOfMemory", "memory ran out"),
        (Program(error="exec: not found"), None, "StartFailed", "exec: not found"),
        (Program(exit_code=1, work=tells("DiskTooSmall", "needs 8 GB")), 1, "DiskTooSmall", "needs 8 GB"),
        (Program(exit_code=1, work=tells("", "needs 8 GB")), 1, "NonZeroExit", "needs 8 GB"),
    ],
)  # fmt: skip
async def test_every_failure_has_a_reason(
    program: Program, exit_code: int | None, reason: str, message: str, tmp_path: Path
) -> None:
    outcome, _, _ = await run(replace(program, output=b"the last line"), tmp_path)
    assert (outcome.state, outcome.exit_code, outcome.reason) == (State.FAILED, exit_code, reason)
    assert message in outcome.message
    assert outcome.tail == (() if program.error else ("the last line",))


async def test_an_image_that_is_not_there_says_so(tmp_path: Path) -> None:
    outcome = await AttemptRun(machine(FakeRuntime({}), FakeDoor(), tmp_path), OFFER).outcome()
    assert (outcome.state, outcome.reason) == (State.FAILED, "ImageNotFound")
    assert IMAGE in outcome.message


async def test_an_action_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    offer = replace(OFFER, remaining=0.05)
    program = Program(output=b"half\n", lasts=True, work=tells("Slow", "the disk is slow"))
    outcome, runtime, door = await run(program, tmp_path, offer)
    assert (outcome.state, outcome.reason) == (State.TIMEOUT, "Timeout")
    assert outcome.message == "the action did not end within 60 seconds. the disk is slow"
    assert outcome.tail == ("half",)
    assert door.printed == {"a1": b"half\n"}
    assert runtime.faults.calls.count("stop") == 1


class SpeaksWhenStopped(FakeRuntime):
    async def stop(self, container_id: str, grace: int) -> None:
        self.containers[container_id].output += b"unmounted\n"
        await super().stop(container_id, grace)


async def test_what_an_action_prints_and_writes_while_it_is_stopped_is_kept(tmp_path: Path) -> None:
    def work(spec: ContainerSpec) -> None:
        (bound(spec, "/workflow") / "half").write_text("1")

    runtime, door = SpeaksWhenStopped({IMAGE: Program(output=b"half\n", lasts=True, work=work)}), FakeDoor()
    outcome = await AttemptRun(machine(runtime, door, tmp_path), replace(OFFER, remaining=0.05)).outcome()
    assert outcome.tail == ("half", "unmounted")
    assert door.printed == {"a1": b"half\nunmounted\n"}
    assert [entry.path for entry in decode(door.archive)] == ["half"]


async def test_a_process_that_never_really_began_has_failed_whatever_its_exit_code(tmp_path: Path) -> None:
    class NeverBegan(FakeRuntime):
        async def wait(self, container_id: str) -> Ended:
            return Ended(exit_code=0, error="exec format error")

    outcome = await AttemptRun(machine(NeverBegan({IMAGE: Program()}), FakeDoor(), tmp_path), OFFER).outcome()
    assert (outcome.state, outcome.reason, outcome.message) == (State.FAILED, "StartFailed", "exec format error")


async def test_a_container_that_is_gone_fails_the_action_though_its_output_never_ends(tmp_path: Path) -> None:
    class Lost(FakeRuntime):
        async def wait(self, container_id: str) -> Ended:
            raise ContainerFailed("ContainerLost", "no such container")

    runtime = Lost({IMAGE: Program(output=b"endless\n", lasts=True)})
    outcome = await AttemptRun(machine(runtime, FakeDoor(), tmp_path), replace(OFFER, remaining=5)).outcome()
    assert (outcome.state, outcome.reason) == (State.FAILED, "ContainerLost")


async def test_an_engine_that_was_away_explains_an_unknown_exit_code(tmp_path: Path) -> None:
    runtime = FakeRuntime({IMAGE: Program(exit_code=255)}, Faults(AWAY[0], 0))
    outcome = await AttemptRun(machine(runtime, FakeDoor(), tmp_path), OFFER).outcome()
    assert (outcome.exit_code, outcome.reason) == (255, "EngineRestarted")


async def test_a_timeout_blames_nobody_who_is_back_again(tmp_path: Path) -> None:
    runtime = FakeRuntime({IMAGE: Program(lasts=True)}, Faults(AWAY[0], 0))
    outcome = await AttemptRun(machine(runtime, FakeDoor(), tmp_path), replace(OFFER, remaining=0.05)).outcome()
    assert outcome.message == "the action did not end within 60 seconds."


async def test_a_template_cannot_forge_what_the_worker_tells_an_action(tmp_path: Path) -> None:
    forged = {"TINKBOX_WORKFLOW": "w9", "TINKBOX_ATTEMPT": "a9", "TINKBOX_SERVER": "http://evil", "OWN": "1"}
    _, runtime, _ = await run(Program(), tmp_path, replace(OFFER, action=replace(ACTION, environment=forged)))
    environment = runtime.removed[0].spec.environment
    assert [environment[name] for name in forged] == ["w1", "a1", f"http://{REGISTRY}", "1"]


@pytest.mark.parametrize("privileged", [True, False])
async def test_actions_are_privileged_only_where_the_worker_was_told_so(privileged: bool, tmp_path: Path) -> None:
    runtime = FakeRuntime({IMAGE: Program()})
    where = replace(machine(runtime, FakeDoor(), tmp_path), privileged=privileged)
    await AttemptRun(where, OFFER).outcome()
    assert [each.spec.privileged for each in runtime.ever] == [privileged]


async def test_nothing_of_an_attempt_is_left_on_the_machine(tmp_path: Path) -> None:
    await run(Program(exit_code=1, work=tells("Broken", "why")), tmp_path)
    assert list((tmp_path / "attempts").iterdir()) == []


class Unreachable(FakeRuntime):
    async def pull(self, image: str) -> None:
        raise ContainerFailed("RegistryUnreachable", f"{image}: connection refused")


async def test_an_appliance_that_is_away_is_waited_for_and_the_timeout_says_so(tmp_path: Path) -> None:
    run = AttemptRun(machine(Unreachable({}), FakeDoor(), tmp_path), replace(OFFER, remaining=0.05))
    outcome = await run.outcome()
    assert outcome.state is State.TIMEOUT
    assert f"within 60 seconds, waiting for: {IMAGE}: connection refused" in outcome.message


async def test_another_registry_that_is_away_fails_the_action_at_once(tmp_path: Path) -> None:
    offer = replace(OFFER, action=replace(ACTION, image="quay.example/tools/write:v1"))
    outcome = await AttemptRun(machine(Unreachable({}), FakeDoor(), tmp_path), offer).outcome()
    assert (outcome.state, outcome.reason) == (State.FAILED, "RegistryUnreachable")


async def test_on_failure_runs_after_a_failure_and_changes_nothing(tmp_path: Path) -> None:
    repair = Program(output=b"repaired\n", exit_code=9, work=tells("Other", "other"))
    outcome, runtime, door = await run(
        Program(output=b"broken\n", exit_code=3), tmp_path, replace(OFFER, action=HOOKED), repair=repair
    )
    assert (outcome.reason, outcome.exit_code, outcome.tail) == ("NonZeroExit", 3, ("broken",))
    assert door.printed == {"a1": b"broken\nrepaired\n"}
    assert (runtime.starts(), runtime.starts("on-failure"), runtime.starts("on-timeout")) == (1, 1, 0)


async def test_on_timeout_runs_after_a_timeout(tmp_path: Path) -> None:
    offer = replace(OFFER, remaining=0.05, action=HOOKED)
    outcome, runtime, _ = await run(Program(lasts=True), tmp_path, offer, hurry=Program())
    assert outcome.state is State.TIMEOUT
    assert (runtime.starts("on-failure"), runtime.starts("on-timeout")) == (0, 1)


async def test_on_failure_stands_in_for_a_missing_on_timeout(tmp_path: Path) -> None:
    offer = replace(OFFER, remaining=0.05, action=replace(HOOKED, on_timeout=()))
    _, runtime, _ = await run(Program(lasts=True), tmp_path, offer, repair=Program())
    assert runtime.starts("on-failure") == 1


async def test_a_hook_that_fails_to_start_or_hangs_is_left_behind(tmp_path: Path) -> None:
    failing = replace(OFFER, action=HOOKED)
    outcome, _, _ = await run(Program(exit_code=3), tmp_path, failing, repair=Program(error="no such file"))
    assert outcome.reason == "NonZeroExit"
    hanging = replace(OFFER, action=replace(HOOKED, timeout=0))
    outcome, _runtime, _ = await run(Program(exit_code=3), tmp_path, hanging, repair=Program(lasts=True))
    assert outcome.reason == "NonZeroExit"


async def test_data_comes_from_the_appliance_and_goes_back_after_success_and_failure(tmp_path: Path) -> None:
    def work(spec: ContainerSpec) -> None:
        for target in ("/workflow", "/workflow/w1"):
            assert (bound(spec, target) / "before").read_text() == "1"
        (bound(spec, "/workflow") / "after").write_text("2")

    for program in (Program(work=work), Program(work=work, exit_code=1)):
        runtime, door = FakeRuntime({IMAGE: program}), FakeDoor()
        door.archive = encode([Entry(path="before", content=b"1")])
        await AttemptRun(machine(runtime, door, tmp_path), OFFER).outcome()
        assert {entry.path: entry.content for entry in decode(door.archive)} == {"before": b"1", "after": b"2"}


async def test_too_much_data_fails_the_action_and_names_the_file(tmp_path: Path) -> None:
    def work(spec: ContainerSpec) -> None:
        with (bound(spec, "/workflow") / "huge.img").open("wb") as file:
            file.truncate(11 << 20)

    outcome, _, door = await run(Program(work=work), tmp_path)
    assert (outcome.state, outcome.reason) == (State.FAILED, "DataTooLarge")
    assert "huge.img" in outcome.message
    assert door.archive == b""


async def test_data_that_is_no_archive_fails_the_action_before_it_runs(tmp_path: Path) -> None:
    runtime, door = FakeRuntime({IMAGE: Program()}), FakeDoor()
    door.archive = b"no archive" * 100
    outcome = await AttemptRun(machine(runtime, door, tmp_path), OFFER).outcome()
    assert (outcome.reason, runtime.starts()) == ("DataInvalid", 0)
