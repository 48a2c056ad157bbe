import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.integration.cli.serving import PROGRAM, configure
from tests.integration.docker_engine import DockerEngine
from tests.integration.faults.rig import Appliance, Rig, prepare, rig_in

IMPATIENT = [sys.executable, "-m", "tests.integration.faults.impatient"]


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory, docker_engine: DockerEngine) -> Iterator[Appliance]:
    """An appliance for all cells of a file, each of which has a machine of its own."""
    folder = tmp_path_factory.mktemp("appliance")
    deep = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
    appliance = Appliance(configure(folder), PROGRAM if deep else IMPATIENT)
    appliance.start()
    asyncio.run(prepare(appliance, docker_engine, folder))
    yield appliance
    appliance.stop()


@pytest.fixture
async def rig(
    request: pytest.FixtureRequest, tmp_path: Path, standing: Appliance, docker_engine: DockerEngine
) -> AsyncIterator[Rig]:
    """A machine that has actions to run: `before`, `subject`, `after`, or those that the fixture's parameter names."""
    actions = getattr(request, "param", ("before", "subject", "after"))
    standing.start()
    with tempfile.TemporaryDirectory(prefix="tinkbox-wires-") as sockets:
        async with rig_in(tmp_path, Path(sockets), standing, docker_engine, actions) as rig:
            yield rig


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Show with a failed cell what was planned, what passed on the wires, and what both sides said."""
    known = getattr(item, "funcargs", {})
    rig = known.get("rig") or known.get("hosting")
    if call.when == "call" and call.excinfo and rig:
        for title, text in rig.told():
            item.add_report_section("call", title, text)
