"""Release 924549e itself, out of the history, as the worker of today's appliance and the other way round; and an upgrade of either."""

import asyncio
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest

from tests.integration.cli.serving import PROGRAM, ROOT, configure
from tests.integration.docker_engine import DockerEngine
from tests.integration.faults.faults import Fault, plan, reports_doubled, worker_killed
from tests.integration.faults.rig import OVER, Appliance, Rig, prepare, rig_in
from tests.integration.faults.verdict import Expected, complaints
from tests.integration.faults.wire import Exchange
from tinkbox.boot.http.loaders import FOLDER as LOADERS
from tinkbox.worker.files.toolbox import TOOLS

COMMIT = "924549e"
ACTIONS = ("before", "subject", "after")
SECONDS = 120.0


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """How that release is run."""
    folder = tmp_path_factory.mktemp("release")
    packed = subprocess.run(["git", "archive", COMMIT], cwd=ROOT, capture_output=True, check=False)
    if packed.returncode != 0:
        pytest.skip(f"the history of this clone does not reach back to {COMMIT}")
    subprocess.run(["tar", "x", "-C", folder], input=packed.stdout, check=True)
    # What is built beside the sources: of both releases alike, but for the helper.
    tools = folder / "tinkbox" / "worker" / "tools"
    shutil.copytree(TOOLS, tools)
    shutil.copytree(LOADERS, folder / "tinkbox" / "boot" / "loaders")
    sources = sorted(map(str, (folder / "packaging" / "helper").glob("*.c")))
    flags = ["-std=gnu11", "-Os", "-static", "-s", f'-DVERSION="{COMMIT}"']
    subprocess.run(["cc", *flags, "-o", tools / "entrypoint", *sources], check=True)
    return ["env", "-C", str(folder), sys.executable, "-m", "tinkbox"]


@pytest.fixture
def appliance(tmp_path: Path, docker_engine: DockerEngine) -> Iterator[Appliance]:
    """Not started."""
    place = tmp_path / "appliance"
    place.mkdir()
    made = Appliance(configure(place))
    yield made
    made.stop()


@pytest.fixture
async def rig(
    tmp_path: Path, docker_engine: DockerEngine, appliance: Appliance, programs: Sequence[Sequence[str]]
) -> AsyncIterator[Rig]:
    """An appliance and a worker, by these programs."""
    appliance.program, worker = programs
    await asyncio.to_thread(appliance.start)
    place = tmp_path / "machine"
    place.mkdir()
    await prepare(appliance, docker_engine, place)
    with tempfile.TemporaryDirectory(prefix="tinkbox-wires-") as sockets:
        async with rig_in(place, Path(sockets), appliance, docker_engine, ACTIONS) as made:
            made.worker.program = worker
            yield made


@pytest.fixture(params=["old worker", "old appliance"])
def programs(request: pytest.FixtureRequest, release: list[str]) -> tuple[Sequence[str], Sequence[str]]:
    """How the appliance is run, and how the worker."""
    ways = {"old worker": (PROGRAM, release), "old appliance": (release, PROGRAM), "both old": (release, release)}
    return ways[request.param]


@pytest.mark.campaign
async def test_workflow_of_two_releases_ends_as_that_of_one(rig: Rig) -> None:
    """One action fails and is tried again, a worker dies in the middle, and every report comes twice."""
    rig.fail_once("subject")
    plan(rig, worker_killed, "running", "before")
    plan(rig, reports_doubled, "report taken", "after")
    assert complaints(await rig.run(retries=1), Expected(retries=1)) == []


async def happened(rig: Rig, *kinds: str) -> None:
    """Wait until one of these events is told of the workflow."""
    async with asyncio.timeout(SECONDS):
        async for _, event in rig.operator.events(0):
            if event is not None and event["workflow_id"] == rig.workflow and event["kind"] in kinds:
                return
    raise AssertionError(f"the stream of events ended before {kinds}")


@pytest.mark.campaign
@pytest.mark.parametrize("verb", ["retry", "fail"])
async def test_action_held_by_one_release_takes_the_verdict_of_the_other(rig: Rig, verb: str) -> None:
    await rig.create({})
    rig.fail_once("subject")
    await rig.operator.breakpoints.arm(rig.workflow, {"on_failure": True})
    for action in ACTIONS:
        rig.allow(action)
    rig.worker.start()
    await happened(rig, "action.held")
    held = (await rig.operator.breakpoints.get(rig.workflow))["held"]
    assert (held["kind"], held["outcome"]["exit_code"], held["in_place"]) == ("failure", 3, True)
    await rig.operator.breakpoints.decide(rig.workflow, {"verb": verb, "why": "by hand"})
    end = {"retry": "SUCCESS", "fail": "FAILED"}[verb]
    await happened(rig, *OVER)
    state = await rig.operator.workflows.state(rig.workflow)
    assert state["state"] == end, state
    assert await rig.left() == []
    kinds = [event["kind"] for event in await rig.operator.workflows.events(rig.workflow)]
    assert kinds.count("action.held") == kinds.count("breakpoint.verdict") == 1


async def appliance_upgraded(rig: Rig, exchange: Exchange) -> None:
    """The old appliance is killed, and today's started on its data."""
    if exchange.wire.name == "door":
        exchange.lose()
    rig.appliance.program = PROGRAM
    await asyncio.to_thread(rig.appliance.restart)


async def worker_upgraded(rig: Rig, exchange: Exchange) -> None:
    """The old worker is killed, and today's started beside the containers that it left."""
    rig.worker.program = PROGRAM
    await worker_killed(rig, exchange)


@pytest.mark.campaign
@pytest.mark.parametrize("transition", ["running", "report sent"])
@pytest.mark.parametrize("upgraded", [appliance_upgraded, worker_upgraded])
@pytest.mark.parametrize("programs", ["both old"], indirect=True)
async def test_upgrade_in_the_middle_of_an_action_loses_and_doubles_nothing(
    rig: Rig, transition: str, upgraded: Fault
) -> None:
    plan(rig, upgraded, transition, "subject")
    assert complaints(await rig.run(), Expected()) == []
