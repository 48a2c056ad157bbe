import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.unit.worker.fakes import FakeRuntime
from tests.unit.worker.programs import Program
from tinkbox.model.breakpoint import Armed, Kind
from tinkbox.runtime import ContainerFailed, ContainerSpec, Ended, EngineAway
from tinkbox.worker.containers.helped_container import Helped, Stopped
from tinkbox.worker.files.helper_files import ENTRYPOINT, HelperFiles, Status

IMAGE = "write:v1"
ON_FAILURE = Armed(on_failure=True)


@dataclass
class Place:
    helped: Helped
    files: HelperFiles
    runtime: FakeRuntime
    container_id: str


async def begun(folder: Path, program: Program, armed: Armed = ON_FAILURE) -> Place:
    files = HelperFiles(folder, "a1")
    files.prepare()
    files.set_command_line(["program"])
    files.set_policy(armed)
    runtime = FakeRuntime({IMAGE: program})
    await runtime.pull(IMAGE)
    spec = ContainerSpec(image=IMAGE, labels={}, entrypoint=(ENTRYPOINT,), mounts=files.mounts(folder / "tools", 0))
    container = await runtime.create(spec)
    await runtime.start(container.id)
    return Place(Helped(runtime, files, armed), files, runtime, container.id)


async def test_what_ends_unheld_ends_as_without_a_helper(tmp_path: Path) -> None:
    place = await begun(tmp_path, Program(exit_code=7), Armed())
    assert await place.helped.wait(place.container_id) == Ended(exit_code=7, killed=False)
    assert place.helped.held() is None


async def test_what_is_held_says_where_and_how_its_process_ended(tmp_path: Path) -> None:
    place = await begun(tmp_path, Program(exit_code=7))
    assert await place.helped.wait(place.container_id) == Stopped(kind=Kind.FAILURE, exit_code=7, killed=False)


async def test_one_that_was_told_to_go_on_is_not_held_any_more(tmp_path: Path) -> None:
    place = await begun(tmp_path, Program(exit_codes=[7, 0]))
    await place.helped.wait(place.container_id)
    place.files.command("retry")
    assert place.helped.held() is None
    assert await place.helped.wait(place.container_id) == Ended(exit_code=0, killed=False)


@pytest.mark.parametrize(("verb", "is_held"), [("run", False), ("retry", False), ("signal", True)])
async def test_one_that_heard_that_it_is_to_run_is_not_held_though_it_does_not_run_yet(
    tmp_path: Path, verb: str, is_held: bool
) -> None:
    place = await begun(tmp_path, Program(exit_code=7))
    await place.helped.wait(place.container_id)
    number = place.files.command(verb, "15" if verb == "signal" else "")
    with (place.files.run / "status").open("a") as status:
        status.write(f"command {number}\n")
    assert (place.helped.held() is not None) == is_held


async def test_one_that_goes_on_while_it_is_looked_at_is_not_held_with_its_former_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = await begun(tmp_path, Program(exit_code=7))
    await place.helped.wait(place.container_id)
    number = place.files.command("retry")
    look = place.files.status

    def slow() -> Status:
        found = look()
        with (place.files.run / "status").open("a") as status:
            status.write(f"command {number}\nstarted 2 9\n")
        return found

    monkeypatch.setattr(place.files, "status", slow)
    assert place.helped.held() is None


async def test_one_that_ended_before_it_heard_that_it_is_to_run_is_started_to_hear_it(tmp_path: Path) -> None:
    place = await begun(tmp_path, Program(exit_codes=[7, 0]))
    await place.helped.wait(place.container_id)
    await place.runtime.stop(place.container_id, 10)
    place.files.command("retry")
    assert await place.helped.wait(place.container_id) == Ended(exit_code=0, killed=False)
    assert place.runtime.containers[place.container_id].starts == 2


async def test_what_is_being_started_to_hear_its_command_is_started_before_anybody_is_told_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = await begun(tmp_path, Program(exit_codes=[7, 0]))
    await place.helped.wait(place.container_id)
    await place.runtime.stop(place.container_id, 10)
    place.files.command("retry")
    asked, answers, start = asyncio.Event(), asyncio.Event(), place.runtime.start

    async def slow(container_id: str) -> None:
        asked.set()
        await answers.wait()
        await start(container_id)

    monkeypatch.setattr(place.runtime, "start", slow)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        waiting = group.create_task(place.helped.wait(place.container_id))
        await asked.wait()
        waiting.cancel()
        answers.set()
        await asyncio.wait({waiting})
    assert waiting.cancelled()
    assert place.runtime.containers[place.container_id].starts == 2


async def test_arming_counts_from_the_next_end_on(tmp_path: Path) -> None:
    place = await begun(tmp_path, Program(lasts=True), Armed())
    place.helped.arm(ON_FAILURE)
    place.files.command("signal", "9")
    assert await place.helped.wait(place.container_id) == Stopped(kind=Kind.FAILURE, exit_code=137, killed=True)


async def test_the_process_alone_is_stopped_and_killed_when_it_does_not_mind(tmp_path: Path) -> None:
    place = await begun(tmp_path, Program(lasts=True))
    assert await place.helped.stop_process(place.container_id, 5) == Stopped(
        kind=Kind.FAILURE, exit_code=143, killed=True
    )
    stubborn = await begun(tmp_path / "stubborn", Program(lasts=True, ignores=["15"]))
    stopped = await stubborn.helped.stop_process(stubborn.container_id, 0.02)
    assert stopped == Stopped(kind=Kind.FAILURE, exit_code=137, killed=True)


async def test_what_is_not_armed_is_not_held_by_stopping_it(tmp_path: Path) -> None:
    place = await begun(tmp_path, Program(lasts=True), Armed())
    assert await place.helped.stop_process(place.container_id, 5) is None


async def test_a_container_that_ends_while_it_is_held_is_held_again_and_nothing_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinkbox.worker.containers.helped_container.PAUSE", 0.001)
    place = await begun(tmp_path, Program(exit_code=7, output=b"once\n"))
    await place.helped.wait(place.container_id)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        keeping = group.create_task(place.helped.keep(place.container_id))
        for starts in (2, 3):
            await place.runtime.stop(place.container_id, 10)
            while place.runtime.containers[place.container_id].starts < starts:
                await place.helped.wait(place.container_id)
        assert place.runtime.containers[place.container_id].output == b"once\n"
        await place.runtime.remove(place.container_id)
        await keeping


async def test_what_the_engine_says_is_raised_as_it_is(tmp_path: Path) -> None:
    place = await begun(tmp_path, Program(lasts=True))
    place.runtime.away = True
    with pytest.raises(EngineAway):
        await place.helped.wait(place.container_id)
    place.runtime.away = False
    await place.runtime.remove(place.container_id)
    with pytest.raises(ContainerFailed):
        await place.helped.wait(place.container_id)


async def test_a_program_that_could_not_begin_is_told_as_the_engine_tells_it(tmp_path: Path) -> None:
    place = await begun(tmp_path, Program(exit_code=127), Armed())
    with (place.files.run / "status").open("a") as status:
        status.write("failed-to-start 1 2 program\n")
    refusal = place.helped.refusal()
    assert refusal is not None
    assert (refusal.reason, str(refusal)) == (
        "BadCommand",
        "the image has no program program in the folders of its PATH",
    )
