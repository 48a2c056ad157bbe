"""kill -9 of the appliance, and of the engine it hosts services on, at each stage of a service's life.

Whatever dies when: the workflow succeeds, its action runs once and finds what the service handed over, the machine reaches
the service while the action runs, and nothing is left afterwards.  Each run of `make test` takes some of the
cells in turn (tests/rotation.py), `make campaign` all of them.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from examples.lab.network import Network
from tests import rotation
from tests.integration.docker_engine import DockerEngine, docker_engine_in
from tests.integration.faults.hosting import MACHINE, STAGES, Hosting, hosting_in
from tests.integration.faults.wire import Exchange
from tinkbox.model.workflow import State

# The kernel ends an engine together with the thread that started it, so this thread stays to the end.
_engine_starter = ThreadPoolExecutor(1)


async def appliance_killed(hosting: Hosting, exchange: Exchange | None) -> None:
    """kill -9, and started again; what it was about to ask is never asked."""
    if exchange is not None and not exchange.status:
        exchange.lose()
    await asyncio.to_thread(hosting.appliance.restart)


async def engine_killed(hosting: Hosting, exchange: Exchange | None) -> None:
    """kill -9 of the engine with all containers, and started again."""
    if exchange is not None:
        exchange.lose()
    await asyncio.get_running_loop().run_in_executor(_engine_starter, _restart, hosting.engine)


async def both_killed(hosting: Hosting, exchange: Exchange | None) -> None:
    """The appliance's whole machine loses its power."""
    if exchange is not None:
        exchange.lose()
    await asyncio.get_running_loop().run_in_executor(_engine_starter, hosting.engine.kill)
    await asyncio.to_thread(hosting.appliance.restart)
    await asyncio.get_running_loop().run_in_executor(_engine_starter, hosting.engine.start)


def _restart(engine: DockerEngine) -> None:
    engine.kill()
    engine.start()


FAULTS = (appliance_killed, engine_killed, both_killed)
A_RUN = 4


@dataclass(frozen=True)
class Place:
    """A network with the machine's address in it, and two engines: the appliance's and the machine's."""

    network: Network
    engine: DockerEngine
    machine: DockerEngine


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with Network() as network:
        network.run(["ip", "address", "add", f"{MACHINE}/24", "dev", network.interface])
        with (
            docker_engine_in(network=network.path) as engine,
            docker_engine_in(network=network.path, registry=str(network.address)) as machine,
        ):
            yield Place(network, engine, machine)


Cell = tuple[Callable[[Hosting, Exchange | None], Awaitable[None]], str]
CELLS: list[Cell] = [(fault, stage) for fault in FAULTS for stage in STAGES]


def called(cell: Cell) -> str:
    fault, stage = cell
    return f"{fault.__name__} at {stage}"


MIXED = rotation.mixed(CELLS, called)


@pytest.fixture
async def hosting(request: pytest.FixtureRequest, tmp_path: Path, place: Place) -> AsyncIterator[Hosting]:
    fault, stage = request.param
    with tempfile.TemporaryDirectory(prefix="tinkbox-hosting-") as sockets:
        async with hosting_in(
            tmp_path, Path(sockets), place.network, place.engine, place.machine.url, STAGES[stage], fault
        ) as hosting:
            yield hosting


@pytest.mark.parametrize(
    "hosting",
    [pytest.param(cell, id=called(cell), marks=rotation.mark(cell, MIXED, A_RUN)) for cell in CELLS],
    indirect=True,
)
async def test_the_outcome_is_the_same_and_nothing_is_left(hosting: Hosting) -> None:
    events = await hosting.run()
    kinds = [event["kind"] for event in events]
    assert kinds[-1] in ("workflow.succeeded", "service.stopping", "service.stopped"), events
    assert (await hosting.operator.workflows.get(hosting.workflow))["state"] == State.SUCCESS
    assert kinds.index("service.ready") < kinds.index("action.started")
    assert len(hosting.starts()) == kinds.count("action.started") == 1
    assert hosting.left() == []
    assert await hosting.refused() == 404
    assert "Traceback" not in hosting.appliance.said
