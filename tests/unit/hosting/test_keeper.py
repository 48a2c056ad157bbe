import asyncio
import math
from itertools import pairwise
from pathlib import Path

from tests.unit.hosting.fake_engine import Program
from tests.unit.hosting.rig import Rig, service, wait
from tests.unit.hosting.virtual_time import run
from tinkbox.model.errors import Unavailable
from tinkbox.model.services import Phase, Restart, RestartPolicy
from tinkbox.runtime import ContainerFailed

READY, RESTARTING, FAILED, STOPPED = Phase.READY, Phase.RESTARTING, Phase.FAILED, Phase.STOPPED


def test_the_delays_between_restarts_are_those_of_the_policy(tmp_path: Path) -> None:
    async def story() -> list[float]:
        rig = Rig(tmp_path, Program(lives=[(0.0, 1)], output=b"cannot\n"))
        begins: list[float] = []
        start = rig.engine.start

        async def noted(container_id: str) -> None:
            begins.append(asyncio.get_running_loop().time())
            await start(container_id)

        rig.engine.start = noted  # type: ignore[method-assign]
        rig.host_link.want(service(restart=Restart(limit=7)))
        async with rig.hosting():
            assert (await rig.until(FAILED)).tail == ("cannot",)
        assert rig.host_link.printed == {"r1": b"cannot\n" * 8}
        return [round(after - before) for before, after in pairwise(begins)]

    assert run(story) == [1, 2, 4, 8, 16, 32, 60]


def test_one_that_settles_between_its_ends_is_never_given_up(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path, Program(lives=[(61, 1)]))
        rig.host_link.want(service())
        async with rig.hosting():
            await wait(lambda: rig.engine.made != {} and rig.container.starts == 20, 3_000)
            assert rig.standing() is not None
            await rig.until(READY)
        assert FAILED not in rig.phases()

    run(story)


def test_whoever_takes_over_goes_on_counting(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path, Program(lives=[(0.5, 1)]))
        rig.host_link.want(service())
        for restarts in (1, 2, 3):
            async with rig.hosting():
                await wait(lambda count=restarts: (s := rig.standing()) is not None and s.restarts == count)  # type: ignore[misc]
        async with rig.hosting():
            standing = await rig.until(FAILED)
        assert (standing.restarts, rig.container.starts) == (5, 6)

    run(story)


def test_what_was_lost_of_its_notes_is_made_up_from_what_the_appliance_knows(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path, Program(lives=[(0.5, 1)]))
        rig.host_link.want(service(restarts=4))
        async with rig.hosting():
            standing = await rig.until(FAILED)
        assert (standing.restarts, rig.container.starts) == (5, 2)

    run(story)


def test_one_that_is_slow_to_become_healthy_shows_its_last_lines_once_a_second(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path, Program(healthy=(20, math.inf), output=b"loading\n"))
        rig.host_link.want(service())
        async with rig.hosting():
            await wait(lambda: (s := rig.standing()) is not None and s.tail == ("loading",))
            await rig.until(READY)
        assert len(rig.host_link.of("r1")) < 10

    run(story)


def test_an_engine_that_refuses_to_start_again_what_ran_before_is_asked_until_it_does(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path, Program(lives=[(5, 1), (math.inf, 0)]))
        rig.host_link.want(service())
        async with rig.hosting():
            await rig.until(READY)
            rig.container.program.refuses = "the engine is about to end"
            await wait(lambda: (s := rig.standing()) is not None and s.reason == "StartFailed")
            await asyncio.sleep(100)
            standing = await rig.until(RESTARTING)
            assert standing.message == "the engine is about to end"
            rig.container.program.refuses = ""
            await rig.until(READY)

    run(story)


def test_a_container_that_cannot_be_removed_is_removed_later_and_that_is_said(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path)
        rig.host_link.want(service())
        remove = rig.engine.remove

        async def busy(container_id: str) -> None:
            raise ContainerFailed("EngineFailed", "device or resource busy")

        async with rig.hosting():
            await rig.until(READY)
            rig.engine.remove = busy  # type: ignore[method-assign]
            rig.host_link.want()
            await wait(lambda: (s := rig.standing()) is not None and s.message == "device or resource busy")
            rig.engine.remove = remove  # type: ignore[method-assign]
            await rig.until_nothing_is_left()
        assert rig.phases()[-1] is STOPPED

    run(story)


def test_what_was_written_last_is_kept_before_its_folder_goes_however_long_that_takes(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path)
        rig.host_link.want(service())
        keep = rig.host_link.keep_data

        async def away(run: str, archive: bytes) -> None:
            raise Unavailable("the appliance is busy")

        async with rig.hosting():
            await rig.until(READY)
            rig.host_link.keep_data = away  # type: ignore[method-assign]
            (rig.place.folder / "r1" / "workflow" / "key").write_text("1")
            rig.host_link.want()
            await asyncio.sleep(100)
            assert rig.engine.made == {}
            assert (rig.place.folder / "r1" / "workflow" / "key").exists()
            rig.host_link.keep_data = keep  # type: ignore[method-assign]
            await rig.until_nothing_is_left()
        assert b"key" in rig.host_link.data["r1"][-1]

    run(story)


def test_a_host_link_that_takes_no_output_holds_up_nothing_but_the_output(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path, Program(lives=[(5, 1), (math.inf, 0)], output=b"line\n"))
        rig.host_link.want(service())

        async def silent(run: str, offset: int, chunk: bytes) -> int:
            await asyncio.Event().wait()
            return 0

        rig.host_link.output = silent  # type: ignore[method-assign]
        async with rig.hosting():
            await rig.until(READY)
            standing = await rig.until(RESTARTING)
            assert standing.tail == ("line",)
            await rig.until(READY)
            rig.host_link.want()
            await rig.until_nothing_is_left()

    run(story)


def test_a_policy_of_always_starts_again_what_ended_well(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path, Program(lives=[(5, 0), (math.inf, 0)]))
        rig.host_link.want(service(restart=Restart(policy=RestartPolicy.ALWAYS)))
        async with rig.hosting():
            await rig.until(READY)
            assert (await rig.until(RESTARTING)).exit_code == 0
            await rig.until(READY)

    run(story)
