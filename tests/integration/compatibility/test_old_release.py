"""Release 924549e itself, out of the history, as the worker of today's appliance and the other way round; and an upgrade of the
appliance while such a worker is at work."""

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
from tests.integration.faults.faults import plan
from tests.integration.faults.rig import Appliance, Rig, prepare, rig_in
from tests.integration.faults.verdict import Expected, complaints
from tests.integration.faults.wire import Exchange
from tests.integration.worker.machine import until
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
    configuration = configure(place)
    text = configuration.path.read_text()
    # That release knows neither.
    configuration.path.write_text(text.replace(", group: off", "").replace("metadata: {ports: []}\n", ""))
    made = Appliance(configuration)
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


SAYS = {
    "old worker": "build the OSIE of this version (`tinkbox osie build`) and boot the machine again",
    "old appliance": "is of an earlier release than this worker, and knows no sessions",
}


@pytest.mark.campaign
async def test_worker_and_appliance_of_two_releases_say_what_to_do_and_begin_nothing(
    rig: Rig, request: pytest.FixtureRequest, programs: Sequence[Sequence[str]]
) -> None:
    await rig.create({})
    rig.worker.start()
    way = "old worker" if programs[0] is PROGRAM else "old appliance"
    await asyncio.to_thread(until, lambda: SAYS[way] in " ".join(rig.worker.said.split()), "the worker to say it")
    assert rig.worker.alive
    state = await rig.operator.workflows.state(rig.workflow)
    assert (state["state"], rig.containers()) == ("PENDING", [])
    if way == "old worker":
        told = await rig.operator.hardware.timeline(rig.machine)
        assert "its worker is of an earlier release" in str(told[-1]), told


async def appliance_upgraded(rig: Rig, exchange: Exchange) -> None:
    """The old appliance is killed, and today's started on its data."""
    if exchange.wire.name == "door":
        exchange.lose()
    rig.appliance.program = PROGRAM
    await asyncio.to_thread(rig.appliance.restart)


@pytest.mark.campaign
@pytest.mark.parametrize("transition", ["running", "report sent"])
@pytest.mark.parametrize("programs", ["both old"], indirect=True)
async def test_upgrade_in_the_middle_of_an_action_loses_and_doubles_nothing(rig: Rig, transition: str) -> None:
    """The old worker goes on with the token that it has."""
    plan(rig, appliance_upgraded, transition, "subject")
    assert complaints(await rig.run(), Expected()) == []
