"""What becomes of services when their host, or the engine, is killed and comes back."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable
from contextlib import asynccontextmanager

import pytest

from tests.integration.docker_engine import HEARD
from tests.integration.hosting.lab import Lab
from tests.integration.registry.serving import until
from tinkbox.model.services import Phase

pytestmark = pytest.mark.docker

STARTING, READY, RESTARTING = Phase.STARTING, Phase.READY, Phase.RESTARTING
EXITED, FAILED, STOPPED = Phase.EXITED, Phase.FAILED, Phase.STOPPED
STAYS = "echo begins; exec tail -f /dev/null"
ENDS_WELL = "trap 'echo told; exit 0' TERM; echo begins; while :; do sleep 0.1; done"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinkbox.runtime.retrying.FIRST_WAIT", 0.1)
    monkeypatch.setattr("tinkbox.runtime.retrying.LONGEST_WAIT", 0.4)


async def test_a_running_service_is_adopted_as_it_is(lab: Lab) -> None:
    lab.host_link.want(lab.service(STAYS))
    async with lab.hosting():
        await lab.until(READY)
    before = lab.containers()
    lab.host_link.told.clear()
    async with lab.hosting():
        await lab.until(READY)
        await until(lambda: lab.host_link.printed == {"r1": b"begins\n"})
        await asyncio.sleep(0.5)
        assert lab.containers() == before
        assert lab.phases() == [READY]
        assert lab.host_link.printed == {"r1": b"begins\n"}
        lab.host_link.want()
        await lab.until_nothing_is_left()


@pytest.mark.parametrize(("code", "phase"), [(0, EXITED), (1, FAILED)])
async def test_one_that_ended_while_nobody_looked_is_judged_by_how(lab: Lab, code: int, phase: Phase) -> None:
    script = f"echo begins; while [ ! -e /workflow/go ]; do sleep 0.05; done; exit {code}"
    lab.host_link.want(lab.service(script))
    async with lab.hosting():
        await lab.until(READY)
    (lab.place.folder / "r1" / "workflow" / "go").touch()
    await until(lambda: "Exited" in lab.engine.cli("ps", "-a").stdout)
    async with lab.hosting():
        standing = await lab.until(phase)
    assert (standing.exit_code, standing.restarts) == (code, 5 if code else 0)


async def test_what_is_not_wanted_any_more_is_ended_by_the_next_host(lab: Lab) -> None:
    lab.host_link.want(lab.service(STAYS), lab.service(run="r2", workflow_id="w2"))
    async with lab.hosting():
        await lab.until(READY)
        await lab.until(READY, run="r2")
    (lab.place.folder / "r1" / "workflow" / "late").write_text("1")
    kept = len(lab.host_link.data["r1"])
    lab.host_link.want(lab.service(run="r2", workflow_id="w2"))
    async with lab.hosting():
        await until(lambda: len(lab.containers()) == len(lab.networks()) == 1)
        await lab.until(READY, run="r2")
        await until(lambda: len(lab.host_link.data["r1"]) > kept)


@asynccontextmanager
async def dead(lab: Lab) -> AsyncIterator[None]:
    """The engine is killed with all that runs in it, and back afterwards.

    It is started from this thread, with whose end it would end.
    """
    await asyncio.to_thread(lab.engine.kill)
    try:
        yield
    finally:
        lab.engine.start()


def cells(core: Collection[tuple[object, ...]], *values: Iterable[object]) -> list[object]:
    """Every combination of values; what is not of the core waits for `make campaign`."""
    return [
        pytest.param(*each, marks=() if each in core else pytest.mark.campaign) for each in itertools.product(*values)
    ]


@pytest.mark.parametrize(
    ("how", "script", "host_lives"),
    cells(
        {("killed", STAYS, True), ("stopped", ENDS_WELL, False)},
        ("killed", "stopped"), (STAYS, ENDS_WELL), (True, False),
    ),
)  # fmt: skip
async def test_after_the_engine_was_away_services_run_again_without_counting(
    lab: Lab, how: str, script: str, host_lives: bool
) -> None:
    lab.host_link.want(lab.service(script))
    end = lab.engine.kill if how == "killed" else lab.engine.stop
    async with lab.hosting():
        await lab.until(READY)
        await until(lambda: lab.host_link.printed.get("r1") == b"begins\n")
        if host_lives:
            await asyncio.to_thread(end)
            await until(lambda: lab.standing().reason == "EngineGone")
            assert lab.standing().phase is READY
            lab.engine.start()
            await until(lambda: lab.standing().reason == "")
    if not host_lives:
        await asyncio.to_thread(end)
        lab.engine.start()
    async with lab.hosting():
        standing = await lab.until(READY)
        await until(lambda: lab.host_link.printed["r1"].count(b"begins\n") == 2)
        standing = await lab.until(READY)
        assert standing.restarts == 0
        assert await asyncio.to_thread(lab.containers) != []
        lab.host_link.want()
        await lab.until_nothing_is_left()


async def test_one_that_had_ended_before_the_engine_died_is_not_run_again(lab: Lab) -> None:
    lab.host_link.want(lab.service(f"echo once; {HEARD}"))
    async with lab.hosting():
        await lab.until(EXITED)
        async with dead(lab):
            pass
        await asyncio.sleep(1)
    async with lab.hosting():
        await asyncio.sleep(1)
        assert lab.phases() == [STARTING, EXITED]
    assert lab.host_link.printed == {"r1": b"once\n"}


@pytest.mark.parametrize(
    ("call", "before"),
    cells(
        {("create", False), ("start", True)},
        ("pull", "create_network", "create", "start", "look"), (True, False),
    ),
)  # fmt: skip
async def test_an_engine_that_is_killed_on_the_way_up_changes_no_outcome(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, call: str, before: bool
) -> None:
    deaths = dying(lab, monkeypatch, call, before=before)
    lab.host_link.want(lab.service(STAYS))
    async with lab.hosting():
        await until(lambda: bool(deaths), 60)
        standing = await lab.until(READY)
        assert standing.restarts == 0
        lab.host_link.want()
        await lab.until_nothing_is_left()


@pytest.mark.parametrize(
    ("call", "before"),
    cells({("stop", False), ("remove", True)}, ("stop", "remove", "remove_network"), (True, False)),
)
async def test_an_engine_that_is_killed_on_the_way_down_leaves_nothing(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, call: str, before: bool
) -> None:
    lab.host_link.want(lab.service(STAYS))
    async with lab.hosting():
        await lab.until(READY)
        deaths = dying(lab, monkeypatch, call, before=before)
        lab.host_link.want()
        await lab.until_nothing_is_left()
    assert deaths
    assert lab.phases()[-1] is STOPPED


async def test_an_engine_that_is_killed_between_restarts_changes_no_outcome(lab: Lab) -> None:
    lab.host_link.want(lab.service("sleep 0.3; exit 1"))
    async with lab.hosting():
        for _ in range(2):
            await lab.until(RESTARTING)
            async with dead(lab):
                pass
        standing = await lab.until(FAILED)
        assert (standing.reason, standing.restarts) == ("ServiceFailed", 5)


def dying(lab: Lab, monkeypatch: pytest.MonkeyPatch, call: str, *, before: bool) -> list[str]:
    """The engine dies at the first such call, before or after it had its effect, and is back soon; says that it did."""
    deaths: list[str] = []
    ask: Callable[..., Awaitable[object]] = getattr(lab.runtime, call)

    async def fatal(*arguments: object, **named: object) -> object:
        if deaths:
            return await ask(*arguments, **named)
        deaths.append(call)
        if before:
            async with dead(lab):
                return await ask(*arguments, **named)
        answer = await ask(*arguments, **named)
        async with dead(lab):
            pass
        return answer

    monkeypatch.setattr(lab.runtime, call, fatal)
    return deaths
