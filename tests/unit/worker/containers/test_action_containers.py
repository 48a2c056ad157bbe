import errno
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.worker.actions import CREDENTIAL, IMAGE, OFFER, machine, with_spec
from tests.unit.worker.fakes import FakeDoor, FakeRuntime
from tests.unit.worker.programs import Program
from tinkbox.client.node import SessionOver
from tinkbox.model.breakpoint import Armed, Override
from tinkbox.runtime import ContainerFailed, ContainerSpec, ImageCommand
from tinkbox.wire.messages.worker import Offer
from tinkbox.worker.containers.action_containers import ACTION, Containers, remove_strays

ON_FAILURE = Armed(on_failure=True)


async def place(folder: Path, program: Program, offer: Offer = OFFER) -> tuple[Containers, FakeRuntime]:
    runtime = FakeRuntime({IMAGE: program})
    await runtime.pull(IMAGE)
    here = machine(runtime, FakeDoor(), folder)
    return Containers(here, offer, here.folder.helper(offer.attempt)), runtime


async def test_a_container_is_found_by_its_role(tmp_path: Path) -> None:
    containers, _ = await place(tmp_path, Program())
    assert await containers.found(ACTION) is None
    made = await containers.made(ACTION, (), Armed)
    hook = await containers.made("on-failure", ("repair",), Armed)
    assert (await containers.found(ACTION), await containers.found("on-failure")) == (made, hook)


async def test_what_runs_is_stopped_and_what_never_began_never_will(tmp_path: Path) -> None:
    containers, runtime = await place(tmp_path, Program(lasts=True))
    assert await containers.halted(ACTION, 10) is None
    made = await containers.made(ACTION, (), Armed)
    await runtime.start(made.id)
    halted = await containers.halted(ACTION, 10)
    assert halted is not None
    assert halted.started
    found = await containers.found(ACTION)
    assert found is not None
    assert found.ended
    await containers.made("on-failure", (), Armed)
    await containers.halted("on-failure", 10)
    assert await containers.found("on-failure") is None


@pytest.mark.parametrize("own", [True, False])
async def test_a_container_that_was_made_meanwhile_is_taken_up_when_it_is_ours_and_left_alone_when_it_is_not(
    tmp_path: Path, own: bool
) -> None:
    first, runtime = await place(tmp_path, Program())
    made = await first.made(ACTION, (), Armed)
    here = replace(machine(runtime, FakeDoor(), tmp_path), session="" if own else "another")
    second = Containers(here, OFFER, here.folder.helper(OFFER.attempt))
    if own:
        assert await second.made(ACTION, (), Armed) == made
    else:
        with pytest.raises(SessionOver, match="another worker runs attempt"):
            await second.made(ACTION, (), Armed)
    assert set(runtime.containers) == {made.id}


async def test_containers_of_attempts_that_are_over_are_removed_and_those_of_others_left_alone(tmp_path: Path) -> None:
    containers, runtime = await place(tmp_path, Program(lasts=True))
    old = await containers.made(ACTION, (), Armed)
    await runtime.start(old.id)
    other = {"tinkbox.worker": "m2", "tinkbox.attempt": "b1"}
    foreign = await runtime.create(ContainerSpec(image=IMAGE, labels=other))
    await remove_strays(runtime, CREDENTIAL, OFFER.attempt)
    assert set(runtime.containers) == {old.id, foreign.id}
    await remove_strays(runtime, CREDENTIAL, "the next")
    assert set(runtime.containers) == {foreign.id}


async def test_services_on_the_same_engine_are_no_strays(tmp_path: Path) -> None:
    _, runtime = await place(tmp_path, Program(lasts=True))
    labels = {"tinkbox.host": CREDENTIAL.worker, "tinkbox.workflow": "w1", "tinkbox.service": "s", "tinkbox.run": "r1"}
    service = await runtime.create(ContainerSpec(image=IMAGE, labels=labels))
    for attempt in (OFFER.attempt, ""):
        await remove_strays(runtime, CREDENTIAL, attempt)
    assert set(runtime.containers) == {service.id}


@pytest.mark.parametrize("helped", [True, False])
async def test_a_container_knows_the_names_that_it_was_offered_and_a_hook_does_as_well(
    helped: bool, tmp_path: Path
) -> None:
    offer = replace(OFFER, hosts={"w1.lab": "", "other.lab": "10.0.0.9"})
    containers, runtime = await place(tmp_path, Program(), offer)
    containers = containers if helped else Containers(machine(runtime, FakeDoor(), tmp_path), offer, None)
    await containers.made(ACTION, ("write",), Armed)
    await containers.made("on-failure", ("repair",), Armed)
    for made in runtime.containers.values():
        assert made.spec.hosts == {"w1.lab": "172.30.0.1", "other.lab": "10.0.0.9"}


async def test_a_machine_whose_memory_is_full_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, mode: int = 0o777, **_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(self))

    containers, _ = await place(tmp_path, Program())
    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(ContainerFailed, match="No space left") as unpacking:
        await containers.unpack_data(b"")
    with pytest.raises(ContainerFailed, match="No space left") as making:
        await containers.made(ACTION, (), Armed)
    assert [unpacking.value.reason, making.value.reason] == ["NoSpace", "NoSpace"]


async def test_an_action_runs_under_its_helper_and_a_hook_does_not(tmp_path: Path) -> None:
    containers, runtime = await place(tmp_path, Program())
    await containers.made(ACTION, ("write", "--all"), lambda: ON_FAILURE)
    await containers.made("on-failure", ("repair",), lambda: ON_FAILURE)
    action, hook = [each.spec for each in runtime.containers.values()]
    assert (action.entrypoint, action.command) == (("/tinkbox/bin/entrypoint",), ())
    assert (hook.entrypoint, hook.command) == ((), ("repair",))
    assert {"/tinkbox", "/tinkbox/control", "/tinkbox/run"} <= set(action.mounts)
    assert action.read_only == {"/tinkbox", "/tinkbox/control", "/tekton/debug/scripts", "/tekton/debug/info/0"}
    assert not any(target.startswith("/tinkbox") for target in hook.mounts)
    control = Path(action.mounts["/tinkbox/control"])
    assert (control / "argv").read_bytes() == b"write\0--all\0"
    assert (control / "policy").read_text().split() == ["on-failure"]


@pytest.mark.parametrize(
    "volume", ["/x:/tinkbox", "/x:/tinkbox/bin", "/x:/tinkbox/debug/scripts/:ro", "/x:/tekton/debug/info"]
)
async def test_no_volume_takes_the_place_of_the_helper(tmp_path: Path, volume: str) -> None:
    here = machine(FakeRuntime({IMAGE: Program()}), FakeDoor(), tmp_path)
    offer = replace(OFFER, action=with_spec(OFFER.action, volumes=(volume,)))
    with pytest.raises(ContainerFailed, match="takes the place of tinkbox's own") as refusal:
        Containers(here, offer, here.folder.helper("a1")).check_volumes()
    assert refusal.value.reason == "MountFailed"


async def test_the_helper_holds_what_was_armed_while_the_container_was_made(tmp_path: Path) -> None:
    containers, runtime = await place(tmp_path, Program())
    armed = Armed()

    async def late(image: str) -> ImageCommand:
        nonlocal armed
        armed = ON_FAILURE
        return ImageCommand(entrypoint=(), command=("run",))

    runtime.image_command = late  # type: ignore[method-assign]
    made = await containers.made(ACTION, (), lambda: armed)
    control = Path(runtime.containers[made.id].spec.mounts["/tinkbox/control"])
    assert (control / "policy").read_text() == "on-failure\n"


@pytest.mark.parametrize("helped", [True, False])
async def test_a_fresh_retry_runs_what_a_person_changed_and_a_hook_does_not(helped: bool, tmp_path: Path) -> None:
    changed = Override(command=("mend", "it"), environment={"MODE": "gentle", "TINKBOX_ACTION": "another"})
    action = with_spec(OFFER.action, environment={"MODE": "rough", "OWN": "1"}, helper=helped)
    offer = replace(OFFER, action=action, override=changed)
    containers, runtime = await place(tmp_path, Program(), offer)
    containers = containers if helped else Containers(machine(runtime, FakeDoor(), tmp_path), offer, None)
    await containers.made(ACTION, ("write",), Armed)
    await containers.made("on-failure", ("repair",), Armed)
    spec, hook = [each.spec for each in runtime.containers.values()]
    if helped:
        words = (Path(spec.mounts["/tinkbox/control"]) / "argv").read_text().split("\0")[:-1]
    else:
        words = list(spec.entrypoint)
    assert (words, spec.command) == (["mend", "it"], ())
    assert (spec.environment["MODE"], spec.environment["OWN"]) == ("gentle", "1")
    assert spec.environment["TINKBOX_ACTION"] == action.spec.name
    assert (hook.entrypoint, hook.command, hook.environment["MODE"]) == ((), ("repair",), "rough")


async def test_a_command_that_no_program_can_be_given_is_refused(tmp_path: Path) -> None:
    containers, _ = await place(tmp_path, Program())
    with pytest.raises(ContainerFailed, match="NUL") as refusal:
        await containers.made(ACTION, ("write", "\0"), Armed)
    assert refusal.value.reason == "BadCommand"
