"""A host with its engine and its host link, all in memory and in virtual time."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path

from tests.unit.hosting.fake_engine import FakeEngine, Made, Program
from tests.unit.hosting.fake_host_link import FakeHostLink
from tests.unit.worker.fakes import Faults
from tinkbox.hosting import Pace, Place
from tinkbox.hosting.host import ServiceHost
from tinkbox.model.limits import Ledger
from tinkbox.model.services import Phase, PlannedService, Service, Standing
from tinkbox.wire.messages.hosting import WantedService

REGISTRY = "appliance:80"
IMAGE = f"{REGISTRY}/web:v1"
SUBNETS = IPv4Network("10.213.0.0/24")


def service(run: str = "r1", workflow_id: str = "w1", restarts: int = 0, **fields: object) -> WantedService:
    planned = PlannedService(index=0, host="", spec=Service(name="web", worker="provisioner", image="web:v1"))
    return WantedService(
        run=run,
        workflow_id=workflow_id,
        service=replace(planned, spec=replace(planned.spec, **fields)),  # type: ignore[arg-type]
        restarts=restarts,
    )


class Rig:
    """`faults` are the engine's and the host link's together, each call counted."""

    def __init__(self, folder: Path, program: Program | None = None, **place: object) -> None:
        self.faults = Faults()
        self.engine = FakeEngine({IMAGE: program or Program()}, self.faults)
        self.host_link = FakeHostLink(self.faults)
        self.place = Place(
            host="h1", folder=folder / "services", registry=REGISTRY, server="http://appliance", privileged=False,
            subnets=SUBNETS,
        )  # fmt: skip
        self.place = replace(self.place, **place)  # type: ignore[arg-type]
        self.room: Ledger | None = None

    def host(self) -> ServiceHost:
        clock = asyncio.get_running_loop().time
        return ServiceHost(self.engine, self.host_link, self.place, clock, Pace(settled=3.0), self.room)

    @asynccontextmanager
    async def hosting(self) -> AsyncIterator[ServiceHost]:
        """A host at work, until it is killed; what it raises by itself is raised here."""
        host = self.host()
        async with asyncio.TaskGroup() as group:
            running = group.create_task(host.run())
            yield host
            running.cancel()

    @property
    def container(self) -> Made:
        """The only one there is."""
        (made,) = self.engine.made.values()
        return made

    def standing(self, run: str = "r1") -> Standing | None:
        """What was told of a run last; None when it was not among what was told last."""
        newest = self.host_link.told[-1] if self.host_link.told else ()
        return next((each for each in newest if each.run == run), None)

    def phases(self, run: str = "r1") -> list[Phase]:
        """Its phases, one after the other."""
        phases = [each.phase for each in self.host_link.of(run)]
        return [each for number, each in enumerate(phases) if not number or each is not phases[number - 1]]

    async def until(self, phase: Phase, run: str = "r1", seconds: float = 600) -> Standing:
        """Wait for a run to come there, and return what is told of it."""
        await wait(lambda: (self.standing(run) or service_of(run)).phase is phase, seconds)
        standing = self.standing(run)
        assert standing is not None
        return standing

    async def until_nothing_is_left(self) -> None:
        folder = self.place.folder
        await wait(lambda: not (self.engine.made or self.engine.nets or list(folder.iterdir())))
        await wait(lambda: self.host_link.told[-1] == ())


def service_of(run: str) -> Standing:
    return Standing(run=run, phase=Phase.PENDING)


async def wait(condition: Callable[[], bool], seconds: float = 600) -> None:
    """Look again and again, which takes no real time."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  nothing announces it
            await asyncio.sleep(0.05)
