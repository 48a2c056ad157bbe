from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.worker.actions import (
    ACTION,
    CREDENTIAL,
    HELPED,
    IMAGE,
    OFFER,
    REGISTRY,
    bound,
    machine,
    tells,
    with_spec,
)
from tests.unit.worker.fakes import AWAY, FakeDoor, FakeRuntime, Faults, Killed
from tests.unit.worker.programs import Program
from tinkbox.model.breakpoint import Armed
from tinkbox.model.errors import TooMany
from tinkbox.model.workflow import Outcome, State
from tinkbox.runtime import ContainerFailed, ContainerSpec, Ended, nobody_listens
from tinkbox.wire.ephemeral_data import Entry, decode, encode
from tinkbox.wire.messages.worker import Offer
from tinkbox.worker.attempts.attempt import AttemptRun
from tinkbox.worker.containers.action_containers import Containers

pytestmark = pytest.mark.usefixtures("with_and_without_helper")


async def run(
    program: Program, folder: Path, offer: Offer = OFFER, **others: Program
) -> tuple[Outcome, FakeRuntime, FakeDoor]:
    """The outcome of an offer, cleaned up; `others` are the programs of other first words of a command."""
    runtime = FakeRuntime({IMAGE: program} | {f"{IMAGE} {word}": other for word, other in others.items()})
    door = FakeDoor()
    attempt = AttemptRun(machine(runtime, door, folder), offer)
    outcome = await attempt.outcome()
    assert outcome is not None
    await attempt.clean_up()
    assert runtime.containers == {}
    return outcome, runtime, door


async def test_an_action_runs_as_its_template_says(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    action = with_spec(ACTION, command=("sh", "-c", "x"), volumes=("/dev:/dev", "/lib:/lib:ro"), pid="host")
    outcome, runtime, door = await run(Program(output=b"one\ntwo\n"), tmp_path, replace(OFFER, action=action))
    assert outcome == Outcome(state=State.SUCCESS, exit_code=0, tail=("one", "two"))
    assert door.printed == {"a1": b"one\ntwo\n"}
    (spec,) = [each.spec for each in runtime.removed]
    assert (spec.image, spec.pid, spec.privileged) == (IMAGE, "host", True)
    assert (spec.entrypoint, spec.command) in {(("/tinkbox/bin/entrypoint",), ()), ((), ("sh", "-c", "x"))}
    assert spec.binds == ("/dev:/dev", "/lib:/lib:ro")
    assert {"/workflow", "/dev/reason", "/tinkerbell/failure-message"} <= set(spec.mounts)
    assert list((tmp_path / "dev").iterdir()) == []  # what was there meanwhile is gone with the attempt
    assert spec.labels.items() >= {"tinkbox.worker": "m1", "tinkbox.attempt": "a1", "tinkbox.role": "action"}.items()
    assert spec.name == "tinkbox-a1-action"
    assert spec.environment == {
        "SIZE": "8",
        "TINKBOX_WORKFLOW": "w1",
        "TINKBOX_ACTION": "write",
        "TINKBOX_ATTEMPT": "a1",
        "TINKBOX_SERVER": f"http://{REGISTRY}",
    }


async def test_an_action_can_ask_the_appliance_over_tls_by_the_authority_of_the_credential(tmp_path: Path) -> None:
    secured = replace(
        CREDENTIAL, server="https://box:8443", registry=REGISTRY, authority="PEM\n", http_server=f"http://{REGISTRY}"
    )
    runtime = FakeRuntime({IMAGE: Program()})
    where = replace(machine(runtime, FakeDoor(), tmp_path), credential=secured)
    await AttemptRun(where, replace(OFFER, metadata="/metadata/T")).outcome()
    (spec,) = [each.spec for each in runtime.ever]
    told = {name: value for name, value in spec.environment.items() if name.startswith("TINKBOX_")}
    assert told["TINKBOX_HTTPS_SERVER"] == "https://box:8443"
    # What other people wrote, and what is installed, knows of no authority.
    assert told["TINKBOX_SERVER"] == f"http://{REGISTRY}"
    assert told["TINKBOX_METADATA"] == f"http://{REGISTRY}/metadata/T"
    ca = told["TINKBOX_CA"]
    assert bound(spec, ca).read_text() == "PEM\n"
    assert bound(spec, ca).stat().st_mode & 0o777 == 0o644, "an action may be any user"
    assert ca in spec.read_only


async def test_an_action_is_told_where_its_systems_metadata_is(tmp_path: Path) -> None:
    _, runtime, _ = await run(Program(), tmp_path, replace(OFFER, metadata="/metadata/T"))
    (spec,) = [each.spec for each in runtime.removed]
    assert spec.environment["TINKBOX_METADATA"] == f"http://{REGISTRY}/metadata/T"


@pytest.mark.parametrize(
    ("network", "pid", "given"),
    [("", "", "host"), ("none", "container:other", "none"), ("container:other", "host", "container:other")],
)
async def test_an_action_has_the_namespaces_of_its_template(network: str, pid: str, given: str, tmp_path: Path) -> None:
    action = with_spec(ACTION, network=network, pid=pid)
    _, runtime, _ = await run(Program(), tmp_path, replace(OFFER, action=action, hosts={"w1.example": "172.30.0.9"}))
    (spec,) = [each.spec for each in runtime.removed]
    assert (spec.network, spec.pid) == (given, pid)
    # Who is in another container's network has its names, and the engine refuses more.
    assert bool(spec.hosts) == (network != "container:other")


@pytest.mark.parametrize("network", ["bridge", "default"])
async def test_without_a_bridge_nothing_is_begun_that_names_one(network: str, tmp_path: Path) -> None:
    offer = replace(OFFER, action=with_spec(ACTION, network=network))
    outcome, runtime, _ = await run(Program(), tmp_path, offer)
    assert (outcome.reason, runtime.starts()) == ("CreateFailed", 0)
    assert f"`network: {network}` cannot be had: this machine's Docker engine runs without a bridge" in outcome.message
    runtime.networks.add("bridge")
    outcome = await AttemptRun(machine(runtime, FakeDoor(), tmp_path), replace(offer, attempt="a2")).outcome()
    assert outcome is not None
    assert outcome.state is State.SUCCESS


async def test_volumes_that_an_earlier_release_let_pass_are_refused_where_no_engine_takes_them(tmp_path: Path) -> None:
    outcome, runtime, _ = await run(
        Program(), tmp_path, replace(OFFER, action=with_spec(ACTION, volumes=("/a:/b:odd",)))
    )
    assert (outcome.reason, runtime.starts()) == ("MountFailed", 0)
    assert "the volume /a:/b:odd cannot be mounted: invalid mode 'odd'" in outcome.message


async def test_an_image_with_a_registry_of_its_own_comes_from_there(tmp_path: Path) -> None:
    runtime = FakeRuntime({"quay.example/tools/write:v1": Program()})
    offer = replace(OFFER, action=with_spec(ACTION, image="quay.example/tools/write:v1"))
    outcome = await AttemptRun(machine(runtime, FakeDoor(), tmp_path), offer).outcome()
    assert outcome.state is State.SUCCESS


@pytest.mark.parametrize(
    ("program", "exit_code", "reason", "message"),
    [
        (Program(exit_code=3), 3, "NonZeroExit", "the action ended with exit code 3; the last it printed: the last"),
        (Program(exit_code=139), 139, "Signal", "the action was ended by SIGSEGV"),
        (Program(exit_code=255), 255, "NonZeroExit", "the action ended with exit code 255"),
        (Program(exit_code=137, out_of_memory=True), 137, "OutOfMemory", "memory ran out"),
        (Program(error="exec: not found"), None, "BadCommand", "exec: not found"),
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


async def test_only_the_helper_knows_an_exit_from_a_signal(tmp_path: Path) -> None:
    for program in (Program(exit_code=143, exits=True), Program(exit_code=137, exits=True)):
        outcome, _, _ = await run(program, tmp_path)
        told = (outcome.reason, outcome.signal != "")
        assert told == (("NonZeroExit", False) if HELPED[-1] else ("Signal", True))


async def test_what_an_action_says_while_it_succeeds_is_information(tmp_path: Path) -> None:
    outcome, _, _ = await run(Program(work=tells("DiskTooSmall", "wrote 8 GB")), tmp_path)
    assert outcome == Outcome(state=State.SUCCESS, exit_code=0, message="wrote 8 GB")


async def test_an_image_that_is_not_there_says_so(tmp_path: Path) -> None:
    outcome = await AttemptRun(machine(FakeRuntime({}), FakeDoor(), tmp_path), OFFER).outcome()
    assert (outcome.state, outcome.reason) == (State.FAILED, "ImageNotFound")
    assert IMAGE in outcome.message


async def test_an_action_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    offer = replace(OFFER, remaining=0.05)
    program = Program(output=b"half\n", lasts=True, work=tells("Slow", "the disk is slow"))
    outcome, runtime, door = await run(program, tmp_path, offer)
    assert (outcome.state, outcome.reason) == (State.TIMEOUT, "Timeout")
    assert outcome.message == "the action did not end within 60 seconds; the action said: Slow: the disk is slow"
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
    assert outcome is not None
    assert outcome.tail == ("half", "unmounted")
    assert door.printed == {"a1": b"half\nunmounted\n"}
    assert [entry.path for entry in decode(door.archive)] == ["half"]


async def test_a_process_that_never_really_began_has_failed(tmp_path: Path) -> None:
    class NeverBegan(FakeRuntime):
        async def wait(self, container_id: str) -> Ended:
            raise ContainerFailed("StartFailed", "no console")

    outcome = await AttemptRun(machine(NeverBegan({IMAGE: Program()}), FakeDoor(), tmp_path), OFFER).outcome()
    assert outcome is not None
    assert (outcome.state, outcome.reason, outcome.message) == (State.FAILED, "StartFailed", "no console")


async def test_a_container_that_is_gone_fails_the_action_though_its_output_never_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinkbox.runtime.output_carrier.LOST_SECONDS", 0.05)

    class Lost(FakeRuntime):
        async def wait(self, container_id: str) -> Ended:
            raise ContainerFailed("ContainerLost", "no such container")

    runtime = Lost({IMAGE: Program(output=b"endless\n", lasts=True)})
    outcome = await AttemptRun(machine(runtime, FakeDoor(), tmp_path), replace(OFFER, remaining=5)).outcome()
    assert outcome is not None
    assert (outcome.state, outcome.reason) == (State.FAILED, "ContainerLost")


@pytest.mark.parametrize("code", [137, 143, 255])
async def test_an_engine_that_knows_nothing_of_the_end_explains_it(tmp_path: Path, code: int) -> None:
    runtime = FakeRuntime({IMAGE: Program(exit_code=code)})
    runtime.memory = ()
    outcome = await AttemptRun(machine(runtime, FakeDoor(), tmp_path), OFFER).outcome()
    assert outcome is not None
    assert (outcome.exit_code, outcome.reason) == (code, "EngineRestarted")


async def test_an_engine_that_was_away_for_a_moment_explains_no_end_that_it_saw(tmp_path: Path) -> None:
    runtime = FakeRuntime({IMAGE: Program(exit_code=143)}, Faults(AWAY[0], 0))
    outcome = await AttemptRun(machine(runtime, FakeDoor(), tmp_path), OFFER).outcome()
    assert outcome is not None
    assert outcome.reason != "EngineRestarted"


async def test_a_timeout_blames_nobody_who_is_back_again(tmp_path: Path) -> None:
    runtime = FakeRuntime({IMAGE: Program(lasts=True)}, Faults(AWAY[0], 0))
    outcome = await AttemptRun(machine(runtime, FakeDoor(), tmp_path), replace(OFFER, remaining=0.05)).outcome()
    assert outcome is not None
    assert outcome.message == "the action did not end within 60 seconds"


async def test_a_template_cannot_forge_what_the_worker_tells_an_action(tmp_path: Path) -> None:
    forged = {"TINKBOX_WORKFLOW": "w9", "TINKBOX_ATTEMPT": "a9", "TINKBOX_SERVER": "http://evil", "OWN": "1"}
    _, runtime, _ = await run(Program(), tmp_path, replace(OFFER, action=with_spec(ACTION, environment=forged)))
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
    assert [path for path in (tmp_path / "words").rglob("*") if path.is_file()] == []


class Unreachable(FakeRuntime):
    async def pull(self, image: str, heard: Callable[[], None] = nobody_listens) -> str:
        raise ContainerFailed("RegistryUnreachable", f"{image}: connection refused")


async def test_an_appliance_that_is_away_is_waited_for_and_the_timeout_says_so(tmp_path: Path) -> None:
    run = AttemptRun(machine(Unreachable({}), FakeDoor(), tmp_path), replace(OFFER, remaining=0.05))
    outcome = await run.outcome()
    assert (outcome.state, outcome.reason) == (State.TIMEOUT, "RegistryUnreachable")
    assert f"within 60 seconds, waiting for: {IMAGE}: connection refused" in outcome.message


class OnlyOursAnswers(FakeRuntime):
    async def pull(self, image: str, heard: Callable[[], None] = nobody_listens) -> str:
        if image.startswith(REGISTRY):
            return await super().pull(image, heard)
        raise ContainerFailed("RegistryUnreachable", f"{image}: connection refused")


ELSEWHERE = "quay.example/tools/write:v1"
OF_ANOTHER = replace(OFFER, action=with_spec(ACTION, image=ELSEWHERE))


async def test_another_registry_that_is_away_fails_the_action_at_once(tmp_path: Path) -> None:
    outcome = await AttemptRun(machine(OnlyOursAnswers({}), FakeDoor(), tmp_path), OF_ANOTHER).outcome()
    assert (outcome.state, outcome.reason) == (State.FAILED, "RegistryUnreachable")
    assert ELSEWHERE in outcome.message


async def test_the_appliance_is_asked_first_for_an_image_with_a_host(tmp_path: Path) -> None:
    runtime = FakeRuntime({f"{REGISTRY}/{ELSEWHERE}": Program(), ELSEWHERE: Program()})
    outcome = await AttemptRun(machine(runtime, FakeDoor(), tmp_path), OF_ANOTHER).outcome()
    assert (outcome.state, runtime.pulled) == (State.SUCCESS, {f"{REGISTRY}/{ELSEWHERE}"})
    assert [each.spec.image for each in runtime.ever] == [f"{REGISTRY}/{ELSEWHERE}"]


async def test_the_host_in_its_name_is_asked_for_what_the_appliance_has_not(tmp_path: Path) -> None:
    runtime = FakeRuntime({ELSEWHERE: Program(exit_code=1), f"{ELSEWHERE} repair": Program()})
    hooked = replace(OF_ANOTHER, action=with_spec(OF_ANOTHER.action, on_failure=("repair",)))
    outcome = await AttemptRun(machine(runtime, FakeDoor(), tmp_path), hooked).outcome()
    assert (outcome.reason, runtime.pulled) == ("NonZeroExit", {ELSEWHERE})
    assert [each.spec.image for each in runtime.ever] == [ELSEWHERE, ELSEWHERE]


async def test_a_worker_that_was_started_again_knows_under_which_name_the_image_is_here(tmp_path: Path) -> None:
    runtime = FakeRuntime({ELSEWHERE: Program(exit_code=1), f"{ELSEWHERE} repair": Program()})
    runtime.pulled = {ELSEWHERE}
    here = machine(runtime, FakeDoor(), tmp_path)
    containers = Containers(here, OF_ANOTHER, None)
    await containers.made("on-failure", ("repair",), Armed)
    assert [each.spec.image for each in runtime.ever] == [ELSEWHERE]


async def test_offline_no_host_but_the_appliance_is_asked(tmp_path: Path) -> None:
    runtime = FakeRuntime({ELSEWHERE: Program()})
    offline = replace(OF_ANOTHER, appliance_only=True)
    outcome = await AttemptRun(machine(runtime, FakeDoor(), tmp_path), offline).outcome()
    assert (outcome.state, outcome.reason, runtime.pulled) == (State.FAILED, "ImageNotFound", set())
    assert f"{REGISTRY}/{ELSEWHERE}" in outcome.message


async def test_data_comes_from_the_appliance_and_goes_back_after_success_and_failure(tmp_path: Path) -> None:
    def work(spec: ContainerSpec) -> None:
        assert (bound(spec, "/workflow") / "before").read_text() == "1"
        (bound(spec, "/workflow") / "after").write_text("2")

    for program in (Program(work=work), Program(work=work, exit_code=1)):
        runtime, door = FakeRuntime({IMAGE: program}), FakeDoor()
        door.archive = encode([Entry(path="before", content=b"1")])
        attempt = AttemptRun(machine(runtime, door, tmp_path), OFFER)
        await attempt.outcome()
        assert {entry.path: entry.content for entry in decode(door.archive)} == {"before": b"1", "after": b"2"}
        await attempt.clean_up()


async def test_data_that_an_action_takes_away_is_gone_for_the_next_and_none_is_no_version(tmp_path: Path) -> None:
    runtime = FakeRuntime({IMAGE: Program(work=lambda spec: (bound(spec, "/workflow") / "before").unlink())})
    door = FakeDoor()
    door.archive = encode([Entry(path="before", content=b"1")])
    await AttemptRun(machine(runtime, door, tmp_path), OFFER).outcome()
    assert door.archive == b""
    _, _, untouched = await run(Program(), tmp_path / "other")
    assert "keep_data" not in untouched.faults.calls


def fill(spec: ContainerSpec) -> None:
    with (bound(spec, "/workflow") / "huge.img").open("wb") as file:
        file.truncate(11 << 20)
    tells("MyReason", "my words")(spec)


async def test_too_much_data_fails_the_action_and_names_the_file(tmp_path: Path) -> None:
    outcome, _, door = await run(Program(work=fill), tmp_path)
    assert (outcome.state, outcome.reason, outcome.exit_code) == (State.FAILED, "DataTooLarge", 0)
    assert "huge.img (11534336 bytes)" in outcome.message
    assert outcome.message.endswith("the action said: MyReason: my words")
    assert door.archive == b""


async def test_too_much_data_after_a_failure_is_told_and_hides_nothing(tmp_path: Path) -> None:
    outcome, _, door = await run(Program(work=fill, exit_code=3), tmp_path)
    assert (outcome.reason, outcome.exit_code) == ("MyReason", 3)
    assert outcome.message.startswith("my words; its data was not kept: ")
    assert "huge.img" in outcome.message
    assert door.archive == b""


async def test_data_that_is_no_archive_fails_the_action_before_it_runs(tmp_path: Path) -> None:
    runtime, door = FakeRuntime({IMAGE: Program()}), FakeDoor()
    door.archive = b"no archive" * 100
    outcome = await AttemptRun(machine(runtime, door, tmp_path), OFFER).outcome()
    assert outcome is not None
    assert (outcome.reason, runtime.starts()) == ("DataInvalid", 0)


async def test_an_action_that_never_began_sends_no_data_that_others_may_have_changed_since(tmp_path: Path) -> None:
    door = FakeDoor()
    place = machine(FakeRuntime({}), door, tmp_path)
    place.folder.data.unpack("w1", encode([Entry(path="of an action before", content=b"old")]))
    door.archive = b"no archive" * 100
    await AttemptRun(place, OFFER).outcome()
    assert "keep_data" not in door.faults.calls


@pytest.mark.parametrize("volume", ["/tmp/x:/dev/reason", "/x:/workflow/:ro", "/dev/message", "/x:/workflow/w1"])
async def test_a_volume_in_the_place_of_our_own_is_refused(volume: str, tmp_path: Path) -> None:
    offer = replace(OFFER, action=with_spec(ACTION, volumes=("/dev:/dev", volume)))
    outcome, runtime, _ = await run(Program(), tmp_path, offer)
    assert (outcome.reason, runtime.starts()) == ("MountFailed", 0)
    assert f"the volume {volume} takes the place of" in outcome.message


async def test_a_worker_that_is_started_again_tells_the_same_though_all_else_is_gone(tmp_path: Path) -> None:
    runtime, door = FakeRuntime({IMAGE: Program(exit_code=3, output=b"why\n")}), FakeDoor()
    first = await AttemptRun(machine(runtime, door, tmp_path), OFFER).outcome()
    runtime.containers.clear()
    assert await AttemptRun(machine(runtime, door, tmp_path), OFFER).outcome() == first
    assert runtime.starts() == 0


async def test_a_container_that_somebody_removed_is_not_started_a_second_time(tmp_path: Path) -> None:
    runtime, door = FakeRuntime({IMAGE: Program()}, Faults(Killed(), 5)), FakeDoor()
    with pytest.raises(BaseExceptionGroup):
        await AttemptRun(machine(runtime, door, tmp_path), OFFER).outcome()
    assert runtime.starts() == 1
    runtime.containers.clear()
    outcome = await AttemptRun(machine(runtime, door, tmp_path), OFFER).outcome()
    assert outcome is not None
    assert (outcome.state, outcome.reason, runtime.containers) == (State.FAILED, "ContainerLost", {})


async def test_data_that_has_to_wait_is_sent_again_and_fails_no_action(tmp_path: Path) -> None:
    class HeldBack(FakeDoor):
        async def keep_data(self, attempt: str, archive: bytes) -> None:
            await super().keep_data(attempt, archive)
            if self.faults.calls.count("keep_data") < 3:
                raise TooMany("too much data of this machine")

    runtime, door = FakeRuntime({IMAGE: Program(work=fills)}), HeldBack()
    outcome = await AttemptRun(machine(runtime, door, tmp_path), OFFER).outcome()
    assert outcome is not None
    assert outcome.state is State.SUCCESS
    assert door.faults.calls.count("keep_data") == 3


async def test_data_that_is_known_to_be_empty_is_not_fetched_and_what_comes_is_sent(tmp_path: Path) -> None:
    offer = replace(OFFER, no_data=True)
    for number, (program, sent) in enumerate(((Program(), []), (Program(work=fills), ["keep_data"]))):
        runtime, door = FakeRuntime({IMAGE: program}), FakeDoor()
        place = machine(runtime, door, tmp_path / str(number))
        place.folder.data.unpack("w1", encode([Entry(path="of a try before", content=b"old")]))
        await AttemptRun(place, offer).outcome()
        assert [call for call in door.faults.calls if call in ("data", "keep_data")] == sent
        assert [entry.path for entry in decode(door.archive)] == ["new"] * len(sent)


def fills(spec: ContainerSpec) -> None:
    (bound(spec, "/workflow") / "new").write_text("1")


def of_bytes(image: str, number: int) -> str:
    """The full name of an image with the digest of this number."""
    return f"{image.rpartition(':')[0]}@{digest(number)}"


def digest(number: int) -> str:
    return f"sha256:{number:064x}"


async def test_the_bytes_that_the_offer_names_are_pulled_once(tmp_path: Path) -> None:
    pinned = of_bytes(IMAGE, 1)
    offer = replace(OFFER, action=with_spec(ACTION, image=f"{ACTION.spec.image}@{digest(1)}"))
    for number, (here, pulls) in enumerate(((pinned, 0), (IMAGE, 1))):
        runtime, door = FakeRuntime({pinned: Program()}), FakeDoor()
        runtime.pulled.add(here)
        outcome = await AttemptRun(machine(runtime, door, tmp_path / str(number)), offer).outcome()
        assert outcome is not None
        assert (outcome.state, runtime.faults.calls.count("pull")) == (State.SUCCESS, pulls)
        assert [each.spec.image for each in runtime.ever] == [pinned]
        assert "pulled" not in door.faults.calls


@pytest.mark.parametrize("image", [IMAGE, "quay.example/tools/write:v1"])
async def test_what_nobody_knew_is_told_and_run_by_its_digest(image: str, tmp_path: Path) -> None:
    runtime, door = FakeRuntime({each: Program() for each in (image, of_bytes(image, 1))}), FakeDoor()
    runtime.digests[image], door.digest = digest(1), ""
    runtime.pulled.add(of_bytes(image, 1))
    offer = replace(OFFER, action=with_spec(ACTION, image=image))
    await AttemptRun(machine(runtime, door, tmp_path), offer).outcome()
    assert [each.spec.image for each in runtime.ever] == [of_bytes(image, 1)]


async def test_what_another_machine_pulled_first_is_pulled_and_run(tmp_path: Path) -> None:
    runtime, door = FakeRuntime({each: Program() for each in (IMAGE, of_bytes(IMAGE, 2))}), FakeDoor()
    runtime.digests[IMAGE], door.digest = digest(1), digest(2)
    await AttemptRun(machine(runtime, door, tmp_path), OFFER).outcome()
    assert [each.spec.image for each in runtime.ever] == [of_bytes(IMAGE, 2)]


async def test_an_appliance_that_pins_nothing_has_the_name_run(tmp_path: Path) -> None:
    runtime, door = FakeRuntime({IMAGE: Program()}), FakeDoor()
    runtime.digests[IMAGE], door.digest = digest(1), None
    await AttemptRun(machine(runtime, door, tmp_path), OFFER).outcome()
    assert [each.spec.image for each in runtime.ever] == [IMAGE]
