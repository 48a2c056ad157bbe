import asyncio
import math
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from tests.unit.hosting.fake_engine import Program
from tests.unit.hosting.rig import IMAGE, REGISTRY, Rig, service, wait
from tests.unit.hosting.virtual_time import run
from tests.unit.worker.fakes import Killed
from tinkbox.model.errors import Denied, Unavailable
from tinkbox.model.limits import SERVICES, Ledger
from tinkbox.model.services import Phase, Restart, Standing
from tinkbox.runtime import ContainerSpec

STARTING, READY, UNHEALTHY = Phase.STARTING, Phase.READY, Phase.UNHEALTHY
RESTARTING, EXITED, FAILED = Phase.RESTARTING, Phase.EXITED, Phase.FAILED
STOPPING, STOPPED = Phase.STOPPING, Phase.STOPPED
CRASHING = Program(lives=[(0.5, 1)], output=b"cannot\n")


def test_a_service_is_started_is_ready_and_leaves_nothing_when_it_is_not_wanted_any_more(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path, Program(output=b"hello\n"))
        rig.host_link.want(service())
        async with rig.hosting():
            await rig.until(READY)
            rig.host_link.want()
            await rig.until_nothing_is_left()
        assert rig.phases() == [STARTING, READY, STOPPING, STOPPED]
        assert rig.host_link.printed == {"r1": b"hello\n"}

    run(story)


def test_services_of_a_workflow_share_a_network_that_goes_with_the_last_of_them(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path)
        rig.host_link.want(service("r1"), service("r2"), service("r3", "w2"))
        async with rig.hosting():
            for each in ("r1", "r2", "r3"):
                await rig.until(READY, each)
            assert sorted(name for name, _ in rig.engine.nets.values()) == ["tinkbox-w1", "tinkbox-w2"]
            rig.host_link.want(service("r2"))
            await wait(lambda: len(rig.engine.nets) == 1, seconds=5)
            assert [name for name, _ in rig.engine.nets.values()] == ["tinkbox-w1"]
            assert (await rig.until(READY, "r2")).phase is READY

    run(story)


def test_no_more_services_run_than_the_limit_allows(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path)
        rig.room = Ledger(replace(SERVICES, each=2, all=3), lambda: 0.0)
        wanted = [service(f"r{number}", f"w{number // 3}") for number in range(6)]
        rig.host_link.want(*wanted)
        async with rig.hosting():
            await wait(lambda: sum(told(rig, number) is READY for number in range(6)) == 3)
            waiting = [rig.standing(f"r{number}") for number in range(6) if told(rig, number) is STARTING]
            assert [each.reason for each in waiting if each] == ["HostFull"] * 3
            await asyncio.sleep(100)
            assert len(rig.engine.made) == rig.room.used == 3
            rig.host_link.want(*wanted[3:])
            await wait(lambda: [told(rig, number) for number in (3, 4, 5)].count(READY) == 2)
            rig.host_link.want()
            await rig.until_nothing_is_left()
        assert rig.room.used == 0

    run(story)


def test_what_runs_when_the_limit_is_lowered_runs_on(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path)
        rig.host_link.want(service("r1"), service("r2"))
        async with rig.hosting():
            for each in ("r1", "r2"):
                await rig.until(READY, each)
        rig.room = Ledger(replace(SERVICES, each=1, all=1), lambda: 0.0)
        rig.host_link.told.clear()
        async with rig.hosting():
            for each in ("r1", "r2"):
                assert (await rig.until(READY, each)).reason == ""
            rig.host_link.want()
            await rig.until_nothing_is_left()
        assert (len(rig.engine.ever), rig.room.used) == (2, 0)

    run(story)


def told(rig: Rig, number: int) -> Phase | None:
    """The phase of a run that was told last."""
    standing = rig.standing(f"r{number}")
    return None if standing is None else standing.phase


def test_one_that_crashes_for_ever_is_given_up(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path, CRASHING)
        rig.host_link.want(service())
        async with rig.hosting():
            standing = await rig.until(FAILED)
        assert standing.reason == "ServiceFailed"
        assert standing.message == "ended with exit code 1 (cannot), after 5 restarts in a row"
        assert (standing.restarts, standing.exit_code, standing.tail) == (5, 1, ("cannot",))
        assert rig.container.starts == 6
        assert rig.host_link.printed == {"r1": b"cannot\n" * 6}

    run(story)


def test_one_that_was_ready_is_started_again_and_ready_again(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path, Program(lives=[(100, 1), (math.inf, 0)]))
        rig.host_link.want(service())
        async with rig.hosting():
            await rig.until(READY)
            await rig.until(RESTARTING)
            await rig.until(READY)
        assert rig.phases() == [STARTING, READY, RESTARTING, STARTING, READY]

    run(story)


def test_an_image_that_is_not_there_fails_it_at_once(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path)
        rig.host_link.want(service(image="nothing:v1"))
        async with rig.hosting():
            standing = await rig.until(FAILED)
            assert (standing.reason, rig.engine.made) == ("ImageNotFound", {})
            rig.host_link.want()
            await rig.until_nothing_is_left()
        assert rig.phases() == [STARTING, FAILED]

    run(story)


def test_what_starts_neither_now_nor_later_fails_it(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path, Program(refuses="no such program"))
        rig.host_link.want(service())
        async with rig.hosting():
            standing = await rig.until(FAILED)
        assert (standing.reason, standing.message) == ("BadCommand", "no such program")

    run(story)


def test_while_the_engine_is_away_that_is_said_and_nothing_is_given_up(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path)
        rig.engine.away = True
        rig.host_link.want(service())
        async with rig.hosting():
            await wait(lambda: bool(rig.host_link.of("r1")))
            await asyncio.sleep(1_000)
            standing = rig.standing()
            assert standing is not None
            assert (standing.phase, standing.reason, standing.message) == (STARTING, "EngineGone", "no engine answers")
            rig.engine.away = False
            standing = await rig.until(READY)
            assert (standing.reason, standing.message) == ("", "")

    run(story)


def test_an_engine_is_needed_while_a_service_is_wanted_and_not_to_tidy_up(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path)
        async with rig.hosting() as host:
            assert not host.is_needed
            rig.host_link.want(service())
            await rig.until(READY)
            assert host.is_needed
            rig.engine.away = True
            rig.host_link.want()
            await rig.until(STOPPING)
            assert not host.is_needed
            rig.engine.away = False
            await rig.until_nothing_is_left()

    run(story)


@pytest.mark.parametrize("program", [Program(), Program(lives=[(math.inf, 0)], healthy=(3, math.inf))])
def test_after_the_engine_died_services_are_started_again_without_counting(tmp_path: Path, program: Program) -> None:
    async def story() -> None:
        rig = Rig(tmp_path, program)
        rig.host_link.want(service())
        async with rig.hosting():
            await rig.until(READY)
            for _ in range(10):
                rig.engine.crash()
                await asyncio.sleep(3)
                rig.engine.away = False
                await rig.until(STARTING)
                standing = await rig.until(READY)
        assert standing.restarts == 0
        assert rig.container.starts == 11

    run(story)


def test_one_that_had_ended_stays_ended_when_the_engine_comes_back(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path, Program(lives=[(5, 0)]))
        rig.host_link.want(service())
        async with rig.hosting():
            await rig.until(EXITED)
            rig.engine.crash()
            rig.engine.away = False
            await asyncio.sleep(100)
        assert rig.phases() == [STARTING, READY, EXITED]
        async with rig.hosting():
            await asyncio.sleep(100)
        assert rig.container.starts == 1
        assert rig.phases() == [STARTING, READY, EXITED]

    run(story)


def test_a_container_that_somebody_removed_is_made_again(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path)
        rig.host_link.want(service())
        async with rig.hosting():
            await rig.until(READY)
            rig.engine.made.clear()
            await rig.until(STARTING)
            await rig.until(READY)

    run(story)


def test_the_appliances_registry_is_waited_for_and_no_other(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path)
        rig.engine.unreachable = {"elsewhere.example"}
        other = service("r2", image="elsewhere.example/web:v1")
        rig.host_link.want(other)
        async with rig.hosting():
            standing = await rig.until(FAILED, "r2")
            assert standing.reason == "RegistryUnreachable"
            rig.engine.unreachable = {REGISTRY, "elsewhere.example"}
            rig.host_link.want(service("r1"), other)
            await asyncio.sleep(100)
            standing = rig.standing()  # type: ignore[assignment]
            assert (standing.phase, standing.reason) == (STARTING, "RegistryUnreachable")
            rig.engine.unreachable.clear()
            await rig.until(READY)

    run(story)


def test_nothing_is_done_or_told_before_it_is_known_what_is_wanted(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path)
        rig.host_link.want(service())
        async with rig.hosting():
            await rig.until(READY)
        told = len(rig.host_link.told)
        rig.host_link.away = Unavailable("the appliance starts")
        async with rig.hosting():
            await asyncio.sleep(100)
            assert rig.container.starts == 1
            rig.host_link.away = None
            await wait(lambda: len(rig.host_link.told) > told)
            assert rig.standing() is not None

    run(story)


@pytest.mark.parametrize("refusal", [Unavailable("away"), Denied("who are you?")])
def test_a_host_link_that_is_away_or_refuses_ends_nothing(tmp_path: Path, refusal: Exception) -> None:
    async def story() -> None:
        rig = Rig(tmp_path, Program(output=b"hello\n"))
        rig.host_link.want(service())
        async with rig.hosting():
            await rig.until(READY)
            rig.host_link.away = refusal  # type: ignore[assignment]
            (rig.place.folder / "r1" / "workflow" / "password").write_text("secret")
            await asyncio.sleep(100)
            rig.host_link.away = None
            await wait(lambda: len(rig.host_link.data["r1"]) == 2)
            rig.host_link.want()
            rig.host_link.away = refusal  # type: ignore[assignment]
            await asyncio.sleep(100)
            assert rig.container.starts == 1
            rig.host_link.away = None
            await rig.until_nothing_is_left()

    run(story)


def test_what_it_has_is_told_again_from_time_to_time(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path)
        rig.host_link.want(service())
        async with rig.hosting():
            await rig.until(READY)
            told = len(rig.host_link.told)
            await asyncio.sleep(100)
            assert 4 <= len(rig.host_link.told) - told <= 6

    run(story)


def test_one_that_is_wanted_again_while_it_is_ended_is_started_anew(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path, Program(stubborn=True))
        rig.host_link.want(service())
        async with rig.hosting():
            await rig.until(READY)
            rig.host_link.want()
            await rig.until(STOPPING)
            rig.host_link.want(service())
            await rig.until(READY)
        assert [each.starts for each in rig.engine.ever] == [1, 1]

    run(story)


def test_what_another_host_has_on_the_same_engine_is_left_alone(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path)
        other = await rig.engine.create(ContainerSpec(image=IMAGE, labels={"tinkbox.host": "h2", "tinkbox.run": "r9"}))
        await rig.engine.create_network("tinkbox-w9", rig.place.subnets, {"tinkbox.host": "h2"})  # type: ignore[arg-type]
        rig.host_link.want()
        async with rig.hosting():
            await asyncio.sleep(100)
        assert list(rig.engine.made) == [other.id]
        assert len(rig.engine.nets) == 1

    run(story)


def test_whatever_was_left_behind_is_removed(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path)
        labels = {"tinkbox.host": "h1", "tinkbox.run": "r9"}
        stray = await rig.engine.create(ContainerSpec(image=IMAGE, name="stray", labels=labels))
        await rig.engine.start(stray.id)
        await rig.engine.create_network("tinkbox-w9", rig.place.subnets, {"tinkbox.host": "h1"})  # type: ignore[arg-type]
        (rig.place.folder / "r8" / "workflow").mkdir(parents=True)
        (rig.place.folder / "r8" / "workflow" / "key").write_text("1")
        rig.host_link.want()
        async with rig.hosting():
            await rig.until_nothing_is_left()
        assert rig.phases("r9") == [STOPPING, STOPPED]
        assert "r8" in rig.host_link.data

    run(story)


def test_data_is_gathered_when_it_is_asked_for(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path)
        rig.host_link.want(service("r1"), service("r2", "w2"))
        async with rig.hosting() as host:
            await rig.until(READY)
            await rig.until(READY, "r2")
            for each in ("r1", "r2"):
                (rig.place.folder / each / "workflow" / "password").write_text("secret")
            before = {each: len(kept) for each, kept in rig.host_link.data.items()}
            await host.gather("w1")
            after = {each: len(kept) for each, kept in rig.host_link.data.items()}
            assert after == {**before, "r1": before["r1"] + 1}
            await host.gather("w9")

    run(story)


OUTCOMES = {
    "stays up": (Program(output=b"up\n"), READY),
    "becomes healthy": (Program(healthy=(3, math.inf)), READY),
    "ends well": (Program(lives=[(0.2, 0)], output=b"done\n"), EXITED),
    "crashes": (CRASHING, FAILED),
    "cannot start": (Program(refuses="no such program"), FAILED),
}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", OUTCOMES)
def test_a_host_that_is_killed_at_any_call_changes_no_outcome(tmp_path: Path, name: str, when: str) -> None:
    program, outcome = OUTCOMES[name]

    async def story(at: int) -> bool:
        """Kill it at that call, of the engine or of the host link; returns whether there were so many."""
        rig = Rig(tmp_path / str(at), program)
        rig.faults.error, rig.faults.at, rig.faults.after = Killed(), at, when == "after"
        killed = False
        rig.host_link.want(service(restart=Restart(limit=2)))

        async def whole() -> None:
            async with rig.hosting():
                standing = await rig.until(outcome)
                assert standing.reason == REASONS.get(name, "")
                rig.host_link.want()
                await rig.until_nothing_is_left()

        try:
            await whole()
        except* Killed:
            killed = True
        rig.faults.at = -1
        if killed:
            if not rig.host_link.now.services:
                async with rig.hosting():
                    await rig.until_nothing_is_left()
            else:
                await whole()
        assert len(rig.engine.ever) <= 1
        if name == "stays up":
            assert rig.engine.ever[0].starts == 1
            assert rig.host_link.printed == {"r1": b"up\n"}
        if name == "crashes":
            assert rig.engine.ever[0].starts == 3
        if name == "ends well":
            assert rig.engine.ever[0].starts == 1
            assert rig.host_link.printed == {"r1": b"done\n"}
        return len(rig.faults.calls) > at

    reached = next(at for at in count() if not run(partial(story, at)))
    assert reached > 20


REASONS = {"crashes": "ServiceFailed", "cannot start": "BadCommand"}


def test_a_standing_tells_of_the_run_that_it_is_of(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path, Program(ports=(80, 443)))
        rig.host_link.want(service())
        async with rig.hosting():
            standing = await rig.until(READY)
        assert standing == Standing(run="r1", phase=READY, address="10.9.0.2", ports=(80, 443))

    run(story)
